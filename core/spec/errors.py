"""Mistakes that a user can mend."""


class UserError(Exception):
    """One sentence that says what is wrong and what to do; the command line prints it and exits with status 2."""
