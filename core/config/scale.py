"""Scales: how big a run is. A cell is written once, in paper units, and scaled by these rules.

What the paper counts in batches stays that many batches (queue size, initial size, slices). Widths
keep their ratio to the encoder's hidden size, the learning rate to the paper's 3e-5.
`released_cosine` stretches with the run. A batch twice as large means half as many steps, unless a
study has equal updates. Development checks keep their number a run. Where no models are fetched,
the encoder's own masked-word head rewrites text.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from core.config.run import PAPER_HIDDEN, Measure, RunConfig, scaled_count
from core.config.section import frozen
from core.config.vary import vary
from core.errors import UserError

PAPER_BATCH = 64
PAPER_RATE = 3e-5
# fields that the scale settles, unless a study or a cell names them
UNSCALED = ("train.warmup_fraction", "train.precision", "train.new_layer_factor")


class EncoderSource(NamedTuple):
    """An encoder by content: `stands_for` is its name in the papers, `name` a label. `folder` is
    where it lies, if it is on this machine; what follows `name` is known of those that do."""

    stands_for: str
    digest: str
    hidden: int
    name: str
    positions: int = sys.maxsize  # tokens of the longest sentence
    masked_words: bool = False  # whether its checkpoint holds a masked-word head
    unused: tuple[str, ...] = ()  # other parts of its checkpoint
    folder: Path | None = None


@frozen
class Sources:
    """What a scale is made of on this machine: digests, counts, names as labels, and places. A
    place is None for what is shipped with the project, or was not fetched."""

    corpus_digest: str
    corpus_rows: int
    corpus_name: str
    evaluation_digest: str
    evaluation_name: str
    # the scale's own, which stands for bert-base, and others at hand
    encoders: tuple[EncoderSource, ...]
    corpus_columns: int = 1  # more than one in a text of one's own with columns
    # where the released reader finds another number of rows (D36)
    corpus_rows_csv_quoted: int | None = None
    transfer_digest: str | None = None  # of sets and transfer tasks; None where these are not there
    corpus: Path | None = None
    evaluation: Path | None = None  # the folder with STS/ and SICK/
    pairs: tuple[tuple[str, Path], ...] = ()  # your own graded pairs: name and file
    own_text: bool = False  # the training text is your own, not the scale's
    in_names: bool = False  # whether tables are named after these data

    @property
    def encoder(self) -> EncoderSource:
        """The scale's own encoder."""
        return self.encoders[0]

    def rows(self, reader: str) -> int:
        """Sentences of the training text under data.reader."""
        if reader == "csv_quoted" and self.corpus_rows_csv_quoted is not None:
            return self.corpus_rows_csv_quoted
        return self.corpus_rows

    def encoder_for(self, stands_for: str) -> EncoderSource | None:
        """The encoder that stands for one of the papers'; None if there is none here."""
        for encoder in self.encoders:
            if encoder.stands_for == stands_for:
                return encoder
        return None

    def encoder_of(self, digest: str) -> EncoderSource:
        """The encoder of this content; the scale's own if there is none here."""
        for encoder in self.encoders:
            if encoder.digest == digest:
                return encoder
        return self.encoder

    def with_encoders(self, *encoders: EncoderSource) -> Sources:
        """The same with these encoders, each in place of the one that stands for the same."""
        by_name = {encoder.stands_for: encoder for encoder in (*self.encoders, *encoders)}
        return replace(self, encoders=tuple(by_name.values()))


@frozen
class Scale:
    """How large a run is at this scale, and on which sets it is scored."""

    name: str
    seeds: int
    steps: int | None  # optimiser steps at this scale's batch size; None: one pass over the text
    checks: int | None  # development checks a run; None: the papers' own cadence
    batch_size: int  # stands for the papers' 64
    # stands for the papers' 3e-5, to which other rates keep their ratio; None: that
    learning_rate: float | None
    warmup_fraction: float
    precision: str
    dev: str  # the development set
    tests: tuple[str, ...]  # the test sets, in table order
    probes: tuple[str, ...]  # the transfer tasks, in table order
    hub_models: bool = False  # whether models that rewrite text are fetched from the hub
    # whether text, encoder and pairs are the made-up language's, which the project brings
    generated: bool = False


STS_TESTS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R")
TRANSFER = ("MR", "CR", "SUBJ", "MPQA", "SST-2", "TREC", "MRPC")

DEMO = Scale(
    name="demo",
    seeds=3,
    steps=160,
    checks=5,
    batch_size=64,
    learning_rate=1e-3,
    warmup_fraction=0.1,
    precision="fp32",
    dev="DEV",
    tests=("Para", "Length", "Roles", "Mixed"),
    probes=("Negation", "When", "Roles", "Verb"),
    generated=True,
)
# The papers' run on a small encoder: everything per step as printed; encoder (2 x 384) and text are
# smaller.
MINI = Scale(
    name="mini",
    seeds=3,
    steps=15_625,
    checks=None,
    batch_size=64,
    learning_rate=None,
    warmup_fraction=0.0,
    precision="bf16",
    dev="STS-B dev",
    tests=STS_TESTS,
    probes=TRANSFER,
)
PAPER = replace(MINI, name="paper", seeds=5, steps=None, hub_models=True)
SCALES = {scale.name: scale for scale in (DEMO, MINI, PAPER)}
# of scores that a user brings: nothing is trained, and tables name no scale
OWN_SCORES = replace(PAPER, name="", seeds=0, dev="", tests=(), probes=())


def at_scale(
    run: RunConfig,
    scale: Scale,
    sources: Sources,
    stands_for: str = "bert-base",
    equal_updates: bool = False,
    named: Collection[str] = (),
    settings: Mapping[str, object] = MappingProxyType({}),
) -> RunConfig:
    """A cell written in paper units as the run that this scale trains. Raises UserError if it
    cannot be one.

    With `equal_updates` a batch of another size has as many steps as the scale's own instead of as
    many sentences, going round the text again if need be. The scale leaves the fields of UNSCALED
    that are `named` as they are; `settings` are values at this scale, by path.
    """
    encoder = sources.encoder_for(stands_for)
    assert encoder is not None, "Setup.unavailable asks for it first"
    batches = scale.batch_size / PAPER_BATCH
    batch = scaled_count(run.train.batch_size, batches)
    available = sources.rows(run.data.reader)

    # Steps here, and in batches of the paper's: a period is fixed, whatever the batch (D2).
    size = scale.batch_size if equal_updates else batch
    if scale.steps is not None:  # beyond the text: it is read again, in a new order
        steps = scale.steps * scale.batch_size // size
    elif run.data.drop_last:
        steps = available // size
    else:
        steps = -(-available // size)
    paper_steps: float = steps
    if not equal_updates:
        paper_steps = steps * run.train.batch_size / PAPER_BATCH

    # What the scale settles, and what the method's own sections make of it.
    changes: dict[str, object] = {
        "scale": scale.name,
        "data.digest": sources.corpus_digest,
        "data.rows": available,
        "data.columns": sources.corpus_columns,
        "encoder.digest": encoder.digest,
        "train.batch_size": batch,
        "train.steps": steps,
        "train.warmup_fraction": scale.warmup_fraction,
        "train.precision": scale.precision,
    }
    if scale.learning_rate is not None:
        changes["train.learning_rate"] = run.train.learning_rate * scale.learning_rate / PAPER_RATE
    if scale.checks is not None:
        changes["eval.every"] = max(1, round(steps / scale.checks * run.eval.every / run.cadence))
    measure = Measure(
        batches=batches,
        width=encoder.hidden / PAPER_HIDDEN,
        paper_steps=paper_steps,
        hub_models=scale.hub_models,
    )
    changes |= run.scaled(measure)
    for path in UNSCALED:
        if path in named:
            changes.pop(path, None)
    changes |= settings
    changes["eval.digest"] = sources.evaluation_digest
    if changes.get("eval.transfer", run.eval.transfer):
        if sources.transfer_digest is None:
            raise UserError(
                "eval.transfer=true needs SentEval's transfer tasks (MR, CR, SUBJ, MPQA, SST, "
                "TREC, MRPC), and some are not there; fetch SentEval's whole data, or leave "
                "eval.transfer false."
            )
        changes["eval.digest"] = sources.transfer_digest
    return vary(run, changes)
