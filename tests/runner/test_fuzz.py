"""Whatever bytes or text arrive: a value or a UserError, never another exception, and never a wrong number."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import pytest
import senteval_folder
from fake_jobs import made_result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import studies
from core.data import sts
from core.data import text as corpus
from core.data.encoders import check_encoder
from core.data.sts import SICK_SPLITS, STSB_SPLITS, load_sts, year_files
from core.spec import methods
from core.spec.errors import UserError
from core.spec.identity import NUMERICS, canonical_json, from_canonical_json, run_id
from core.spec.methods import PROFILES, base
from core.spec.vary import parse_setting, paths, read, vary
from core.store import records
from core.store.store import Store

quick = settings(
    max_examples=150, deadline=None, database=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
CONFIG = vary(base("mocose", "repaired"), {"scale": "mini", "train.steps": 5})
RUN = run_id(CONFIG)
text = st.text(max_size=60)
harms = st.lists(st.tuples(st.sampled_from(("flip", "cut", "insert", "copy")), st.integers(0, 2**31), st.binary(min_size=1, max_size=40)),
                 min_size=1, max_size=6)  # fmt: skip


def harmed(content: bytes, how) -> bytes:
    """Content after some harm: flipped bits, cuts, insertions, parts copied over others."""
    broken = bytearray(content)
    for kind, at, noise in how:
        at %= max(1, len(broken))
        match kind:
            case "flip" if broken:
                broken[at] ^= noise[0] or 1
            case "cut":
                del broken[at : at + len(noise)]
            case "insert":
                broken[at:at] = noise
            case "copy":
                broken[at : at + len(noise)] = broken[: len(noise)]
    return bytes(broken)


@cache
def whole() -> tuple[bytes, bytes]:
    """A run file and its pairs, as they are stored."""
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        Store(Path(place), None).save(CONFIG, made_result(CONFIG))
        return tuple((Path(place) / kind / f"{RUN}.parquet").read_bytes() for kind in ("runs", "pairs"))


@quick
@given(how=harms, kind=st.sampled_from(("runs", "pairs")))
def test_a_harmed_run_file_is_refused_or_right(tmp_path, how, kind):
    store, sound = Store(tmp_path, None), whole()
    store.prepare()
    for name, content in zip(("runs", "pairs"), sound, strict=True):
        (tmp_path / name / f"{RUN}.parquet").write_bytes(harmed(content, how) if name == kind else content)
    fresh = Store(tmp_path / "fresh", None)
    fresh.save(CONFIG, made_result(CONFIG))
    try:
        found = store.load(RUN)
        pairs = store.load_pairs(RUN)
    except UserError as error:
        assert str(tmp_path) in str(error) and "\n" not in str(error)
    else:
        assert (
            found.rows.equals(fresh.load(RUN).rows)
            and found.config == CONFIG
            and pairs.equals(fresh.load_pairs(RUN))
        )


@quick
@given(content=st.binary(max_size=3000), magic=st.booleans())
def test_any_bytes_are_no_run(content, magic):
    with pytest.raises(records.Damaged):
        records.from_bytes(b"PAR1" + content + b"PAR1" if magic else content, records.RUN_SCHEMA)


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    return senteval_folder.build(tmp_path_factory.mktemp("sets") / "senteval")


FILES = (*year_files("STS13", "FNWN"), STSB_SPLITS["dev"][0], SICK_SPLITS["test"][0])


@quick
@given(file=st.sampled_from(FILES), how=harms)
def test_harmed_sets_are_read_or_refused(sets, file, how):
    path = sets / file
    content = path.read_bytes()
    try:
        path.write_bytes(harmed(content, how))
        for read_pairs, argument in (
            (sts.year_pairs, "STS13"),
            (sts.stsb_pairs, "dev"),
            (sts.sick_pairs, "test"),
        ):
            try:
                found = read_pairs(sets, argument)
            except UserError as error:
                assert str(sets) in str(error)
            else:
                pairs = [pair for _, pair in found] if argument == "STS13" else found
                assert len(pairs) in (1500, 4927) and all(0 <= gold <= 5 and a and b for a, b, gold in pairs)
    finally:
        path.write_bytes(content)


def test_what_the_driver_checks_is_what_a_run_loads(sets):
    sts.check_sets(sets)
    assert len(load_sts(sets)["STS13"]) == len(sts.year_pairs(sets, "STS13"))


@quick
@given(
    content=st.binary(max_size=400) | text.map(str.encode), reader=st.sampled_from(("lines", "csv_quoted"))
)
def test_any_training_text_is_sentences_or_a_sentence(content, reader):
    try:
        found = corpus.sentences(content, reader, "text")
    except UserError as error:
        assert str(error).startswith(("text, line ", "The training text text has no"))
    else:
        assert found and all(sentence.strip() for sentence in found)


@quick
@given(how=harms, name=st.sampled_from(("config.json", "model.safetensors", "tokenizer.json")))
def test_harmed_encoders_are_taken_or_refused(tmp_path, how, name):
    import desk

    desk.encoder(tmp_path)
    (tmp_path / name).write_bytes(harmed((tmp_path / name).read_bytes()[:2000], how))
    try:
        check_encoder(tmp_path)
    except UserError as error:
        assert str(tmp_path) in str(error)


RUNS = tuple(
    vary(base(method, profile), {"data.digest": "d"}) for method in methods.names() for profile in PROFILES
)
FIELDS = sorted({path for run in RUNS for path in paths(run)} | {"queue", "seed", "data", "scale"})
written = st.one_of(
    text, st.integers().map(str), st.floats().map(str), st.sampled_from(("none", "true", "off", "on", "last", "[[0,5]]", "[" * 2000)),
    st.recursive(st.integers() | text, lambda inner: st.lists(inner, max_size=3)).map(str),
)  # fmt: skip


@settings(quick, max_examples=500)
@given(run=st.sampled_from(RUNS), path=st.sampled_from(FIELDS) | text, value=written)
def test_any_setting_is_a_configuration_or_a_sentence(run, path, value):
    try:
        name, parsed = parse_setting(run, f"{path}={value}")
        changed = vary(run, {name: parsed})
    except UserError as error:
        assert str(error).endswith((".", "?")) and len(str(error)) < 2000
        return
    assert from_canonical_json(canonical_json(changed)) == (changed, NUMERICS)
    if read(changed, name) == read(run, name):
        assert run_id(changed) == run_id(run)
    else:
        assert run_id(changed) != run_id(run)


@settings(quick, max_examples=300)
@given(
    slices=st.lists(st.tuples(st.integers(0, 500), st.integers(0, 512)), min_size=1, max_size=60),
    rate=st.floats(1e-6, 0.9),
)
def test_a_variant_has_a_name_that_is_a_file_name(slices, rate):
    study = studies.find("table3")
    sample = CONFIG
    chosen = (f"queue.slice={[list(pair) for pair in slices]}", f"encoder.hidden_dropout={rate}")
    try:
        name = study.with_settings(chosen, {(): sample}).name
    except UserError:
        return
    assert len(name.encode()) < 200 and not set("/\\\0\n ") & set(name) and Path(name).name == name
    other = study.with_settings(
        (chosen[0], f"encoder.hidden_dropout={math.nextafter(rate, 1)}"), {(): sample}
    )
    assert other.name != name


documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(("run", "numerics", "kind", "steps", "x")) | text, inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@quick
@given(document=documents, junk=text)
def test_any_document_is_a_configuration_or_a_sentence(document, junk):
    import json

    for written_down in (
        json.dumps(document),
        json.dumps({"numerics": document, "run": {"kind": "Train", junk: document}}),
        junk,
        "[" * 100_000,
    ):
        with pytest.raises(UserError):
            from_canonical_json(written_down)


@quick
@given(how=harms)
def test_a_harmed_document_is_a_configuration_or_a_sentence(how):
    content = harmed(canonical_json(CONFIG).encode(), how).decode(errors="replace")
    try:
        run, _ = from_canonical_json(content)
    except UserError:
        return
    assert from_canonical_json(canonical_json(run))[0] == run
