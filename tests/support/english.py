"""Sentences for rewriting, one of them without a word."""

TEXTS = [
    "The tired nurse hid the thermometer, quietly.",
    "A dog did not see the old teacher.",
    "...",
    "The king slept.",
]
