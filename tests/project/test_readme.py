"""The README's findings are the published CSV's."""

from places import ROOT

from core.report.tables import filled


def test_the_readme_is_as_rendered():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert filled(readme, ROOT / "results" / "published" / "claims.csv") == readme
    assert "<!-- results " in readme and len(readme.splitlines()) <= 100 and len(readme.encode()) <= 7_000
