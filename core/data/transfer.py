"""Labelled sentences for probing: SentEval's seven transfer tasks (MoCoSE, Table 2), and the demo's
own; and the digest of all evaluation files. Text and counts are as in `core.data.sts`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from core.config.scale import DEMO, TRANSFER
from core.data.sts import SPLITS, examples, senteval_root, used_files
from core.data.text import DEMO_FOLDER, named_digest, numbered_lines, text_digest

TREC_KINDS = "ABBR DESC ENTY HUM LOC NUM".split()
LABELS = {
    "0": 0,
    "1": 1,
    "neg": 0,
    "pos": 1,
    **{kind: label for label, kind in enumerate(TREC_KINDS)},
}
# How a line of a task reads, and that in words. Of the other tasks a file is a class, named by its
# split.
FORMATS = {
    "SST-2": (r"(?P<first>.*\S.*)\t\s*(?P<label>[01])\s*", "a sentence, a tab and 0 or 1"),
    "TREC": (
        rf"(?P<label>{'|'.join(TREC_KINDS)}):\S* (?P<first>.*\S.*)",
        f"a question's kind ({', '.join(TREC_KINDS)}), a colon and a question",
    ),
    "MRPC": (
        r"(?P<label>[01])\t[^\t]*\t[^\t]*\t(?P<first>[^\t]*\S[^\t]*)\t(?P<second>[^\t]*\S[^\t]*)",
        "0 or 1, two ids and two sentences separated by tabs",
    ),
}
# A sentence, its label, and the second sentence of a pair.
LabelledRow = tuple[str | int, ...]
# another fit would be another number, and so another run
_PROBES = (
    "logistic regression by Newton's method in float64, by conjugate gradients above two classes"
)


@dataclass(frozen=True)
class Part:
    """Examples of one part of a task: sentences, labels from 0, and second sentences of pairs."""

    first: tuple[str, ...]
    labels: tuple[int, ...]
    second: tuple[str, ...] = ()


@dataclass(frozen=True)
class TransferTask:
    """A task with its parts, of train, dev and test: train alone is cross-validated, train and test
    develops on folds of train."""

    name: str
    parts: dict[str, Part]

    def sentences(self) -> list[str]:
        """Its distinct sentences."""
        texts: list[str] = []
        for part in self.parts.values():
            texts += part.first + part.second
        return list(dict.fromkeys(texts))


def load_transfer(evaluation_path: Path) -> list[TransferTask]:
    """MR, CR, SUBJ, MPQA, SST-2, TREC and MRPC, in the paper's order.

    `evaluation_path` is SentEval's folder or one that holds it. Raises UserError, naming file and
    line, for anything missing, malformed, wrongly encoded or of another count than published.
    """
    root = senteval_root(evaluation_path)
    tasks = []
    for name in TRANSFER:
        rows: dict[str, list[LabelledRow]] = {}
        for split, (file, count) in SPLITS[name].items():
            encoding = "latin-1" if name == "TREC" else "utf-8"
            lines = numbered_lines(root / file, encoding)
            if name == "MRPC":
                del lines[0]  # its header
            part = "train" if split in LABELS else split  # class 1, then class 0, as SentEval does
            read = partial(_row, name, split)
            rows.setdefault(part, []).extend(examples(root / file, count, read, lines))
        parts = {part: _part(labelled) for part, labelled in rows.items()}
        tasks.append(TransferTask(name, parts))
    return tasks


def load_probes() -> list[TransferTask]:
    """The demo's own tasks, each with train, dev and test. A line has task, part, label and
    sentence."""
    rows: dict[tuple[str, str], list[LabelledRow]] = {}
    for _, line in numbered_lines(DEMO_FOLDER / "probes.tsv.gz"):
        task, part, label, text = line.split("\t")
        rows.setdefault((task, part), []).append((text, int(label)))
    tasks = []
    for task in DEMO.probes:
        parts = {part: _part(rows[task, part]) for part in ("train", "dev", "test")}
        tasks.append(TransferTask(task, parts))
    return tasks


def probes_digest(sets_digest: str, tasks: Sequence[TransferTask]) -> str:
    """SHA-256 of the demo's graded pairs, by their digest, of every labelled sentence, one a line,
    and of how probes are fitted."""
    lines = [f"{sets_digest}\n"]
    for task in tasks:
        for name, part in task.parts.items():
            for text, label in zip(part.first, part.labels, strict=True):
                lines.append(f"{task.name}\t{name}\t{label}\t{text}\n")
    return _with_probes(text_digest(lines))


def evaluation_digest(evaluation_path: Path, transfer: bool = False) -> str:
    """SHA-256 over the evaluation files that a run uses (`core.data.sts.used_files`), by name and
    content. With `transfer` the transfer tasks are among them, and how their probes are fitted.
    Files that nothing reads (licences, SICK's training split) do not enter. Raises UserError for a
    missing file."""
    root = senteval_root(evaluation_path)
    digest = named_digest((name, root / name) for name in used_files(transfer))
    if transfer:
        return _with_probes(digest)
    return digest


def _with_probes(digest: str) -> str:
    """The digest of sets with transfer tasks, with the way in which probes are fitted taken in."""
    return text_digest((f"{digest}\n{_PROBES}\n",))


def _part(rows: Sequence[LabelledRow]) -> Part:
    return Part(*map(tuple, zip(*rows, strict=True)))


def _row(name: str, split: str, line: str) -> LabelledRow:
    """The example in a line of a task. An empty line of a class (CR has one) is read as a full
    stop: so do the papers' evaluations, before they encode. Raises ValueError."""
    pattern, expected = FORMATS.get(name, ("(?P<first>.*)", "a sentence"))
    match = re.fullmatch(pattern, line)
    if match is None:
        raise ValueError(f"expected {expected}, but found {line[:40]!r}")
    groups = match.groupdict()
    label = LABELS[groups.pop("label", split)]
    first, *second = (" ".join(text.split()) or "." for text in groups.values())
    return first, label, *second
