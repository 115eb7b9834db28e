"""Write the demo's text, graded pairs and labelled sentences, as core/assets/demo ships them.

    python -m tools.demo.files [--out core/assets/demo]

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
    texts = {"sentences.txt": "\n".join(training_sentences(DEMO_CORPUS_ROWS))}
    for name in (DEV, *TESTS):
        pairs = [f"{pair.a}\t{pair.b}\t{pair.gold!r}\n" for pair in graded_pairs(name)]
        texts[f"{name}.tsv"] = "".join(pairs)
    probes = []
    for task in TASKS:
        for part, examples in probe(task).items():
            for example in examples:
                probes.append(f"{task}\t{part}\t{example.label}\t{example.sentence}\n")
    texts["probes.tsv"] = "".join(probes)
    return texts


def main() -> None:
    """Write the files, packed."""
    parser = argparse.ArgumentParser(
        description="Write the demo's text, pairs and labelled sentences."
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=DEMO_FOLDER,
        help="the folder to write to (default: core/assets/demo)",
    )
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    for name, text in contents().items():
        (out / f"{name}.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
