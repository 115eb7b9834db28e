"""Reading the STS sets: published counts, SentEval's conventions, and one sentence for whatever is wrong."""

from pathlib import Path

import numpy as np
import pytest
import real
import senteval_folder

from core.data.digests import evaluation_digest
from core.data.sts import STS_YEARS, load_sick, load_sts, load_stsb, year_files
from core.spec.errors import UserError
from core.spec.scale import STS_TESTS

COUNTS = {"STS12": 3108, "STS13": 1500, "STS14": 3750, "STS15": 3000, "STS16": 1186, "STS-B": 1379, "SICK-R": 4927, "STS-B dev": 1500}


@pytest.fixture
def root(tmp_path):
    return senteval_folder.build(tmp_path / "senteval")


def edit(path: Path, change) -> None:
    path.write_bytes(change(path.read_bytes()))


def test_all_sets_with_published_counts(root):
    sets = load_sts(root)
    assert {name: len(s) for name, s in sets.items()} == COUNTS
    assert set(STS_TESTS) < set(sets)
    for name, subsets in STS_YEARS.items():
        assert {label: sets[name].subset.count(label) for label in subsets} == subsets
        assert list(dict.fromkeys(sets[name].subset)) == list(subsets)
    assert sets["STS12"].gold.dtype == np.float64 and sets["STS12"].gold[1] == 3.5
    assert sets["SICK-R"].a[3] == "test A 3 w3 w0 w0" and sets["STS-B dev"].b[2] == "b 2 w6 w0 w0"
    assert [len(load_stsb(root, s)) for s in ("train", "dev", "test")] == [5749, 1500, 1379]
    assert [len(load_sick(root, s)) for s in ("train", "dev", "test")] == [4500, 500, 4927]


@pytest.mark.parametrize("below", ["", "senteval", "data/downstream", "SentEval/data/downstream"])
def test_the_root_is_found_below_a_parent(tmp_path, below):
    (tmp_path / below / "STS").mkdir(parents=True)
    (tmp_path / below / "SICK").mkdir()
    from core.data.sts import senteval_root

    assert senteval_root(tmp_path) == tmp_path / below


def test_unscored_lines_are_left_out_and_quotes_are_literal(root):
    text, gold = (root / file for file in year_files("STS16", "headlines"))
    edit(text, lambda content: b'" he said\tit is "so\n' + b"no score\there\n" + content.split(b"\n", 1)[1])
    edit(gold, lambda content: b"4.5\n\n" + content.split(b"\n", 1)[1])
    sets = load_sts(root)
    place = sets["STS16"].subset.index("headlines")
    assert sets["STS16"].a[place] == '" he said' and sets["STS16"].b[place] == 'it is "so'
    assert sets["STS16"].a[place + 1] == "STS16 headlines a 1 w1 w0 w0"


FNWN = year_files("STS13", "FNWN")
BROKEN = {
    "count": (FNWN, lambda c: c.split(b"\n", 1)[1], r"STS13 FNWN has 188 scored pairs .* but 189 are published"),
    "uneven": (FNWN[:1], lambda c: c.split(b"\n", 1)[1], "STS13 FNWN has 188 lines of text but 189 of gold"),
    "columns": (FNWN[:1], lambda c: c.replace(b"\tb 4 ", b" b 4 "), r"STS.input.FNWN.txt, line 5: expected two sentences"),
    "gold": (FNWN[1:], lambda c: c.replace(b"3.5\n", b"7\n", 1), r"STS.gs.FNWN.txt, line 2: the gold score 7 lies outside"),
    "nan": (FNWN[1:], lambda c: c.replace(b"3.5\n", b"nan\n", 1), r"line 2: expected a gold score, found .nan."),
    "word": (FNWN[1:], lambda c: c.replace(b"3.5\n", b"high\n", 1), r"line 2: expected a gold score, found 'high'"),
    "latin": (FNWN[:1], lambda c: c.replace(b" a 2 ", b" caf\xe9 "), r"STS.input.FNWN.txt, line 3 is not UTF-8"),
    "empty": (FNWN[:1], lambda c: c.replace(b"\tb 1 w3 w0 w0\n", b"\t \n"), r"line 2: expected a sentence"),
    "stsb": (["STS/STSBenchmark/sts-dev.csv"], lambda c: c.replace(b"g\tf\ty\t7\t", b"g\tf\ty\t", 1),
             r"sts-dev.csv, line 8: expected seven tab-separated columns, found 6"),
    "sick": (["SICK/SICK_test_annotated.txt"], lambda c: c.replace(b"\tNEUTRAL", b"", 1), r"line 2: expected five tab"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_broken_files_are_named(root, case):
    files, change, message = BROKEN[case]
    for file in files:
        edit(root / file, change)
    with pytest.raises(UserError, match=message):
        load_sts(root)


def test_evaluation_digest_follows_content_and_nothing_else(root, tmp_path):
    digest = evaluation_digest(root)
    assert len(digest) == 64 and digest == evaluation_digest(tmp_path)
    (root / "SICK" / "SICK_train.txt").unlink()  # read by no run
    (root / "STS" / "readme.txt").write_text("x")
    assert evaluation_digest(root) == digest
    edit(root / FNWN[1], lambda content: content.replace(b"3.5", b"3.0", 1))
    assert evaluation_digest(root) != digest


def test_real_data():
    sets = load_sts(real.data_dir())
    assert {name: len(s) for name, s in sets.items()} == COUNTS
    assert any('"' in text for text in sets["STS12"].a)
    assert sets["STS-B"].a[0] == "a girl is styling her hair ." and sets["STS-B"].gold[0] == 2.5
    assert sets["SICK-R"].gold.min() >= 1.0  # relatedness is graded 1 to 5
    assert len(load_stsb(real.data_dir(), "train")) == 5749 and len(load_sick(real.data_dir(), "dev")) == 500
