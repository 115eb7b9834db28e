"""What the shipped demo consists of, by content. Recomputed and compared by a test; changed only together with the demo itself."""

# SHA-256 of the generated training text, one sentence a line, no newline at the end
DEMO_CORPUS_DIGEST = "e73de2d08ee2d1701f27b85bf1419b92c93b9845b0055aba7b4dc6bcdd483108"
DEMO_CORPUS_ROWS = 16_000
# SHA-256 of the graded pairs, as core.engine.sts.sets_digest takes it
DEMO_EVALUATION_DIGEST = "5f8ac1d880d6836b231a18d0c035effee283256f1bff6d631631ea6fccf13c92"
# SHA-256 of the graded pairs and the labelled sentences, as core.engine.transfer_data.probes_digest takes it
DEMO_TRANSFER_DIGEST = "110a7638d99d97e9e05fcc5e41350e44546c56abd2e4bb3622d5fe8ba2e159b1"
