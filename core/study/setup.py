"""The setup of a command: profile, scale, sources and seeds under which studies are resolved."""

from __future__ import annotations

from core.config.scale import Scale, Sources
from core.config.section import frozen


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
