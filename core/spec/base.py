"""The named base configurations: each method under each profile, in the papers' own units.

`clean` is the paper as described, evaluated cleanly; `released` is what the code did, slips included. Digests, rows and
steps are placeholders here: `core.spec.scale` puts in those of the scale at hand.
"""

from __future__ import annotations

from collections.abc import Mapping

from core.spec import config as c
from core.spec.errors import UserError
from core.spec.vary import read, vary

PROFILES = ("clean", "released")
PAPER_STEPS = 15_625  # one million sentences in batches of 64
PAPER_HIDDEN = 768

MOCOSE = c.RunConfig(
    scale="paper",
    method="mocose",
    data=c.Data(digest="", rows=1_000_000),
    encoder=c.Encoder(digest=""),
    heads=c.Heads(),
    loss=c.Loss(),
    queue=c.NegativeQueue(),
    target=c.Target(),
    ema=c.EMA(),
    fgsm=c.FGSM(),
    aug=c.Augmentation(),
    train=c.Train(steps=PAPER_STEPS),
    eval=c.Evaluation(digest="", vector="cls_before_pooler"),
    select=c.Selection(),
    sts=c.STS(),
    seed=c.Seed(),
)

SIMCSE = c.RunConfig(
    scale="paper",
    method="simcse",
    data=c.Data(digest="", rows=1_000_000, padding="dynamic"),
    encoder=c.Encoder(digest=""),
    loss=c.Loss(),
    train=c.Train(steps=PAPER_STEPS, weight_decay=0.0, precision="fp16"),
    eval=c.Evaluation(digest="", every=125, head="off"),
    select=c.Selection(),
    sts=c.STS(),
    seed=c.Seed(),
)

ESIMCSE = vary(
    SIMCSE,
    {"method": "esimcse", "queue": c.MomentumQueue(), "momentum": c.Momentum(), "dup": c.Repetition()},
)

BASES = {"mocose": MOCOSE, "simcse": SIMCSE, "esimcse": ESIMCSE}

# What `released` changes, by method; a path whose section a run lacks is passed over. A mapping says which values become which
# others, and leaves the rest. D28 is no change: `continuation` is what the code did under the name of a paraphrase.
RELEASED: Mapping[str, Mapping[str, object]] = {
    "mocose": {
        "data.reader": "csv_quoted",  # D36
        "ema.when": "before_forward",  # D5
        "target.stop_gradient": False,  # D6
        "target.freeze_projection": False,  # D7
        "queue.init": "released_2022",  # D14, D15
        "eval.apply_augmentation": True,  # D21
        "text.detokenize": "wordpiece_join",  # D26
        "text.kind": {"contextual_substitute": "contextual_insert"},  # D27
        "select.metric": "sts_test_avg",  # D40
        "select.score": "mean_of_8_rounded",  # D41
        "seed.data": 42,  # D35
    },
    "simcse": {"data.drop_last": False, "seed.data": 42},  # D78, D35
    "esimcse": {
        "data.drop_last": False,  # D78
        "momentum.init": "random",  # D60
        "dup.range": "released",  # D61
        "dup.resample": "static",  # D64
        "queue.cut_first_batch": False,  # D70
        "seed.data": 42,  # D35
    },
}


def base(method: str, profile: str) -> c.RunConfig:
    """The named base of a method under a profile, in paper units."""
    if profile not in PROFILES:
        raise UserError(f"There is no profile {profile!r}; choose {' or '.join(PROFILES)}.")
    run = BASES[method]
    return run if profile == "clean" else vary(run, released_changes(run))


def released_changes(run: c.RunConfig) -> dict[str, object]:
    """The part of RELEASED that concerns the sections this run has."""
    changes = {}
    for path, value in RELEASED[run.method].items():
        if getattr(run, path.partition(".")[0]) is not None:
            changes[path] = value.get(read(run, path), read(run, path)) if isinstance(value, Mapping) else value
    return changes


def deviating(method: str) -> tuple[dict[str, object], dict[str, object]]:
    """The paths that RELEASED changes, with their clean and with their released values; the seed's part (D35) is left out.

    A study that has the first among its base changes stays on the clean side under either profile.
    """
    released = {path: value for path, value in released_changes(BASES[method]).items() if path != "seed.data"}
    return {path: read(BASES[method], path) for path in released}, released
