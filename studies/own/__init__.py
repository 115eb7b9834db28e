"""Studies of our own: the noise that everything is read against, and what each deviation is
worth."""

from core.study.study import Paper

PAPER = Paper(
    key="ours",
    name="",
    title="Studies of this project",
    authors="this project",
    order=9,
)
