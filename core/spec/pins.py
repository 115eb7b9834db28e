"""What the shipped demo consists of, by content. Recomputed and compared by a test; changed only together with the demo itself."""

DEMO_CORPUS_DIGEST = "0" * 64  # SHA-256 of the generated training text, one sentence a line, no newline at the end
DEMO_CORPUS_ROWS = 19_200  # 300 steps of 64 sentences
DEMO_EVALUATION_DIGEST = "0" * 64  # SHA-256 of the graded pairs
