"""Which options of the command line go together, and which do not."""

from __future__ import annotations

from core.errors import UserError

# what takes no text and no pairs of one's own
NOT_OWN_DATA = "--all --resolve --verify-published --verify-imported --publish --export --import"
# An option, what it does, and the options that it leaves no room for.
APART = (
    ("--all", "names every study", "STUDY --set --vary"),
    ("--fields", "lists what --set can change", "STUDY --all --set"),
    ("--list", "trains nothing", "--force --cluster --publish --cell"),
    ("--plan", "trains nothing", "--force --cluster --publish"),
    (
        "--regenerate-figures",
        "draws what is stored, each table whole",
        "--force --cluster --cell --replace-published",
    ),
    (
        "--resolve",
        "chooses runs and their number",
        "--set --vary --force --cell --seeds --list --regenerate-figures --verify-published",
    ),
    (
        "--verify-published",
        "trains published runs as they are and keeps none",
        "--set --vary --force --cell --seeds --publish --use-published --keep-models --cluster",
    ),
    (
        "--verify-imported",
        "trains imported runs as they are and keeps none",
        "--set --vary --force --cell --seeds --publish --use-published --keep-models --resolve",
    ),
    (
        "--export",
        "trains nothing",
        "--set --vary --force --cell --cluster --publish --resolve",
    ),
    (
        "--import",
        "adds the runs of a folder and does nothing else",
        "STUDY --all --set --vary --force --cell --cluster --publish --resolve --scale --seeds",
    ),
    ("--trial", "tries methods", "--no-trial"),
    ("--gpus", "plans one run on each GPU of another machine", "--jobs --device --resolve"),
    ("--text", "makes tables without claims", NOT_OWN_DATA),
    ("--pairs", "makes tables without claims", NOT_OWN_DATA),
)
TOGETHER = {
    "--budget": "--resolve",
    "--resolve": "--budget or --plan",
    "--gpus": "--plan or --list",
    "--replace-published": "--publish",
    "--export": "--contributor",
    "--contributor": "--export",
}


def check_company(named: set[str]) -> None:
    """Raise UserError for options that do not go together, and for one without what it needs."""
    for option, does, others in APART:
        for other in others.split():
            if {option, other} <= named:
                raise UserError(f"{option} {does}, so {other} does not go with it; leave one out.")
    for option, others in TOGETHER.items():
        if option in named and not named & set(others.split(" or ")):
            raise UserError(f"{option} needs {others}; add that, or leave {option} out.")
