"""The harness: what is trained, judged and drawn."""
