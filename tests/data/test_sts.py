"""Reading SentEval: published counts, its conventions, and one sentence for whatever is wrong."""

import shutil
from pathlib import Path

import pytest
import senteval_folder
from extras import DATA, senteval

from core.config.scale import STS_TESTS
from core.data.sts import STS_YEARS, load_split, load_sts, senteval_root, year_files
from core.data.transfer import evaluation_digest, load_transfer
from core.errors import UserError

COUNTS = {
    "STS12": 3108, "STS13": 1500, "STS14": 3750, "STS15": 3000, "STS16": 1186,
    "STS-B": 1379, "SICK-R": 4927, "STS-B dev": 1500,
}  # fmt: skip
EXAMPLES = {
    "MR": (10662,),
    "CR": (3775,),
    "SUBJ": (10000,),
    "MPQA": (10606,),
    "SST-2": (67349, 872, 1821),
    "TREC": (5452, 500),
    "MRPC": (4076, 1725),
}
FNWN = year_files("STS13", "FNWN")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A whole folder of made-up pairs and tasks."""
    root = tmp_path_factory.mktemp("whole") / "senteval"
    return senteval_folder.transfer(senteval_folder.build(root))


@pytest.fixture
def root(made, tmp_path):
    """A copy, to be harmed."""
    return shutil.copytree(made, tmp_path / "copy" / "senteval")


def edit(path: Path, change) -> None:
    path.write_bytes(change(path.read_bytes()))


def test_data_that_lies_there_twice_is_refused(tmp_path):
    for name in ("STS", "SICK"):
        (tmp_path / "senteval" / name).mkdir(parents=True)
    (tmp_path / "downstream").symlink_to(tmp_path / "senteval")  # one folder by two names
    assert senteval_root(tmp_path) == tmp_path / "senteval"
    shutil.copytree(tmp_path / "senteval", tmp_path / "SentEval")
    with pytest.raises(UserError, match="2 folders"):
        senteval_root(tmp_path)


def examples(tasks):
    return {task.name: tuple(len(part.labels) for part in task.parts.values()) for task in tasks}


def test_all_sets_and_tasks_with_published_counts(made):
    sets = load_sts(made.parent)
    assert {name: len(s) for name, s in sets.items()} == COUNTS and set(STS_TESTS) < set(sets)
    for name, subsets in STS_YEARS.items():
        assert {label: sets[name].subset.count(label) for label in subsets} == subsets
        assert list(dict.fromkeys(sets[name].subset)) == list(subsets)
    assert sets["STS12"].gold.dtype == float and sets["STS12"].gold[1] == 3.5
    assert sets["SICK-R"].a[3] == "test A 3 w3 w0 w0" and sets["STS-B dev"].b[2] == "b 2 w6 w0 w0"
    assert [len(load_split(made, "STS-B", s)) for s in ("train", "dev", "test")] == [
        5749,
        1500,
        1379,
    ]
    assert [len(load_split(made, "SICK-R", s)) for s in ("train", "dev", "test")] == [
        4500,
        500,
        4927,
    ]
    read = load_transfer(made)
    assert examples(read) == EXAMPLES
    tasks = {task.name: task.parts for task in read}
    assert tasks["MRPC"]["train"].first[0] == "first 0 said w0"
    assert tasks["MRPC"]["train"].second[1] == "second 1 said w1"
    assert tasks["SST-2"]["dev"].labels[:3] == (0, 1, 0)
    assert tasks["TREC"]["train"].labels[:7] == (0, 1, 2, 3, 4, 5, 0)
    assert tasks["MR"]["train"].labels[5330:5332] == (1, 0)


def test_unscored_lines_are_left_out_quotes_are_literal_and_a_blank_end_is_none(root):
    text, gold = (root / file for file in year_files("STS16", "headlines"))
    odd = b'" he said\tit is "so\nno score\there\n'
    edit(text, lambda content: odd + content.split(b"\n", 1)[1])
    edit(gold, lambda content: b"4.5\n\n" + content.split(b"\n", 1)[1])
    edit(root / "STS/STSBenchmark/sts-dev.csv", lambda content: content + b"\n")
    sets = load_sts(root)
    place = sets["STS16"].subset.index("headlines")
    assert sets["STS16"].a[place] == '" he said' and sets["STS16"].b[place] == 'it is "so'
    assert sets["STS16"].a[place + 1] == "STS16 headlines a 1 w1 w0 w0"
    assert len(sets["STS-B dev"]) == 1500


def line(number: int, text: bytes):
    def change(content: bytes) -> bytes:
        lines = content.split(b"\n")
        return b"\n".join([*lines[: number - 1], text, *lines[number:]])

    return change


DEV = "STS/STSBenchmark/sts-dev.csv"
MRPC = "MRPC/msr_paraphrase_test.txt"
SST = "SST/binary/sentiment-test"
GOLD = FNWN[1].rpartition("/")[2]


def without_first(content: bytes) -> bytes:
    return content.split(b"\n", 1)[1]


def swapped(old: bytes, new: bytes):
    return lambda content: content.replace(old, new, 1)


BROKEN = [  # files, what harms them, and the place that a sentence names
    (FNWN, without_first, "188 examples, but 189"),
    (FNWN[:1], without_first, "STS13 FNWN has 188 lines"),
    (FNWN[:1], swapped(b"\tb 4 ", b" b 4 "), f"{GOLD}, line 5"),
    (FNWN[:1], swapped(b"\tb 4 ", b"\tb 4\t2.5 "), "line 5"),
    (FNWN[1:], line(2, b"7"), f"{GOLD}, line 2"),
    (FNWN[:1], swapped(b" a 2 ", b" caf\xe9 "), "STS.input.FNWN.txt, line 3"),
    (FNWN[:1], swapped(b"\tb 1 w3 w0 w0\n", b"\t \n"), "line 2"),
    ([DEV], swapped(b"g\tf\ty\t7\t", b"g\tf\ty\t"), "sts-dev.csv, line 8"),
    (["SICK/SICK_test_annotated.txt"], swapped(b"\tNEUTRAL", b""), "line 2"),
    ([SST], line(2, b"good\t2"), "sentiment-test, line 2"),
    ([SST], line(2, b" \t1"), "sentiment-test, line 2"),
    (["TREC/TREC_10.label"], line(4, b"WHAT:x is it ?"), "TREC_10.label, line 4"),
    ([MRPC], line(5, b"1\t2\t3\tonly one"), "msr_paraphrase_test.txt, line 5"),
    ([MRPC], line(6, b"7\t2\t3\ta\tb"), "msr_paraphrase_test.txt, line 6"),
    (["CR/custrev.pos"], line(1, b"one\ntoo many"), "custrev.pos has 2408 examples, but 2407"),
]


@pytest.mark.parametrize("files, change, place", BROKEN)
def test_broken_files_are_named(made, files, change, place):
    whole = {file: (made / file).read_bytes() for file in files}
    try:
        for file in files:
            edit(made / file, change)
        with pytest.raises(UserError, match=place):
            load_sts(made) if files[0].startswith(("STS", "SICK")) else load_transfer(made)
    finally:
        for file, content in whole.items():
            (made / file).write_bytes(content)


def test_evaluation_digest_follows_content_and_nothing_else(root):
    digest = evaluation_digest(root)
    whole = evaluation_digest(root, transfer=True)
    assert len({digest, whole}) == 2 and digest == evaluation_digest(root.parent)
    (root / "SICK" / "SICK_train.txt").unlink()  # read by no run
    (root / "STS" / "readme.txt").write_text("x")
    assert evaluation_digest(root) == digest
    edit(root / "CR/custrev.pos", lambda content: content + b" ")
    assert evaluation_digest(root) == digest and evaluation_digest(root, transfer=True) != whole
    edit(root / FNWN[1], lambda content: content.replace(b"3.5", b"3.0", 1))
    assert evaluation_digest(root) != digest


@senteval
def test_real_data():
    sets = load_sts(DATA)
    assert {name: len(s) for name, s in sets.items()} == COUNTS
    assert any('"' in text for text in sets["STS12"].a)
    assert sets["STS-B"].a[0] == "a girl is styling her hair ." and sets["STS-B"].gold[0] == 2.5
    assert sets["SICK-R"].gold.min() >= 1.0  # relatedness is graded 1 to 5
    assert (
        len(load_split(DATA, "STS-B", "train")) == 5749
        and len(load_split(DATA, "SICK-R", "dev")) == 500
    )
    read = load_transfer(DATA)
    assert examples(read) == EXAMPLES
    tasks = {task.name: task.parts for task in read}
    assert tasks["TREC"]["test"].first[0] == "How far is it from Denver to Aspen ?"
    assert tasks["TREC"]["test"].labels[0] == 5
    # ISO-8859-1
    assert any("\xe0" <= letter for text in tasks["TREC"]["train"].first for letter in text)
    assert tasks["MRPC"]["test"].first[0].startswith("PCCW's chief operating officer")
    assert tasks["MRPC"]["test"].labels[0] == 1
    assert len(tasks["MRPC"]["train"].second) == 4076 and sum(tasks["MRPC"]["train"].labels) == 2753
    # its empty line
    assert sum(tasks["CR"]["train"].labels) == 2407 and tasks["CR"]["train"].first.count(".") >= 1
    for task in read:
        assert all(text and text == " ".join(text.split()) for text in task.sentences())
