"""Text-level views of MoCoSE's Table 5: sentences that are rewritten before training, once for all seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from core.spec.errors import UserError
from core.spec.section import Section

CONTEXTUAL = ("contextual_insert", "contextual_substitute")
OWN_ENCODER = "encoder"  # the run's own encoder with its masked-word head, which the encoder's digest covers
# Models by kind, the paper's first. Names are those of `core.data.pins`.
MODELS: dict[str, tuple[str, ...]] = {
    "typos": (),
    "contextual_insert": ("roberta-base", OWN_ENCODER),
    "contextual_substitute": ("roberta-base", OWN_ENCODER),
    "continuation": ("xlnet-base-cased",),
    "back_translation": ("wmt19-en-de-en",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TextView(Section):
    """How the text of a view is rewritten (Table 5, D26 - D28); nlpaug's names in brackets.

    typos [SpellingAug], contextual_insert and contextual_substitute [ContextualWordEmbsAug]: `rate` of the words, 1 to 10.
    continuation [ContextualWordEmbsForSentenceAug] appends text; back_translation [BackTranslationAug] goes to German and back.
    """

    kind: Annotated[
        Literal["typos", "contextual_insert", "contextual_substitute", "continuation", "back_translation"],
        "how the text of a view is rewritten before training (D27, D28)",
    ]
    rate: Annotated[float, "share of the words that is rewritten"] = 0.3
    detokenize: Annotated[
        Literal["original_text", "wordpiece_join"],
        "rewrite the text as it was, or joined from word pieces (D26)",
    ] = "original_text"
    view: Annotated[
        Literal["target", "both"],
        "which view reads the rewritten text; with both, each has a rewriting of its own (D26)",
    ] = "target"
    model: Annotated[str | None, "the model that rewrites; none where none is needed"] = None

    @classmethod
    def label(cls):
        return "text"

    def check(self):
        if not 0.0 < self.rate <= 1.0:
            raise UserError(f"text.rate is {self.rate}, but it lies in (0, 1]; set text=none for no rewriting.")
        if self.kind in ("continuation", "back_translation") and self.rate != 0.3:
            raise UserError(f"text.rate has no effect with text.kind={self.kind}; leave it 0.3.")
        known = MODELS[self.kind]
        if not known and self.model is not None:
            raise UserError(f"text.kind={self.kind} needs no model; set text.model to none.")
        if known and self.model not in known:
            raise UserError(f"text.kind={self.kind} needs text.model={' or '.join(known)}, not {self.model}.")
