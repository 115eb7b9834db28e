"""The papers' claims are in their words and judged on the printed numbers as they say, which stand in
the papers' texts and in what was read off their figures."""

import csv
import functools
import re
import statistics
import unicodedata
from pathlib import Path

import pytest
from extras import PAPER_FILES, texts_of, with_text
from fake_store import made_setup
from made_scales import MOCOSE, PAPER_SOURCES, printed
from places import ROOT

from core.config.fields import explanations
from core.config.scale import PAPER
from core.report.verdicts import study_result
from core.study.claim import truth
from core.study.resolution import resolve
from studies import STUDIES, find

NOT_ASKED = ROOT / "studies" / "reference" / "not_asked.md"
PAPERS = [study for study in STUDIES if study.paper in PAPER_FILES]
CLAIMS = [(study, claim) for study in PAPERS for claim in study.claims]
BY_KEY = {claim.key: (study, claim) for study, claim in CLAIMS}
READ_TO = {"mocose-figure2": 0.02, "mocose-figure3": 0.02, "mocose-figure7": 5.0}  # ±
FAIL = {"T5.4", "T5.6", "F3.1", "F3.2"}  # on the paper's own numbers, by their sign
UNKNOWN = """
    T2.1 (test), T2.2 (test), T2.3 (test), T4.4, T7.3, F2.3, F3.3, F3.4, F4.1, F4.2, F5.3, F5.4, F6.1,
    F6.2 (schedule), F7.1, F7.1 (levels), F7.2, F7.3, F13.1, F13.2, E1.1 (untrained),
    E1.1 (our reading), E1.2 (untrained), E1.3, E1.4, E6.4, E10.5, E-F2.1, SD1.1
    """
# not all numbers are printed, or less apart than a figure can be read to
NOT_PRINTED = {" ".join(key.split()) for key in UNKNOWN.split(",")}
PIECE = 10  # letters that each side of a page break must have
BETWEEN = 1600  # letters of a page or a table that may stand between; 1,545 at T1.4


def letters(text: str) -> str:
    """Letters and digits alone: as line ends, ligatures, formulas and quotation marks leave
    them."""
    plain = re.sub(r"\\[a-z]+", "", text)  # commands of formulas
    return re.sub(r"[^a-z0-9]", "", unicodedata.normalize("NFKC", plain).lower())


def stands_in(quote: str, text: str) -> bool:
    """Whether the quotation is in the text, whole or cut in two by a page: the second piece soon
    after the first."""
    if quote in text:
        return True
    for at in range(PIECE, len(quote) - PIECE + 1):
        for found in re.finditer(quote[:at], text):
            if text.find(quote[at:], found.end(), found.end() + BETWEEN + len(quote) - at) >= 0:
                return True
    return False


def texts(paper: str, place: str = "") -> list[str]:
    """The letters of a paper's texts."""
    return [
        letters(path.read_text())
        for path in texts_of(paper)
        if place not in ("poster", "slides") or path.name.startswith("001")
    ]


@functools.cache
def verdicts_of(name):
    """A study's verdicts without a run, by claim."""
    result = study_result(resolve(find(name), made_setup(1, scale=PAPER, sources=PAPER_SOURCES)))
    return {verdict.claim.key: verdict for verdict in result.verdicts}


def readings_of(key):
    """A claim's contrasts with what the printed numbers give for them, above their thresholds."""
    return verdicts_of(BY_KEY[key][0].name)[key].contrasts


def holds(key):
    """Whether a claim holds on the printed numbers, by their sign; None: not all are printed, or
    within their reading error."""
    study, claim = BY_KEY[key]

    def of(contrast):
        measured = readings_of(key)[contrast]
        error = READ_TO.get(study.name, 0.0) * abs(measured.weights).sum()
        if measured.printed is None or (error and abs(measured.printed) <= error + 1e-9):
            return None
        return measured.printed > 1e-9

    return truth(claim.predicate, of)


@pytest.mark.parametrize("paper", with_text("mocose", "esimcse", "simcse"))
def test_every_quotation_is_the_papers(paper):
    claims = [claim for study, claim in CLAIMS if study.paper == paper]
    assert claims and all(claim.quote and claim.place for claim in claims)
    for claim in claims:
        assert any(stands_in(letters(claim.quote), text) for text in texts(paper, claim.place)), (
            claim.key
        )


@pytest.mark.parametrize("paper", with_text("mocose", "esimcse"))
def test_every_quotation_that_no_claim_asks_is_the_papers(paper):
    flags = re.MULTILINE | re.DOTALL
    parts = re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", NOT_ASKED.read_text(), flags)
    (part,) = (text for title, text in parts if title.lower() == paper)
    rows = [row.split("|")[1] for row in part.splitlines() if row.startswith("|")]
    quotes = [quote for row in rows for quote in re.findall(r'"([^"]+)"', row)]
    assert len(quotes) >= 8
    for quote in quotes:
        assert any(stands_in(letters(quote), text) for text in texts(paper)), quote


def test_every_claim_but_these_holds_on_the_printed_numbers():
    by_truth = {False: set(), None: set(), True: set()}
    for key in BY_KEY:
        by_truth[holds(key)].add(key)
    assert by_truth[False] == FAIL and by_truth[None] == NOT_PRINTED


def effect(key):
    return [measured.printed for measured in readings_of(key).values()]


def test_means_slopes_and_leads_by_hand():
    # STS12-14 gain 3.62, 0.38, 0.89; the others -0.39, -0.09, 1.27, -0.62
    assert effect("T1.5") == pytest.approx([4.89 / 3 - 0.17 / 4])
    assert effect("T1.7") == pytest.approx([1 - 0.39, 1 - 0.09, 1 + 1.27, 1 - 0.62])
    assert sum(one > 0 for one in effect("T1.8")) == 6
    assert effect("T2.3") == pytest.approx([85.46 - 84.94, 85.46 - 84.66, 85.46 - 85.81])
    assert effect("T2.4") == pytest.approx([1 + 86.90 - 86.11, 1 - 86.90 + 86.11])
    assert effect("T6b.2") == pytest.approx([1 + 77.25 - 76.78, 1 + 77.25 - 76.62])
    # means over fills 76.3375, 76.1825, 76.4775, 76.4625, 46.2825 at log2 = 7, 8, 9, 10, 12 (mean
    # 9.2, squares 14.8)
    assert effect("T7.2") == pytest.approx(
        [-(-2.2 * 76.3375 - 1.2 * 76.1825 - 0.2 * 76.4775 + 0.8 * 76.4625 + 2.8 * 46.2825) / 14.8]
    )
    assert effect("T7.3 (worse)") == pytest.approx([76.4625 - 46.2825])
    assert effect("T7.4") == pytest.approx([(77.30 + 76.20 + 50.42 - 76.29 - 76.45 - 45.80) / 3])
    # the middle leads the other halves by 77.02 - 75.9967, the whole leads the four by 76.86 -
    # 76.2525
    assert effect("T8.4") == pytest.approx([(77.02 - 227.99 / 3) - (76.86 - 305.01 / 4)])
    assert effect("F2.2") == pytest.approx([230.68 / 3 - 230.06 / 3, 230.68 / 3 - 228.32 / 3])
    assert effect("F3.1") == pytest.approx([0.80, 0.97, -0.18, 0.04, 0.00, 1.35])
    # 128 and 256 at 14.67 have 76.62 and 76.76, with the queue of 512 76.78 and 76.62
    assert effect("F3.3") == pytest.approx([(76.62 + 76.76 - 76.78 - 76.62) / 2])
    table1 = printed(find("esimcse-table1"))
    like, unlike = (
        [table1[group, task] for task in ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B")]
        for group in ("at most 3", "more than 3")
    )
    # 8.5, as E1.1's note says
    assert statistics.mean(like) - statistics.mean(unlike) == pytest.approx((484.33 - 433.11) / 6)


BACKBONES = ("BERT-base", "BERT-large", "RoBERTa-base", "RoBERTa-large")


@pytest.mark.parametrize(
    "table, first, row",  # the first key of the claims by backbone
    [(4, 2, lambda *labels: labels), (5, 3, lambda *labels: ("-".join(labels), "avg"))],
)
def test_gains_over_simcse_are_the_printed_ones_and_margins_half_of_them(table, first, row):
    numbers = printed(find(f"esimcse-table{table}"))
    gains = []
    for place, backbone in enumerate(BACKBONES, start=first):
        gains.append(numbers[row("ESimCSE", backbone)] - numbers[row("unsup-SimCSE", backbone)])
        claim = BY_KEY[f"E{table}.{place}"][1]
        low, high = claim.predicate.contrasts()
        assert (low.threshold, high.threshold) == pytest.approx((gains[-1] / 2, gains[-1] * 1.5))
        assert f"{gains[-1]:.2f}" in claim.text
    margins = {f"E{table}.1": min(gains), f"E{table}.1 (BERT-base)": gains[0]}
    margins |= {"E6.1": 1.53, "E6.2": 0.76, "E7.1": 1.18, "E7.2": 0.73, "T5.1": 0.28}
    assert {key: 2 * BY_KEY[key][1].margin for key in margins} == pytest.approx(margins)


def test_a_step_s_price_is_by_its_passes():
    """160 sentences forward beside 128 forward and backward, of three passes each."""
    ratio = BY_KEY["E6.4"][1].predicate.terms[0].weight
    assert ratio == pytest.approx((3 * 128 + 160) / (3 * 128))


def reference(name: str) -> list[dict[str, str]]:
    """The rows of a table of MoCoSE's printed numbers ("table3")."""
    path = ROOT / "studies" / "reference" / "tables" / f"mocose_{name}.csv"
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def numerals(path: Path) -> str:
    """The numbers of a text, in its order."""
    return f" {re.sub('[^0-9.]+', ' ', path.read_text().replace(',', ''))} "


@pytest.mark.parametrize("paper", with_text("mocose", "esimcse"))
def test_every_printed_number_of_a_table_stands_in_the_papers_text(paper):
    pages = [numerals(path) for path in texts_of(paper)]
    for study in PAPERS:
        if study.paper != paper or not study.title.startswith("Table"):
            continue
        for labels, number in printed(study).items():
            # a table of ESimCSE has Spearman itself, and the other tables two decimals or fewer
            ways = (f" {number:.2f} ", f" {number:g} ", f" {number / 100:.4f} ")
            assert any(way in page for way in ways for page in pages), (study.name, labels)
        if study.name in ("mocose-table1", "mocose-table2", "mocose-table7", "esimcse-table7"):
            rows = {}
            for labels, number in printed(study).items():
                rows.setdefault(labels[:-1], []).append(f"{number:.2f}")
            for labels, row in rows.items():
                assert any(f" {' '.join(row)} " in page for page in pages), (study.name, labels)


def test_figures_2_and_3_have_the_settings_of_the_file():
    settings = {}
    for row in reference("fig3_digitised"):
        labels = row["batch_size"], f"{float(row['mtd']):g}"
        settings[labels] = float(row["ema_decay_inferred"]), int(row["queue_size_inferred"])
    for name in ("figure2", "figure3"):
        for cell in MOCOSE[name].cells:
            if cell.method is None:
                changed_to = cell.changes["ema.start"], cell.changes["queue.size"]
                assert changed_to == settings[cell.labels]


def test_figure_4_prints_what_the_notebook_logs():
    measures = {
        "align_positive_pairs": "alignment, by batches",
        "align_all_pairs": "alignment of all pairs, by batches",
        "uniformity_all_pairs_first_sentences": "uniformity, by batches",
    }
    rows = [row for row in reference("notebook_align_uniform") if row["metric"] in measures]
    assert printed(MOCOSE["figure4"]) == {
        (measures[row["metric"]], f"{float(row['mtd']):g}"): float(row["value"]) for row in rows
    }


def test_figure_7_and_the_slides_print_what_was_read_off():
    seen = {
        (row["model"], row["metric"]): float(row["value"]) for row in reference("fig7_digitised")
    }
    numbers = printed(MOCOSE["figure7"]).items()
    places = ("largest_singular_value", "value_at_index_50", "value_at_index_100")
    for model, name in (("MoCoSE", "MoCoSE"), ("SimCSE", "SimCSE"), ("BERT", "BERT-base")):
        here = [value for labels, value in numbers if labels[0] == model]
        assert here == [seen[name, place] for place in places]
    centres = {"mean_average": "mean"} | {f"kmeans_{k}": f"{k} clusters" for k in (5, 10, 15, 20)}
    slides = {}
    for row in reference("slides_kmeans_queue"):
        slides[centres.get(row["negatives"], row["negatives"]),] = float(row["value"])
    assert printed(MOCOSE["kmeans"]) == slides and not printed(MOCOSE["figure13"])


def test_figure_12_has_the_runs_of_table_7():
    for init, fill in {"1": "none", "1024": "quarter", "2048": "half", "4096": "all"}.items():
        (here,) = MOCOSE["figure12"].matching((init,))
        (same,) = MOCOSE["table7"].matching((fill, "4096"))
        assert (here.published, here.published_runs) == (same.published, same.published_runs)
        run = MOCOSE["table7"].paper_config(same, "paper")
        assert MOCOSE["figure12"].paper_config(here, "paper") == run
    (extra,) = MOCOSE["figure12"].matching(("128",))  # a cell that Table 7 lacks
    assert extra.published is None and extra.published_runs


def test_single_runs_average_to_what_is_printed():
    for name, count in (("table3", 5), ("table7", 20)):
        assert sum(bool(cell.published_runs) for cell in MOCOSE[name].cells) == count
    for study in MOCOSE.values():
        for cell in study.cells:
            if cell.published_runs and cell.published is not None:
                coarse = cell.labels[-1] == "4096" or study.name == "mocose-figure12"
                assert len(cell.published_runs) == 3
                assert list(cell.published_runs) == sorted(cell.published_runs)
                mean = statistics.mean(cell.published_runs)
                near = pytest.approx(cell.published, abs=0.3 if coarse else 0.02)
                assert mean == near, (study.name, cell.labels)


READ = [ROOT / "README.md", ROOT / "run_study.py"]
for folder in ("core", "studies", "tests", "benchmarks", "docs"):
    READ += [*(ROOT / folder).rglob("*.py"), *(ROOT / folder).rglob("*.md")]


def test_every_number_that_is_named_is_explained():
    for path in READ:
        numbers = set(re.findall(r"\bD\d+\b", path.read_text(encoding="utf-8")))
        assert numbers <= set(explanations()), path
