"""How many seeds an undecided claim is likely to need. No verdict uses it."""

import numpy as np

from core.report.statistics import LOOKS, alpha_at, claim_p, settled
from core.report.verdicts import Verdict
from core.study.claim import HALF

LIKELY = 0.8  # of draws of further seeds
DRAWS = 1000


def prospect(verdict: Verdict, claims: int) -> str:
    """How many seeds are likely to settle an undecided claim, of so many in its study, in words;
    empty before it has two seeds, and for any other claim.

    Further seeds are drawn around the stored ones by Student's predictive distribution, since mean
    and spread of a few seeds are uncertain themselves. The verdict's own test judges them, at each
    check in turn. Contrasts count as independent.
    """
    stored = verdict.seeds
    if verdict.outcome != "undecided" or stored < 2:
        return ""
    random = np.random.default_rng(0)
    drawn = {}
    for contrast, measured in verdict.contrasts.items():
        values = measured.beyond(measured.values[:, :stored])
        shape = DRAWS, LOOKS[-1]
        if contrast.of == "share":
            more, less = (values > 0).sum(), (values < 0).sum()
            share = random.beta(HALF + more, HALF + less, (DRAWS, 1))
            seeds = (random.random(shape) < share) - HALF
        else:
            free = stored - 1
            spread = values.std(ddof=1) * np.sqrt(free / random.chisquare(free, (DRAWS, 1)))
            error = random.normal(size=(DRAWS, 1)) / np.sqrt(stored)
            seeds = values.mean() + spread * (error + random.normal(size=shape))
        seeds[:, :stored] = values[: LOOKS[-1]]
        drawn[contrast] = seeds
    done = np.zeros(DRAWS, dtype=bool)
    for check in LOOKS:
        if check > stored:
            seen = {contrast: seeds[:, :check] for contrast, seeds in drawn.items()}
            done |= settled(claim_p(verdict.claim, seen), alpha_at(check, claims)) > 0
            if done.mean() >= LIKELY:
                return f"{check} seeds are likely to settle it"
    return "more seeds may not settle it"
