"""Rewriters of training text (MoCoSE, Table 5): typos, masked words, continuations,
back-translations."""
