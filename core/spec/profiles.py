"""The named base configurations: each method under each profile, in the papers' own units.

`paper` is the paper to the letter, evaluated cleanly; `repaired` is the code's design without its slips; `released` is what
the code did, slips included. Each value below that the paper's text gives stands beside its sentence; what the paper leaves
unsaid is a guess, and the same in all three. Digests, rows and steps are placeholders here: `core.spec.scale` puts in those
of the scale at hand.
"""

from __future__ import annotations

from collections.abc import Mapping

from core.spec import methods
from core.spec.errors import UserError
from core.spec.run import RunConfig
from core.spec.vary import over, read, vary

PROFILES = ("paper", "repaired", "released")


def as_coded(changes: Mapping[str, object]) -> dict[str, Mapping[str, object]]:
    """Changes that hold under `repaired` and `released`, and not under `paper`: a `by_profile` of a study or a cell."""
    return {"repaired": changes, "released": changes}


def base(method: str, profile: str) -> RunConfig:
    """The named base of a method under a profile, in paper units."""
    run = methods.method(method).paper
    return vary(run, profile_changes(run, profile))


def profile_changes(run: RunConfig, profile: str) -> dict[str, object]:
    """What a profile changes in a configuration of `paper`, as far as it concerns the sections this run has."""
    if profile not in PROFILES:
        raise UserError(f"There is no profile {profile!r}; choose {', '.join(PROFILES[:-1])} or {PROFILES[-1]}.")
    method = methods.method(run.method)
    wanted: Mapping[str, object] = {}
    if profile != "paper":
        wanted = method.repaired if profile == "repaired" else over(method.repaired, method.released)
    changes = {}
    for path, value in wanted.items():
        if getattr(run, path.partition(".")[0]) is not None:
            changes[path] = value.get(read(run, path), read(run, path)) if isinstance(value, Mapping) else value
    return changes


def deviating(method: str) -> dict[str, dict[str, object]]:
    """By profile, the paths in which the profiles differ with the value each has; the seed's part (D35) is left out.

    A study that has those of `paper` among its base changes stays on the paper's side under every profile.
    """
    differing = [path for path in profile_changes(methods.method(method).paper, "released") if path != "seed.data"]
    return {profile: {path: read(base(method, profile), path) for path in differing} for profile in PROFILES}
