"""studies/reference: every D-number that is named is explained."""

import re
from pathlib import Path

from places import ROOT

from core.spec.fields import explanations

READ = [ROOT / "README.md", ROOT / "run_study.py", *(path for folder in ("core", "studies", "tests", "benchmarks", "docs")
        for end in ("py", "md") for path in sorted((ROOT / folder).rglob(f"*.{end}")))]  # fmt: skip
RANGE = re.compile(r"\bD(\d+) ?[-–…] ?D(\d+)\b")


def named(path: Path) -> set[str]:
    """The D-numbers of a file, those within a range ("D22 - D24") included."""
    text = path.read_text(encoding="utf-8")
    ranges = {f"D{n}" for first, last in RANGE.findall(text) if int(last) - int(first) < 10 for n in range(int(first), int(last) + 1)}
    return set(re.findall(r"\bD\d+\b", text)) | ranges


def test_every_number_that_is_named_is_explained():
    here = {path: named(path) - set(explanations()) for path in READ if path != Path(__file__)}
    assert not {str(path): numbers for path, numbers in here.items() if numbers}
