"""The setup of a command: profile, scale, sources and seeds under which studies are resolved."""

from __future__ import annotations

from core.config.run import RunConfig
from core.config.scale import Scale, Sources
from core.config.section import frozen
from core.errors import UserError


@frozen
class Setup:
    """A profile at a scale, on these sources, under seeds 0 … seeds-1 of each cell or more.

    `data_options` are the command's own options that name data and encoders, as they are typed.
    """

    profile: str
    scale: Scale
    sources: Sources
    seeds: int
    data_options: str = ""

    def command(self, *studies: str) -> str:
        """The command that trains these studies under this setup."""
        words = ["run_study.py", *studies, "--scale", self.scale.name]
        if self.profile != "paper":
            words += ["--profile", self.profile]
        if self.data_options:
            words.append(self.data_options)
        return " ".join(words)


def check_device(run: RunConfig, places: int, device: str) -> None:
    """Raise UserError for a precision that the device, `cpu` or `cuda`, does not train in, and for
    sentences beyond the encoder's positions: a GPU pads them to the longest that repetition can
    make."""
    precision = run.train.precision
    length = run.data.max_length
    if precision == "fp16":
        raise UserError(
            "train.precision=fp16 can no longer be trained; use --set train.precision=bf16 or fp32."
        )
    if precision == "tf32" and device != "cuda":
        raise UserError(
            "train.precision=tf32 needs a GPU; use --set train.precision=fp32 or bf16 on a CPU."
        )
    padded = run.longest if device == "cuda" else length
    if padded > places:
        more = f" and repetition makes it up to {run.longest}," if run.longest > length else ""
        raise UserError(
            f"data.max_length is {length}{more} but the encoder has only {places} positions; lower "
            "it."
        )
