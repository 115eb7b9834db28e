"""The setup of a command: profile, scale, sources and seeds under which studies are resolved."""

from core.config.scale import Scale, Sources
from core.config.section import frozen


@frozen
class Setup:
    """A profile at a scale, on these sources, under seeds 0 … seeds-1 of each cell or more.

    `options` are those of a command line that trains its runs, as they are typed, and `changes`
    those of a study under `--set` and `--vary`.
    """

    profile: str
    scale: Scale
    sources: Sources
    seeds: int
    program: str = "run_study.py"
    options: str = ""
    changes: str = ""

    def command(self, *studies: str, use_published: bool = False) -> str:
        """The command that trains what is missing of these studies under this setup."""
        names = dict.fromkeys(name.partition("@")[0] for name in studies)
        words = [self.program, *names, "--scale", self.scale.name]
        if self.profile != "paper":
            words += ["--profile", self.profile]
        words.append(self.options)
        if any("@" in name for name in studies):
            words.append(self.changes)
        if use_published:
            words.append("--use-published")
        return " ".join(filter(None, words))
