"""What a run's evaluations leave as rows: before training, at each check, and at the end."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np

from core.data.sts import load_sick
from core.engine.evaluation.length_bias import length_rows
from core.engine.evaluation.metrics import (
    array,
    direction_rows,
    mean_cosine_rows,
    mean_of_7,
    mean_of_8_rounded,
    spectrum_rows,
    spread,
)
from core.engine.evaluation.scoring import Scorer
from core.engine.trainer import Training
from core.methods.contrastive import Contrastive
from core.spec.errors import UserError
from core.spec.result import PairBlock, Row, Status
from core.spec.run import RunConfig

COLLAPSED_SPREAD = 1e-4  # below it all development sentences point the same way


def count_rows(scorer: Scorer, evaluation_path: str | None) -> list[Row]:
    """Pairs by set (ESimCSE, Table 3): what is scored, and the other splits of STS-B and SICK-R.

    A SICK-R split that is not there, or is not as published, has no row: runs do not read it otherwise.
    """
    dev = scorer.sets["dev"].name
    sets = scorer.sets | {pairs.name: pairs for pairs in scorer.geometry_of if pairs.name != dev}
    for split in ("train", "dev") if evaluation_path is not None else ():
        with contextlib.suppress(UserError):
            sets[f"SICK-R {split}"] = load_sick(Path(str(evaluation_path)), split)
    return [Row("data", name, "pairs", 0, float(len(pairs))) for name, pairs in sets.items()]


def check(scorer: Scorer, model: Contrastive, config: RunConfig, rows: list[Row], step: int) -> float:
    """One check during training. Adds its rows; the score that selects the checkpoint (D40, D41)."""
    aggregate = config.sts.aggregate
    metric, development = f"spearman_{aggregate}", scorer.score(model, ["dev"])
    score = development.scores["dev"][aggregate]
    rows.append(Row("curve", "dev", metric, step, score))
    rows += mean_cosine_rows(development.of(scorer.dev_sentences), "curve", step)
    if config.select.metric != "sts_test_avg" or not step:
        return score
    scores = [score[aggregate] for score in scorer.score(model, scorer.tests).scores.values()]
    rows.append(Row("curve", "avg", metric, step, mean_of_7(scores)))
    return mean_of_7(scores) if config.select.score == "mean_of_7" else mean_of_8_rounded(scores)


def final_evaluation(
    config: RunConfig, scorer: Scorer, model: Contrastive, training: Training, rows: list[Row]
) -> tuple[Status, tuple[PairBlock, ...]]:
    """Status and pairs of the selected checkpoint, whose weights the model has afterwards.

    Adds the rows of the last and of the selected checkpoint, geometry, directions, spectrum and distances.
    """
    steps, chosen = config.train.steps, training.selected
    if training.diverged_at is not None or chosen is None:
        rows.append(Row("last", "train", "diverged_at", training.diverged_at or steps, float("nan")))
        return "diverged", ()
    step = chosen.step
    last = selected = scorer.score(model, scorer.sets, geometry=step == steps)
    rows += scorer.rows(last, "last", steps)
    rows += direction_rows(array(last.of(scorer.dev_sentences)), "last", steps)
    if step != steps:
        model.scored_parts().load_state_dict(chosen.state)
        selected = scorer.score(model, scorer.sets, geometry=True)
    rows += scorer.rows(selected, "selected", step)
    vectors = array(selected.of(scorer.dev_sentences))  # (sentences, dim)
    if not np.isfinite(vectors).all():
        return "diverged", ()
    rows += direction_rows(vectors, "selected", step)
    rows.append(Row("selected", "dev", "spread", step, spread(vectors)))
    rows += spectrum_rows(vectors, "selected", step)
    rows += length_rows(selected.pairs, "selected", scorer.sets["dev"].name, step)
    rows += model.method_rows(step)
    return ("collapsed" if spread(vectors) < COLLAPSED_SPREAD else "ok"), selected.pairs
