"""Makers of what the project ships, and rewriters of text: run by hand, or when a rewritten text is missing."""
