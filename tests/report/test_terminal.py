"""A study on the terminal: narrow tables keep the numbers of the CSV file, English stands below the
made-up language, and the made-up language is named in its verdicts."""

import re

import pandas
import pytest
from places import ROOT

from core.api import load
from core.report.frames import cell_frame
from core.report.numbers import number
from core.report.sheet import make_sheet
from core.report.tables import text_table
from core.report.terminal import terminal


@pytest.fixture(scope="module")
def results():
    return load()


def published_claims(scale):
    """The rows of the published claims of a scale under profile paper."""
    claims = pandas.read_csv(ROOT / "results/published/claims.csv")
    return claims[(claims["scale"] == scale) & (claims["profile"] == "paper")]


def lines_of_table(text):
    """The lines from the table's rule to the first line below it."""
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if set(line) == {"-", " "})
    return lines[first : next(i for i in range(first, len(lines)) if lines[i].startswith("  "))]


def test_a_narrow_terminal_shows_the_average_and_its_differences(results):
    result = results.study("esimcse-table7", "mini")
    text = terminal(make_sheet(result), 80, "FILE")
    body = lines_of_table(text)
    assert max(map(len, body)) <= 80 < max(map(len, lines_of_table(terminal(make_sheet(result)))))
    table = pandas.read_csv(ROOT / "results/published/mini/paper/esimcse-table7.csv")
    for row in table[table["task"] == "avg"].itertuples():
        (line,) = (line for line in body if line.startswith(f"{row.components} "))
        assert f" {row.mean:.2f} ±" in line and f" {row.printed:.2f}" in line
        if row.components != "unsup-SimCSE":
            assert f" {number(row.paired_difference, signed=True)} ±" in line
    assert "FILE" in text


def test_a_narrow_table_without_an_average_is_cut_into_parts_with_every_number(results):
    result = results.study("mocose-table7", "mini")
    text = terminal(make_sheet(result), 60)
    table = text_table(result.study, cell_frame(result))
    for row in table.rows:
        for entry in filter(None, row):
            assert entry in text
    for header in table.headers:
        assert header in text
    assert text.count("Initial fill ") > 1
    rows = [line for line in text.splitlines() if "paper − reference" in line]
    assert max(map(len, rows)) <= 60


def test_a_verdict_on_the_made_up_language_names_it(results):
    claims = published_claims("demo")
    row = claims[claims["verdict"].isin(("supported", "contradicted", "equivalent"))].iloc[0]
    text = terminal(make_sheet(results.study(row["study"], "demo")))
    (line,) = (line for line in text.splitlines() if f" {row['claim']} {row['verdict']}" in line)
    assert "in the made-up language" in line
    assert "says nothing of English" in re.sub("verdicts say", "says", text)
    assert "made-up" not in terminal(make_sheet(results.study("esimcse-table7", "mini")))
