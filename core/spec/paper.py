"""A paper: a folder under studies/, whose `__init__.py` states these facts as PAPER."""

from __future__ import annotations

from dataclasses import dataclass

from core.spec.section import Typed


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper(Typed):
    """What is known of a paper. `key` is what its studies say (`paper="mocose"`), `name` what tables say; papers come by `order`."""

    key: str
    name: str
    title: str
    authors: str  # in short, with the year
    order: int
    link: str = ""  # to the paper
    code: str = ""  # to its code
