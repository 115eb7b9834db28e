"""Claims that can never reach their next look, since a run that it needs has failed and counts for nothing."""

from __future__ import annotations

from core.report.contrasts import Readings
from core.report.sequential import LOOKS, decide
from core.spec.claim import Claim


def cut_short(claim: Claim, readings: Readings) -> list[str]:
    """A reason if an open claim can never reach its next look: a run has failed, and the number that is asked of it has no worst value to
    count it by."""
    failed = [one for contrast in claim.predicate.contrasts() if (one := readings.failed(contrast)) is not None]
    if not failed:
        return []
    decision = decide(claim, readings.samples, len(readings.result.study.claims))
    seed, name, status, title = min(failed)
    if decision.outcome != "undecided" or seed >= next((n for n in LOOKS if n > decision.n), 0):
        return []
    return [f"seed {seed} of {name} {status}, and {title} has no worst value to count that run by"]
