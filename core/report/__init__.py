"""Reading it: statistics, tables and figures from stored runs. Never imports torch or the
engine."""
