"""`python -m benchmarks`: measure, print one table, write it as CSV."""

from __future__ import annotations

import argparse
import csv
import itertools
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from core.engine.processor import bf16, processor
from core.runner.devices import cores
from core.runner.launch import environment
from core.spec.errors import UserError

NAMES = ("step", "parts", "profile", "slots", "evaluation", "peer", "tokens", "harness")
SETTLED = "BENCHMARKS_ENVIRONMENT"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "run_study"


def main(argv: Sequence[str]) -> int:
    """Measure what is asked for; 0, or 2 with a sentence on standard error."""
    options = _parse(argv)
    if options.cpu_time and (options.threads != 1 or options.device != "cpu"):
        print(
            "--cpu-time goes with --threads 1 on a CPU: waiting threads use processor time, too.",
            file=sys.stderr,
        )
        return 2
    if options.threads < 1:
        print(f"--threads is {options.threads}, but a run needs at least one.", file=sys.stderr)
        return 2
    if SETTLED not in os.environ:  # what a run's process has, from its first allocation on; the plain step profits, too
        clock = "cpu" if options.cpu_time else "wall"
        settled = {**environment(options.threads), SETTLED: "1", "BENCHMARKS_CLOCK": clock}
        os.execve(sys.executable, [sys.executable, "-m", "benchmarks", *argv], settled)
    try:
        return _measure(options)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2


def _measure(options: argparse.Namespace) -> int:
    import torch

    from benchmarks.setting import settings

    if options.device == "cuda" and not torch.cuda.is_available():
        raise UserError("There is no CUDA device here; leave --device out. Nothing about a GPU was measured.")
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"--out {options.out} cannot be made ({error.strerror}); give a folder that may be written. Nothing was measured."
        ) from error
    torch.set_num_threads(options.threads)
    found = settings(options.data_dir, options.encoder, torch.device(options.device), options.threads, CACHE)
    if len(found) == 1:
        print("Only the demo encoder: no data folder or no encoder was given or found (--data-dir, --encoder).")
    lines = []
    print(f"{'part':<11} {'on':<13} {'what':<46} {'value':>10} {'unit':<8} {'wanted':<8} note", flush=True)
    for row in itertools.chain(_machine(torch), _rows(options, found)):
        lines.append(row)
        if row.group == "rate":  # dozens of shapes: in the file alone
            continue
        reached = f"{row.target:<8}" if row.target else " " * 8
        print(
            f"{row.group:<11} {row.setting:<13} {row.what:<46} {row.value:>10.4g} {row.unit:<8} {reached} {row.note}".rstrip(),
            flush=True,
        )
    path = options.out / "benchmarks.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("part", "on", "what", "value", "unit", "wanted", "note"))
        writer.writerows((r.group, r.setting, r.what, repr(r.value), r.unit, r.target, r.note) for r in lines)
    print(f"Written to {path}.")
    return 0


def _rows(options: argparse.Namespace, found) -> Iterator:
    from benchmarks import harness, parts, peer, scoring, slots, spending, step

    wanted = options.only or NAMES
    rounds = 2 if options.quick else 5
    for setting in found:
        steps = (40 if setting.scale == "demo" or options.device == "cuda" else 6) // (2 if options.quick else 1)
        if "step" in wanted:
            yield from step.rows(setting, rounds, steps)
        if "parts" in wanted:
            yield from parts.rows(setting, rounds, steps)
        if "profile" in wanted:
            yield from spending.rows(setting, steps)
        if "slots" in wanted:
            yield from slots.rows(setting, rounds, 5 * steps)
        if "evaluation" in wanted:
            yield from scoring.rows(setting, 1 if options.quick else 2, 60 if options.quick else None)
        if "peer" in wanted:
            yield from peer.rows(setting, rounds, steps)
        if "tokens" in wanted:
            yield from harness.token_rows(setting, harness.SENTENCES // (20 if options.quick else 1))
    if "harness" in wanted:
        yield from harness.rows()


def _machine(torch) -> Iterator:
    """What this was measured on."""
    from benchmarks.timing import Row

    half = bf16()
    yield Row("machine", "", "cores", cores(), "cores", note=processor())
    yield Row("machine", "", "load before", os.getloadavg()[0], "", note="anything above 0.2 disturbs")
    yield Row(
        "machine",
        "",
        "bf16 instructions",
        len(half),
        "",
        note=", ".join(half) or "none: bf16 is multiplied in float32 here",
    )
    if torch.cuda.is_available():
        yield Row("machine", "", "GPUs", torch.cuda.device_count(), "", note=torch.cuda.get_device_name(0))
    else:
        yield Row("machine", "", "GPUs", 0, "", note="nothing about a GPU was measured")


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__, allow_abbrev=False)
    parser.add_argument("--quick", action="store_true", help="few repeats, for a look")
    parser.add_argument("--only", nargs="+", choices=NAMES, metavar="NAME", help=f"parts to measure: {', '.join(NAMES)}")
    parser.add_argument(
        "--threads",
        type=int,
        default=cores(),
        help="CPU threads of the real encoder (all cores; the demo's slots have one)",
    )
    parser.add_argument(
        "--cpu-time",
        action="store_true",
        help="count processor time, not wall time: with --threads 1, on a busy machine",
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--data-dir", type=Path, help="SentEval's data and the training text (default: where the tests look)")
    parser.add_argument("--encoder", type=Path, help="a pretrained encoder (default: the packaged MiniLM, if installed)")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(__file__).parent / "measured",
        metavar="DIR",
        help="where the CSV goes",
    )
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
