"""What the shipped demo consists of, by content. Recomputed and compared by a test; changed only together with the demo itself."""

# SHA-256 of the generated training text, one sentence a line, no newline at the end
DEMO_CORPUS_DIGEST = "a18f540387b8a51b17cb8a38d4c5e5b3648abe5471377e980e1e83c799f09c2a"
DEMO_CORPUS_ROWS = 16_000
# SHA-256 of the graded pairs, as core.engine.sts.sets_digest takes it
DEMO_EVALUATION_DIGEST = "d51df8d583f32701fd8c9e5e17b71cf39c7b6cbbc672acd95072f744d635711e"
# SHA-256 of the graded pairs and the labelled sentences and of how probes are fitted, as core.engine.transfer_data.probes_digest takes it
DEMO_TRANSFER_DIGEST = "18a37717364693f6e4800e73ab92ed0830496eb2c3e3b30ec08f97f2fd1ddb42"
