"""Links of the page: each leads to a file that is there, and none out of the folders of results and figures."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from desk import Desk
from fake_jobs import made_result
from known_jobs import ONE
from markdown_it import MarkdownIt
from pages import SVG, TABLE, Reader, result

from core.data.sources import demo_sources
from core.report.page.content import Section, gathered_page
from core.report.page.writing import page_files
from core.report.render import gathered, render, render_index
from core.runner.plan import plan
from core.spec.conditions import Edition
from core.spec.result import Row
from core.spec.scale import SCALES, Sources
from core.store.store import Store

NAMED = "a b#c?d%41&'\"(e)[f]"


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


def edition_of(scale: str, sources: Sources) -> Edition:
    return Edition(profile="paper", scale=SCALES[scale], sources=sources, seeds=1)


def stored(desk: Desk, store: Store) -> dict[str, Sources]:
    """A table of scale mini and one of scale demo, whose provenance is full of paths."""
    known = {"demo": demo_sources(), "mini": desk.found()}
    paths = {"host": "../../../etc", "encoder": "javascript:alert(1)", "corpus": '../../text" href="/etc/passwd', "device": "[x](/etc)"}
    for name, found in known.items():
        for run in plan([ONE], edition_of(name, found.sources), store).runs:
            made, score = made_result(run.config), f"spearman_{run.config.sts.aggregate}"
            curve = tuple(Row("curve", "dev", score, step, 40.0 + step) for step in (0, 2))
            store.save(run.config, replace(made, rows=(*made.rows, *curve), provenance={**found.provenance(), **paths}))
    return {name: found.sources for name, found in known.items()}


def drawn(store: Store, known: dict[str, Sources], figures: Path) -> None:
    """Scale mini is drawn, scale demo only stands on the page."""
    editions = {name: edition_of(name, sources) for name, sources in known.items()}
    mini = render([ONE], editions["mini"], store, store.root, figures).sections
    demo = gathered([ONE], editions["demo"], store, figures)
    render_index((ONE,), {("demo", "paper"): demo, ("mini", "paper"): mini}, tuple(editions.values()), store, store.root, figures)


def test_a_figure_from_an_earlier_drawing_stays_on_the_page(desk):
    """Drawing one scale does not take the figures of the others from the page; before, it did."""
    store, figures = Store(desk.results, None), desk.folder / "figures"
    known = stored(desk, store)
    drawn(store, known, figures)
    png = f"../../figures/demo/paper/{ONE.name}.png"
    assert png not in links(desk.results) and not (desk.results / png).exists()
    render([ONE], edition_of("demo", known["demo"]), store, store.root, figures)
    drawn(store, known, figures)
    assert png in links(desk.results) and (desk.results / png).is_file()
    page, readme = ((desk.results / name).read_text() for name in ("index.html", "README.md"))
    assert f'<img class="figure" loading="lazy" src="{png}"' in page and f"[figure]({png})" in readme


@pytest.mark.parametrize("where", ["results", NAMED])
def test_every_link_of_a_drawn_page_leads_to_a_file_within_results_and_figures(desk, where):
    results, figures = desk.folder / where, desk.folder / "figures" if where == "results" else desk.folder / where / "figures"
    store = Store(results, None)
    drawn(store, stored(desk, store), figures)
    found = links(results)
    assert {f"{scale}/paper/{ONE.name}.csv" for scale in ("demo", "mini")} <= found
    assert any(link.endswith(".png") for link in found) and any(link.endswith("_runs.csv") for link in found)
    for link in found:
        path = target(results, link).resolve()
        assert path.is_file() and path.stat().st_size, link
        assert path.is_relative_to(results.resolve()) or path.is_relative_to(figures.resolve()), link


def test_the_runs_behind_a_claim_are_in_a_csv_beside_the_page_wherever_they_are_kept(desk):
    """Whoever is given a results folder has no use for a path of the machine that it was drawn on."""
    published, theirs = desk.folder / "home" / "results" / "published", Store(desk.folder / "theirs", None)
    known = stored(desk, theirs)
    theirs.publish(theirs.runs(), published)
    for root in (published.parent, desk.folder / "mine"):
        drawn(Store(root, published), known, desk.folder / "figures")
        page = (root / "index.html").read_text()
        assert str(desk.folder) not in page and not [link for link in links(root) if link.endswith(".parquet")]
        table = (root / "mini" / "paper" / f"{ONE.name}_runs.csv").read_text()
        behind = set(re.findall(r"<code>([0-9a-f]{8})</code>", page))
        assert behind and all(run in table + (root / "demo" / "paper" / f"{ONE.name}_runs.csv").read_text() for run in behind)


def test_folders_whose_names_are_syntax_are_quoted(tmp_path):
    folder, figures = tmp_path / "results", tmp_path / NAMED / "figures"
    page = gathered_page((TABLE,), {("demo", "paper"): [Section(result=result(), picture=SVG)]})
    files = page_files(page, folder, figures, {})
    folder.mkdir()
    for name in ("index.html", "README.md"):
        (folder / name).write_text(files[name])
    found = {target(folder, link).resolve() for link in links(folder)}
    assert figures / "demo" / "paper" / "mocose-table3.png" in found
    assert all(re.fullmatch(r"[\w./~%-]+(#[\w.-]+)?", link) for link in links(folder))
