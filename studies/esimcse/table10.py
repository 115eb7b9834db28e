"""ESimCSE Table 10: ways of making a sentence longer."""

from core.config.methods import as_coded
from core.study.claim import Claim, all_of, best, between, greater, interaction, of_metric
from core.study.study import DEVELOPMENT, Axis, FigureSpec, Metric, Row, study

NONE = "none"
STOPWORDS = "stop-words"
MASK = "[MASK]"
WORD = "word repetition"
SUBWORD = "sub-word repetition"
CODED = as_coded({"dup.protect_special": True})
ROWS = {
    NONE: Row(method="simcse"),
    STOPWORDS: Row({"dup.unit": "stopword", "dup.protect_special": False}, CODED),
    MASK: Row({"dup.unit": "mask", "dup.protect_special": False}, CODED),
    WORD: Row({"dup.unit": "word", "dup.protect_special": False}, CODED),
    SUBWORD: Row({"dup.unit": "subword"}),
}
PRINTED = {NONE: 82.45, STOPWORDS: 81.72, MASK: 83.08, WORD: 84.40, SUBWORD: 84.85}
GAP = Metric(task="avg", title="Loss on pairs of unlike length", quantity="length_gap")

STUDY = study(
    caption="Ways of making a sentence longer",
    method="esimcse",
    rows=Axis("lengthening", "Lengthening", ROWS),
    printed=PRINTED,
    metric=DEVELOPMENT,
    figure=FigureSpec(x="lengthening"),
    reference=SUBWORD,
    claims=(
        Claim(
            key="E10.1",
            text="Sub-word repetition is the best way of making a sentence longer.",
            predicate=best(SUBWORD, (NONE, STOPWORDS, MASK, WORD)),
            quote="sub-word repetition achieves the best performance",
            place="Section 5.3",
        ),
        Claim(
            key="E10.2",
            text="Word repetition beats none.",
            predicate=greater(WORD, NONE),
            quote="word repetition can also bring a good improvement",
            place="Section 5.3",
            note="""The row has the momentum queue, too, and none has not. Good is not read as a
                size: any gain counts; as printed 1.95.""",
        ),
        Claim(
            key="E10.3",
            text="Inserting [MASK] helps a little.",
            predicate=between(MASK, [NONE], 0.0, 1.0),
            quote="Inserting [MASK] can also bring a small improvement",
            place="Section 5.3",
            note="A little is read as less than one point; the paper gives no margin.",
        ),
        Claim(
            key="E10.4",
            text="Inserting stop-words hurts slightly.",
            predicate=between(NONE, [STOPWORDS], 0.0, 1.0),
            quote="inserting stop words will slightly decrease effect.",
            place="Section 5.3",
            note="Slightly is read as less than one point; the paper gives no margin.",
        ),
        Claim(
            key="E10.5",
            text="The finer the repetition, the less a sentence's length matters.",
            predicate=interaction(
                of_metric(all_of(greater(NONE, WORD), greater(WORD, SUBWORD)), GAP)
            ),
            quote="""more fine-grained repetition can better alleviate the bias brought by the
                length difference of positive pairs.""",
            place="Section 5.3",
            note="""The loss is the score on test pairs that differ by at most 3 words minus that on
                the other pairs, mean of the sets. It counts only if Fisher's z has the same sign.""",
        ),
    ),
    footnotes="""
        - none is SimCSE; every other row has the momentum queue too, so that they differ from it by
          more than the lengthening. The queue alone is printed at 83.98 (Table 6): stop-words and
          [MASK] lie below it, words 0.42 above.
        - Words, stop-words and [MASK] are added before tokenisation, and the sentence is cut at 32
          tokens after it, so that a long one loses its end and becomes no longer; sub-words are
          added behind the cut (D62). A row of deviations-esimcse cuts those, too. Under repaired
          and released positions leave out the last word, as the code does (D63).
        - The released code cannot insert stop-words or [MASK] (D72): where they go, and which
          stop-words, is a guess from the paper's text.
        - The score is that of the best of many development checks on the set that is reported, as
          in the paper (D74, D76); its sub-word row is the released run of seed 42.
    """,
)
