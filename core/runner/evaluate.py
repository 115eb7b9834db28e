"""`run_study.py evaluate MODEL`: score any encoder on disk with the evaluator that scores the
runs."""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from core.data.encoders import unfollowed
from core.data.own_data import DEV, check_name, data_file, named_pairs, own_sets
from core.data.sts import StsSet, load_demo, load_sts, load_stsb
from core.runner import devices
from core.runner.cli import Parser, check_names
from core.spec.errors import UserError, counted, no_formula, say
from core.spec.scale import DEMO, SCALES, STS_TESTS
from core.store.files import write_whole

POOLINGS = ("cls", "pooler", "mean", "first_last_avg")
AGGREGATES = ("all", "mean", "wmean")
GEOMETRY = ("alignment", "alignment_all", "uniformity")
COLUMNS = ("model", "pooling", "task", "metric", "value", "pairs")  # of the CSV file
NO_SCORE = "  no rank correlation: all cosines are equal, or a vector is zero or not finite"


def main(argv: Sequence[str]) -> int:
    """Print a line for each set, the average, alignment and uniformity. Returns 0."""
    options = _parser().parse_args(argv)
    began = time.monotonic()
    _check_csv(options.csv)
    tests, apart, sets, geometry_of = _sets(options)
    devices.resources(options.scale, options.device, None)  # refuses cuda without a GPU
    devices.check_torch(options.device)
    from core.engine.evaluation import scoring  # torch takes seconds: mistakes are found first

    encode, pooling = _encoder(options)
    pairs = {name: len(one) for name, one in sets.items()}
    without = " and ".join(apart)
    read = f"{counted(len(tests), 'test set')} and {without or 'no development set'}"
    say(f"Read {read}, {sum(pairs.values())} pairs.")
    evaluation = scoring.evaluate(sets, encode, geometry_of)
    scores = dict(evaluation.scores)
    if tests:
        scores["avg"] = {of: evaluation.average(tests, of) for of in AGGREGATES}
    rows: list[tuple[str, str, float, object]] = []
    say(f"{'set':<10} {'pairs':>6} {'all':>7} {'mean':>7} {'wmean':>7}")
    over = f"  of the {counted(len(tests), 'test')}" + (f", without {without}" if without else "")
    for name, score in scores.items():
        numbers = " ".join(f"{score[of]:>7.2f}" for of in AGGREGATES)
        note = over if name == "avg" else NO_SCORE if math.isnan(score["all"]) else ""
        say(f"{name.replace('avg', 'average'):<10} {pairs.get(name, ''):>6} {numbers}{note}")
        rows += [(name, f"spearman_{of}", score[of], pairs.get(name, "")) for of in AGGREGATES]
    for metric in GEOMETRY:
        whole, batched = (
            evaluation.geometry[f"{metric}_{over}"] for over in ("global", "batched64")
        )
        # a set may be smaller
        part = "" if math.isnan(batched) else f", in batches of 64 {batched:.4f}"
        say(f"{metric.replace('_', ', ')}: {whole:.4f}{part}")
    rows += [
        (geometry_of[-1].name, metric, value, "") for metric, value in evaluation.geometry.items()
    ]
    say(f"{time.monotonic() - began:.1f} s, pooling {pooling}")
    if options.csv is not None:
        import pandas

        name = no_formula(Path(os.path.abspath(options.model)).name)  # of `.`, too
        table = pandas.DataFrame([(name, pooling, *row) for row in rows], columns=COLUMNS)
        write_whole(options.csv, table.to_csv(index=False, na_rep="nan").encode())
    return 0


def _check_csv(path: Path | None) -> None:
    """Refuse a --csv that cannot be written, or that would replace something else than such a
    table."""
    if path is None:
        return
    ours = (
        path.is_file()
        and not path.is_symlink()
        and path.read_bytes().startswith(b"model,pooling,task,")
    )
    there = path.exists() or path.is_symlink()
    if there and not ours:
        raise UserError(f"{path} is there and holds no scores of this command; give another --csv.")
    if not path.absolute().parent.is_dir():
        raise UserError(
            f"{path} cannot be written, since its folder is not there; give another --csv."
        )


def _encoder(options: argparse.Namespace) -> tuple[Callable[[Sequence[str]], Any], str]:
    """The function from sentences to vectors, and its pooling in words. Prints what was read."""
    from core.engine.evaluation import encoding

    folder: Path = options.model
    pooling: Any = options.pooling
    trust = {"device": options.device, "allow_pickle": options.allow_pickle}
    whole = next(
        (at for at in (folder, folder.absolute().parent) if (at / "modules.json").is_file()), None
    )
    if whole is not None and pooling is None and not (folder / "run.json").is_file():
        alone = "give --pooling to score its encoder alone"
        if whole != folder:
            raise UserError(
                f"{folder} is a part of {whole}, which states a pooling; give that, or {alone}."
            )
        if not encoding.installed():
            raise UserError(
                f"{folder} has modules.json, which sentence-transformers reads; install the extra "
                "[evaluate] "
                f"(requirements-evaluate.txt), or {alone}."
            )
        modules = encoding.load_modules(folder, **trust)
        model = modules[0].auto_model
        longest = modules.max_seq_length
        encode = partial(modules.encode, show_progress_bar=False)
        pooling = ", ".join(type(module).__name__.lower() for module in list(modules)[1:])
        prompts = ", ".join(name for name, prompt in modules.prompts.items() if prompt) or "none"
        used = modules.default_prompt_name or "none"
        similarity = modules.similarity_fn_name
        note = f", by sentence-transformers. Cosines are scored, with prompt {used}; the folder "
        note += f"names the similarity {similarity} and prompts: {prompts}."
    else:
        note = "." if pooling or whole else ". Choose another with --pooling."
        if pooling and whole:
            note = f". What {whole} says of modules, prompts and similarity is not used."
        pooling = pooling or "cls"  # of a kept model, too
        loaded = encoding.load_checkpoint(folder, pooling=pooling, **trust)
        model = loaded.model
        longest = loaded.max_length
        if dropped := ", ".join(unfollowed(folder, longest)):
            say(f"Not used: {dropped[:200]}.")
        encode = partial(encoding.sentence_vectors, loaded, pooling=pooling)
    config = model.config
    weights = sum(parameter.numel() for parameter in model.parameters()) / 1e6
    shape = f"{config.model_type}, {config.num_hidden_layers} layers x {config.hidden_size}"
    say(
        f"Read {folder}: {shape}, {weights:.1f} million weights; sentences are cut at {longest} "
        "tokens."
    )
    say(f"Pooling {pooling}{note}")
    return encode, pooling


def _sets(
    options: argparse.Namespace,
) -> tuple[tuple[str, ...], tuple[str, ...], dict[str, StsSet], list[StsSet]]:
    """Test names, development sets, all sets to score, and those that give alignment and
    uniformity."""
    cache = devices.cache_folder()
    check_names("--pairs", options.pairs)
    own = own_sets([(name, data_file(place, "pairs", cache)) for name, place in options.pairs])
    tests = tuple(name for name in own if name != DEV)
    dev = (DEV,) if DEV in own else ()
    if SCALES[options.scale].generated:
        own_pairs = (
            f"--scale {options.scale} has its own pairs and reads no --data-dir; leave one out."
        )
        if options.data_dir is not None:
            raise UserError(own_pairs)
        sets = load_demo()
        for name in own:
            check_name(name, {other.lower() for other in sets})
        sets |= own
        return (*DEMO.tests, *tests), (DEMO.dev, *dev), sets, [sets[DEMO.dev]]
    if options.data_dir is not None:
        sets = load_sts(options.data_dir) | own
        whole = [load_stsb(options.data_dir, "train"), sets["STS-B dev"], sets["STS-B"]]
        return (*STS_TESTS, *tests), ("STS-B dev", *dev), sets, whole
    if not own:
        raise UserError(
            "Give --data-dir with SentEval's data, --pairs with pairs of your own, or --scale demo."
        )
    return tests, dev, own, list(own.values())


def _path(text: str) -> Path:
    """A path; no shell expands the tilde of `--csv=~/scores.csv`."""
    return Path(os.path.expanduser(text))


def _parser() -> Parser:
    what = "Score an encoder's folder on the STS tests (Spearman x 100, SentEval's 'all')."
    parser = Parser(prog="run_study.py evaluate", description=what)
    add = parser.add_argument
    add(
        "model",
        type=_path,
        metavar="MODEL",
        help="folder with config.json, weights and a tokenizer",
    )
    add(
        "--pooling",
        choices=POOLINGS,
        help="how tokens become a vector (default: the folder's, or cls)",
    )
    add("--data-dir", type=_path, help="SentEval's data, or a folder that holds it")
    add(
        "--pairs",
        action="append",
        default=[],
        type=named_pairs,
        metavar="[NAME=]FILE",
        help="pairs of your own: two sentences and a score a line, separated by tabs",
    )
    add(
        "--scale", choices=tuple(SCALES), default="paper", help="demo scores on the generated pairs"
    )
    add("--device", choices=("cpu", "cuda"), default="cpu")
    add("--csv", type=_path, help="write every number to this file, too")
    add(
        "--allow-pickle",
        action="store_true",
        help="load pickled weights, if you trust where they came from",
    )
    return parser
