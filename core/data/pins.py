"""What the shipped demo consists of, by content. Recomputed and compared by a test; changed only together with the demo itself."""

# SHA-256 of the generated training text, one sentence a line, no newline at the end
DEMO_CORPUS_DIGEST = "a18f540387b8a51b17cb8a38d4c5e5b3648abe5471377e980e1e83c799f09c2a"
DEMO_CORPUS_ROWS = 16_000
# SHA-256 of the graded pairs, as core.data.sts.sets_digest takes it
DEMO_EVALUATION_DIGEST = "d51df8d583f32701fd8c9e5e17b71cf39c7b6cbbc672acd95072f744d635711e"
# SHA-256 of the graded pairs and the labelled sentences and of how probes are fitted, as core.data.transfer.probes_digest takes it
DEMO_TRANSFER_DIGEST = "aed40945ec901d8f059020c3c1f273d77c16409fbf3c516fe4d64389b42aab9d"
