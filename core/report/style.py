"""One look for every figure: legible in print, in greyscale and with any colour vision. Of matplotlib's state only the list of fonts grows."""

from __future__ import annotations

import functools
import io
import re
from html import escape
from typing import NamedTuple

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from core.report.letters import families


class Look(NamedTuple):
    """How one series is drawn: colour and marker both differ, so that either is enough."""

    colour: str
    marker: str


# Okabe and Ito's palette, in an order whose neighbours also differ in lightness.
LOOKS = (
    Look("#0072B2", "o"),
    Look("#E69F00", "s"),
    Look("#009E73", "^"),
    Look("#CC79A7", "D"),
    Look("#D55E00", "v"),
    Look("#56B4E9", "P"),
    Look("#000000", "X"),
)
GREY = "#555555"
PALE = "#E3E3E3"
BAND = "#E8EEF6"
OURS, TOLD = LOOKS[0].colour, LOOKS[4].colour
DASHED = (0, (4, 2))

RC = {
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "text.parse_math": False,  # a $ in a name is a letter
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "pdf.fonttype": 42,  # letters stay letters: searchable, and accepted by publishers
    "svg.hashsalt": "figure",
    "svg.fonttype": "none",  # the page's own letters
}
DPI = 200
GREYS, TINTS = 32, 12  # of a picture: greys from black to white, and of each colour steps towards white


def blank(width: float, height: float) -> Figure:
    """An empty figure in inches, to be made and drawn inside `drawing()`."""
    figure = Figure(figsize=(width, height), dpi=DPI, facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def drawing():
    """The context in which figures are made: this style, and matplotlib's defaults for all else, whatever the user's matplotlibrc."""
    return matplotlib.rc_context({**matplotlib.rcParamsDefault, **RC, "font.family": families(), "backend": "agg"})


def pixels(figure: Figure) -> Image.Image:
    """The figure in the style's own colours, their tints and greys, each pixel in the nearest: a third of the size of a full one."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB").quantize(palette=_palette(), dither=Image.Dither.NONE)


@functools.cache
def _palette() -> Image.Image:
    colours = np.array([[int(look.colour[i : i + 2], 16) for i in (1, 3, 5)] for look in LOOKS if look.colour != "#000000"])  # (colours, 3)
    whiter = np.linspace(0, 1, TINTS, endpoint=False)[:, None, None]  # (tints, 1, 1)
    tints = (colours * (1 - whiter) + 255 * whiter).reshape(-1, 3)
    greys = np.linspace([0] * 3, [255] * 3, GREYS)
    palette = Image.new("P", (1, 1))
    palette.putpalette(np.concatenate([greys, tints]).round().astype(np.uint8).tobytes())
    return palette


def png_bytes(picture: Image.Image) -> bytes:
    """Pixels as PNG, without a version stamp."""
    buffer = io.BytesIO()
    picture.save(buffer, format="png", dpi=(DPI, DPI), optimize=True)
    return buffer.getvalue()


def pdf_bytes(figure: Figure) -> bytes:
    """The figure as PDF, without date and version stamps."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="pdf", metadata={"CreationDate": None, "Creator": None, "Producer": None})
    return buffer.getvalue()


THEME = {  # what the page's theme has in the place of a figure's colours
    OURS.lower(): "ours",
    TOLD.lower(): "told",
    GREY.lower(): "soft",
    PALE.lower(): "line",
    BAND.lower(): "band",
    "#ffffff": "bg",
    "#000000": "ink",
    "#333333": "ink",
    **{look.colour.lower(): f"hue{n}" for n, look in enumerate(LOOKS) if n not in (0, 4, 6)},
}


def svg_text(figure: Figure, name: str, words: str) -> str:
    """The figure as an <svg> element for a page: colours are the theme's, every id begins with `name`, `words` say what it shows.

    Numbers of points are cut to two decimals and nothing refers to a file.
    """
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = buffer.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->|\s*<\?xml.*?\?>|<!DOCTYPE.*?>|<style.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r"-?\d+\.\d{3,}", lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), text)
    text = re.sub(
        r"#[0-9a-fA-F]{6}(?![0-9a-zA-Z])",
        lambda found: f"var(--{THEME[found[0].lower()]})" if found[0].lower() in THEME else found[0],
        text,
    )
    used = set(re.findall(r"(?:url\(#|href=\"#)([^)\"]+)", text))
    text = re.sub(r' id="([^"]+)"', lambda found: f' id="{name}-{found[1]}"' if found[1] in used else "", text)
    text = re.sub(r"url\(#", f"url(#{name}-", text)
    text = re.sub(r'xlink:href="#', f'href="#{name}-', text)
    text = re.sub(r"\bfont: ([\d.]+px) [^;\"]*", r"font-size: \1", text)  # the page's letters, in the figure's size
    text = re.sub(r"\s*\n\s*", " ", text)
    width, height = (f"{inches * 72:.0f}" for inches in figure.get_size_inches())
    head = f'<svg role="img" aria-label="{escape(words, quote=True)}" viewBox="0 0 {width} {height}" class="figure">'
    return re.sub(r"<svg [^>]*>", lambda _: head, text.strip(), count=1)
