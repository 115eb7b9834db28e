"""The transfer tasks as read: published counts, real files, and one sentence for each way they can be wrong."""

import pytest
import real
import transfer_folder

from core.data.transfer import load_transfer
from core.spec.errors import UserError

COUNTS = {
    "MR": (10662, None, None), "CR": (3775, None, None), "SUBJ": (10000, None, None), "MPQA": (10606, None, None),
    "SST-2": (67349, 872, 1821), "TREC": (5452, None, 500), "MRPC": (4076, None, 1725),
}  # fmt: skip


def counts(tasks):
    return {task.name: tuple(part and len(part) for part in (task.train, task.dev, task.test)) for task in tasks}


def test_real_tasks():
    tasks = {task.name: task for task in load_transfer(real.data_dir())}
    assert counts(tasks.values()) == COUNTS
    assert tasks["TREC"].test.first[0] == "How far is it from Denver to Aspen ?" and tasks["TREC"].test.labels[0] == 5
    assert any("\xe0" <= letter for text in tasks["TREC"].train.first for letter in text)  # ISO-8859-1
    assert tasks["MRPC"].test.first[0].startswith("PCCW's chief operating officer") and tasks["MRPC"].test.labels[0] == 1
    assert len(tasks["MRPC"].train.second) == 4076 and sum(tasks["MRPC"].train.labels) == 2753
    assert sum(tasks["CR"].train.labels) == 2407 and tasks["CR"].train.first.count(".") >= 1  # its empty line
    assert not [text for task in tasks.values() for text in task.sentences() if not text or text != " ".join(text.split())]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return transfer_folder.build(tmp_path_factory.mktemp("senteval"))


def test_made_up_tasks(whole):
    tasks = {task.name: task for task in load_transfer(whole)}
    assert counts(tasks.values()) == COUNTS
    assert tasks["MRPC"].train.first[0] == "first 0 said w0" and tasks["MRPC"].train.second[1] == "second 1 said w1"
    assert tasks["SST-2"].dev.labels[:3] == (0, 1, 0) and tasks["TREC"].train.labels[:7] == (0, 1, 2, 3, 4, 5, 0)
    assert tasks["MR"].train.labels[5330:5332] == (1, 0)


@pytest.mark.parametrize("file, line, text, sentence", [
    ("SST/binary/sentiment-dev", 3, b"no label", "sentiment-dev, line 3: expected a sentence, a tab and 0 or 1"),
    ("SST/binary/sentiment-test", 2, b"good\t2", "sentiment-test, line 2: expected a sentence, a tab and 0 or 1"),
    ("SST/binary/sentiment-test", 2, b" \t1", "sentiment-test, line 2: expected a sentence"),
    ("TREC/TREC_10.label", 4, b"WHAT:x is it ?", "TREC_10.label, line 4: expected a question's kind"),
    ("MRPC/msr_paraphrase_test.txt", 5, b"1\t2\t3\tonly one", "msr_paraphrase_test.txt, line 5: expected 0 or 1, two ids"),
    ("MRPC/msr_paraphrase_test.txt", 6, b"7\t2\t3\ta\tb", "msr_paraphrase_test.txt, line 6: expected 0 or 1, two ids"),
    ("MR/rt-polarity.neg", 9, b"caf\xe9", "rt-polarity.neg, line 9 is not UTF-8"),
    ("CR/custrev.pos", 1, b"one\ntoo many", "custrev.pos has 2408 examples, but 2407 are published"),
])  # fmt: skip
def test_a_bad_line_is_named(whole, file, line, text, sentence):
    path = whole / file
    good = path.read_bytes()
    lines = good.split(b"\n")
    lines[line - 1] = text
    try:
        path.write_bytes(b"\n".join(lines))
        with pytest.raises(UserError, match=sentence):
            load_transfer(whole)
    finally:
        path.write_bytes(good)
