"""What ESimCSE's parts and MoCoSE gain on two encoders: the scale's own, and a plain one that was
trained on masked words alone."""

from core.study.claim import Claim, Predicate, all_of, greater, interaction, weighted
from core.study.study import Axis, FigureSpec, Row, study
from studies.esimcse._components import BASELINE, BOTH, COMPONENTS, QUEUE, REPETITION
from studies.mocose._models import STANDARD

SIMCSE = "SimCSE"
MOCOSE = "MoCoSE"
NO_PREDICTOR = "MoCoSE, no predictor"
AVERAGE = "untrained, first-last avg."
BEFORE = {  # of the encoder without training
    "untrained, [CLS]": "untrained",
    AVERAGE: "untrained_first_last",
    "untrained, whitening": "whitening",
}
ROWS = {
    SIMCSE: COMPONENTS[BASELINE],
    REPETITION: COMPONENTS[REPETITION],
    QUEUE: COMPONENTS[QUEUE],
    BOTH: COMPONENTS[BOTH],
    MOCOSE: Row(STANDARD, method="mocose"),
    NO_PREDICTOR: Row({**STANDARD, "heads.predictor_layers": 0}, method="mocose"),
    **dict.fromkeys(BEFORE, Row(method="simcse")),
}
OWN = "scale's encoder"
PLAIN = "plain encoder"
# the same runs at their last step, whatever the development set selects
OWN_LAST = "scale's encoder, last step"
PLAIN_LAST = "plain encoder, last step"
STARTS = {
    OWN: Row(),
    PLAIN: Row(encoder="plain"),
    OWN_LAST: Row(),
    PLAIN_LAST: Row(encoder="plain"),
}


def checkpoint(row: str, start: str) -> Row:
    """The checkpoint that an entry is read at, where that is not the selected one."""
    if row in BEFORE:
        return Row(checkpoint=BEFORE[row])
    return Row(checkpoint="last" if start in (OWN_LAST, PLAIN_LAST) else None)


def gains_more(row: str, base: str, start: str, other: str) -> Predicate:
    """A row's difference to its base is larger on one encoder than on the other."""
    cells = [(row, start), (base, start), (row, other), (base, other)]
    return interaction(weighted(cells, [1, -1, -1, 1]))


STUDY = study(
    name="start",
    order=13,
    title="Two starts",
    caption="ESimCSE's Table 7 and MoCoSE on the scale's own encoder and on a plain one",
    method="esimcse",
    rows=Axis("row", "Row", ROWS),
    columns=Axis("start", "Encoder", STARTS),
    cell=checkpoint,
    without=tuple((row, start) for row in BEFORE for start in (OWN_LAST, PLAIN_LAST)),
    figure=FigureSpec(series="start"),
    reference=(SIMCSE, None),
    must_learn=((SIMCSE, None), (BOTH, None), (MOCOSE, None)),
    claims=(
        Claim(
            key="O1",
            text="Word repetition alone improves on SimCSE, on both encoders.",
            predicate=all_of(
                greater((REPETITION, OWN), (SIMCSE, OWN)),
                greater((REPETITION, PLAIN), (SIMCSE, PLAIN)),
            ),
        ),
        Claim(
            key="O2",
            text="The momentum queue alone gains more on the plain encoder than on the scale's.",
            predicate=gains_more(QUEUE, SIMCSE, PLAIN, OWN),
        ),
        Claim(
            key="O3",
            text="On the plain encoder the momentum queue alone improves on SimCSE.",
            predicate=greater((QUEUE, PLAIN), (SIMCSE, PLAIN)),
        ),
        Claim(
            key="O4",
            text="On the plain encoder ESimCSE improves on SimCSE.",
            predicate=greater((BOTH, PLAIN), (SIMCSE, PLAIN)),
        ),
        Claim(
            key="O5",
            text="""On the plain encoder MoCoSE gains more than a third of what SimCSE gains over
                the untrained encoder's first-last average.""",
            predicate=weighted(
                [(MOCOSE, PLAIN), (SIMCSE, PLAIN), (AVERAGE, PLAIN)], [1, -1 / 3, -2 / 3]
            ),
            gate="none",
            note="A third of SimCSE's gain is required of every method that counts as learning.",
        ),
        Claim(
            key="O6",
            text="On the plain encoder MoCoSE's average exceeds SimCSE's.",
            predicate=greater((MOCOSE, PLAIN), (SIMCSE, PLAIN)),
        ),
        Claim(
            key="O7",
            text="""MoCoSE gains more by leaving out its predictor on the scale's encoder than on
                the plain one.""",
            predicate=gains_more(NO_PREDICTOR, MOCOSE, OWN, PLAIN),
            gate="none",
            note="MoCoSE need not learn on either encoder, since that is what the claim is about.",
        ),
        Claim(
            key="O8",
            text="""At the last step, too, the momentum queue alone gains more on the plain encoder
                than on the scale's.""",
            predicate=gains_more(QUEUE, SIMCSE, PLAIN_LAST, OWN_LAST),
        ),
    ),
    footnotes="""
        - The encoder of scale mini was cut from one that had been trained contrastively. The plain
          encoder was trained on masked words alone (core/assets/plain/README.md). The two differ in
          depth, width, vocabulary and text, too, so a difference between them proves no cause.
        - Claims read the checkpoint that the development set selects, as in every study. The last
          step stands beside it, since seeds may scatter less there; O8 repeats O2 at it.
        - MoCoSE has a decay of 0.85, a queue of 512 with 128 initial vectors and a batch of 64, as
          in its Table 3.
        - The H200's runs, twenty on mini's encoder and ten on the plain one, are older than the
          claims.
        - Every run holds the untrained rows of its encoder. Whitening is fitted on the test
          sentences.
        - `--encoder plain=DIR` puts another encoder in the place of the plain one.
    """,
)
