"""Every study, in the papers' order. A new study is a file in its paper's folder, a new paper a
folder."""

from __future__ import annotations

from pathlib import Path

from core.study.catalogue import catalogue
from core.study.study import Study

CATALOGUE = catalogue(Path(__file__).parent)
STUDIES: tuple[Study, ...] = CATALOGUE.studies
find = CATALOGUE.find
