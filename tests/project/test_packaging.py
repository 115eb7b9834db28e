"""Packaging: one place for the pins, every import pinned, nothing pinned that nothing uses; the
README's findings are the published CSV's."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions

from places import ROOT

from studies import find
from tools.readme import filled, times

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
WITH_ANOTHER = {  # theirs to choose
    "threadpoolctl": "scikit-learn's",
    "markdown-it-py": "rich's",
    "markupsafe": "jinja2's",
    "setuptools": "pip's, for a build",
}
OPTIONAL = ("cluster", "evaluate", "rewriting", "dev")


def pins(name: str) -> dict[str, str]:
    """The distributions of a requirements file with their releases, as every line says."""
    lines = [
        line for line in (ROOT / name).read_text().splitlines() if line and not line.startswith("#")
    ]
    return dict(re.fullmatch(r"([a-z0-9_-]+)==([0-9.]+)", line).groups() for line in lines)


def imported() -> set[str]:
    """Top-level names that the project's files import, at any depth, but its own and the standard
    library's."""
    here = {"core", "studies", "tests", "tools", "benchmarks", "run_study"}
    files = [ROOT / "run_study.py"]
    for place in ("core", "studies", "tests", "tools"):
        files += (ROOT / place).rglob("*.py")
    names = set()
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names.add(node.module)
        if path.is_relative_to(ROOT / "tests"):
            here.add(path.stem)
    return {name.partition(".")[0] for name in names} - here - set(sys.stdlib_module_names)


def test_pins_stand_in_the_requirements_alone():
    assert {"dependencies", "optional-dependencies"} <= set(PROJECT["project"]["dynamic"])
    read = PROJECT["tool"]["setuptools"]["dynamic"]
    extras = {
        file.stem.removeprefix("requirements-"): {"file": [file.name]}
        for file in ROOT.glob("requirements-*.txt")
    }
    assert read == {"dependencies": {"file": ["requirements.txt"]}, "optional-dependencies": extras}
    assert not set(pins("requirements.txt")) & set(pins("requirements-dev.txt"))


def test_every_import_is_pinned_and_every_pin_imported():
    of = {name: found[0].lower() for name, found in packages_distributions().items()}
    used = {of.get(name, name).replace("_", "-") for name in imported()}
    pinned = {name.replace("_", "-") for name in pins("requirements.txt")}
    optional = {name for extra in OPTIONAL for name in pins(f"requirements-{extra}.txt")}
    assert used - pinned <= {*WITH_ANOTHER, *optional}
    assert pinned - {"psutil"} <= used  # joblib ends its processes by it, else by pgrep


def test_no_file_with_a_digest_has_line_ends_of_windows():
    """A digest is of bytes, and git turns line ends where nothing forbids it."""
    assert "* -text" in (ROOT / ".gitattributes").read_text().splitlines()
    files = [
        path
        for folder in ("core", "studies")
        for ending in ("py", "json", "txt")
        for path in (ROOT / folder).rglob(f"*.{ending}")
    ]
    assert len(files) > 150
    assert not [path for path in files if b"\r" in path.read_bytes()]


def test_every_requirements_file_and_study_that_the_readme_names_is_there():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in re.findall(r"requirements[a-z-]*\.txt", readme):
        assert (ROOT / name).is_file()
    for words in re.findall(r"run_study\.py (?:show )?([a-z0-9-]+)\s", readme):
        assert words.startswith("--") or words in ("evaluate", "judge") or find(words)
    for place in re.findall(r"\]\(([^)#:]+)[)#]", readme):
        assert (ROOT / place).exists(), place


def test_the_readme_is_as_rendered():
    published = ROOT / "results" / "published"
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert filled(readme, published, times(published)) == readme
    assert "<!-- results " in readme
    assert len(readme.splitlines()) <= 100
    assert len(readme.encode()) <= 7_000


def test_all_documentation_together_is_short():
    files = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "benchmarks" / "README.md"]
    assert sum(len(file.read_bytes()) for file in files) <= 70 * 1024
