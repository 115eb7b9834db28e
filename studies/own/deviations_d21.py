"""Deviation D21 and what goes with it: augmentations that stay on in evaluation, and how they
draw."""

from core.config.methods import deviating
from core.study.study import Axis, FigureSpec, Row, study

PAPER = deviating("mocose")["paper"]  # where the profiles differ, with what the paper has there
SHUFFLE = "aug.position_shuffle"
RANGE = "aug.position_shuffle_range"
CUTOFF: dict[str, object] = {"aug.token_cutoff": 0.1}
POOL = "aug.token_cutoff_pool"
# changes, and Table 5's number where it was made with the code that augments in evaluation
AUGMENTATIONS: dict[str, tuple[dict[str, object], float | None]] = {
    "none": ({}, None),
    "position shuffle": ({SHUFFLE: "per_sentence", RANGE: "real_tokens"}, None),
    "position shuffle, one a batch (D24)": ({SHUFFLE: "per_batch", RANGE: "real_tokens"}, None),
    "position shuffle, over padding (D24)": ({SHUFFLE: "per_sentence", RANGE: "padded"}, None),
    "position shuffle of the code (D24)": ({SHUFFLE: "per_batch", RANGE: "padded"}, 73.80),
    "token cut-off 0.1": ({**CUTOFF, POOL: "real_tokens"}, None),
    "token cut-off 0.1, words alone (D22)": ({**CUTOFF, POOL: "real_tokens_no_special"}, None),
    "token cut-off 0.1 of the code (D22)": ({**CUTOFF, POOL: "padded_all"}, 41.32),
    "token cut-off 0.1 of the code, padded by batch (D33)": (
        {**CUTOFF, POOL: "padded_all", "data.padding": "dynamic"},
        None,
    ),
    "feature cut-off 0.01": ({"aug.feature_cutoff": 0.01}, 76.33),
    "feature cut-off 0.1": ({"aug.feature_cutoff": 0.1}, 71.62),
}
EVALUATIONS = {
    "plain": Row({"eval.apply_augmentation": False}),
    "augmented": Row({"eval.apply_augmentation": True}),
}

STUDY = study(
    name="deviations-d21",
    order=4,
    title="Deviation D21",
    caption="Augmentations that stay on in evaluation",
    method="mocose",
    base={path: value for path, value in PAPER.items() if path != "eval.apply_augmentation"},
    rows=Axis(
        "augmentation",
        "Augmentation",
        {name: Row(changes) for name, (changes, _) in AUGMENTATIONS.items()},
    ),
    columns=Axis("evaluation", "Evaluation", EVALUATIONS),
    without=(("none", "augmented"),),
    printed={
        name: {"plain": None, "augmented": number} for name, (_, number) in AUGMENTATIONS.items()
    },
    figure=FigureSpec(),
    reference=("none", "plain"),
    footnotes="""
        - The released code applies these augmentations to the test sentences too, at random (D21);
          the paper does not say so. That its four numbers were made this way is a guess.
        - Augmented also means that the checkpoint is chosen on scores of corrupted sentences, of
          the development set.
        - Embedding dropout is on in every row, FGSM at 5e-9 as well (D18, D19).
    """,
)
