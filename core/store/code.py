"""The code that made a run: its digest, and the commit of a repository that has it."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

CORE = Path(__file__).resolve().parents[1]
OF_HOOKS = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR")
CLEAN = re.compile(r"[0-9a-f]{12,40}")  # a commit; `+` behind it says that files differed from it


def digest() -> str:
    """Digest of every Python file of `core` by name and content. Configurations hold digests of
    other files."""
    blobs = {}
    for path in CORE.rglob("*.py"):
        content = path.read_bytes()
        head = f"blob {len(content)}\0".encode()
        blobs[str(path.relative_to(CORE))] = hashlib.sha1(head + content).hexdigest()  # as git does
    return _digest(blobs)


def current_commit() -> str:
    """The commit of the code, with `+` if files differ from it; `unknown` outside a checkout."""
    words = ("status", "--porcelain=v2", "--branch", "--untracked-files=no", "--", ".")
    lines = _git(CORE, *words).splitlines()
    if not lines:
        return "unknown"
    first, *rest = lines  # "# branch.oid COMMIT", more about the branch, changed files
    commit = first.split()[-1][:12]
    if all(line.startswith("#") for line in rest):
        return commit
    return f"{commit}+"


def commit_of(provenance: Mapping[str, object], repository: Path) -> str:
    """The commit of a repository, HEAD or an ancestor, whose code made a run; empty if there is
    none.

    Runs older than the digest are believed if they name a clean commit.
    """
    named = str(provenance.get("commit"))
    code = provenance.get("code")
    ancestors = {commit[:12] for commit in _commits(repository)}
    is_ancestor = CLEAN.fullmatch(named) is not None and named[:12] in ancestors
    if code is None:
        return named[:12] if is_ancestor else ""
    commits = [*_commits(repository)[:1], *_commits(repository, "--", "core")]
    if is_ancestor:
        commits.insert(0, named)
    for commit in commits:
        if _digest_at(repository, commit) == code:
            return commit[:12]
    return ""


@functools.cache
def _commits(repository: Path, *paths: str) -> list[str]:
    """HEAD and its ancestors, the newest first; with paths those that changed them."""
    return _git(repository, "rev-list", "--full-history", "HEAD", *paths).split()


@functools.cache
def _digest_at(repository: Path, commit: str) -> str:
    """The digest of the code at a commit."""
    lines = _git(repository, "ls-tree", "-r", "-z", commit, "core/").split("\0")
    files = [line.split("\t") for line in lines if line.endswith(".py")]
    return _digest({name.removeprefix("core/"): about.split()[-1] for about, name in files})


def _digest(blobs: Mapping[str, str]) -> str:
    """SHA-256 over names and git's digests of files, 16 digits."""
    text = "".join(f"{blob} {name}\n" for name, blob in sorted(blobs.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _git(folder: Path, *words: str) -> str:
    """What a command of git prints; empty if it fails, as it does outside a repository."""
    # A hook of git names its own repository to all that it starts. A lock would stop a commit of
    # the user's.
    environment = {name: value for name, value in os.environ.items() if name not in OF_HOOKS}
    environment["GIT_OPTIONAL_LOCKS"] = "0"
    command = ["git", "-C", str(folder), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return done.stdout
    except (OSError, subprocess.CalledProcessError):
        return ""
