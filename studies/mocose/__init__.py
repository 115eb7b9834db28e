"""Studies of MoCoSE: one file a table or figure."""

from core.study.study import Paper

PAPER = Paper(
    key="mocose",
    name="MoCoSE",
    title=(
        "Exploring the Impact of Negative Samples of Contrastive Learning: A Case Study of "
        "Sentence Embedding"
    ),
    authors="Cao et al. 2022",
    order=1,
    link="https://aclanthology.org/2022.findings-acl.248/",
    code="https://github.com/xbdxwyh/mocose",
)
