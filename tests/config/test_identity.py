"""Identity: the id of a run follows from its whole configuration alone and never changes; what the
papers say of each field."""

import copy
import dataclasses
import hashlib
import json

import numpy as np
import pytest
from made_scales import PAPER_SOURCES
from places import ROOT

from core.config import identity, methods
from core.config import run as configs
from core.config.identity import canonical_json, from_canonical_json, run_id
from core.config.methods import PROFILES, base
from core.config.scale import MINI, PAPER
from core.config.section import Section, fields_of
from core.config.vary import parsed, value_at, vary
from core.data.sources import recorded
from core.errors import UserError
from core.methods.esimcse import settings as esimcse_sections
from core.methods.mocose import sections as mocose_sections
from core.methods.mocose.sections import TextView
from core.store.store import Store
from core.study.resolution import resolve
from core.study.setup import Setup
from studies import STUDIES, find

EVERYTHING = {  # runs that together have every section and every optional field
    "mocose": vary(
        base("mocose", "paper"),
        {
            "queue.slice": ((0, 256), (256, 512)),
            "heads.predictor_hidden": 64,
            "aug.token_cutoff": 0.1,
            "aug.token_cutoff_pool": "real_tokens",
            "aug.position_shuffle": "per_batch",
            "aug.position_shuffle_range": "padded",
            "queue.negatives": "kmeans",
            "queue.clusters": 5,
            "text": TextView(kind="contextual_insert", model="encoder"),
        },
    ),
    "esimcse": base("esimcse", "paper"),
}


OTHERS = {  # another value of each type, past all checks
    bool: lambda value: not value,
    int: lambda value: value + 1,
    float: lambda value: float(np.nextafter(value, 1e9)),  # the very next double
    str: lambda value: f"{value}x",
    tuple: lambda value: (*value[:-1], (value[-1][0], value[-1][1] - 1)),
    type(None): lambda value: 1,
}


def changed(owner, name, value):
    """A run or section with another value of a field, past all checks: identity must not depend on
    them."""
    owner = copy.copy(owner)
    object.__setattr__(owner, name, value)
    return owner


def test_every_leaf_changes_the_id_and_every_section_is_met():
    met = set()
    for run in EVERYTHING.values():
        runs = {run_id(changed(run, "scale", "other"))}
        leaves = 1
        for field in fields_of(type(run)).values():
            section = getattr(run, field.name)
            if isinstance(section, Section):
                met.add(type(section))
                for inner in fields_of(type(section)).values():
                    value = getattr(section, inner.name)
                    other = changed(section, inner.name, OTHERS[type(value)](value))
                    runs.add(run_id(changed(run, field.name, other)))
                    leaves += 1
        assert len(runs - {run_id(run)}) == leaves
    modules = (configs, mocose_sections, esimcse_sections)
    kinds = {kind for module in modules for kind in vars(module).values() if isinstance(kind, type)}
    sections = {kind for kind in kinds if issubclass(kind, Section) and kind is not Section}
    assert met == {kind for kind in sections if not issubclass(kind, configs.RunConfig)}


def test_round_trip_through_the_canonical_form():
    for run in (
        *EVERYTHING.values(),
        *(base(method, profile) for method in methods.names() for profile in PROFILES),
    ):
        back, numerics = from_canonical_json(canonical_json(run))
        assert back == run and run_id(back) == run_id(run) and numerics == identity.NUMERICS


def test_a_spoilt_document_is_refused_or_has_another_id():
    document = json.loads(canonical_json(base("mocose", "paper")))
    for spoilt in (
        {"loss": {"temperature": "hot"}},
        {"loss": 3},
        {"method": "none"},
        {"train": {}},
        {"queue": {"slice": 3}},
    ):
        with pytest.raises(UserError, match="cannot be read"):
            from_canonical_json(json.dumps({**document, "run": {**document["run"], **spoilt}}))
    for text in ("", "[]", "{}", '{"run": {}}'):
        with pytest.raises(UserError, match="cannot be read"):
            from_canonical_json(text)
    document["run"]["loss"] = {"kind": "Loss", "temperature": 0.05, "in_batch_negatives": True}
    assert run_id(from_canonical_json(json.dumps(document))[0]) != run_id(base("mocose", "paper"))


SAID = {  # the values that the papers' text gives, as `--set` takes them
    "mocose": """
        data.rows=1000000 encoder.hidden_dropout=0.1 heads.projection_layers=1
        heads.predictor_layers=2 heads.out_size=768 heads.projection_tail=linear
        loss.in_batch_negatives=false queue.size=512 queue.init=paper_grow
        target.stop_gradient=true target.freeze_projection=true target.dropout=on
        ema.schedule=constant ema.start=0.85 ema.when=after_optimizer_step fgsm.epsilon=5e-9
        fgsm.gradient=current fgsm.views=online_only aug.feature_cutoff=0 train.batch_size=64
        train.learning_rate=3e-5 train.weight_decay=1e-6 eval.every=100
        eval.vector=cls_before_pooler
        """,
    "esimcse": """
        train.batch_size=64 train.learning_rate=3e-5 loss.temperature=0.05
        encoder.hidden_dropout=0.1 momentum.lambda=0.995 momentum.init=pretrained_copy
        momentum.dropout=off queue.size=160 dup.rate=0.32 dup.unit=subword dup.range=paper
        dup.cap=none eval.every=125 select.metric=stsb_dev
        """,
}
SAID_OF_CELLS = """
    table1 MoCoSE-BERT-base/avg: ema.schedule=cosine_to_end ema.start=0.75 ema.end=0.95
    table1 MoCoSE-BERT-large/avg: train.batch_size=32
    table2 MoCoSE-BERT-large/test/avg: train.learning_rate=1e-5
    table3 0.99: ema.schedule=constant ema.start=0.99
    table5 Position shuffle: aug.position_shuffle=per_sentence
    table5 Position shuffle: aug.position_shuffle_range=real_tokens
    table5 Token dropout 0.1: aug.token_cutoff_pool=real_tokens
    table5 Synonym replace: text.kind=contextual_substitute
    table8 all: eval.every=100 queue.size=1024 queue.init_size=128 train.batch_size=256
    figure5 no predictor, η = 0/last: ema.schedule=constant ema.start=0 heads.predictor_layers=0
    esimcse-table4 ESimCSE/BERT-large: encoder.hidden_dropout=0.15 encoder.attention_dropout=0.15
    esimcse-table4 ESimCSE/RoBERTa-large: train.learning_rate=1e-5 dup.rate=0.32 queue.size=160
    """


def other_values(run, settings):
    """Those of these settings that a run does not have."""
    pairs = [setting.split("=") for setting in settings.split()]
    return [pair for pair in pairs if value_at(run, pair[0]) != parsed(run, *pair)]


def test_bases_and_cells_have_what_the_papers_say():
    for method, settings in SAID.items():
        assert not other_values(base(method, "paper"), settings), method
    for line in SAID_OF_CELLS.strip().splitlines():
        cell, _, settings = line.partition(": ")
        name, _, labels = cell.strip().partition(" ")
        study = find(name)
        (cell,) = study.matching(tuple(labels.split("/")))
        assert not other_values(study.paper_config(cell, "paper"), settings), line


# By paper study, the digest of its cells' run ids under paper, repaired and released, at
# scale paper. If all of these change, every stored result is orphaned. That is right only together
# with NUMERICS or before a release. A study that gains or loses cells gets new digests; no other
# study's may move.
PINNED = {
    "mocose-table1": "43215f 613e77 9556b8",
    "mocose-table2": "1e4ba2 7765ad c20a84",
    "mocose-table3": "e6ff4b c84ea9 004fe8",
    "mocose-table4": "be7526 ac0569 94c259",
    "mocose-table5": "89cecd 8300e2 af96da",
    "mocose-table6a": "1be012 08365e b9ccbf",
    "mocose-table6b": "39d22e 1a0095 958098",
    "mocose-table7": "1a4369 cfd594 39af83",
    "mocose-table8": "bbffe8 1e7e76 15b351",
    "mocose-table9": "d145f1 573b88 ba787c",
    "mocose-figure2": "4a6b94 e41326 b1daf3",
    "mocose-figure3": "d48295 6f1071 3ccdf2",
    "mocose-figure4": "4b3a55 e87435 9e656e",
    "mocose-figure5": "fb7261 5c61b2 923b4b",
    "mocose-figure7": "bf3e39 0b3bdf 4907b2",
    "mocose-figure12": "1baaa7 1d681d 0004fc",
    "mocose-figure13": "8d3339 93a5b6 ded81c",
    "mocose-kmeans": "bbe178 2a815d f6fe4a",
    "esimcse-table1": "2c671e aae1b7 d79ae6",
    "esimcse-table2": "3b417e 3b417e d55d86",
    "esimcse-table3": "575a4d 575a4d 23cd37",
    "esimcse-table4": "42200c 1253e7 006d73",
    "esimcse-table5": "42200c 1253e7 006d73",
    "esimcse-table6": "083635 083635 a60115",
    "esimcse-table7": "083635 083635 a60115",
    "esimcse-table8": "b3c890 b3c890 ea69a4",
    "esimcse-table9": "1c4601 9a5740 754232",
    "esimcse-table10": "25bd6c f93667 b3b2dc",
    "esimcse-table11": "a0f643 a0f643 3b3a30",
    "esimcse-figure2": "dcccdf dcccdf 8a579d",
}


def digest(study, profile):
    setup = Setup(profile=profile, scale=PAPER, sources=PAPER_SOURCES, seeds=1)
    every = tuple(dataclasses.replace(cell, copied=False) for cell in study.cells)
    cells = resolve(dataclasses.replace(study, cells=every), setup).cells
    ids = {run_id(cell.config(5)) for cell in cells}
    return hashlib.sha256(" ".join(sorted(ids)).encode()).hexdigest()[:6]


def test_no_run_of_a_paper_study_has_moved():
    studies = [study for study in STUDIES if study.paper in ("mocose", "esimcse")]
    assert {
        study.name: " ".join(digest(study, profile) for profile in PROFILES) for study in studies
    } == PINNED


def test_published_runs_are_runs_of_cells(tmp_path):
    """Of scale mini under some profile: a run that no cell has is of a seed from 3 on."""
    store = Store(tmp_path, ROOT / "results" / "published")
    sources = recorded(store)["mini"]
    cells = set()
    for profile in PROFILES:
        setup = Setup(profile=profile, scale=MINI, sources=sources, seeds=3)
        cells = cells.union(*(resolve(study, setup).run_ids for study in STUDIES))
    published = {run for run in store.runs() if store.scale_of_pack(run) == "mini"}
    others = [store.load(run).config for run in published - cells]
    assert len(published & cells) >= 22
    assert all(run.seed.model >= 3 for run in others)
