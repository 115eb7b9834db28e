"""Make the figures' fonts: `python -m core.report.fonts.cut` cuts them out of DejaVu Sans as matplotlib brings it (see LICENSE)."""

from __future__ import annotations

from pathlib import Path

import matplotlib
from fontTools import subset

from core.report.letters import CUT, FONTS, WHOLE

LOOKS = {"normal": "DejaVuSans.ttf", "bold": "DejaVuSans-Bold.ttf", "oblique": "DejaVuSans-Oblique.ttf"}
# Latin, Greek, punctuation, superscripts to arrows and mathematics, geometric shapes.
KEPT = ((0x20, 0x7F), (0xA0, 0x180), (0x370, 0x400), (0x2010, 0x2300), (0x25A0, 0x2600))
DROPPED = ["GDEF", "GPOS", "GSUB", "kern", "FFTM"]  # ligatures, kerning, and the date of an editor


def cut(look: str, path: Path) -> None:
    """Write DejaVu Sans in a look without the glyphs and tables that figures do not use, under another name, as its licence asks."""
    options = subset.Options(name_IDs=["*"], notdef_outline=True)
    options.drop_tables += DROPPED
    whole = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / LOOKS[look]  # by its path: a system's own DejaVu is another edition
    with subset.load_font(str(whole), options) as font:
        cutter = subset.Subsetter(options)
        cutter.populate(unicodes=[letter for first, end in KEPT for letter in range(first, end)])
        cutter.subset(font)
        for name in font["name"].names:
            name.string = str(name).replace(WHOLE, CUT).replace(WHOLE.replace(" ", ""), CUT.replace(" ", ""))
        font.save(path)


if __name__ == "__main__":
    for look in LOOKS:
        cut(look, FONTS / f"{look}.ttf")
