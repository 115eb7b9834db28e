"""What a run's evaluations leave as rows: before training, at each check, and at the end."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np

from core.data.sts import load_sick
from core.engine.checkpoint import Checkpoint
from core.engine.evaluation.evaluation import Evaluation
from core.engine.evaluation.evaluation import rows as evaluation_rows
from core.engine.evaluation.metrics import direction_rows, mean_cosine_rows, mean_of_7, mean_of_8_rounded, spectrum_rows, spread
from core.engine.evaluation.scorer import Scorer
from core.methods.contrastive import Contrastive
from core.spec.errors import UserError
from core.spec.result import PairBlock, Row, Status
from core.spec.run import Execution, RunConfig

COLLAPSED_SPREAD = 1e-4  # below it all development sentences point the same way


def count_rows(scorer: Scorer, execution: Execution) -> list[Row]:
    """Pairs by set (ESimCSE, Table 3): what is scored, and the other splits of STS-B and SICK-R.

    A SICK-R split that is not there, or is not as published, has no row: runs do not read it otherwise.
    """
    sets = {name: scorer.sets[name] for name in scorer.names} | {pairs.name: pairs for pairs in scorer.geometry_of}
    if execution.evaluation_path is not None:
        for split in ("train", "dev"):
            with contextlib.suppress(UserError):
                sets[f"SICK-R {split}"] = load_sick(Path(execution.evaluation_path), split)
    return [Row("data", "dev" if name == scorer.dev else name, "pairs", 0, float(len(pairs))) for name, pairs in sets.items()]


def check(scorer: Scorer, model: Contrastive, config: RunConfig, step: int, rows: list[Row]) -> float:
    """One check during training: its rows are added, and the score by which the checkpoint is selected is returned (D40, D41)."""
    development = scorer.development(model)
    rows += development_rows(development, scorer, config, step)
    if config.select.metric != "sts_test_avg":
        return getattr(development.scores[scorer.dev], config.sts.aggregate)
    found = scorer.test(model)
    scores = [getattr(found.scores[name], config.sts.aggregate) for name in scorer.tests]
    score = mean_of_7(scores) if config.select.score == "mean_of_7" else mean_of_8_rounded(scores)
    rows.append(Row("curve", "avg", f"spearman_{config.sts.aggregate}", step, mean_of_7(scores)))
    return score


def development_rows(found: Evaluation, scorer: Scorer, config: RunConfig, step: int) -> list[Row]:
    """Of an evaluation of the development set, curve rows: Spearman in the run's aggregation, mean cosine of its vectors."""
    score = getattr(found.scores[scorer.dev], config.sts.aggregate)
    vectors = scorer.of_development(found)  # (sentences, dim)
    return [Row("curve", "dev", f"spearman_{config.sts.aggregate}", step, score), *mean_cosine_rows(vectors, "curve", step)]


def final_evaluation(
    config: RunConfig, scorer: Scorer, model: Contrastive, chosen: Checkpoint, rows: list[Row]
) -> tuple[Status, tuple[PairBlock, ...]]:
    """Status and pairs; adds the rows of the last and of the selected checkpoint, geometry, directions, spectrum and distances.

    The status is that of the selected checkpoint, `chosen`, whose weights the model has afterwards.
    """
    steps, step = config.train.steps, chosen.step
    last = scorer.complete(model, geometry=step == steps)
    rows += named_rows(last, scorer, "last", steps)
    rows += direction_rows(scorer.development_vectors(last), "last", steps)
    selected = last
    if step != steps:
        model.scored_parts().load_state_dict(chosen.state)
        selected = scorer.complete(model, geometry=True)
    rows += named_rows(selected, scorer, "selected", step)
    vectors = scorer.development_vectors(selected)  # (sentences, dim)
    if not np.isfinite(vectors).all():
        return "diverged", ()
    rows += direction_rows(vectors, "selected", step)
    rows.append(Row("selected", "dev", "spread", step, spread(vectors)))
    rows += spectrum_rows(vectors, "selected", step)
    rows += model.method_rows(step)
    return ("collapsed" if spread(vectors) < COLLAPSED_SPREAD else "ok"), selected.pairs


def named_rows(found: Evaluation, scorer: Scorer, checkpoint: str, step: int) -> list[Row]:
    """An evaluation as rows, with the development set under the task `dev`."""
    task = "STS-B" if len(scorer.geometry_of) > 1 else "dev"
    rows = evaluation_rows(found, scorer.tests, checkpoint, step, geometry_task=task)
    return [row._replace(task="dev") if row.task == scorer.dev else row for row in rows]
