"""Rows of a data set on standard output, through the `datasets` library: python -m core.data.hf_rows text|pairs NAME REVISION|- SPLIT

A process of its own, which nothing imports; its last line on standard error is the sentence for the user.
"""

from __future__ import annotations

import sys
from pathlib import Path

PAIR_COLUMNS = (
    ("sentence1", "sentence_1", "sent1", "text1"),
    ("sentence2", "sentence_2", "sent2", "text2"),
    ("score", "similarity_score", "label"),
)
TEXT_COLUMNS = ("text", "sentence", "sentences", "sent")
SAFE = 4  # the first version of the library that runs no code of a data set's
FILES = {".csv": "csv", ".tsv": "csv", ".json": "json", ".jsonl": "json", ".parquet": "parquet", ".txt": "text"}


def main(argv: list[str]) -> int:
    """Print the rows; 0, or 2 with a sentence."""
    kind, name, revision, split = argv
    try:
        rows = _loaded(name, None if revision == "-" else revision, split)
        names = [_column(rows, choices, name) for choices in (PAIR_COLUMNS if kind == "pairs" else (TEXT_COLUMNS,))]
        with open(1, "w", encoding="utf-8", closefd=False) as out:
            out.writelines("\t".join(" ".join(str(row[column]).split()) for column in names) + "\n" for row in rows)
        return 0
    except Exception as error:  # noqa: BLE001  (the library has many of its own)
        print(
            f"{name} could not be read by the datasets library ({type(error).__name__}: {' '.join(str(error).split())[:200]}).",
            file=sys.stderr,
        )
        return 2


def _loaded(name: str, revision: str | None, split: str):
    import datasets

    if int(datasets.__version__.partition(".")[0]) < SAFE:
        raise ValueError(f"version {datasets.__version__} can run a data set's own code; install {SAFE}.0 or later")
    datasets.disable_progress_bars()
    path = Path(name)
    if path.is_absolute() and path.is_file():
        kind = FILES.get(path.suffix)
        if kind is None:
            raise ValueError(f"its ending {path.suffix!r} is not one of {', '.join(FILES)}")
        more = {"delimiter": "\t"} if path.suffix == ".tsv" else {}
        return datasets.load_dataset(kind, data_files={split: str(path)}, split=split, **more)
    return datasets.load_dataset(name, split=split, revision=revision)


def _column(rows, choices: tuple[str, ...], name: str) -> str:
    for choice in choices:
        if choice in rows.column_names:
            return choice
    if choices is TEXT_COLUMNS and len(rows.column_names) == 1:
        return rows.column_names[0]
    raise ValueError(f"it has the columns {', '.join(rows.column_names)}, and none of {', '.join(choices)}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
