"""Links of the page: each leads to a file that is there, and none out of the folders of results and figures."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from desk import Desk
from fake_jobs import made_result
from markdown_it import MarkdownIt
from pages import SVG, TABLE, Reader, result
from storm import planned

import studies
from core.data.sources import demo_sources
from core.report.page import Section, gathered_page, page_files
from core.runner.plan import plan
from core.spec.result import Result
from core.spec.scale import DEMO
from core.store.store import Store

NAMED = "a b#c?d%41&'\"(e)[f]"
STUDY = "esimcse-table11"


def links(folder: Path) -> set[str]:
    """Where index.html and README.md of a folder lead, as a browser reads them, without places of a page."""
    html = Reader((folder / "index.html").read_text()).references
    tokens = MarkdownIt("commonmark").enable("table").parse((folder / "README.md").read_text())
    inline = [child for token in tokens for child in token.children or ()]
    return {link for link in (*html, *(token.attrs["href"] for token in inline if token.type == "link_open")) if not link.startswith("#")}


def target(folder: Path, link: str) -> Path:
    parts = urlsplit(link)
    assert not parts.scheme and not parts.netloc and not parts.query, link
    return Path(f"{folder}/{unquote(parts.path)}")


def stored(desk: Desk, store: Store) -> None:
    """A table of scale mini and one of scale demo, whose provenance is full of paths."""
    found = demo_sources()
    demo = plan([studies.find(STUDY)], profile="paper", scale=DEMO, sources=found.sources, seeds=1, store=store)
    for run, sources in [*((run, found) for run in demo.runs), *((run, desk.found()) for run in planned(desk, 1, STUDY))]:
        made = made_result(run.config)
        paths = {"host": "../../../etc", "encoder": "javascript:alert(1)", "corpus": '../../text" href="/etc/passwd', "device": "[x](/etc)"}
        store.save(run.config, Result(status="ok", rows=made.rows, pairs=made.pairs, provenance={**sources.provenance(), **paths}))


@pytest.mark.parametrize("where", ["home", "elsewhere"])
def test_every_link_of_a_drawn_page_leads_to_a_file_within_results_and_figures(desk, where):
    """Scale mini is drawn, scale demo only stands on the page."""
    results = desk.results if where == "home" else desk.folder / NAMED
    figures = desk.folder / "home" / "figures" if where == "home" else results / "figures"
    stored(desk, Store(results, None))
    options = () if where == "home" else ("--results-dir", str(results))
    done = desk.do("--all", "--seeds", "1", "--regenerate-figures", *options, REAL_REPORT="1")
    assert done.returncode == 0, done.stdout + done.stderr
    found = links(results)
    assert {f"{scale}/paper/{STUDY}.csv" for scale in ("demo", "mini")} <= found and any(link.endswith(".png") for link in found)
    for link in found:
        path = target(results, link).resolve()
        assert path.is_file() and path.stat().st_size, link
        assert path.is_relative_to(results.resolve()) or path.is_relative_to(figures.resolve()), link


def test_a_published_run_outside_of_the_results_is_named_without_a_link(desk):
    """Whoever is given the folder has no use for a path of the machine that it was drawn on."""
    mine, theirs = Store(desk.folder / "mine", desk.results / "published"), Store(desk.folder / "theirs", desk.results / "published")
    stored(desk, theirs)
    theirs.publish([run for run in theirs.runs() if theirs.load(run).config.scale == "demo"], desk.results / "published")
    done = desk.do("--all", "--seeds", "1", "--regenerate-figures", "--results-dir", str(mine.root), scale="demo", REAL_REPORT="1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(target(mine.root, link).resolve().is_relative_to(mine.root.resolve()) for link in links(mine.root))
    page = (mine.root / "index.html").read_text()
    run = next(run for run in theirs.runs() if theirs.load(run).config.scale == "demo")
    assert str(desk.folder) not in page and "runs.parquet" not in page and (f"<code>{run[:8]}</code>" in page or f"{run[:8]}" not in page)


def test_folders_whose_names_are_syntax_are_quoted(tmp_path):
    folder, figures = tmp_path / "results", tmp_path / NAMED / "figures"
    page = gathered_page((TABLE,), {("demo", "paper"): [Section(result=result(), picture=SVG)]})
    inside = folder / NAMED / "runs.parquet"
    files = page_files(page, folder, figures, lambda run, scale: inside, {})
    folder.mkdir()
    for name in ("index.html", "README.md"):
        (folder / name).write_text(files[name])
    found = {target(folder, link).resolve() for link in links(folder)}
    assert inside in found and figures / "demo" / "paper" / "mocose-table3.png" in found
    assert all(re.fullmatch(r"[\w./~%-]+(#[\w.-]+)?", link) for link in links(folder))
    for outside in (tmp_path / "runs.parquet", folder / ".." / "x", Path("/etc/passwd"), tmp_path / "results-of-others" / "x"):
        written = page_files(page, folder, figures, lambda run, scale, outside=outside: outside, {})["index.html"]
        (folder / "index.html").write_text(written)
        assert outside.resolve() not in {target(folder, link).resolve() for link in links(folder)}
