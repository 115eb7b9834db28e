"""Studies of MoCoSE: one file a table."""
