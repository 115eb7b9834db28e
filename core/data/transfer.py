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
from core.data.sts import SPLITS, examples, sentence, senteval_root
from core.data.text import DEMO_FOLDER, numbered_lines
from core.spec.scale import DEMO, TRANSFER

TREC_KINDS = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
# A line's sentence and label, and the second sentence of a pair.
Row = tuple[str, int] | tuple[str, int, str]


@dataclass(frozen=True)
class Part:
    """Examples of one part of a task: sentences, labels from 0, and second sentences of pairs."""

    first: tuple[str, ...]
    labels: tuple[int, ...]
    second: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True)
class TransferTask:
    """A task with what it has: train alone is cross-validated, train and test develops on folds of train."""

    name: str
    train: Part
    dev: Part | None = None
    test: Part | None = None

    def parts(self) -> dict[str, Part]:
        """The parts that the task has, by name."""
        parts = {"train": self.train, "dev": self.dev, "test": self.test}
        return {name: part for name, part in parts.items() if part is not None}

    def sentences(self) -> list[str]:
        """Its distinct sentences."""
        parts = self.parts().values()
        return list(dict.fromkeys(text for part in parts for text in (*part.first, *part.second)))


def load_transfer(evaluation_path: Path) -> list[TransferTask]:
    """MR, CR, SUBJ, MPQA, SST-2, TREC and MRPC, in the paper's order.

    `evaluation_path` is SentEval's folder or one that holds it. Raises UserError, naming file and line, for
    anything missing, malformed, wrongly encoded or of another count than published.
    """
    root = senteval_root(evaluation_path)

    def rows(file: str, count: int, read: Callable[[str], Row]) -> list[Row]:
        lines = numbered_lines(root / file, "latin-1" if read is _trec else "utf-8")
        return examples(root / file, count, read, lines[1:] if read is _mrpc else lines)  # MRPC has a header

    tasks, readers = [], {"SST-2": _sst, "TREC": _trec, "MRPC": _mrpc}
    for name in TRANSFER:
        splits = SPLITS[name]
        if name in readers:
            parts = {split: _part(rows(*place, readers[name])) for split, place in splits.items()}
        else:  # the sentences of class 1, then those of class 0, as SentEval does
            parts = {"train": _part(rows(*splits["pos"], _one) + rows(*splits["neg"], _zero))}
        tasks.append(TransferTask(name, **parts))
    return tasks


def load_probes() -> list[TransferTask]:
    """The demo's own tasks, each with train, dev and test. A line has task, part, label and sentence."""
    parts: dict[tuple[str, str], list[Row]] = {}
    for _, line in numbered_lines(DEMO_FOLDER / "probes.tsv.gz"):
        task, part, label, text = line.split("\t")
        parts.setdefault((task, part), []).append((text, int(label)))
    names = ("train", "dev", "test")
    return [TransferTask(task, *(_part(parts[task, name]) for name in names)) for task in DEMO.probes]


def probes_digest(sets_digest: str, tasks: Sequence[TransferTask]) -> str:
    """SHA-256 of the demo's graded pairs, by their digest, of every labelled sentence, one a line, and of how
    probes are fitted."""
    lines = [
        f"{task.name}\t{name}\t{label}\t{text}\n"
        for task in tasks
        for name, part in task.parts().items()
        for text, label in zip(part.first, part.labels, strict=True)
    ]
    return with_probes(hashlib.sha256("".join([f"{sets_digest}\n", *lines]).encode()).hexdigest())


def _part(rows: Sequence[Row]) -> Part:
    return Part(*map(tuple, zip(*rows, strict=True)))


def _one(line: str) -> Row:
    """A sentence of class 1. An empty line (CR has one) is an example, read as a full stop: so do the papers'
    evaluations, before they encode."""
    return " ".join(line.split()) or ".", 1


def _zero(line: str) -> Row:
    return _one(line)[0], 0


def _sst(line: str) -> Row:
    text, _, label = line.rpartition("\t")
    if label.strip() not in ("0", "1"):
        raise ValueError(f"expected a sentence, a tab and 0 or 1, found {line[-40:]!r}")
    return sentence(text), int(label)


def _trec(line: str) -> Row:
    kind, _, text = line.partition(" ")
    coarse = kind.partition(":")[0]
    if coarse not in TREC_KINDS:
        kinds = ", ".join(TREC_KINDS)
        raise ValueError(f"expected a question's kind ({kinds}) and a colon, found {kind[:40]!r}")
    return sentence(text), TREC_KINDS.index(coarse)


def _mrpc(line: str) -> Row:
    fields = line.split("\t")
    if len(fields) != 5 or fields[0] not in ("0", "1"):
        what = "0 or 1, two ids and two sentences separated by tabs"
        raise ValueError(f"expected {what}, found {line[:40]!r}")
    return sentence(fields[3]), int(fields[0]), sentence(fields[4])
