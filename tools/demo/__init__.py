"""The made-up language of scales demo and long: its text, graded pairs, labelled sentences and encoder."""
