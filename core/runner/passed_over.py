"""Options that change nothing in this command. Each is named, so that nobody waits for its effect."""

from __future__ import annotations

from collections.abc import Sequence

from core.data.encoders import SHIPPED_ENCODERS
from core.runner.cli import MODE_NAMES, Options
from core.spec.study import Study


def passed_over(options: Options, studies: Sequence[Study]) -> list[str]:
    """A sentence for each option that changes nothing in this command."""
    found = []
    if options.seeds is not None and not options.resolve:
        found += [
            f"{study.name} takes at least {study.least_seeds} seeds, so --seeds {options.seeds} is passed over for it."
            for study in studies if study.least_seeds > options.seeds
        ]  # fmt: skip
    if options.mode in ("status", "render") and (idle := _training_options(options)):
        mode = MODE_NAMES.get(options.mode, options.mode)
        found.append(
            f"--{mode} trains nothing, so {' and '.join(idle)} {'is' if len(idle) == 1 else 'are'} passed over."
        )
    if options.mode == "render" and options.publish:
        named = [
            name
            for name, value in (("--scale", options.scale), ("--profile", options.profile))
            if value is not None
        ]
        if named:
            found.append(
                f"--publish draws everything that is published, so {' and '.join(named)} {'is' if len(named) == 1 else 'are'} passed over."
            )
    shipped = options.encoder is None and options.scale in SHIPPED_ENCODERS
    if (
        options.mode in ("status", "render")
        and not shipped
        and (options.data_dir is None) != (options.encoder is None)
    ):
        given, wanting = ("--data-dir", "--encoder") if options.data_dir else ("--encoder", "--data-dir")
        found.append(
            f"{given} alone does not say which runs are meant, so it is passed over; the stored runs decide, or give {wanting}, too."
        )
    return found


def _training_options(options: Options) -> list[str]:
    """The options given that concern training alone."""
    concern = (
        ("--jobs", options.jobs is not None), ("--time-limit", options.time_limit is not None), ("--grace", options.grace is not None),
        ("--checkpoint-minutes", options.checkpoint_minutes is not None), ("--keep-models", options.keep_models),
    )  # fmt: skip
    return [name for name, given in concern if given]
