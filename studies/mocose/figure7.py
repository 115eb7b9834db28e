"""MoCoSE Figure 7: singular values of the sentence vectors."""

from core.config.methods import as_coded
from core.methods.mocose.settings import wrapping
from core.study.claim import Claim, all_of, best, greater
from core.study.study import Axis, FigureSpec, Metric, Row, study
from studies.mocose._models import MAIN

CODED = as_coded(wrapping(0.75))
UNTRAINED = "BERT"  # before training, which any run of bert-base holds
MODELS = {
    "MoCoSE": Row(MAIN, CODED, method="mocose"),
    "SimCSE": Row({"train.batch_size": 64, "train.learning_rate": 3e-5}, method="simcse"),
    UNTRAINED: Row(MAIN, CODED, method="mocose", checkpoint="untrained"),
}
MEASURES = {
    "largest": Row(title="Largest", quantity="singular_value_0"),
    "at 50": Row(title="At index 50", quantity="singular_50"),
    "at 100": Row(title="At index 100", quantity="singular_100"),
    "share at 50": Row(title="Index 50 / largest", quantity="spectrum_50"),
    "share at 100": Row(title="Index 100 / largest", quantity="spectrum_100"),
    "effective rank": Row(title="Effective rank", quantity="effective_rank"),
    "mean cosine": Row(title="Mean cosine", quantity="mean_cosine"),
    "uniformity": Row(title="Uniformity", quantity="uniformity_global"),
}
NOTHING = (None,) * 5  # as shares the numbers cannot be distinguished
PRINTED = {  # by eye (± 5), in the order of the measures
    "MoCoSE": (220.0, 57.0, 28.0, *NOTHING),
    "SimCSE": (158.0, 43.0, 24.0, *NOTHING),
    UNTRAINED: (380.0, 12.0, 7.0, *NOTHING),
}
LEVELS = ("at 50", "at 100")
SHARES = ("share at 50", "share at 100")
CURVES = {  # by share of the width
    model: ((1 / 768, largest), (50 / 768, at_50), (100 / 768, at_100))
    for model, (largest, at_50, at_100, *_) in PRINTED.items()
}

STUDY = study(
    caption="Singular values of the sentence vectors",
    method="mocose",
    rows=Axis("model", "Model", MODELS),
    columns=Axis("measure", "Singular value", MEASURES),
    without=((UNTRAINED, "uniformity"),),  # which runs store of the trained vectors alone
    printed=PRINTED,
    metric=Metric(task="dev", title="Index 50 / largest", quantity="spectrum_50"),
    figure=FigureSpec(kind="spectrum", series="model", curves=CURVES),
    must_learn=(("MoCoSE", None), ("SimCSE", None)),
    claims=(
        Claim(
            key="F7.1",
            text="""MoCoSE's singular values fall more slowly than SimCSE's, as shares of the
                largest.""",
            margin=0.02,
            predicate=all_of(*(greater(("MoCoSE", share), ("SimCSE", share)) for share in SHARES)),
            quote="""our method is able to alleviate the rapid decline of singular values compared
                to other methods""",
            place="Appendix A.4",
            note="""One of two readings: as shares, so that lengths of vectors cancel out; the
                margin is a share of 0.02. The figure has 0.26 against 0.27 and 0.13 against 0.15,
                each ± 0.03, which decides nothing. The other is F7.1 (levels).""",
        ),
        Claim(
            key="F7.1 (levels)",
            text="MoCoSE's singular values lie above SimCSE's at indices 50 and 100.",
            predicate=all_of(*(greater(("MoCoSE", level), ("SimCSE", level)) for level in LEVELS)),
            quote="""our method is able to alleviate the rapid decline of singular values compared
                to other methods""",
            place="Appendix A.4",
            note="""As the figure shows it, in absolute values: 57 against 43 and 28 against 24.
                Each is read to ± 5, so the second is open. Longer vectors alone would do it.""",
        ),
        Claim(
            key="F7.2",
            text="MoCoSE's singular values fall more slowly than those of BERT without training.",
            margin=0.02,
            predicate=all_of(*(greater(("MoCoSE", share), (UNTRAINED, share)) for share in SHARES)),
            quote="""our method is able to alleviate the rapid decline of singular values compared
                to other methods""",
            place="Appendix A.4",
            note="""Shares of the largest; the margin is a share of 0.02. By eye 0.26 against 0.03
                at index 50 and 0.13 against 0.02 at 100.""",
        ),
        Claim(
            key="F7.3",
            text="""MoCoSE's vectors are more isotropic than SimCSE's and those of BERT without
                training, by their effective rank (our reading).""",
            margin=5.0,
            predicate=best(
                ("MoCoSE", "effective rank"),
                (("SimCSE", "effective rank"), (UNTRAINED, "effective rank")),
            ),
            quote="our model is able to make the sentence embedding more isotropic.",
            place="Appendix A.4",
            note="""Isotropic is read as spread over many directions: the exponential of the entropy
                of the shares of variance, the squared singular values of the centred unit vectors.
                Our reading, and the margin of 5 is ours, too. Mean cosine (less is more isotropic)
                and uniformity (less, too) are two other measures, which the table shows beside
                it.""",
        ),
    ),
    footnotes="""
        - Which sentences the paper took and whether it centred their vectors is not said; ours are
          those of the development set, not centred: a guess. Levels do not compare between numbers
          of sentences.
        - The paper's numbers are read off by eye (± 5), which leaves the shares undecided between
          MoCoSE and SimCSE: 0.26 against 0.27 at index 50 and 0.13 against 0.15 at 100, each ±
          0.03; BERT has 0.03 and 0.02.
        - BERT is the encoder before training, its [CLS].
        - Indices are of 768, and keep their ratio to the width of another encoder.
        - The models are Table 1's.
    """,
)
