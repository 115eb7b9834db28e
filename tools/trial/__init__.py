"""A trial of a method before its first run (`__main__.py`)."""
