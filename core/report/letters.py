"""The letters of figures: DejaVu Sans, which comes with matplotlib, without what figures do not use.

A PDF holds the glyphs that its figure shows, and for each font of each figure all 6,000 glyphs are read to find them, with the tables of ligatures
and kerning. Of the cuts made here the few hundred glyphs that are left are read: a seventh of the time, and letters are never joined.
"""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

from fontTools import subset
from matplotlib import font_manager

WHOLE, CUT = "DejaVu Sans", "Figure Sans"  # its licence asks a changed font to have another name
CUTS = ({}, {"weight": "bold"}, {"style": "oblique"})
# Latin, Greek, punctuation, superscripts to arrows and mathematics, geometric shapes.
KEPT = ((0x20, 0x7F), (0xA0, 0x250), (0x370, 0x400), (0x2010, 0x2300), (0x25A0, 0x2600))
DROPPED = ["GDEF", "GPOS", "GSUB", "kern", "FFTM"]  # ligatures, kerning, and the date of an editor


@functools.cache
def families() -> list[str]:
    """The names of the figures' fonts, in the order in which a letter is looked for. The first call makes the cuts and makes them known to
    matplotlib. Raises OSError if there is no room for them (half a megabyte, for as long as the process lives)."""
    for number, look in enumerate(CUTS):
        whole = font_manager.findfont(font_manager.FontProperties(family=WHOLE, **look))
        path = Path(_folder().name) / f"{number}.ttf"
        _cut(whole, path)
        font_manager.fontManager.addfont(path)
    return [CUT, WHOLE]


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="letters-")


def _cut(whole: str, path: Path) -> None:
    """Write the font without the glyphs and tables that figures do not use."""
    options = subset.Options(name_IDs=["*"], notdef_outline=True)
    options.drop_tables += DROPPED
    with subset.load_font(whole, options) as font:
        cutter = subset.Subsetter(options)
        cutter.populate(unicodes=[letter for first, end in KEPT for letter in range(first, end)])
        cutter.subset(font)
        for name in font["name"].names:
            name.string = str(name).replace(WHOLE, CUT).replace(WHOLE.replace(" ", ""), CUT.replace(" ", ""))
        font.save(path)
