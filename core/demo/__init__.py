"""The demo scale: a generated world of English sentences, graded pairs from it, and a small BERT pretrained on it."""
