"""A training step on two threads while another process holds one of two cores, under ways of waiting: python -m benchmarks.contention

OpenMP's threads spin while they wait for each other. Where a core is held by somebody else, the thread that has work to do and
the one that spins for it take turns on the core that is left.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

WAYS: dict[str, dict[str, str]] = {
    "as it comes": {}, "OMP_WAIT_POLICY=passive": {"OMP_WAIT_POLICY": "passive"}, "GOMP_SPINCOUNT=0": {"GOMP_SPINCOUNT": "0"},
    "KMP_BLOCKTIME=0": {"KMP_BLOCKTIME": "0"},
}  # fmt: skip
WARM, STEPS, ROUNDS = 1, 4, 3
LAYERS, WIDTH, BATCH, TOKENS = 4, 512, 64, 20  # of the encoder that scale mini fetches


def step_rate(threads: int) -> float:
    """Steps a second of forward and backward through an encoder of mini's size."""
    import torch

    torch.set_num_threads(threads)
    layer = torch.nn.TransformerEncoderLayer(WIDTH, 8, 4 * WIDTH, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
    batch = torch.randn(BATCH, TOKENS, WIDTH)
    started = 0.0
    for step in range(WARM + STEPS):
        if step == WARM:
            started = time.monotonic()
        model(batch).square().mean().backward()
        model.zero_grad()
    return STEPS / (time.monotonic() - started)


def measured(threads: int, way: dict[str, str], held: bool) -> float:
    """The rate in a process of its own on two cores; with `held` beside one that computes on one of them without end."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    pin = ["taskset", "-c", ",".join(map(str, cores))]
    holder = subprocess.Popen(["taskset", "-c", str(cores[1]), sys.executable, "-c", "while True: pass"]) if held else None
    try:
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads), **way}
        command = [*pin, sys.executable, "-m", "benchmarks.contention", str(threads)]
        return float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    finally:
        if holder is not None:
            holder.kill()
            holder.wait()


def main() -> None:
    """Print the medians of interleaved rounds."""
    cases = [(f"2 threads, {name}", 2, way) for name, way in WAYS.items()] + [("1 thread", 1, {})]
    found: dict[tuple[str, bool], list[float]] = {}
    for _ in range(ROUNDS):
        for name, threads, way in cases:
            for held in (False, True):
                found.setdefault((name, held), []).append(measured(threads, way, held))
                print(f"{name}, {'one core held' if held else 'alone'}: {found[name, held][-1]:.2f}", flush=True)
    print(f"{'':34}{'alone':>8}{'one core held':>16}   steps/s, medians of {ROUNDS} rounds")
    for name, _, _ in cases:
        alone, beside = (sorted(found[name, held])[ROUNDS // 2] for held in (False, True))
        print(f"{name:34}{alone:8.2f}{beside:16.2f}")


if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].isdigit():
        print(f"{sys.argv[1][:80]!r} is no number of threads; give one, or no argument to measure all ways.", file=sys.stderr)
        sys.exit(2)
    print(step_rate(int(sys.argv[1]))) if len(sys.argv) > 1 else main()
