"""The code that made a run: its digest, and the commit of a repository that has it."""

import hashlib
import os
import subprocess
from pathlib import Path

from core.errors import UserError

CORE = Path(__file__).resolve().parents[1]
OF_HOOKS = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR")


def digest() -> str:
    """Digest of every Python file of `core` by name and content, 16 digits. Configurations hold
    digests of other files."""
    whole = hashlib.sha256()
    for path in sorted(CORE.rglob("[!.]*.py")):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        whole.update(f"{content} {path.relative_to(CORE)}\n".encode())
    return whole.hexdigest()[:16]


def states() -> dict[Path, tuple[int, int]]:
    """Size and time of every Python file of `core`. No time is compared with this machine's clock,
    since a file server has another."""
    files = {path: path.stat() for path in CORE.rglob("[!.]*.py")}
    return {path: (file.st_size, file.st_mtime_ns) for path, file in files.items()}


AT_START = states()  # before this process loads most of them


def current_commit() -> tuple[str, str]:
    """The commit of the code, with `+` if files differ from it or are not in it, and an empty text;
    or `unknown`, and why."""
    try:
        place = git(CORE, "rev-parse", "--show-prefix").strip()
        lines = git(CORE, "status", "--porcelain=v2", "--branch", "--", ".").splitlines()
    except UserError as error:
        return "unknown", str(error)
    if place != "core/":
        return "unknown", f"the commit of another project, where it is {place}, says nothing of it"
    first, *rest = lines  # "# branch.oid COMMIT", more about the branch, changed files
    commit = first.split()[-1][:12]
    if all(line.startswith("#") for line in rest):
        return commit, ""
    return f"{commit}+", ""


def git(folder: Path, *words: str) -> str:
    """What a command of git prints. Raises UserError with git's reason, such as that there is no
    repository."""
    # A hook of git names its own repository to all that it starts. A lock would stop a commit of
    # the user's.
    environment = {name: value for name, value in os.environ.items() if name not in OF_HOOKS}
    environment["GIT_OPTIONAL_LOCKS"] = "0"
    command = ["git", "-C", str(folder), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return done.stdout
    except (OSError, subprocess.CalledProcessError) as error:
        reason = getattr(error, "stderr", "") or str(error)
        raise UserError(reason.partition("\n")[0]) from error
