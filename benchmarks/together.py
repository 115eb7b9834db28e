"""Several runs at once on a GPU, with and without NVIDIA's MPS: python -m benchmarks.together

Each run is a process of its own that trains MoCoSE as a study does, with an encoder of mini's or
bert-base's shape, random weights and random sentences. Runs begin to count together and count for
the same seconds. `--tiny` takes a small encoder and no MPS, on any machine.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

import joblib

from core.errors import UserError, say
from core.runner import devices, mps
from core.runner.launch import environment

COUNTS = (1, 2, 4, 8)  # runs at once
SHAPES = ("mini", "bert-base")
METHOD = ("mocose", "paper")
WARM = 40  # steps until queues are full and every width has its graph
CHUNK = 10  # steps between two looks at the clock
MOST = 10_000_000  # steps, more than a run makes
NEAR = 0.97  # of the best rate: fewer runs are as good
GAIN = 1.05  # times the rate of one run: less is not worth a second run
RUN = (sys.executable, "-m", "benchmarks.together", "--one")


class Rate(NamedTuple):
    """Steps a second that so many runs at once make together."""

    shape: str
    with_mps: bool
    runs: int
    steps: float


def train_one(shape: str, seconds: float) -> None:
    """Be one run: get ready, wait for a line on the standard input, train for so many seconds, and
    print steps and seconds."""
    import torch  # a process that only waits needs none

    from benchmarks.gpu_step import now, training_steps
    from core.training.step import own_stream

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    warm, chunk, batch = (2, 1, 8) if shape == "tiny" else (WARM, CHUNK, 64)
    with own_stream(device):
        steps = training_steps(shape, *METHOD, device, batch, MOST)
        steps(warm)
        now(device)
        print("ready", flush=True)
        sys.stdin.readline()
        began = now(device)
        done = 0
        while now(device) - began < seconds:
            steps(chunk)
            done += chunk
        print(json.dumps([done, now(device) - began]), flush=True)


def rate_of(shape: str, runs: int, seconds: float, variables: Mapping[str, str], words) -> float:
    """Steps a second of so many runs at once together. Raises UserError if a run fails."""
    threads = max(1, joblib.cpu_count() // runs)
    processes = [
        subprocess.Popen(
            [*words, shape, str(seconds)],
            cwd=devices.PROJECT,
            env=environment(threads) | dict(variables),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(runs)
    ]
    try:
        ready = [process.stdout.readline() for process in processes]  # type: ignore[union-attr]
        if any(line != "ready\n" for line in ready):
            raise UserError(f"A run of {runs} at once failed at {shape}'s shape; see above.")
        for process in processes:
            process.stdin.write("go\n")  # type: ignore[union-attr]
            process.stdin.flush()  # type: ignore[union-attr]
        total = 0.0
        for process in processes:
            answer, _ = process.communicate()
            if process.returncode:
                raise UserError(f"A run of {runs} at once failed at {shape}'s shape; see above.")
            steps, took = json.loads(answer)
            total += steps / took
        return total
    finally:
        for process in processes:
            process.kill()
            process.wait()


def measure(
    shapes: Sequence[str],
    counts: Sequence[int],
    share: mps.Share | None,
    seconds: float,
    words: Sequence[str],
) -> list[Rate]:
    """Measure each number of runs at each shape without MPS, and with it if there is a share."""
    gpu = {}
    for name in list(devices.visible_gpus())[:1]:
        uuids = share.uuids if share is not None else {}
        gpu = devices.slot_environment(f"gpu{name}.0", uuids)
    rates = []
    with tempfile.TemporaryDirectory() as nowhere:
        ways = {False: {mps.PIPES: nowhere}}  # where no daemon answers, not even the user's
        if share is not None:
            ways[True] = share.variables
        for shape, (with_mps, variables), runs in product(shapes, ways.items(), counts):
            steps = rate_of(shape, runs, seconds, gpu | variables, words)
            rates.append(Rate(shape, with_mps, runs, steps))
            how = "with" if with_mps else "without"
            say(f"{shape}'s shape, {runs} at once {how} MPS: {_number(steps)} steps a second")
    return rates


def table(rates: Sequence[Rate]) -> list[str]:
    """Steps a second together: the lines of a table in Markdown, with a column for each number of
    runs."""
    counts = dict.fromkeys(rate.runs for rate in rates)
    heads = "".join(f" {runs} |" for runs in counts)
    lines = [f"| steps a second together |{heads}", "|---|" + "--:|" * len(counts)]
    for shape, with_mps in dict.fromkeys((rate.shape, rate.with_mps) for rate in rates):
        row = [rate for rate in rates if (rate.shape, rate.with_mps) == (shape, with_mps)]
        cells = "".join(f" {_number(rate.steps)} |" for rate in row)
        lines.append(f"| {shape}'s shape, {'with' if with_mps else 'without'} MPS |{cells}")
    return lines


def _number(steps: float) -> str:
    return f"{steps:,.0f}" if steps >= 10 else f"{steps:.1f}"


def advice(rates: Sequence[Rate]) -> str:
    """One sentence that says what to do at each shape."""
    parts = []
    for shape in dict.fromkeys(rate.shape for rate in rates):
        own = [rate for rate in rates if rate.shape == shape]
        alone = max(rate.steps for rate in own if rate.runs == 1)
        most = max(rate.steps for rate in own)
        best = min(
            (rate for rate in own if rate.steps >= NEAR * most),
            key=lambda rate: (rate.runs, rate.with_mps),
        )
        gain = best.steps / alone
        if best.runs == 1 or gain < GAIN:
            parts.append(f"one run at {shape}'s shape")
        else:
            how = "with" if best.with_mps else "without"
            parts.append(f"{best.runs} at {shape}'s shape {how} MPS ({gain:.2f} times one run)")
    return f"Have a GPU train {' and '.join(parts)}."


def main(argv: list[str], words: Sequence[str] = RUN) -> int:
    """Print the table and what to do; 0, or 2 with a sentence where nothing can be measured.
    `words` begin the command of a run."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.together", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("--seconds", type=float, default=10.0, help="that each measurement counts")
    parser.add_argument("--tiny", action="store_true", help="a small encoder, on any machine")
    parser.add_argument("--one", nargs=2, metavar=("SHAPE", "SECONDS"), help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if not options.seconds > 0:
        parser.error("--seconds must be above 0")
    if options.one:
        train_one(options.one[0], float(options.one[1]))
        return 0
    share = None
    shapes: tuple[str, ...] = SHAPES
    counts: tuple[int, ...] = COUNTS
    if options.tiny:
        shapes = ("tiny",)
        counts = (1, 2)
    else:
        try:
            share = _share()
        except UserError as error:
            say(str(error), out=sys.stderr)
            return 2
    try:
        rates = measure(shapes, counts, share, options.seconds, words)
    except UserError as error:
        say(str(error), out=sys.stderr)
        return 2
    finally:
        if share is not None:
            share.leave()
    say("", *table(rates), "", advice(rates))
    return 0


def _share() -> mps.Share | None:
    """A share in a daemon of our own; None, with a sentence, where MPS is not to be had. Raises
    UserError without a GPU that torch can use."""
    if not devices.visible_gpus():
        raise UserError("No GPU is visible, so nothing was measured; --tiny tries the script.")
    devices.check_torch("cuda")
    if shutil.which(devices.MPS_CONTROL) is None:
        say(f"{devices.MPS_CONTROL} is not on the PATH, so only runs without MPS are measured.")
        return None
    return mps.own(dict(list(devices.gpu_uuids().items())[:1]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
