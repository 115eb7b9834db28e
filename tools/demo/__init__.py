"""The made-up language of scale demo: its text, graded pairs, labelled sentences and encoder."""
