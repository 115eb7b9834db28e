"""The sections that MoCoSE's runs have beside those of every method. No torch."""

from __future__ import annotations

from typing import Annotated, Literal

from core.config.run import OWN_ENCODER, Switch
from core.config.section import ABOVE_0, SHARE, Bound, Section, at_least, frozen, neutral
from core.errors import UserError

DEPTH = Bound("one of 0 to 3 (D12)", lambda value: 0 <= value <= 3)
DECAY = Bound("between 0 and 1", lambda value: 0 <= value <= 1)
CONTEXTUAL = ("contextual_insert", "contextual_substitute")
# Models by kind, the paper's first. Names are those of `core.data.hub`.
MODELS: dict[str, tuple[str, ...]] = {
    "typos": (),
    "continuation": ("xlnet-base-cased",),
    "back_translation": ("wmt19-en-de-en",),
    **dict.fromkeys(CONTEXTUAL, ("roberta-base", OWN_ENCODER)),
}


@frozen
class Heads(Section):
    """MoCoSE's pooler, projection and predictor (studies/reference/methods.md)."""

    projection_layers: Annotated[int, "layers of the projection; 0 is none (D12)", DEPTH] = 1
    predictor_layers: Annotated[int, "layers of the predictor; 0 is none (D12)", DEPTH] = 2
    out_size: Annotated[int, "width of the contrastive space (D13)", at_least(1)] = 768
    predictor_hidden: Annotated[
        int | None, "predictor's width; none is out_size (D13)", at_least(1)
    ] = None
    projection_tail: Annotated[
        Literal["linear_ln_dropout", "linear_ln", "linear"], "what the projection ends in (D11)"
    ] = "linear_ln_dropout"
    predictor_tail: Annotated[Literal["tanh", "linear"], "what the predictor ends in (D11)"] = (
        neutral("tanh")
    )
    dropout: Annotated[float, "dropout between the heads' layers", SHARE] = 0.1

    def check(self):
        if self.predictor_tail != "tanh" and not self.predictor_layers:
            raise UserError("heads.predictor_tail needs predictor layers; leave it tanh.")
        if self.predictor_hidden is not None and self.predictor_layers < 2:
            raise UserError("heads.predictor_hidden needs 2 predictor layers; leave it none.")


@frozen
class NegativeQueue(Section):
    """MoCoSE's queue of past keys, newest first (D17). Only the slide deck has other `negatives`
    than the entries. `clusters` counts centres, not sentences, so no scale changes it."""

    size: Annotated[int, "keys that MoCoSE's queue holds, newest first (D17)", at_least(1)] = 512
    init: Annotated[
        Literal["paper_grow", "released_2022"],
        "how the queue starts: grows from random vectors, or as released (D14, D15)",
    ] = "paper_grow"
    init_size: Annotated[
        int, "random vectors in the queue at the start (D14, D16)", at_least(0)
    ] = 128
    slice: Annotated[
        tuple[tuple[int, int], ...] | None,
        "places of the full queue that enter the loss; none is all (D44)",
    ] = None
    negatives: Annotated[
        Literal["entries", "mean", "kmeans"], "what stands for the entries in the loss"
    ] = neutral("entries")
    clusters: Annotated[int | None, "k-means centres, with negatives kmeans alone", at_least(1)] = (
        neutral(None)
    )

    in_paths = "queue"

    def check(self):
        for name, count in (("init_size", self.init_size), ("clusters", self.clusters or 0)):
            if count > self.size:
                raise UserError(f"queue.{name}={count} exceeds queue.size={self.size}; lower it.")
        for start, stop in self.slice or ():
            if not 0 <= start < stop <= self.size:
                raise UserError(f"queue.slice {start}-{stop} exceeds {self.size} keys; lower it.")
        if self.slice == ():
            raise UserError("queue.slice is empty; leave it none to use the whole queue.")
        if (self.negatives == "kmeans") != (self.clusters is not None):
            raise UserError("queue.clusters goes with queue.negatives=kmeans; set both or neither.")


@frozen
class Target(Section):
    """MoCoSE's target branch."""

    stop_gradient: Annotated[bool, "no gradient flows into the target branch (D6)"] = True
    freeze_projection: Annotated[bool, "the target's projection is not trained (D7)"] = True
    embeddings: Annotated[
        Literal["shared", "ema"],
        "word embeddings: the online branch's, or an average of their own (D8)",
    ] = "shared"
    dropout: Annotated[Switch, "dropout in the target branch (D9)"] = "on"

    def check(self):
        if not self.freeze_projection and self.stop_gradient:
            raise UserError("target.freeze_projection=false needs target.stop_gradient=false.")


@frozen
class EMA(Section):
    """Decay eta of MoCoSE's target branch: target <- eta * target + (1 - eta) * online."""

    schedule: Annotated[
        Literal["constant", "cosine_to_end", "released_cosine"],
        "how the decay goes along the run (D2)",
    ] = "released_cosine"
    start: Annotated[float, "decay at the start (D3)", DECAY] = 0.85
    end: Annotated[
        float | None, "decay at the end of its rise; none with a constant one (D2)", DECAY
    ] = 1.0
    total_updates: Annotated[
        int | None, "updates in which released_cosine rises (D2)", at_least(1)
    ] = 15000
    when: Annotated[
        Literal["after_optimizer_step", "before_forward"], "when in a step the target is moved (D5)"
    ] = "after_optimizer_step"

    def check(self):
        if (self.schedule == "constant") != (self.end is None):
            raise UserError("ema.end goes with every schedule but constant; set both or neither.")
        if (self.schedule == "released_cosine") != (self.total_updates is not None):
            raise UserError(
                "ema.total_updates goes with ema.schedule=released_cosine alone; set both or "
                "neither."
            )


@frozen
class FGSM(Section):
    """x' = x + epsilon * sign(gradient) on the looked-up word embeddings (D18 - D20)."""

    epsilon: Annotated[float, "length of the step along the gradient's sign (D19)", at_least(0)] = (
        5e-9
    )
    gradient: Annotated[
        Literal["none", "stale_online", "current"],
        "of this input, of the previous step's batch, or none (D18)",
    ] = "stale_online"
    views: Annotated[Literal["both_same", "online_only"], "which views are moved (D18)"] = (
        "both_same"
    )
    at_eval: Annotated[bool, "move sentences in evaluation, too, by the stored gradient (D20)"] = (
        False
    )

    def check(self):
        if (self.gradient == "none") != (self.epsilon == 0):
            raise UserError("fgsm.gradient=none goes with fgsm.epsilon=0; set both or neither.")
        if self.at_eval and self.gradient != "stale_online":
            raise UserError(
                "fgsm.at_eval=true replays a stored gradient; set fgsm.gradient=stale_online."
            )


@frozen
class Augmentation(Section):
    """MoCoSE's augmentations of embeddings (studies/reference/methods.md); the two views draw
    separately."""

    position_shuffle: Annotated[
        Literal["off", "per_batch", "per_sentence"], "one order a batch, or one a sentence (D24)"
    ] = "off"
    position_shuffle_range: Annotated[
        Literal["padded", "real_tokens"] | None, "which positions are shuffled (D24)"
    ] = None
    token_cutoff: Annotated[float, "share of tokens whose embeddings become 0", SHARE] = 0.0
    token_cutoff_pool: Annotated[
        Literal["padded_all", "real_tokens", "real_tokens_no_special"] | None,
        "of which tokens that share is taken (D22)",
    ] = None
    feature_cutoff: Annotated[float, "share of embedding dimensions that become 0 (D23)", SHARE] = (
        0.0
    )

    in_paths = "aug"

    def check(self):
        if (self.position_shuffle == "off") != (self.position_shuffle_range is None):
            raise UserError("aug.position_shuffle goes with its range; set both or neither.")
        if (self.token_cutoff == 0) != (self.token_cutoff_pool is None):
            raise UserError("aug.token_cutoff goes with token_cutoff_pool; set both or neither.")

    def active(self) -> bool:
        """Whether any of them is on."""
        return self.position_shuffle != "off" or self.token_cutoff > 0 or self.feature_cutoff > 0


@frozen
class TextView(Section):
    """How the text of a view is rewritten (Table 5, D26 - D28), as by nlpaug: typos is its
    SpellingAug, contextual_… its ContextualWordEmbsAug, each of 1 to 10 words; continuation, its
    ContextualWordEmbsForSentenceAug, appends text; back_translation goes to German and back."""

    kind: Annotated[
        Literal[
            "typos",
            "contextual_insert",
            "contextual_substitute",
            "continuation",
            "back_translation",
        ],
        "how the text of a view is rewritten before training (D27, D28)",
    ]
    rate: Annotated[
        float,
        "share of the words that is rewritten",
        ABOVE_0,
        Bound("at most 1", lambda rate: rate <= 1),
    ] = 0.3
    detokenize: Annotated[
        Literal["original_text", "wordpiece_join"], "rewrite the text, or joined word pieces (D26)"
    ] = "original_text"
    view: Annotated[Literal["target", "both"], "which view reads the rewritten text (D26)"] = (
        "target"
    )
    model: Annotated[str | None, "the model that rewrites; none where none is needed"] = None

    in_paths = "text"

    def check(self) -> None:
        kind = self.kind
        models = MODELS[self.kind]
        if kind in ("continuation", "back_translation") and self.rate != 0.3:
            raise UserError(f"text.rate has no effect with text.kind={kind}; leave it 0.3.")
        if self.model not in (models or (None,)):
            raise UserError(
                f"text.kind={kind} needs text.model={' or '.join(models) or 'none'}, not "
                f"{self.model}."
            )
