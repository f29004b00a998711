"""Tables in a terminal: numbers, reasons, widths, and hostile text."""

from __future__ import annotations

import subprocess
import sys
from io import StringIO
from math import nan
from pathlib import Path

import pytest
from rich.console import Console

from overton.cli.tables import show, show_sections
from overton.statistics import Estimate, not_computed
from overton.studies.sections import Callout, Chart, Column, EmptyCell, Method, Prose, Section, Table, summary

HOSTILE = (
    "[bold red]x[/bold red]",
    "[/]",
    "[link=https://a.test]y[/link]",
    ":warning:",
    "\x1b[2J\x1b]0;title\x07",
    "a\u202eb",
    "\x9b31m",
    "\ud800",
    "a\tb",
    "a\r\nb\rc",
)
MODELS = ("anthropic/claude-sonnet-4-5-20250929", "openai/gpt-4o-2024-08-06")


def printed(*exhibits, width=120, most=None):
    console = Console(file=StringIO(), width=width, highlight=False, force_terminal=True, color_system=None)
    show(exhibits, console, most=most)
    return console.file.getvalue()


def estimate(value, low=nan, high=nan):
    return Estimate(value, low, high, 12, "bootstrap over issues")


def wide(measures, models=MODELS, conditions=("neutral", "biased")):
    columns = [Column("Model"), Column("Condition"), *(Column(f"Measure {one}", "value") for one in range(measures))]
    cells = [estimate(0.01 * one, -0.5, 0.5) for one in range(measures)]
    return Table("Wide", columns, [[model, condition, *cells] for model in models for condition in conditions])


def test_an_estimate_is_its_value_with_its_interval_in_the_kind_of_its_column():
    columns = [Column("Model"), Column("Share", "share"), Column("Gap", "points"), Column("Count", "count")]
    row = ["m", estimate(0.5, 0.25, 0.75), estimate(-0.031, -0.1, 0.04), 1234]
    text = printed(Table("T", columns, [row], note="A note.", source="table 3"))
    assert "50.0% [25.0, 75.0]" in text
    assert "\u22123.1 [\u221210.0, +4.0]" in text
    assert "1,234" in text
    assert "A note. 95% intervals: bootstrap over issues. The paper's table 3." in text


def test_missing_cells_are_dashes_with_each_reason_once_below():
    columns = [Column("Model"), Column("One", "value"), Column("Two", "value"), Column("Three", "value")]
    rows = [
        ["a", EmptyCell("no judge"), not_computed("too few"), None],
        ["b", EmptyCell("no judge"), estimate(0.5), nan],
    ]
    lines = [line.split() for line in printed(Table("T", columns, rows)).splitlines()]
    assert ["a", "\u2013\u00b9", "\u2013\u00b2", "\u2013"] in lines
    assert ["b", "\u2013\u00b9", "0.50", "no", "interval", "\u2013"] in lines
    assert ["\u00b9", "no", "judge"] in lines
    assert ["\u00b2", "too", "few"] in lines


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("width", [40, 120])
def test_no_markup_and_no_control_character_comes_through(hostile, width):
    columns = [Column(hostile), Column("b"), Column("n", "value")]
    table = Table(hostile, columns, [[hostile, "x", EmptyCell(hostile)], ["y", hostile, 1.0]], hostile, hostile)
    text = printed(table, Prose(hostile), Callout(hostile, "warning"), Method(hostile), width=width)
    assert not {one for one in text if one != "\n" and not one.isprintable()}
    text.encode()
    if hostile.isprintable() and width == 120:
        assert text.count(hostile) == 10


def test_a_title_of_a_section_is_as_hostile_as_any_text():
    console = Console(file=StringIO(), width=80)
    show_sections([Section("k", "[red]\x1b[2J", [Prose("p")])], console)
    assert console.file.getvalue() == "[red][U+001B][2J\np\n"


def test_cut_rows_are_counted():
    table = Table("T", [Column("Issue")], [[f"issue-{number}"] for number in range(1_300)])
    text = printed(table, most=60)
    assert "issue-59" in text
    assert "issue-60" not in text
    assert "The first 60 of 1,300 rows; 1,240 are left out." in text
    assert "left out" not in printed(table)


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("measures", [1, 3, 9])
def test_no_number_is_broken_or_lost_at_any_width(width, measures):
    text = printed(wide(measures), width=width)
    assert all(len(line) <= width for line in text.splitlines())
    assert text.count("[\u22120.50, 0.50]") == 4 * measures
    for one in range(measures):
        assert text.count(f"{0.01 * one:.2f}") >= 4


def test_intervals_go_under_their_values_before_a_table_is_parted():
    text = printed(wide(4), width=100)
    assert text.count("Condition") == 1
    assert "0.03 [" not in text
    assert "0.03 [" in printed(wide(4), width=160)


def test_a_parted_table_names_its_rows_in_every_part():
    text = printed(wide(9), width=80)
    assert text.count("Condition") > 1
    assert text.count("Condition") == sum("Model" in line for line in text.splitlines())


def test_constant_columns_become_lines_in_narrow_terminals():
    text = printed(wide(4, models=MODELS[:1]), width=90)
    assert f"Model: {MODELS[0]}" in text
    assert text.count(MODELS[0]) == 1
    assert printed(wide(1, models=MODELS[:1]), width=120).count(MODELS[0]) == 2


def test_rows_that_are_all_the_same_stay_a_table():
    text = printed(Table("T", [Column("One"), Column("Two")], [["x " * 20, "y"]] * 2), width=30)
    assert "One:" not in text
    assert text.count("y") == 2


def test_long_texts_are_folded_and_kept():
    reason = "because " * 60
    table = Table("T", [Column("Issue"), Column("Reason")], [["an-issue", reason.strip()]])
    text = printed(table, width=60)
    assert text.count("because") == 60
    assert all(len(line) <= 60 for line in text.splitlines())


def test_charts_are_skipped_undrawn():
    def draw():
        raise AssertionError

    assert printed(Chart("c", "Title", "about", draw), Prose("after")) == "after\n"


def test_a_summary_has_marked_parts_once_without_details():
    warning = Callout("Few.\nVery few.", "warning", summary=True)
    columns = [Column("Model"), Column("One", "value"), Column("Two", "value", detail=True)]
    marked = Table("Marked", columns, [["m", 1.0, 2.0]], note="Noted.", summary=True)
    sections = [
        Section("a", "A", [Prose("prose"), warning, Table("Other", columns, []), marked]),
        Section("b", "B", [warning, Callout("unmarked")]),
    ]
    (only,) = summary(sections)
    said, table = only.exhibits
    assert (only.key, said) == ("a", warning)
    assert table.rows == [["m", 1.0]]
    assert table.note == "Noted. Columns not shown here: Two."
    console = Console(file=StringIO(), width=80)
    show_sections([only], console)
    assert "Warning: Few.\nWarning: Very few.\n" in console.file.getvalue()


def test_a_summary_loads_no_drawing():
    counts = Path(__file__).parents[1] / "data" / "millstone" / "gpt-4o-counts.csv"
    code = (
        "import sys\nfrom overton.cli import main\n"
        f"sys.argv = ['overton', 'analyze', 'open-mindedness', {str(counts)!r}]\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "print('LOADED', sorted({'altair', 'jinja2', 'vl_convert', 'scipy.optimize'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "LOADED []", done.stderr
    assert "Open-mindedness by model" in done.stdout
