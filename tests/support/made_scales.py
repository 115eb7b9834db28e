"""Two scales with round numbers, for tests of what a configuration becomes, and sources such as the papers had."""

from dataclasses import replace

from core.spec.scale import EncoderSource, Scale, Sources
from core.spec.setup import Setup
from core.spec.table import ENCODERS

SOURCES = Sources(
    corpus_digest="corpus", corpus_rows=40_000, corpus_name="text", encoder_digest="encoder", encoder_hidden=128,
    encoder_name="bert", evaluation_digest="pairs", evaluation_name="sets",
)  # fmt: skip
PAPER_SOURCES = replace(
    SOURCES, corpus_rows=1_000_000, encoder_hidden=768, transfer_digest="transfer",
    others=tuple(
        EncoderSource(stands_for=name, digest=name, hidden=1024 if name.endswith("large") else 768, name=name)
        for name in ENCODERS[1:]
    ),
)  # fmt: skip
SMALL = Scale(
    name="small", seeds=3, steps=300, checks=10, batch_size=64, learning_rate=3e-4, warmup_fraction=0.1, precision="fp32",
    dev="DEV", tests=("A", "B"), probes=(),
)  # fmt: skip
FULL = replace(
    SMALL, name="full", seeds=5, steps=None, checks=None, learning_rate=None, warmup_fraction=0.0, precision="bf16"
)  # fmt: skip


def cell_run(study, cell, *, profile="paper", scale, sources, seed=0):
    """The run of a cell under one seed."""
    return Setup(profile=profile, scale=scale, sources=sources, seeds=1).config(study, cell, seed)
