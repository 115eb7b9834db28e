"""SentEval's folder layout: where each set lies, its subsets in SentEval's order, and the published counts.

Standard library only, so that the plan can hash the evaluation data without loading it.
"""

from __future__ import annotations

from pathlib import Path

from core.spec.errors import UserError

# Pairs per subset, as published. STS13 lacks SMT, whose sentences are not redistributable.
STS_YEARS: dict[str, dict[str, int]] = {
    "STS12": {"MSRpar": 750, "MSRvid": 750, "SMTeuroparl": 459, "surprise.OnWN": 750, "surprise.SMTnews": 399},
    "STS13": {"FNWN": 189, "headlines": 750, "OnWN": 561},
    "STS14": {"deft-forum": 450, "deft-news": 300, "headlines": 750, "images": 750, "OnWN": 750, "tweet-news": 750},
    "STS15": {"answers-forums": 375, "answers-students": 750, "belief": 375, "headlines": 750, "images": 750},
    "STS16": {"answer-answer": 254, "headlines": 249, "plagiarism": 230, "postediting": 244, "question-question": 209},
}
# Split: file below the root, pairs.
STSB_SPLITS: dict[str, tuple[str, int]] = {
    "train": ("STS/STSBenchmark/sts-train.csv", 5749),
    "dev": ("STS/STSBenchmark/sts-dev.csv", 1500),
    "test": ("STS/STSBenchmark/sts-test.csv", 1379),
}
SICK_SPLITS: dict[str, tuple[str, int]] = {
    "train": ("SICK/SICK_train.txt", 4500),
    "dev": ("SICK/SICK_trial.txt", 500),
    "test": ("SICK/SICK_test_annotated.txt", 4927),
}
# The seven transfer tasks: files below the root by part, with their examples. Two classes, one a file:
TWO_FILES: dict[str, dict[str, tuple[str, int]]] = {
    "MR": {"pos": ("MR/rt-polarity.pos", 5331), "neg": ("MR/rt-polarity.neg", 5331)},
    "CR": {"pos": ("CR/custrev.pos", 2407), "neg": ("CR/custrev.neg", 1368)},
    "SUBJ": {"pos": ("SUBJ/subj.objective", 5000), "neg": ("SUBJ/subj.subjective", 5000)},
    "MPQA": {"pos": ("MPQA/mpqa.pos", 3312), "neg": ("MPQA/mpqa.neg", 7294)},
}
SST_SPLITS: dict[str, tuple[str, int]] = {
    "train": ("SST/binary/sentiment-train", 67349),
    "dev": ("SST/binary/sentiment-dev", 872),
    "test": ("SST/binary/sentiment-test", 1821),
}
TREC_SPLITS: dict[str, tuple[str, int]] = {"train": ("TREC/train_5500.label", 5452), "test": ("TREC/TREC_10.label", 500)}
MRPC_SPLITS: dict[str, tuple[str, int]] = {
    "train": ("MRPC/msr_paraphrase_train.txt", 4076),
    "test": ("MRPC/msr_paraphrase_test.txt", 1725),
}
_PLACES = ("", "senteval", "SentEval", "data/downstream", "senteval/data/downstream", "SentEval/data/downstream", "downstream")


def senteval_root(path: Path) -> Path:
    """The folder that holds STS/ and SICK/: `path` itself or a usual place below it. Raises UserError if there is none."""
    path = Path(path)
    for place in _PLACES:
        if (path / place / "STS").is_dir() and (path / place / "SICK").is_dir():
            return path / place
    raise UserError(
        f"{path} holds no SentEval data: give the folder with STS/ and SICK/ in it (or one that holds senteval/ or "
        "data/downstream/), or use --scale demo, which needs none."
    )


def year_files(name: str, subset: str) -> tuple[str, str]:
    """Input and gold file of one subset of STS12 … STS16, relative to the root."""
    folder = f"STS/{name}-en-test"
    return f"{folder}/STS.input.{subset}.txt", f"{folder}/STS.gs.{subset}.txt"


def used_files(transfer: bool = False) -> tuple[str, ...]:
    """The files that can move a run's number, sorted: seven tests, all of STS-B (selection; alignment, D43), transfer tasks."""
    names = [file for name, subsets in STS_YEARS.items() for subset in subsets for file in year_files(name, subset)]
    names += [file for file, _ in STSB_SPLITS.values()]
    names.append(SICK_SPLITS["test"][0])
    return tuple(sorted([*names, *(transfer_files() if transfer else ())]))


def transfer_files() -> tuple[str, ...]:
    """The files of the seven transfer tasks."""
    parts = (*TWO_FILES.values(), SST_SPLITS, TREC_SPLITS, MRPC_SPLITS)
    return tuple(file for part in parts for file, _ in part.values())


def check_transfer(root: Path) -> None:
    """Raise UserError unless every file of the transfer tasks is there."""
    for file in transfer_files():
        if not (root / file).is_file():
            raise UserError(
                f"{root} has no transfer tasks ({file} is missing); fetch SentEval's whole data, or leave the transfer tasks off."
            )
