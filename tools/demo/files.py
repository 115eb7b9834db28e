"""Write the demo's text, graded pairs and labelled sentences, as core/demo ships them.

    python -m tools.demo.files [--out core/demo]

The content is always the same. Its digests are in `core/data/sources.py`.
"""

import argparse
import gzip
from pathlib import Path

from core.data.sources import DEMO_CORPUS_ROWS
from core.data.text import DEMO_FOLDER
from tools.demo.corpus import training_sentences
from tools.demo.pairs import DEV, TESTS, graded_pairs
from tools.demo.probes import TASKS, probe


def contents() -> dict[str, str]:
    """The text of every file, by the file's name without .gz."""
    probes = [
        (task, part, example)
        for task in TASKS
        for part, examples in probe(task).items()
        for example in examples
    ]
    return {
        "sentences.txt": "\n".join(training_sentences(DEMO_CORPUS_ROWS)),
        **{
            f"{name}.tsv": "".join(f"{p.a}\t{p.b}\t{p.gold!r}\n" for p in graded_pairs(name))
            for name in (DEV, *TESTS)
        },
        "probes.tsv": "".join(
            f"{task}\t{part}\t{one.label}\t{one.sentence}\n" for task, part, one in probes
        ),
    }


def main() -> None:
    """Write the files, packed."""
    parser = argparse.ArgumentParser(
        description="Write the demo's text, pairs and labelled sentences."
    )
    parser.add_argument(
        "--out", type=Path, default=DEMO_FOLDER, help="the folder to write to (default: core/demo)"
    )
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    for name, text in contents().items():
        (out / f"{name}.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
