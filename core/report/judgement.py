"""What is found of a study: the checks that say whether its runs can carry the paper's experiment, and the verdict on each claim."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from core.report.sequential import SETTLED, PValues
from core.spec.claim import Claim, Contrast

Kind = Literal["turnover", "initial weights", "updates", "gain", "selected"]
Outcome = Literal["supported", "contradicted", "equivalent", "undecided", "not run", "not comparable"]
Against = Literal["", "smaller than printed", "larger than printed", "of the other sign than printed"]
GIVEN = SETTLED[1:]  # verdicts that stay: all but undecided


@dataclass(frozen=True, slots=True)
class Check:
    """One condition: its number, in words too, and whether it is met; None while no run can tell."""

    kind: Kind
    value: float
    limit: float
    met: bool | None
    words: str


@dataclass(frozen=True, slots=True)
class Comparability:
    """The checks of a study at a scale. `travel` is how far a new layer's weight can move, in units of its initial spread (shown only)."""

    checks: tuple[Check, ...]
    travel: float

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the study is not comparable, one clause for each failed check; empty if no check fails."""
        return tuple(check.words for check in self.checks if check.met is False)

    @property
    def sentence(self) -> str:
        """All checks in one sentence, failed ones or not."""
        said = "; ".join(check.words for check in self.checks)
        verdict = "Not comparable at this scale" if self.reasons else "Comparable as far as this is checked"
        return f"{verdict}: {said}; new layers can travel {self.travel:.3g} times their initial spread."


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The outcome for a claim. The numbers are those of the contrast on which it turns, the weakest that it needs.

    `effect`, `low`, `high`, `n` and `p` are of look `look` (from 0; -1: none is complete, and there are no bounds): the one that settled
    the claim, or the latest that all its cells have reached. Effects lie above the claim's threshold, or below it if negative; below
    `low` and above `high` the tests at level `alpha` exclude the truth. `effect_now` is over all `n_now` seeds. `printed`: whether it holds on the paper's printed numbers (None: not printed), `printed_effect` the same contrast there,
    `against_printed` how ours compares with it if our interval leaves it out; `paper_runs`: the outcome on the paper's own single
    runs. `p_best`: of a claim that one cell is best, how often it is if the seeds are drawn anew.
    """

    claim: Claim
    outcome: Outcome
    reason: str
    contrast: Contrast
    effect: float
    low: float
    high: float
    n: int
    look: int
    p: PValues
    alpha: float
    effect_now: float
    n_now: int
    printed: bool | None
    printed_effect: float | None
    against_printed: Against
    paper_runs: Outcome
    p_best: float | None
