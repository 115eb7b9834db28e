"""The letters of figures: cuts of DejaVu Sans, which are shipped so that figures are the same everywhere (`core/report/fonts`).

A PDF holds the glyphs that its figure shows, and for each font of each figure all 6,000 glyphs of DejaVu Sans would be read to find them, with
the tables of ligatures and kerning. The cuts have a few hundred: a seventh of the time, and letters are never joined.
"""

from __future__ import annotations

import functools
from pathlib import Path

from matplotlib import font_manager

WHOLE, CUT = "DejaVu Sans", "Figure Sans"
FONTS = Path(__file__).with_name("fonts")


@functools.cache
def families() -> list[str]:
    """The names of the figures' fonts, in the order in which a letter is looked for: the cut, then the whole for rare ones. The first call
    makes the cuts known to matplotlib."""
    for path in sorted(FONTS.glob("*.ttf")):
        font_manager.fontManager.addfont(path)
    return [CUT, WHOLE]
