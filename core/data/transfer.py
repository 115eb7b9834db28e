"""Labelled sentences for probing: SentEval's seven transfer tasks (MoCoSE, Table 2), and the demo's own.

Text is read as SentEval reads it, with white space runs made single blanks. Whatever differs from the
published counts is refused, since an accuracy on other examples is another number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.data.digests import with_probes
from core.data.sts import (
    MRPC_SPLITS,
    SST_SPLITS,
    TREC_SPLITS,
    TWO_FILES,
    check_count,
    check_transfer,
    malformed,
    sentence,
    senteval_root,
)
from core.data.text import DEMO_FOLDER, numbered_lines
from core.spec.scale import DEMO

TREC_KINDS = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")


@dataclass(frozen=True)
class Part:
    """Examples of one part of a task: sentences, labels from 0, and second sentences of pairs."""

    first: tuple[str, ...]
    labels: tuple[int, ...]
    second: tuple[str, ...] = ()

    def __post_init__(self):
        if len(self.first) != len(self.labels) or len(self.second) not in (0, len(self.first)):
            raise ValueError("sentences and labels differ in number")

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True)
class TransferTask:
    """A task with what it has: train alone is cross-validated, train and test develops on folds of train."""

    name: str
    train: Part
    dev: Part | None = None
    test: Part | None = None

    def sentences(self) -> list[str]:
        """Its distinct sentences."""
        parts = [part for part in (self.train, self.dev, self.test) if part is not None]
        return list(dict.fromkeys(text for part in parts for text in (*part.first, *part.second)))


def load_transfer(evaluation_path: Path) -> list[TransferTask]:
    """MR, CR, SUBJ, MPQA, SST-2, TREC and MRPC, in the paper's order.

    `evaluation_path` is SentEval's folder or one that holds it. Raises UserError, naming file and line, for
    anything missing, malformed, wrongly encoded or of another count than published.
    """
    root = senteval_root(evaluation_path)
    check_transfer(root)
    tasks = [_two_files(root, name) for name in TWO_FILES]
    tasks.append(
        TransferTask("SST-2", **{split: _part(root, *SST_SPLITS[split], _sst) for split in SST_SPLITS})
    )
    tasks.append(
        TransferTask(
            "TREC", **{split: _part(root, *TREC_SPLITS[split], _trec, "latin-1") for split in TREC_SPLITS}
        )
    )
    return [
        *tasks,
        TransferTask("MRPC", **{split: _mrpc(root, *MRPC_SPLITS[split]) for split in MRPC_SPLITS}),
    ]


def load_probes() -> list[TransferTask]:
    """The demo's own tasks, each with train, dev and test. A line has task, part, label and sentence."""
    parts: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for _, line in numbered_lines(DEMO_FOLDER / "probes.tsv.gz"):
        task, part, label, text = line.split("\t")
        parts.setdefault((task, part), []).append((text, int(label)))
    split = {key: Part(*map(tuple, zip(*examples, strict=True))) for key, examples in parts.items()}
    return [
        TransferTask(name, *(split[name, part] for part in ("train", "dev", "test"))) for name in DEMO.probes
    ]


def probes_digest(sets_digest: str, tasks: Sequence[TransferTask]) -> str:
    """SHA-256 of the demo's graded pairs, by their digest, of every labelled sentence, one a line, and of how
    probes are fitted."""
    lines = [f"{sets_digest}\n"]
    for task in tasks:
        for name, part in (("train", task.train), ("dev", task.dev), ("test", task.test)):
            if part is not None:
                lines += [
                    f"{task.name}\t{name}\t{label}\t{text}\n"
                    for text, label in zip(part.first, part.labels, strict=True)
                ]
    return with_probes(hashlib.sha256("".join(lines).encode()).hexdigest())


def _two_files(root: Path, name: str) -> TransferTask:
    """A cross-validated task: the sentences of class 1, then those of class 0, as SentEval joins them.

    An empty line (CR has one) is an example, read as a full stop: so do the papers' evaluations, before they
    encode.
    """
    parts = [
        _part(
            root,
            *TWO_FILES[name][side],
            lambda path, number, line, label=label: (" ".join(line.split()) or ".", label),
        )
        for side, label in (("pos", 1), ("neg", 0))
    ]
    return TransferTask(
        name, Part(*(sum((getattr(part, field) for part in parts), ()) for field in ("first", "labels")))
    )


def _part(root: Path, file: str, count: int, read: Callable, encoding: str = "utf-8") -> Part:
    path = root / file
    rows = [read(path, number, line) for number, line in numbered_lines(path, encoding)]
    check_count(str(path), "examples", count, len(rows))
    return Part(*map(tuple, zip(*rows, strict=True)))


def _sst(path: Path, number: int, line: str) -> tuple[str, int]:
    text, _, label = line.rpartition("\t")
    if label.strip() not in ("0", "1"):
        raise malformed(path, number, f"a sentence, a tab and 0 or 1, found {line[-40:]!r}")
    return sentence(path, number, text), int(label)


def _trec(path: Path, number: int, line: str) -> tuple[str, int]:
    kind, _, text = line.partition(" ")
    coarse = kind.partition(":")[0]
    if coarse not in TREC_KINDS:
        raise malformed(
            path, number, f"a question's kind ({', '.join(TREC_KINDS)}) and a colon, found {kind[:40]!r}"
        )
    return sentence(path, number, text), TREC_KINDS.index(coarse)


def _mrpc(root: Path, file: str, count: int) -> Part:
    """Five tab-separated columns after a header line: 0 or 1, two ids, two sentences."""
    path, rows = root / file, []
    for number, line in numbered_lines(path):
        if number == 1:
            continue
        fields = line.split("\t")
        if len(fields) != 5 or fields[0] not in ("0", "1"):
            raise malformed(
                path, number, f"0 or 1, two ids and two sentences separated by tabs, found {line[:40]!r}"
            )
        rows.append((sentence(path, number, fields[3]), int(fields[0]), sentence(path, number, fields[4])))
    check_count(str(path), "examples", count, len(rows))
    return Part(*map(tuple, zip(*rows, strict=True)))
