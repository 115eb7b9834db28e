"""Several runs at once on one GPU at bert-base's shape: python -m benchmarks.together [--tiny]

Each run is a process that trains for 20 seconds, once all are warm; NVIDIA's MPS shares the GPU
among them. A line of `measured/together.csv` for one, two and four runs of SimCSE and of MoCoSE.
`--tiny` does one and two runs of a small encoder for a moment, on any machine and without MPS.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import torch

from benchmarks.gpu_step import now, training_steps
from core.training.step import own_stream

METHODS = ("simcse", "mocose")
COUNTS = (1, 2, 4)
SECONDS = 20.0
WARM = 40  # steps until queues are full and every width has its graph
BLOCK = 20  # steps between looks at the clock
HEAD = "card,shape,precision,method,runs,mps,ms_a_step_of_each,steps_a_second_together"
MPS = "nvidia-cuda-mps-control"


def one_run(shape: str, method: str, seconds: float, batch: int, warm: int, block: int) -> float:
    """Train, once a line comes on the standard input; steps a second."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    with own_stream(device):
        steps = training_steps(shape, method, "paper", device, batch, 10_000_000)
        steps(warm)
        now(device)
        print("warm", flush=True)
        sys.stdin.readline()
        count = 0
        began = now(device)
        while (passed := now(device) - began) < seconds:
            steps(block)
            count += block
    return count / passed


def together(arguments: list[str], count: int, environment: dict[str, str]) -> list[float]:
    """Steps a second of each of so many runs at once."""
    runs = []
    for _ in range(count):
        command = [sys.executable, "-m", "benchmarks.together", "--one", *arguments]
        pipe = subprocess.PIPE
        runs.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment))
    for run in runs:
        assert run.stdout is not None, "a pipe"
        if run.stdout.readline() != "warm\n":
            raise SystemExit("A run failed before its first step; its error stands above.")
    for run in runs:
        assert run.stdin is not None, "a pipe"
        run.stdin.write("go\n")
        run.stdin.flush()
    rates = [run.communicate()[0] for run in runs]
    if any(run.returncode for run in runs):
        raise SystemExit("A run failed while it trained; its error stands above.")
    return [float(rate) for rate in rates]


@contextlib.contextmanager
def sharing() -> Iterator[dict[str, str]]:
    """Within this context MPS runs; the environment of processes that share a GPU by it."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "CUDA_MPS_PIPE_DIRECTORY": folder,
            "CUDA_MPS_LOG_DIRECTORY": folder,
        }
        subprocess.run([MPS, "-d"], env=environment, check=True)
        time.sleep(1)
        try:
            yield environment
        finally:
            subprocess.run([MPS], input="quit\n", text=True, env=environment, check=False)


def main(argv: list[str]) -> int:
    """Print the table; 0, or 2 with a sentence where there is no GPU or no MPS."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.together", description=__doc__, allow_abbrev=False
    )
    parser.add_argument(
        "--tiny", action="store_true", help="a small encoder for a moment, on any machine"
    )
    parser.add_argument("--one", nargs=2, metavar=("SHAPE", "METHOD"), help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.one:
        shape, method = options.one
        tiny = shape == "tiny"
        lengths = (0.2, 8, 2, 1) if tiny else (SECONDS, 64, WARM, BLOCK)
        print(one_run(shape, method, *lengths))
        return 0
    shape = "tiny" if options.tiny else "bert-base"
    counts = COUNTS[:2] if options.tiny else COUNTS
    card = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    if card == "CPU" and not options.tiny:
        words = "There is no GPU here; give --tiny to try the script. Nothing was measured."
        print(words, file=sys.stderr)
        return 2
    print(HEAD, flush=True)
    with contextlib.ExitStack() as stack:
        environment = dict(os.environ)
        if not options.tiny:
            try:
                environment = stack.enter_context(sharing())
            except (OSError, subprocess.CalledProcessError) as error:
                print(f"{MPS} does not start ({error}). Nothing was measured.", file=sys.stderr)
                return 2
        for method in METHODS:
            for count in counts:
                rates = together([shape, method], count, environment)
                each = f"{1e3 * count / sum(rates):.2f}"
                mps = "no" if options.tiny else "yes"
                row = (card, shape, "bf16", method, count, mps, each, f"{sum(rates):.0f}")
                print(*row, sep=",", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
