"""A search over two fields of SimCSE, ten runs at scale demo: `python examples/search.py`.

Trials are drawn at random. With optuna, `trial.suggest_float` takes the place of `uniform`, and
`study.optimize(lambda trial: …, n_trials=10)` that of the loop. Test sets do not choose: the best
trial is that of the development set. Runs that are stored are not trained again, so a stopped
search goes on where it was.
"""

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import run_study


def search(trials: int = 10, **options):
    """The trials as (settings, run), best first. `options` are those of the command."""
    draw = random.Random(0)
    results = []
    for _ in range(trials):
        settings = {
            "loss.temperature": round(draw.uniform(0.03, 0.1), 3),
            "train.learning_rate": round(10 ** draw.uniform(-4.5, -3), 6),
        }
        run = run_study.train("simcse", settings, seed=0, **options)
        results.append((settings, run))
    return sorted(results, key=lambda result: -result[1].scores.get("dev", 0.0))


if __name__ == "__main__":
    for settings, run in search():
        print(f"dev {run.scores['dev']:.2f}, test average {run.scores['avg']:.2f}: {settings}")
