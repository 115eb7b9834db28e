"""What to run: run configuration, identity, scales, studies and claims. Standard library only."""
