"""An English training text that anybody can have: 397,492 sentences from public sources.

    python -m tools.english OUT [--from URL]

Writes OUT/english.txt, one sentence a line, and keeps the fetched files in OUT/sources. The text
depends on the pinned commits alone, so its digest is known. It needs git, 300 MB of disk and some minutes.
Given again, a command that was broken off goes on.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from core.errors import UserError
from core.formatting import say
from core.store.files import trouble, write_whole
from tools.english.sources import Source, fetched, listed, sentences

DIGEST = "37f8d3a9324c481d32d4c6a0d79d00c9b28e7b452d435729a9c786089d96b153"
LICENCES = (
    "Most books are under CC BY-NC-SA 4.0, the others under CC BY 4.0, WikiSplit under CC BY-SA "
    "4.0: share the text under these terms (tools/english/sources.csv)."
)


def build(out: Path, sources: Sequence[Source], origin: str) -> str:
    """Write `out`/english.txt and return its SHA-256. Raises UserError, with the sources that give
    other sentences than they are listed with; nothing is written then."""
    first: dict[str, str] = {}
    differing = []
    for number, source in enumerate(sources, start=1):
        place = fetched(source, origin, out / "sources")
        own = list(sentences(source, place))
        say(f"{number:2}/{len(sources)}  {len(own):7,} sentences  {source.repository}")
        if (len(own), _digest(own)) != (source.sentences, source.sha256):
            differing.append(f"{source.repository} ({len(own):,} for {source.sentences:,})")
        for sentence in own:
            letters = re.sub(r"\W+", "", sentence.lower())
            first.setdefault(letters, sentence)
    if differing:
        raise UserError(
            f"These sources give other sentences than listed: {', '.join(differing)}; remove their "
            f"folders in {out / 'sources'} and give the same command again."
        )
    # The order of the digests mixes the sources, and depends on nothing but the sentences.
    lines = sorted(first.values(), key=lambda sentence: hashlib.sha256(sentence.encode()).digest())
    write_whole(out / "english.txt", _content(lines))
    return _digest(lines)


def _content(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _digest(lines: Iterable[str]) -> str:
    """SHA-256 of these lines as a text file."""
    return hashlib.sha256(_content(lines)).hexdigest()


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the text; the exit status."""
    assert __doc__
    parser = argparse.ArgumentParser(
        prog="python -m tools.english",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("out", metavar="OUT", type=Path, help="folder for english.txt")
    parser.add_argument(
        "--from",
        dest="origin",
        metavar="URL",
        default="https://github.com",
        help="where OWNER/NAME of each repository lies (default: %(default)s)",
    )
    options = parser.parse_args(arguments)
    say(LICENCES)
    try:
        digest = build(options.out, listed(), options.origin.rstrip("/"))
    except UserError as error:
        say(str(error), out=sys.stderr)
        return 2
    except OSError as error:
        say(trouble(error.filename or options.out, error), out=sys.stderr)
        return 2
    if digest != DIGEST:
        say(f"The text has the digest {digest}, not {DIGEST}; report this.", out=sys.stderr)
        return 2
    say(f"{options.out / 'english.txt'} has the digest {digest}, as it must.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
