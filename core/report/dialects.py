"""Plain text in Markdown and LaTeX (HTML has its templates, which escape by themselves): whatever a name holds, it is shown and never read as markup."""

from __future__ import annotations

import itertools
import unicodedata

from core.spec.errors import printable

MARKDOWN = str.maketrans(
    {
        "\\": "&#92;",  # an entity, since a backslash before the one of `\|` would end the cell
        "&": "&amp;",
        "|": r"\|",
        "*": r"\*",
        "_": r"\_",
        "<": r"\<",
        "`": r"\`",
        "$": r"\$",
        "~": r"\~",
        "!": r"\!",
    }
)
# One character at a time, so that nothing is escaped twice.
LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_",
    "[": "{[}", "]": "{]}", "*": "{*}",  # after the \\ or the rule of a row these would begin its options
    "`": "{`}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$", "|": "$|$", '"': "''",
    "±": r"$\pm$", "−": "$-$", "—": "---", "–": "--", "×": r"$\times$", "·": r"$\cdot$", "η": r"$\eta$", "λ": r"$\lambda$",
    "…": r"\ldots{}", "ε": r"$\epsilon$", "≤": r"$\leq$", "≥": r"$\geq$", "→": r"$\to$", "“": "``", "”": "''", "’": "'",
    "≈": r"$\approx$", "τ": r"$\tau$", "θ": r"$\theta$", "▲": r"$^{\blacktriangle}$", "▼": r"$^{\blacktriangledown}$", "†": r"$^{\dagger}$",
    "‡": r"$^{\ddagger}$", "§": r"$^{\S}$", "ß": r"\ss{}",
}  # fmt: skip
ACCENTS = {"\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0308": '"', "\u030a": "r", "\u030c": "v", "\u0327": "c"}


def md(text: str) -> str:
    """The text in Markdown, in a table or outside."""
    return printable(text).translate(MARKDOWN).replace("](", r"]\(").replace("][", r"]\[")


def tex(text: str) -> str:
    """The text in LaTeX with amssymb, in ASCII; a letter that plain LaTeX cannot set is written by its number, as U+6A21."""
    pairs = itertools.pairwise(f" {printable(text)}")
    return "".join("{-}" if before + c == "--" else _letter(c) for before, c in pairs)  # two hyphens in a row would be set as a dash


def _letter(c: str) -> str:
    if c in LATEX:
        return LATEX[c]
    if c.isascii():
        return c
    base, *accents = list(unicodedata.normalize("NFD", c))
    if base.isascii() and base.isalpha() and len(accents) == 1 and accents[0] in ACCENTS:
        return rf"\{ACCENTS[accents[0]]}{{{base}}}"
    return f"U+{ord(c):04X}"
