"""`python run_study.py evaluate MODEL`: score any encoder on disk with the evaluator that scores the runs."""

from __future__ import annotations

import argparse
import csv
import io
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.data.own_data import DEV, data_file, named_pairs, own_sets
from core.data.sts import StsSet, load_demo, load_sts, load_stsb
from core.data.transfer import TransferTask, load_probes, load_transfer
from core.runner.cli import Parser
from core.spec.errors import UserError, say
from core.spec.scale import DEMO, SCALES, STS_TESTS
from core.store.files import write_whole

MOST_THREADS = 4096
POOLINGS = ("cls", "pooler", "mean", "first_last_avg")
AGGREGATES = ("all", "mean", "wmean")
GEOMETRY = (
    ("alignment", ("alignment_global", "alignment_batched64")),
    ("alignment, all pairs", ("alignment_all_global", "alignment_all_batched64")),
    ("uniformity", ("uniformity_global", "uniformity_batched64")),
)
NO_SCORE = "  no rank correlation: all cosines are equal, or a vector is zero or not finite"


def main(argv: Sequence[str]) -> int:
    """Print one line a set, their average, alignment and uniformity; 0, or 2 with a sentence on standard
    error."""
    try:
        return _run(_parse(argv))
    except UserError as error:
        say(str(error), out=sys.stderr)
        return 2


def _run(options: argparse.Namespace) -> int:
    started = time.monotonic()
    if options.threads is not None and not 1 <= options.threads <= MOST_THREADS:
        raise UserError(f"--threads {options.threads} is no number from 1 to {MOST_THREADS}; give another.")
    _check_csv(options.csv)
    tests, dev, sets, geometry_of = _sets(options)
    tasks = _transfer_tasks(options)  # read before the model, which takes longer
    import torch  # after the data is known to be right

    from core.engine.evaluation.encoding import unfollowed
    from core.engine.evaluation.scoring import distinct_sentences, evaluate
    from core.engine.tokens import tokenise, unknown

    if options.threads is not None:
        torch.set_num_threads(options.threads)
    if options.device == "cuda" and not torch.cuda.is_available():
        raise UserError("There is no CUDA device here; leave --device out.")
    encode, pooling, tokenizer = _encoder(options)
    pairs = sum(len(one) for one in sets.values())
    table = tokenise(tokenizer, distinct_sentences(list(sets.values())), 512)
    notes = [f"Read {len(tests)} test sets and {dev or 'no development set'}, {pairs} pairs."]
    notes += [unfollowed(options.model) if options.pooling is None else "", unknown(table, tokenizer)]
    print(" ".join(filter(None, notes)), flush=True)
    evaluation = evaluate(sets, encode, geometry_of)
    rows: list[tuple[str, str, float, int | str]] = []
    print(f"{'set':<10} {'pairs':>6} {'all':>7} {'mean':>7} {'wmean':>7}")
    for name, score in evaluation.scores.items():
        count, note = len(sets[name]), NO_SCORE if math.isnan(score["all"]) else ""
        rows += [(name, f"spearman_{aggregate}", value, count) for aggregate, value in score.items()]
        print(f"{name:<10} {count:>6} {_numbers(score.values())}{note}")
    means = [evaluation.average(tests, aggregate) for aggregate in AGGREGATES]
    rows += [("avg", f"spearman_{a}", mean, "") for a, mean in zip(AGGREGATES, means, strict=True)]
    without = f", without {dev}" if dev else ""
    print(f"{'average':<10} {'':>6} {_numbers(means)}  of the {len(tests)} tests{without}")
    names = list(dict.fromkeys(one.name for one in geometry_of))
    where = names[0] if len(names) == 1 else "STS-B, all splits" if not options.pairs else "all pairs"
    for title, (whole, batched) in GEOMETRY:
        first, second = evaluation.geometry[whole], evaluation.geometry[batched]
        print(f"{title} ({where}): {first:.4f} global, {second:.4f} in batches of 64")
    rows += [(names[-1], metric, value, "") for metric, value in evaluation.geometry.items()]
    if tasks:
        from core.engine.evaluation import transfer  # scikit-learn only where it is needed

        print(f"{'transfer':<13} {'test':>7} {'dev':>7}  accuracy of a logistic regression")
        for name, accuracy in transfer.transfer_accuracies(tasks, encode).items():  # MoCoSE printed dev (D42)
            print(f"{name:<13} {accuracy.test:>7.2f} {accuracy.dev:>7.2f}")
            rows += [(name, "accuracy_test", accuracy.test, ""), (name, "accuracy_dev", accuracy.dev, "")]
    print(f"{time.monotonic() - started:.1f} s, {torch.get_num_threads()} threads, pooling {pooling}")
    if options.csv is not None:
        text = io.StringIO(newline="")
        writer = csv.writer(text)
        writer.writerow(("model", "pooling", "task", "metric", "value", "pairs"))
        writer.writerows((options.model.name, pooling, *place, repr(x), n) for *place, x, n in rows)
        write_whole(options.csv, text.getvalue().encode())
    return 0


def _numbers(values) -> str:
    return " ".join(f"{value:>7.2f}" for value in values)


def _check_csv(path: Path | None) -> None:
    """Raise UserError for a --csv that cannot be written, or that would replace something that is no plain
    file."""
    if path is not None and (os.path.lexists(path) and (path.is_symlink() or not path.is_file())):
        raise UserError(f"{path} cannot be written, since it is no plain file; give another --csv.")
    if path is not None and not path.absolute().parent.is_dir():
        raise UserError(f"{path} cannot be written, since its folder is not there; give another --csv.")


def _encoder(options: argparse.Namespace) -> tuple[Callable[[Sequence[str]], Any], str, Any]:
    """The function from sentences to vectors, its pooling in words, and its tokenizer. Prints what was
    read."""
    from core.engine.evaluation import encoding

    pooling, why, longest = options.pooling, "as asked", None
    if pooling is None and not (options.model / "modules.json").is_file():
        pooling, why = "cls", "since the folder names none; choose another with --pooling"
    elif pooling is None and not encoding.installed():
        (pooling, longest), why = encoding.stated(options.model), "as the folder says"
    if options.first_layer is not None and pooling != "first_last_avg":
        words = f"{pooling or 'that of the folder'}, {why}"
        raise UserError(f"--first-layer needs --pooling first_last_avg, but it is {words}; leave it out.")
    if pooling is None:
        modules = encoding.load_modules(options.model, options.device, options.allow_pickle)
        kinds = ", ".join(type(module).__name__.lower() for module in list(modules)[1:])
        _say_read(options.model, modules[0].auto_model, modules.max_seq_length)
        print(f"Pooling {kinds}, as the folder says, by sentence-transformers.")
        return lambda texts: modules.encode(list(texts), show_progress_bar=False), kinds, modules.tokenizer
    settings = {"device": options.device, "allow_pickle": options.allow_pickle}
    checkpoint = encoding.load_checkpoint(options.model, pooling=pooling, **settings)
    checkpoint = replace(checkpoint, max_length=min(checkpoint.max_length, longest or checkpoint.max_length))
    _say_read(options.model, checkpoint.model, checkpoint.max_length)
    print(f"Pooling {pooling}, {why}.")
    layer = 1 if options.first_layer is None else options.first_layer

    def encode(texts: Sequence[str]) -> Any:
        return encoding.sentence_vectors(checkpoint, texts, pooling, layer, _counter(len(texts)))

    return encode, pooling, checkpoint.tokenizer


def _say_read(folder: Path, model: Any, longest: int | None) -> None:
    config = model.config
    weights = sum(parameter.numel() for parameter in model.parameters()) / 1e6
    shape = f"{config.model_type}, {config.num_hidden_layers} layers x {config.hidden_size}"
    print(f"Read {folder}: {shape}, {weights:.1f} million weights; sentences are cut at {longest} tokens.")


def _counter(total: int) -> Callable[[int], None]:
    """Counts encoded sentences on standard error if it is a terminal, in one line that is overwritten."""
    done, lock, shown = 0, threading.Lock(), sys.stderr is not None and sys.stderr.isatty()

    def count(sentences: int) -> None:
        nonlocal done
        with lock:
            done += sentences
            text = f"\r{done} of {total} sentences encoded" if done < total else "\r\x1b[K"
            if shown:
                print(text, end="", file=sys.stderr, flush=True)

    return count


def _sets(options: argparse.Namespace) -> tuple[tuple[str, ...], str | None, dict[str, StsSet], list[StsSet]]:
    """Test names, development set, all sets to score, and those that give alignment and uniformity.

    Pairs of the user's own are scored beside the sets of --data-dir or --scale demo, or alone.
    """
    generated = SCALES[options.scale].generated
    if generated and options.data_dir is not None:
        raise UserError(
            f"--scale {options.scale} scores on generated pairs and reads no --data-dir; leave one out."
        )
    files = [named_pairs(place) for place in options.pairs]
    cache = Path("~/.cache/run_study").expanduser()
    own = own_sets([(name, data_file(place, "pairs", cache)) for name, place in files])
    tests = tuple(name for name in own if name != DEV) or tuple(own)
    if generated:
        sets = load_demo() | own
        return (*DEMO.tests, *tests), DEMO.dev, sets, [sets[DEMO.dev]]
    if options.data_dir is not None:
        sets = load_sts(options.data_dir) | own
        geometry_of = [load_stsb(options.data_dir, "train"), sets["STS-B dev"], sets["STS-B"]]
        return (*STS_TESTS, *tests), "STS-B dev", sets, geometry_of
    if own:
        return tests, DEV if DEV in own and tests != (DEV,) else None, own, list(own.values())
    raise UserError(
        "Give --data-dir with SentEval's data (STS/ and SICK/; they are in senteval.tar of "
        "princeton-nlp/datasets-for-simcse), or --pairs with pairs of your own, or --scale demo, which "
        "needs neither."
    )


def _transfer_tasks(options: argparse.Namespace) -> list[TransferTask]:
    """The transfer tasks, or the demo's own, with --transfer."""
    if options.transfer and not SCALES[options.scale].generated and options.data_dir is None:
        raise UserError("--transfer reads its tasks from --data-dir; give it, or leave --transfer out.")
    if not options.transfer:
        return []
    return load_probes() if SCALES[options.scale].generated else load_transfer(options.data_dir)


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = Parser(
        prog="run_study.py evaluate",
        description="Score an encoder's folder on the STS tests (Spearman x 100, SentEval's 'all').",
    )
    add = parser.add_argument
    add(
        "model", type=Path, metavar="MODEL", help="folder with config.json, model.safetensors and a tokenizer"
    )
    add(
        "--pooling",
        choices=POOLINGS,
        help="how tokens become one vector (default: as the folder says, else cls)",
    )
    layers = "for first_last_avg: 1 the first transformer layer, 0 the embedding output (1)"
    add("--first-layer", type=int, choices=(0, 1), help=layers)
    add("--data-dir", type=Path, help="SentEval's data, or a folder that holds it")
    own = "pairs of your own, FILE or NAME=FILE: two sentences and a score a line, between tabs; repeatable"
    add("--pairs", action="append", default=[], metavar="PLACE", help=own)
    add("--scale", choices=tuple(SCALES), default="paper", help="demo scores on the generated pairs")
    add("--transfer", action="store_true", help="also the transfer tasks (minutes), or the demo's own")
    add("--threads", type=int, metavar="N", help="CPU threads (all)")
    add("--device", choices=("cpu", "cuda"), default="cpu")
    add("--csv", type=Path, help="write every number to this file, too")
    add("--allow-pickle", action="store_true", help="load pickled weights, if you trust where they came from")
    return parser.parse_args(argv)
