"""Two scales with round numbers, sources such as the papers had, and what studies become on
them."""

from dataclasses import replace

from places import SHIPPED
from resolved import config_at

from core.config.scale import PAPER, EncoderSource, Scale, Sources
from core.data.encoders import PLAIN
from core.data.sources import HIDDEN
from core.study.setup import Setup
from studies import CATALOGUE, STUDIES

SOURCES = Sources(
    corpus_digest="corpus",
    corpus_rows=40_000,
    corpus_name="text",
    encoders=(EncoderSource("bert-base", "encoder", 128, "bert"),),
    evaluation_digest="pairs",
    evaluation_name="sets",
)
PAPER_SOURCES = replace(
    SOURCES,
    corpus_rows=1_000_000,
    transfer_digest="transfer",
    encoders=(
        EncoderSource("bert-base", "encoder", 768, "bert"),
        *(EncoderSource(name, name, HIDDEN[name], name) for name in HIDDEN),
        PLAIN,
    ),
)
SMALL = Scale(
    name="small",
    seeds=3,
    steps=300,
    checks=10,
    batch_size=64,
    learning_rate=3e-4,
    warmup_fraction=0.1,
    precision="fp32",
    dev="DEV",
    tests=("A", "B"),
    probes=(),
)
OF_THE_PAPER = {"steps": None, "checks": None, "learning_rate": None, "warmup_fraction": 0.0}
FULL = replace(SMALL, name="full", seeds=5, precision="bf16", **OF_THE_PAPER)


def cell_run(study, cell, *, profile="paper", scale, sources, seed=0):
    """The run of a cell under one seed; of a copied cell what its changes would be."""
    setup = Setup(profile=profile, scale=scale, sources=sources, seeds=1)
    return config_at(setup, study, replace(cell, copied=False), seed)


# whoever adds a folder of studies changes no test
SHIPPED_STUDIES = tuple(study for folder in SHIPPED for study in CATALOGUE.groups[folder])
MOCOSE = {study.name.removeprefix("mocose-"): study for study in STUDIES if study.paper == "mocose"}


def printed(study):
    return {cell.labels: cell.published for cell in study.cells if cell.published is not None}


def config(study, *labels, profile="paper", scale=PAPER, sources=PAPER_SOURCES):
    """The run of the cell with these labels."""
    cell = next(cell for cell in study.cells if cell.labels == labels)
    return cell_run(study, cell, profile=profile, scale=scale, sources=sources)
