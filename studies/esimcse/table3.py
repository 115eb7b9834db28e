"""ESimCSE Table 3: how many pairs the evaluation sets have."""

from core.config.scale import STS_TESTS
from core.study.study import Axis, Metric, Row, study

PRINTED = {
    "train": (0, 0, 0, 0, 0, 5749, 4500),
    "dev": (0, 0, 0, 0, 0, 1500, 500),
    "test": (3108, 1500, 3750, 3000, 1186, 1379, 4927),
}
# What a run's rows call a split; a test set goes by its own name, and no other set has further
# splits.
NAMES = {
    ("train", "STS-B"): "STS-B train",
    ("dev", "STS-B"): "dev",
    ("train", "SICK-R"): "SICK-R train",
    ("dev", "SICK-R"): "SICK-R dev",
}


def cell(split: str, task: str) -> Row:
    """A split of a set; one that is not there is not counted."""
    absent = PRINTED[split][STS_TESTS.index(task)] == 0
    return Row(task=NAMES.get((split, task), task), copied=absent)


STUDY = study(
    caption="Pairs in the evaluation sets",
    method="simcse",
    rows=Axis("split", "Split", labels=tuple(PRINTED)),
    columns=Axis("task", "Set", labels=STS_TESTS),
    cell=cell,
    printed=PRINTED,
    metric=Metric(task="dev", title="Pairs", quantity="pairs", checkpoint="data"),
    figure=None,
    tasks="tests",
    footnotes="""
        - Counts, not scores: every run counts the pairs that it reads, and any seed gives the same.
        - A nought is a split that the set does not have; nothing is counted there.
        - The paper prints SICK15 for STS15 (D75); STS13 is without its SMT subset (D80).
    """,
)
