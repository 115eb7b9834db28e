"""The builder of an English training text that anybody can have: from public sources at pinned
commits."""
