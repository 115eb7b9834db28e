"""A paper of your own: its facts, and a file for each study."""

from core.study.study import Paper

PAPER = Paper(
    key="dcl",
    name="DCL",
    title="Decoupled Contrastive Learning",
    authors="Yeh et al. 2022",
)
