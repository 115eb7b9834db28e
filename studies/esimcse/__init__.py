"""Studies of ESimCSE: one file a table or figure."""

from core.study.study import Paper

PAPER = Paper(
    key="esimcse",
    name="ESimCSE",
    title=(
        "ESimCSE: Enhanced Sample Building Method for Contrastive Learning of Unsupervised "
        "Sentence Embedding"
    ),
    authors="Wu et al. 2022",
    order=2,
    link="https://aclanthology.org/2022.coling-1.342/",
    code="https://github.com/caskcsg/sentemb",
)
