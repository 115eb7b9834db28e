"""Mistakes that a user can mend."""


class UserError(Exception):
    """One sentence that says what is wrong and what to do; the command line prints it and exits with status 2."""


class StudyError(UserError):
    """What does not hang together in a study. `near` says where to look in its file: texts that stand there, then an argument of
    the study; the first that is found gives the line."""

    def __init__(self, sentence: str, *near: str):
        super().__init__(sentence)
        self.near = near
