"""Where things lie: the checkout, what the tests share, and data beside the checkout that not every
machine has."""

from pathlib import Path

SUPPORT = Path(__file__).resolve().parent
ROOT = SUPPORT.parents[1]
SHIPPED = ("mocose", "esimcse", "simcse", "own")  # folders of studies; others are a user's own
SHARED = ROOT.parent / "shared"
PAPERS_TEXTS = SHARED / "reference" / "papers"
