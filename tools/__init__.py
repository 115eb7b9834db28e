"""Makers of the files that the project ships, and rewriters of training text."""
