"""`python run_study.py evaluate MODEL`: score any checkpoint on disk with the evaluator that scores the runs."""

from __future__ import annotations

import argparse
import csv
import io
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

from core.data.sts import StsSet, load_demo, load_sts, load_stsb
from core.data.transfer import TransferTask, load_probes, load_transfer
from core.engine.evaluation.evaluation import Evaluation, average, evaluate
from core.engine.evaluation.pooling import POOLINGS, Pooling, installed, modules, stated
from core.runner.cli import Parser
from core.spec import section
from core.spec.errors import UserError, say
from core.spec.scale import DEMO, SCALES, STS_TESTS
from core.store.files import write_whole

MOST_THREADS = 4096
_GEOMETRY = (
    ("alignment", ("alignment_global", "alignment_batched64")),
    ("alignment, all pairs", ("alignment_all_global", "alignment_all_batched64")),
    ("uniformity", ("uniformity_global", "uniformity_batched64")),
)


def main(argv: Sequence[str]) -> int:
    """Print one line a set, their average, alignment and uniformity; 0, or 2 with a sentence on standard error."""
    try:
        return _run(_parse(argv))
    except UserError as error:
        say(str(error), out=sys.stderr)
        return 2


def _run(options: argparse.Namespace) -> int:
    started = time.monotonic()
    if options.csv is not None and (options.csv.is_dir() or not options.csv.absolute().parent.is_dir()):
        raise UserError(f"{options.csv} cannot be written: it is a folder, or lies in none; give another --csv.")
    tests, dev, sets, geometry_of = _sets(options)
    tasks = _transfer_tasks(options)
    import torch  # after the data is known to be right

    from core.engine.evaluation.encoding import load_checkpoint, load_modules, sentence_vectors

    if options.threads is not None:
        torch.set_num_threads(options.threads)
    if options.device == "cuda" and not torch.cuda.is_available():
        raise UserError("There is no CUDA device here; leave --device out.")
    pooling, why, longest = chosen_pooling(options)
    if options.first_layer is not None and pooling != "first_last_avg":
        words = pooling or "the folder's own"
        raise UserError(f"--first-layer is for --pooling first_last_avg, and here it is {words}, {why}; leave it out.")
    listed = modules(options.model) if pooling is None else []
    folder = listed[0][1] if listed else options.model
    checkpoint = load_checkpoint(folder, pooling=pooling or "cls", device=options.device, allow_pickle=options.allow_pickle)
    if listed:
        whole = load_modules(options.model, options.device, options.allow_pickle)
        longest = whole.max_seq_length
    if longest is not None:
        checkpoint = replace(checkpoint, max_length=min(checkpoint.max_length, longest))
    options.pooling = pooling or ", ".join(kind for kind, _ in listed[1:]).lower()
    for line in read_lines(options, checkpoint, sets, tests, why):
        print(line, flush=True)

    def encode(sentences):
        with Counted(len(sentences)) as told:
            if pooling is None:
                return whole.encode(list(sentences), show_progress_bar=False)
            return sentence_vectors(checkpoint, sentences, pooling, 1 if options.first_layer is None else options.first_layer, told)

    evaluation = evaluate(sets, encode, geometry_of)
    for line in lines(evaluation, tests, dev, geometry_of[-1].name if len(geometry_of) == 1 else "STS-B, all splits"):
        print(line)
    accuracies = {}
    if tasks:
        from core.engine.evaluation.probes import transfer_accuracies  # scikit-learn only where it is needed

        accuracies = transfer_accuracies(tasks, encode)
        for line in transfer_lines(accuracies):
            print(line)
    print(f"{time.monotonic() - started:.1f} s, {torch.get_num_threads()} threads, pooling {options.pooling}")
    if options.csv is not None:
        _write_csv(options, evaluation, tests, geometry_of[-1].name, accuracies)
    return 0


def chosen_pooling(options: argparse.Namespace) -> tuple[Pooling | None, str, int | None]:
    """The pooling, why, and the folder's limit in tokens. The pooling is None where sentence-transformers makes the vectors."""
    if options.pooling is not None:
        return options.pooling, "as asked", None
    if not modules(options.model):
        return "cls", "since the folder names none; choose another with --pooling", None
    if installed():
        return None, "as the folder says, by sentence-transformers", None
    pooling, longest = stated(options.model)
    return pooling, "as the folder says", longest


def read_lines(options: argparse.Namespace, checkpoint, sets, tests: Sequence[str], why: str) -> list[str]:
    """What was read: the model, how its vectors are made, and the sets."""
    config = checkpoint.model.config
    weights = sum(parameter.numel() for parameter in checkpoint.model.parameters())
    shape = f"{config.model_type}, {config.num_hidden_layers} layers x {config.hidden_size}, {weights / 1e6:.1f} million weights"
    where = "the generated pairs" if SCALES[options.scale].generated else str(options.data_dir)
    pairs = sum(len(one) for one in sets.values())
    return [
        f"Read {options.model}: {shape}; sentences are cut at {checkpoint.max_length} tokens.",
        f"Pooling {options.pooling}, {why}.",
        f"Read {where}: {len(tests)} test sets and a development set, {pairs} pairs.",
    ]


class Counted:
    """Says on standard error how many of the sentences are encoded: a line that is overwritten on a terminal, else one each half minute."""

    def __init__(self, total: int):
        self.total, self.done, self.spoke = total, 0, time.monotonic()
        self.lock, self.terminal = threading.Lock(), sys.stderr is not None and sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __call__(self, count: int) -> None:
        with self.lock:
            self.done += count
            if time.monotonic() - self.spoke >= (0.2 if self.terminal else 30.0):
                self.spoke = time.monotonic()
                text = f"{self.done} of {self.total} sentences encoded"
                print(f"\r{text}" if self.terminal else text, end="" if self.terminal else "\n", file=sys.stderr, flush=True)

    def __exit__(self, *_) -> None:
        if self.terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def lines(evaluation: Evaluation, tests: Sequence[str], dev: str, geometry_name: str) -> list[str]:
    """The report: Spearman x 100 in three aggregations a set, the tests' average, alignment and uniformity in both modes."""
    found = [f"{'set':<10} {'pairs':>6} {'all':>7} {'mean':>7} {'wmean':>7}"]
    for score in evaluation.scores.values():
        note = "" if score.status == "ok" else f"  {_MEANING[score.status]}"
        found.append(f"{score.name:<10} {score.pairs:>6} {score.all:>7.2f} {score.mean:>7.2f} {score.wmean:>7.2f}{note}")
    means = [average(evaluation, tests, aggregate) for aggregate in ("all", "mean", "wmean")]
    numbers = " ".join(f"{mean:>7.2f}" for mean in means)
    found.append(f"{'average':<10} {'':>6} {numbers}  of the {len(tests)} tests, without {dev}")
    for title, (whole, batched) in _GEOMETRY:
        values = evaluation.geometry[whole], evaluation.geometry[batched]
        found.append(f"{title} ({geometry_name}): {values[0]:.4f} global, {values[1]:.4f} in batches of 64")
    return found


def transfer_lines(accuracies) -> list[str]:
    """The transfer tasks' accuracies, test first; development accuracies are what MoCoSE's Table 2 printed (D42)."""
    found = [f"{'transfer':<13} {'test':>7} {'dev':>7}  accuracy of a logistic regression"]
    return found + [f"{name:<13} {accuracy.test:>7.2f} {accuracy.dev:>7.2f}" for name, accuracy in accuracies.items()]


_MEANING = {"constant": "all cosines are equal: no rank correlation", "non_finite": "some embedding is zero or not finite"}


def _sets(options: argparse.Namespace) -> tuple[tuple[str, ...], str, dict[str, StsSet], list[StsSet]]:
    """Test names, development set, all sets to score, and those that give alignment and uniformity."""
    if SCALES[options.scale].generated:
        if options.data_dir is not None:
            raise UserError(f"--scale {options.scale} scores on generated pairs, so it reads no --data-dir; leave one out.")
        sets = load_demo()
        return DEMO.tests, DEMO.dev, sets, [sets[DEMO.dev]]
    if options.data_dir is None:
        raise UserError(
            "Give --data-dir with SentEval's data (STS/ and SICK/; senteval.tar of princeton-nlp/datasets-for-simcse holds "
            "them), or --scale demo, which needs none."
        )
    sets = load_sts(options.data_dir)
    return STS_TESTS, "STS-B dev", sets, [load_stsb(options.data_dir, "train"), sets["STS-B dev"], sets["STS-B"]]


def _transfer_tasks(options: argparse.Namespace) -> list[TransferTask]:
    """The transfer tasks that are asked for, or the demo's own; read before the model, which takes longer."""
    if not options.transfer:
        return []
    return load_probes() if SCALES[options.scale].generated else load_transfer(options.data_dir)


def _write_csv(options: argparse.Namespace, evaluation: Evaluation, tests: Sequence[str], geometry_task: str, accuracies) -> None:
    """One row a number: model, pooling, task, metric, value, pairs; full precision."""
    rows: list[tuple[str, str, float, int | str]] = []
    for aggregate in ("all", "mean", "wmean"):
        metric = f"spearman_{aggregate}"
        rows += [(s.name, metric, getattr(s, aggregate), s.pairs) for s in evaluation.scores.values()]
        rows.append(("avg", metric, average(evaluation, tests, aggregate), ""))
    rows += [(geometry_task, metric, value, "") for metric, value in evaluation.geometry.items()]
    for task, accuracy in accuracies.items():
        rows += [(task, "accuracy_test", accuracy.test, ""), (task, "accuracy_dev", accuracy.dev, "")]
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(("model", "pooling", "task", "metric", "value", "pairs"))
    writer.writerows((options.model.name, options.pooling, task, metric, repr(value), n) for task, metric, value, n in rows)
    write_whole(options.csv, text.getvalue().encode())


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = Parser(
        prog="run_study.py evaluate", description="Score a checkpoint folder on the STS tests (Spearman x 100, SentEval's 'all')."
    )
    parser.add_argument("model", type=Path, metavar="MODEL", help="folder with config.json, model.safetensors and a tokenizer")
    parser.add_argument("--pooling", choices=POOLINGS, help="how tokens become one vector (default: as the folder says, else cls)")
    parser.add_argument(
        "--first-layer",
        type=int,
        choices=(0, 1),
        help="for first_last_avg: 1 the first transformer layer, 0 the embedding output (1)",
    )
    parser.add_argument("--data-dir", type=Path, help="SentEval's data, or a folder that holds it")
    parser.add_argument("--scale", choices=tuple(SCALES), default="paper", help="demo and long score on the generated pairs")
    parser.add_argument("--transfer", action="store_true", help="also the transfer tasks (minutes), or the demo's own")
    parser.add_argument("--threads", type=_positive, help="CPU threads (all)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--csv", type=Path, help="write every number to this file, too")
    parser.add_argument("--allow-pickle", action="store_true", help="load pickled weights, if you trust where they came from")
    return parser.parse_args(argv)


def _positive(text: str) -> int:
    value = section.whole(text)
    if value is None or not 1 <= value <= MOST_THREADS:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 to {MOST_THREADS}")
    return value
