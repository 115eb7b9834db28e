"""How steady and how sensitive the demo scale is: seeds of the default MoCoSE, and runs with one factor changed.

    python -m tools.demo.bar [--seeds 5] [--factor-seeds 2] [--factors NAME ...] [--out FILE]

Prints one line a configuration: mean and standard deviation of the selected test average, and, for a factor, the difference
of the means in standard deviations of the default. Runs one after another on one thread; nothing is written under results/.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

from core.data.sources import demo_sources
from core.engine import job
from core.spec.methods import base
from core.spec.result import Result
from core.spec.run import Execution, RunConfig
from core.spec.scale import DEMO, at_scale
from core.spec.vary import vary

ETA = 0.85
FACTORS: dict[str, dict[str, object]] = {  # in the papers' units, on the default
    "in-batch negatives off": {"loss.in_batch_negatives": False},
    "temperature 0.5": {"loss.temperature": 0.5},
    "temperature 0.01": {"loss.temperature": 0.01},
    "dropout 0": {"encoder.hidden_dropout": 0.0, "encoder.attention_dropout": 0.0, "heads.dropout": 0.0},
    "dropout 0.2": {"encoder.hidden_dropout": 0.2, "encoder.attention_dropout": 0.2},
    "batch 16": {"train.batch_size": 16},
    "batch 256": {"train.batch_size": 256},
    "position shuffle": {"aug.position_shuffle": "per_sentence", "aug.position_shuffle_range": "real_tokens"},
    "token cut-off 0.2": {"aug.token_cutoff": 0.2, "aug.token_cutoff_pool": "real_tokens_no_special"},
    "feature cut-off 0.2": {"aug.feature_cutoff": 0.2},
    "projection depth 0": {"heads.projection_layers": 0},
    "projection depth 3": {"heads.projection_layers": 3},
    "predictor depth 0": {"heads.predictor_layers": 0},
    "predictor depth 3": {"heads.predictor_layers": 3},
    "eta constant 0": {"ema.schedule": "constant", "ema.start": 0.0, "ema.end": None, "ema.total_updates": None},
    "eta 0.5": {"ema.start": 0.5},
    "eta 0.99": {"ema.start": 0.99},
    "queue 4096": {"queue.size": 4096},
    "fgsm 1e-2": {"fgsm.epsilon": 1e-2},
    "out_size 256": {"heads.out_size": 256},
    "no stop-gradient": {"target.stop_gradient": False},
}
METHODS = ("simcse", "esimcse")


def default_run(seed: int) -> RunConfig:
    """MoCoSE as described at eta 0.85, in the papers' units, with both seeds set."""
    return vary(base("mocose", "repaired"), {"ema.start": ETA, "seed.model": seed, "seed.data": seed})


def factor_run(name: str, seed: int) -> RunConfig:
    """The default with one factor changed, or another method. Raises KeyError for a factor that there is not."""
    if name in METHODS:
        return vary(base(name, "repaired"), {"seed.model": seed, "seed.data": seed})
    return vary(default_run(seed), FACTORS[name])


def average(result: Result, checkpoint: str) -> float:
    """The test average of one checkpoint (`selected`, `untrained`, `bag_of_words`); NaN if the run diverged."""
    found = [row.value for row in result.rows if (row.checkpoint, row.task, row.metric) == (checkpoint, "avg", "spearman_all")]
    return found[0] if found else float("nan")


def line(name: str, scores: list[float], reference: list[float] | None) -> str:
    """One row of the table: mean, spread where there are two scores, and distance from the reference in its spreads."""
    spread = f"{statistics.stdev(scores):5.2f}" if len(scores) > 1 else "    -"
    text = f"{name:24} {statistics.mean(scores):6.2f} {spread}  n {len(scores)}"
    if reference is None or len(reference) < 2:
        return text
    return text + f"  {(statistics.mean(scores) - statistics.mean(reference)) / statistics.stdev(reference):+6.1f} SD"


def main() -> None:
    """Measure as the command line asks."""
    parser = argparse.ArgumentParser(description="Measure the steadiness and sensitivity of the demo scale.")
    parser.add_argument("--seeds", type=int, default=5, help="of the default")
    parser.add_argument("--factor-seeds", type=int, default=2)
    parser.add_argument("--factors", nargs="*", choices=(*FACTORS, *METHODS), default=(*FACTORS, *METHODS))
    parser.add_argument("--out", type=Path, help="a file to which every run is appended, one JSON object a line")
    arguments = parser.parse_args()
    sources = demo_sources().sources
    with tempfile.TemporaryDirectory() as folder:
        execution = Execution(results_dir=folder, cache_dir=folder, encoder_name="demo encoder")

        def measure(name: str, run: RunConfig) -> Result:
            begin = time.process_time()
            result = job.run(at_scale(run, DEMO, sources), execution, lambda message: None)
            if arguments.out:
                record = {
                    "name": name,
                    "seed": run.seed.model,
                    "selected": average(result, "selected"),
                    "status": result.status,
                    "cpu_seconds": round(time.process_time() - begin, 2),
                }
                with arguments.out.open("a") as file:
                    file.write(json.dumps(record) + "\n")
            return result

        results = [measure("default", default_run(seed)) for seed in range(arguments.seeds)]
        scores = [average(result, "selected") for result in results]
        for name in ("untrained", "bag_of_words"):
            print(f"{name:24} {average(results[0], name):6.2f}")
        print(line("default", scores, None), " ".join(f"{score:.2f}" for score in scores), flush=True)
        for name in arguments.factors:
            found = [average(measure(name, factor_run(name, seed)), "selected") for seed in range(arguments.factor_seeds)]
            print(line(name, found, scores), flush=True)


if __name__ == "__main__":
    main()
