"""The plain encoder: trained on masked words of an English text alone, from random weights."""
