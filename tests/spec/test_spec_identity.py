"""Identity: the id of a run follows from its whole configuration, from nothing else, and is the same for ever."""

import copy
import dataclasses
import json
import typing

import numpy as np
import pytest

from core.methods.esimcse import settings as esimcse_sections
from core.methods.mocose import settings as mocose_sections
from core.spec import identity, methods
from core.spec import run as configs
from core.spec.errors import UserError
from core.spec.identity import canonical_json, from_canonical_json, run_id
from core.spec.methods import PROFILES, base
from core.spec.run import TextView
from core.spec.section import Section, alternatives, field_types
from core.spec.vary import vary

# If one of these changes, every stored result is orphaned. That is right only together with NUMERICS or before a release.
GOLDEN = {
    ("mocose", "paper"): "a4bd45562a7fd8f6", ("mocose", "repaired"): "31f837f86b2dadc2", ("mocose", "released"): "9caf0babbfc79ddd",
    ("simcse", "paper"): "8069f2d29fb8b36a", ("simcse", "repaired"): "8069f2d29fb8b36a", ("simcse", "released"): "21b530f2af051d8d",
    ("esimcse", "paper"): "37c5dabd7747003e", ("esimcse", "repaired"): "e430cac0d9e069f0", ("esimcse", "released"): "0bf112c51709a4fe",
}  # fmt: skip
EVERYTHING = {  # runs that together have every section and every optional field
    "mocose": vary(
        base("mocose", "paper"),
        {"queue.slice": ((0, 256), (256, 512)), "heads.predictor_hidden": 64, "aug.token_cutoff": 0.1,
         "aug.token_cutoff_pool": "real_tokens", "aug.position_shuffle": "per_batch", "aug.position_shuffle_range": "padded",
         "queue.negatives": "kmeans", "queue.clusters": 5, "text": TextView(kind="contextual_insert", model="encoder")},
    ),
    "esimcse": base("esimcse", "paper"),
}  # fmt: skip


def other_value(value, expected):
    """A value that the annotation allows and that differs from this one."""
    options = alternatives(expected)
    for option in options:
        if typing.get_origin(option) is typing.Literal:
            return next((word for word in typing.get_args(option) if word != value), f"{value}x")
    if type(value) is bool:
        return not value
    if type(value) is int:
        return value + 1
    if type(value) is float:
        return float(np.nextafter(value, 1e9))  # the very next double
    if type(value) is str:
        return value + "x"
    if type(value) is tuple:
        return (*value[:-1], (value[-1][0], value[-1][1] - 1))
    return {int: 1, float: 0.5, str: "x"}[next(option for option in options if option in (int, float, str))]


def with_leaf(run, section_name, field_name, value):
    """The run with one leaf changed, past all checks: identity must not depend on them."""
    owner = run = copy.copy(run)
    if section_name is not None:
        owner = copy.copy(getattr(run, section_name))
        object.__setattr__(run, section_name, owner)
    object.__setattr__(owner, field_name, value)
    return run


def leaves():
    for name, run in EVERYTHING.items():
        for field in dataclasses.fields(run):
            section = getattr(run, field.name)
            if isinstance(section, Section):
                hints = field_types(type(section))
                yield from ((name, field.name, inner.name, hints[inner.name]) for inner in dataclasses.fields(section))
            elif section is not None and field.name != "method":  # a method's runs are of a class of their own
                yield name, None, field.name, field_types(type(run))[field.name]


def test_perturbing_any_leaf_changes_the_id():
    for method, section, field, expected in leaves():
        run = EVERYTHING[method]
        value = getattr(run if section is None else getattr(run, section), field)
        assert run_id(with_leaf(run, section, field, other_value(value, expected))) != run_id(run), (section, field)
        if type(None) in alternatives(expected) and value is not None:
            assert run_id(with_leaf(run, section, field, None)) != run_id(run), (section, field)


def test_the_walk_meets_every_section_and_field_there_is():
    met = {(type(getattr(EVERYTHING[m], s)), f) for m, s, f, _ in leaves() if s}
    modules = (configs, mocose_sections, esimcse_sections)
    known = {v for module in modules for v in vars(module).values() if isinstance(v, type) and issubclass(v, Section)}
    kinds = {kind for kind in known if dataclasses.is_dataclass(kind) and not issubclass(kind, configs.RunConfig)}
    assert {(kind, f.name) for kind in kinds for f in dataclasses.fields(kind)} == met
    assert {f for _, s, f, _ in leaves() if s is None} == {"scale"}


def test_golden_ids():
    assert {(method, profile): run_id(base(method, profile)) for method, profile in GOLDEN} == GOLDEN


def test_round_trip_through_the_canonical_form():
    for run in (*EVERYTHING.values(), *(base(method, profile) for method in methods.names() for profile in PROFILES)):
        back, numerics = from_canonical_json(canonical_json(run))
        assert back == run and run_id(back) == run_id(run) and numerics == identity.NUMERICS


def test_a_spoilt_document_is_refused_or_has_another_id():
    document = json.loads(canonical_json(base("mocose", "paper")))
    for spoilt in ({"loss": {"temperature": "hot"}}, {"loss": 3}, {"method": "none"}, {"train": {}}, {"queue": {"slice": 3}}):
        with pytest.raises(UserError, match="cannot be read"):
            from_canonical_json(json.dumps({**document, "run": {**document["run"], **spoilt}}))
    for text in ("", "[]", "{}", '{"run": {}}'):
        with pytest.raises(UserError, match="cannot be read"):
            from_canonical_json(text)
    document["run"]["loss"] = {"kind": "Loss", "temperature": 0.05, "in_batch_negatives": True}
    assert run_id(from_canonical_json(json.dumps(document))[0]) != run_id(base("mocose", "paper"))
