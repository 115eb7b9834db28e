"""ESimCSE Table 10: ways of making a sentence longer."""

from core.spec.claim import Claim, all_of, best, greater, within
from core.spec.layout import Axis, Cell, FigureSpec, Metric
from core.spec.study import Study

PRINTED = {  # what is added: dup.unit, and the STS-B development score
    "stop-words": ("stopword", 81.72),
    "[MASK]": ("mask", 83.08),
    "word repetition": ("word", 84.40),
    "sub-word repetition": ("subword", 84.85),
}
NONE, STOPWORDS, MASK, WORD, SUBWORD = ("none",), *((name,) for name in PRINTED)

STUDY = Study(
    name="esimcse-table10",
    paper="esimcse",
    title="Table 10",
    caption="Ways of making a sentence longer",
    method="esimcse",
    axes=(Axis(name="lengthening", title="Lengthening", labels=(*NONE, *PRINTED)),),
    rows="lengthening",
    columns=None,
    cells=(
        Cell(labels=NONE, method="simcse", published=82.45),
        *(Cell(labels=(name,), changes={"dup.unit": unit}, published=score) for name, (unit, score) in PRINTED.items()),
    ),
    metric=Metric(task="dev", title="Development set"),
    figure=FigureSpec(kind="bars", x="lengthening", caption="Development score by way of lengthening"),
    reference=SUBWORD,
    claims=(
        Claim(
            key="E10.1",
            text="Sub-word repetition is the best way of making a sentence longer.",
            predicate=best(SUBWORD, (NONE, STOPWORDS, MASK, WORD)),
        ),
        Claim(
            key="E10.2",
            text="Word repetition comes close to sub-word repetition.",
            predicate=within((WORD, SUBWORD), 1.0),
            note="The paper gives no margin; within one point is ours.",
        ),
        Claim(
            key="E10.3",
            text="Inserting [MASK] helps a little.",
            predicate=all_of(greater(MASK, NONE), greater(NONE, MASK, -1.0)),
            note="A little is read as less than one point; the paper gives no margin.",
        ),
        Claim(
            key="E10.4",
            text="Inserting stop-words hurts slightly.",
            predicate=all_of(greater(NONE, STOPWORDS), greater(STOPWORDS, NONE, -1.0)),
            note="Slightly is read as less than one point; the paper gives no margin.",
        ),
    ),
    footnotes=(
        "none is SimCSE; every other row has the momentum queue too, so that they differ from it by more than the "
        "lengthening.",
        "The released code cannot insert stop-words or [MASK] (D72): where they go, and which stop-words, is a guess "
        "from the paper's text.",
        "The score is that of the best of many development checks on the set that is reported, as in the paper (D74, "
        "D76); its sub-word row is the released run of seed 42.",
    ),
)
