"""The named base configurations: each method under each profile, in the papers' own units.

`paper` is the paper to the letter, evaluated cleanly; `repaired` is the code's design without its slips; `released` is what
the code did, slips included. Each value below that the paper's text gives stands beside its sentence; what the paper leaves
unsaid is a guess, and the same in all three. Digests, rows and steps are placeholders here: `core.spec.scale` puts in those
of the scale at hand.
"""

from __future__ import annotations

from collections.abc import Mapping

from core.spec import run as c
from core.spec.errors import UserError
from core.spec.vary import read, vary

PROFILES = ("paper", "repaired", "released")
PAPER_STEPS = 15_625  # one million sentences in batches of 64
PAPER_HIDDEN = 768


def constant(decay: float) -> dict[str, object]:
    """A constant decay: what MoCoSE's paper says wherever it names one value (D2, D3)."""
    return {"ema.schedule": "constant", "ema.start": decay, "ema.end": None, "ema.total_updates": None}


def rising(start: float, end: float) -> dict[str, object]:
    """A decay that rises along half a cosine over the run: the paper's main model (Section 4.1, D2)."""
    return {"ema.schedule": "cosine_to_end", "ema.start": start, "ema.end": end, "ema.total_updates": None}


def wrapping(start: float) -> dict[str, object]:
    """The code's decay: up to 1 in 15,000 updates, and down again (D2)."""
    return {"ema.schedule": "released_cosine", "ema.start": start, "ema.end": 1.0, "ema.total_updates": 15_000}


def as_coded(changes: Mapping[str, object]) -> dict[str, Mapping[str, object]]:
    """Changes that hold under `repaired` and `released`, and not under `paper`: a `by_profile` of a study or a cell."""
    return {"repaired": changes, "released": changes}


MOCOSE = c.RunConfig(
    scale="paper",
    method="mocose",
    data=c.Data(digest="", rows=1_000_000),  # 4.1 "1 million sentences from the English Wikipedia"; how they are read (D36): guess
    encoder=c.Encoder(digest=""),  # 3 "dropout = 0.1", for both sizes
    heads=c.Heads(  # 5.2 "projection is 1 layer and the prediction has 2 layers"; 5.4 "consistent with the encoder": 768
        # 3 "composed of several fully connected layers": so a key ends in one, not in LayerNorm and dropout (D11). What stands between
        # layers and behind the predictor is unsaid (the poster has an "MLP"): guess, the code's LayerNorm, dropout and tanh.
        projection_tail="linear",
    ),
    loss=c.Loss(  # temperature: guess (D32)
        in_batch_negatives=False,  # eq. 3, "l is the negative samples in the queue"; Algorithm 1, line 6 (D1)
    ),
    queue=c.NegativeQueue(  # 4.1 "The negative queue size is 512"
        init="paper_grow",  # 3 "randomly initialized at the beginning, and then enqueue and dequeue normally" (D14)
        init_size=128,  # 5.6 "the initial queue size to 128", of Table 8; elsewhere a guess (D16)
    ),
    target=c.Target(  # 3 "The target branch truncates the gradient" (D6, D7); dropout makes the two views (D9); embeddings (D8): guess
        stop_gradient=True, freeze_projection=True,
    ),
    ema=c.EMA(  # 5.1 "when the decay weight of EMA is set to 0.85": one value, so a constant (D2, D3); Algorithm 1, lines 7 and 8 (D5)
        schedule="constant", start=0.85, end=None, total_updates=None, when="after_optimizer_step",
    ),
    fgsm=c.FGSM(  # 3 "fgsm = 5e-9"
        gradient="current",  # 3 "calculates the derivative of model with respect to the input" (D18)
        views="online_only",  # eq. 1, "θ is the online branch of the model"; 5.3 "difference between the two samples" (D18)
    ),
    aug=c.Augmentation(),  # 5.3 "we discard the feature cut off method"
    train=c.Train(steps=PAPER_STEPS),  # 4.1 "3e-5", "weight decay of 1e-6", "batch size of the base model is 64"; the rest (D31): guess
    eval=c.Evaluation(digest="", every=100, vector="cls_before_pooler"),  # 4.1 "every 100 step", "token embedding from the model output"
    select=c.Selection(),  # 4.1 "validate", not on what: guess (D40)
    sts=c.STS(),  # guess (D80)
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
    SIMCSE,  # 4.2 "batch size = 64", "τ = 0.05", "every 125 training steps"; its MLP on [CLS] stands under Training Details: that it
    {  # is left off in evaluation is a guess (D65), and so are precision and length (D71, D33)
        "method": "esimcse",
        "queue": c.MomentumQueue(size=160),  # 5.4 "2.5 times the batch size"; original sentences: guess (D70)
        "momentum": c.Momentum(  # 4.2 "λ = 0.995"; 3.2 "moving-average of its parameters" (D60); head and moment: guess (D68, D69)
            lambda_=0.995, init="pretrained_copy", dropout="off",  # 1 "turn off dropout when using the momentum encoder" (D68)
        ),
        "dup": c.Repetition(  # 5.2 "when dup_rate = 0.32"; special tokens, cut and redrawing: guess (D62, D63, D64)
            rate=0.32, unit="subword", range="paper",  # eq. 4 (D61)
            cap=None,  # eq. 4 has no other upper end (D62)
        ),
    },
)

BASES = {"mocose": MOCOSE, "simcse": SIMCSE, "esimcse": ESIMCSE}

# What `repaired` changes in the paper, by method: the code's design without its slips. A section that a run lacks is passed over.
REPAIRED: Mapping[str, Mapping[str, object]] = {
    "mocose": {
        "loss.in_batch_negatives": True,  # D1
        "ema.schedule": "released_cosine",  # D2
        "ema.end": 1.0,
        "ema.total_updates": 15_000,
        "heads.projection_tail": "linear_ln_dropout",  # D11
        "fgsm.gradient": "stale_online",  # D18
        "fgsm.views": "both_same",  # D18
    },
    "simcse": {},
    "esimcse": {"dup.cap": 10},  # D62
}

# What `released` changes beyond that, by method; a path whose section a run lacks is passed over. A mapping says which values become which
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
        "train.adamw": "transformers",  # D84
        "seed.data": 42,  # D35
    },
    "simcse": {"data.drop_last": False, "train.adamw": "transformers", "seed.data": 42},  # D78, D84, D35
    "esimcse": {
        "data.drop_last": False,  # D78
        "momentum.init": "random",  # D60
        "dup.range": "released",  # D61
        "dup.resample": "static",  # D64
        "queue.cut_first_batch": False,  # D70
        "train.adamw": "transformers",  # D84
        "seed.data": 42,  # D35
    },
}


def base(method: str, profile: str) -> c.RunConfig:
    """The named base of a method under a profile, in paper units."""
    run = BASES[method]
    return vary(run, profile_changes(run, profile))


def profile_changes(run: c.RunConfig, profile: str) -> dict[str, object]:
    """What a profile changes in a configuration of `paper`, as far as it concerns the sections this run has."""
    if profile not in PROFILES:
        raise UserError(f"There is no profile {profile!r}; choose {', '.join(PROFILES[:-1])} or {PROFILES[-1]}.")
    wanted: Mapping[str, object] = {}
    if profile != "paper":
        wanted = REPAIRED[run.method] if profile == "repaired" else {**REPAIRED[run.method], **RELEASED[run.method]}
    changes = {}
    for path, value in wanted.items():
        if getattr(run, path.partition(".")[0]) is not None:
            changes[path] = value.get(read(run, path), read(run, path)) if isinstance(value, Mapping) else value
    return changes


def deviating(method: str) -> dict[str, dict[str, object]]:
    """By profile, the paths in which the profiles differ with the value each has; the seed's part (D35) is left out.

    A study that has those of `paper` among its base changes stays on the paper's side under every profile.
    """
    found = [path for path in profile_changes(BASES[method], "released") if path != "seed.data"]
    return {profile: {path: read(base(method, profile), path) for path in found} for profile in PROFILES}
