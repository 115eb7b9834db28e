"""Studies of ESimCSE: one file a table."""
