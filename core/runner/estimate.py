"""How long runs take on this machine, from its finished runs; this turns a plan's estimate into seconds."""

from __future__ import annotations

import contextlib
import socket
import statistics
from dataclasses import dataclass, field

from core.runner.plan import cost
from core.spec.errors import UserError
from core.spec.run import RunConfig
from core.store.store import Store

ENOUGH = 60  # runs read; more would not move a median


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Seconds taken over seconds estimated, one number a finished run, by (scale, method, batch size)."""

    ratios: dict[tuple[str, str, int], tuple[float, ...]] = field(default_factory=dict)

    def of(self, scale: str) -> int:
        """On how many finished runs of a scale this rests; without one, what is expected there is a guess."""
        return sum(len(found) for (known, _, _), found in self.ratios.items() if known == scale)

    def seconds(self, config: RunConfig) -> float:
        """Expected seconds of a run: its estimate times the median ratio of its method and batch size (fewer, larger steps cost
        less), else of its method, else of its scale, else 1."""
        wanted = (config.scale, config.method, config.train.batch_size)
        for known in (3, 2, 1):
            if like := [ratio for key, found in self.ratios.items() if key[:known] == wanted[:known] for ratio in found]:
                return cost(config) * statistics.median(like)
        return cost(config)


def history(store: Store, device: str, threads: int) -> History:
    """The history of the user's runs on this host, on this kind of device, with this many threads; damaged files are passed over."""
    ratios: dict[tuple[str, str, int], list[float]] = {}
    host = socket.gethostname()
    for identity in [identity for identity in store.runs() if store.has(identity)][:ENOUGH]:  # ids are hashes: a fair sample
        with contextlib.suppress(UserError):
            run = store.load(identity)
            recorded = run.provenance
            here = recorded.get("host") == host and str(recorded.get("device")).startswith(device)
            seconds = recorded.get("seconds")
            if here and recorded.get("threads") == threads and isinstance(seconds, dict) and run.status == "ok":
                key = (run.config.scale, run.config.method, run.config.train.batch_size)
                ratios.setdefault(key, []).append(sum(seconds.values()) / cost(run.config))
    return History(ratios={key: tuple(found) for key, found in ratios.items()})
