"""Training published runs anew, elsewhere, to say how far they come out as they were published. Nothing of it is kept."""

from __future__ import annotations

import math
import shutil
import statistics
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from core.data import sources as finding
from core.runner.cli import Options
from core.runner.compare import SAME, across, difference, scores
from core.runner.plan import PlannedRun, batch
from core.runner.train import Training
from core.spec.conditions import Edition
from core.spec.errors import UserError, are, counted
from core.spec.identity import run_id
from core.spec.result import device_kind
from core.spec.study import Study
from core.store.records import OtherVersion, StoredRun
from core.store.store import Store


class Verification:
    """One command that verifies published runs of `studies`: `job` and `warm` are what trains."""

    def __init__(self, options: Options, argv: Sequence[str], published: Path, job: str, warm: Sequence[str]):
        self.options, self.argv, self.job, self.warm = options, argv, job, warm
        self.folder, self.published = published, Store(published / "none", published)

    def go(self, studies: Sequence[Study], edition: Edition, found: finding.Found) -> int:
        """Train some of the published runs anew and compare; the exit status: 1 if one fails or differs by more than 0.01 points."""
        there = self._published(edition)
        runs, seeds = named(studies, edition, there)
        wanted = spread(sorted(runs, key=lambda run: run.run_id), self.options.verify)
        if not wanted:
            print(
                f"None of the published runs of these studies (scale {edition.scale.name}, profile {edition.profile}) can be made here, so nothing is verified."
            )
            return 0
        scratch = Path(tempfile.mkdtemp(prefix="verify-published-"))
        try:
            store = Store(scratch, None)
            training = Training(self.options, self.argv, store, scratch, self.folder, self.job, self.warm)
            print(
                f"{are(len(wanted), 'published run')} trained anew in {scratch}, which is removed afterwards."
            )
            try:
                status = training.train(batch(wanted), edition.scale, found)
            finally:
                training.close()
            return status if status > 128 else max(status, self._compared(wanted, there, store, seeds))
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _published(self, edition: Edition) -> dict[str, StoredRun]:
        """The published runs of a scale that this code, text and encoder can make, by id; prints how many are passed over, and why."""
        there: dict[str, StoredRun] = {}
        passed: Counter[str] = Counter()
        sources = edition.sources
        known = {one.digest for one in sources.encoders()}
        evaluations = {sources.evaluation_digest, sources.transfer_digest}
        for identity in self.published.runs():
            try:
                run = self.published.load(identity)
            except OtherVersion:
                passed["made by another version of the code (NUMERICS)"] += 1
                continue
            except UserError:
                passed["that cannot be read"] += 1
                continue
            config = run.config
            if config.scale != edition.scale.name:
                continue
            if (
                config.data.digest != sources.corpus_digest
                or config.encoder.digest not in known
                or config.eval.digest not in evaluations
            ):
                passed["made with another text, encoder or evaluation data than are here"] += 1
            else:
                there[identity] = run
        for why, count in passed.items():
            print(f"Passed over: {counted(count, 'published run')} {why}.")
        return there

    def _compared(
        self, wanted: Sequence[PlannedRun], there: dict[str, StoredRun], store: Store, seeds: Mapping[str, Sequence[str]]
    ) -> int:  # fmt: skip
        """Say how far the runs differ; the exit status. `seeds` has the published runs of each run's cell."""
        found, other_devices = {}, 0
        for run in wanted:
            if not store.has(run.run_id):
                continue  # it failed, and that was said
            published, anew = there[run.run_id], store.load(run.run_id)
            if across(published.provenance, anew.provenance):
                other_devices += 1
                print(
                    f"{run.run_id} {run.label}: {beside_spread(published, anew, [there[seed] for seed in seeds[run.run_id]])}"
                )
                continue
            one = found[run.run_id] = difference(published.rows, anew.rows)
            alone = f"; {one.alone} scores are in one of them alone" if one.alone else ""
            print(
                f"{run.run_id} {run.label}: at most {one.largest:.6f} points apart over {one.scores} scores{alone}."
            )
        if not found:
            return 0 if other_devices else 1
        largest = max(one.largest for one in found.values())
        print(
            f"{counted(len(found), 'published run')} trained anew; the largest difference is {largest:.6f} points."
        )
        empty = [identity for identity, one in found.items() if not one.scores]
        if empty:
            print(f"{empty[0]} has no score in common with its published run; nothing can be compared.")
        if largest > SAME:
            print(
                f"That is more than {SAME} points: these published runs cannot be made again with this code on this machine."
            )
        return 1 if empty or largest > SAME else 0


def beside_spread(published: StoredRun, anew: StoredRun, seeds: Sequence[StoredRun]) -> str:
    """How far the test averages of a run on two kinds of device lie apart, beside their standard deviation over the seeds of its cell."""
    where = {"cpu": "a CPU", "cuda": "a GPU"}
    kinds = [where[device_kind(run.provenance)] for run in (published, anew)]
    start = f"made on {kinds[0]} and here on {kinds[1]}, whose dropout masks can differ, so digits cannot be compared."
    key = ("selected", "avg", f"spearman_{published.config.sts.aggregate}", None)
    one, other = (scores(run.rows).get(key, math.nan) for run in (published, anew))
    averages = [value for run in seeds if math.isfinite(value := scores(run.rows).get(key, math.nan))]
    if not math.isfinite(one - other):
        return start
    scatter = (
        f"; over {len(averages)} seeds their standard deviation is {statistics.stdev(averages):.2f}"
        if len(averages) > 2
        else ""
    )
    return f"{start} The test averages lie {abs(one - other):.2f} points apart{scatter}."


def named(
    studies: Sequence[Study], edition: Edition, there: dict[str, StoredRun]
) -> tuple[list[PlannedRun], dict[str, list[str]]]:
    """The published runs that cells of these studies ask for under whatever seed, with one of the cells; and by run id the ids of
    all published seeds of that cell."""
    edition = replace(edition, seeds=1 + max((run.config.seed.model for run in there.values()), default=-1))
    asked: dict[str, PlannedRun] = {}
    seeds: dict[str, list[str]] = {}
    for study in studies:
        for cell, configs in edition.asked(study):
            identities = [run_id(config) for config in configs]
            for seed, (identity, config) in enumerate(zip(identities, configs, strict=True)):
                if identity in there:
                    seeds.setdefault(
                        identity, [other for other in dict.fromkeys(identities) if other in there]
                    )
                    name = f"{study.name} {'/'.join(cell.labels)}"
                    asked.setdefault(
                        identity, PlannedRun(run_id=identity, config=config, cells=(name,), seed=seed)
                    )
    return list(asked.values()), seeds


def spread(runs: Sequence[PlannedRun], count: int) -> list[PlannedRun]:
    """`count` of these runs, evenly spread over their order; all of them if they are fewer."""
    count = min(count, len(runs))
    return [runs[(2 * place + 1) * len(runs) // (2 * count)] for place in range(count)]
