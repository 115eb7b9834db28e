"""Studies of SimCSE, the baseline of the other two papers: three ablations of its own."""

from core.study.study import Paper

PAPER = Paper(
    key="simcse",
    name="SimCSE",
    title="SimCSE: Simple Contrastive Learning of Sentence Embeddings",
    authors="Gao et al. 2021",
    order=3,
    link="https://aclanthology.org/2021.emnlp-main.552/",
    code="https://github.com/princeton-nlp/SimCSE",
)
