"""The build of this project: setuptools' own, which installs a checkout and refuses to copy it."""

from __future__ import annotations

from setuptools.build_meta import (
    build_editable,
    get_requires_for_build_editable,
    prepare_metadata_for_build_editable,
)

__all__ = [
    "build_editable",
    "get_requires_for_build_editable",
    "prepare_metadata_for_build_editable",
]

REFUSAL = (
    "This project is used from its checkout, where its studies and results lie: give "
    "`pip install -e .` instead of `pip install .`."
)


def get_requires_for_build_wheel(*_: object) -> list[str]:
    """What pip asks first for a copy: refuse, before pip fetches any package."""
    raise SystemExit(REFUSAL)


def build_wheel(*_: object) -> str:
    """What other programs ask: refuse."""
    raise SystemExit(REFUSAL)


build_sdist = build_wheel  # from which a copy would be installed
