"""Tables as Markdown and LaTeX: hand-made texts, hostile texts, and the output of the command."""

from __future__ import annotations

import re
from math import nan
from pathlib import Path
from typing import Any

import pytest

import overton
from overton.errors import InputError
from overton.reporting.table_forms import FORMS
from overton.reports.text_tables import tables_of
from overton.statistics import Estimate
from overton.studies.sections import Callout, Cell, Column, EmptyCell, NamedItem, Prose, Section, Table

COLUMNS = [Column("Model"), Column("Share", "share"), Column("Gap", "points")]


def estimate(value: float, low: float = nan, high: float = nan, n: int = 12) -> Estimate:
    return Estimate(value, low, high, n, "Wilson")


def written(form: str, *rows: list[Cell], title: str = "T", note: str = "", source: str = "") -> str:
    table = Table(title, COLUMNS, rows, note=note, source=source)
    return tables_of([Section("s", "A section", [Prose("said"), table, Callout("mind")])], form)


ROWS: list[list[Cell]] = [
    ["a_b", estimate(0.5, 0.25, 0.75), estimate(-0.031, -0.1, 0.04, n=3)],
    [NamedItem("i", "Buses & co", ["For.", "Against."]), estimate(0.25, 0.1, 0.5), EmptyCell("100% refused")],
]


def test_a_table_is_markdown_with_intervals_counts_and_reasons() -> None:
    assert written("markdown", *ROWS, note="A note.", source="table 3") == (
        "**T**\n"
        "\n"
        "| Model | Share (n = 12) | Gap (n = 3) |\n"
        "|---|--:|--:|\n"
        "| a\\_b | 50.0% [25.0, 75.0] | \u22123.1 [\u221210.0, +4.0] |\n"
        "| Buses \\& co | 25.0% [10.0, 50.0] | \u2013<sup>1</sup> |\n"
        "\n"
        "Note: <sup>1</sup> 100% refused. Buses \\& co (For. Against.). A note. 95% intervals: Wilson."
        " The paper's table 3.\n"
    )


def test_a_table_is_latex_with_intervals_counts_and_reasons() -> None:
    assert written("latex", *ROWS, note="A note.", source="table 3") == (
        "\\begin{table}\n"
        "\\caption{T}\n"
        "\\begin{tabular}{lrr}\n"
        "\\hline\n"
        "Model & Share (n = 12) & Gap (n = 3) \\\\\n"
        "\\hline\n"
        "a\\_b & 50.0\\% [25.0, 75.0] & $-$3.1 [$-$10.0, +4.0] \\\\\n"
        "Buses \\& co & 25.0\\% [10.0, 50.0] & --\\textsuperscript{1} \\\\\n"
        "\\hline\n"
        "\\end{tabular}\n"
        "\\par\\footnotesize \\textsuperscript{1} 100\\% refused. Buses \\& co (For. Against.). A note."
        " 95\\% intervals: Wilson. The paper's table 3.\n"
        "\\end{table}\n"
    )


def test_counts_that_differ_are_next_to_their_numbers() -> None:
    rows: list[list[Cell]] = [[name, estimate(0.5, 0.25, 0.75, n=n), None] for name, n in (("a", 4), ("b", 1200))]
    assert "| a | 50.0% [25.0, 75.0] (n = 4) | \u2013 |\n| b | 50.0% [25.0, 75.0] (n = 1,200) | \u2013 |" in written(
        "markdown", *rows
    )


def test_a_table_without_notes_has_none() -> None:
    assert written("markdown", ["a", 0.5, 0.1]).endswith("| a | 50.0% | +10.0 |\n")
    assert written("latex", ["a", 0.5, 0.1]).endswith("\\end{tabular}\n\\end{table}\n")


def test_tables_follow_each_other_after_an_empty_line_and_nothing_else_is_printed() -> None:
    sections = [Section(key, key, [Prose("p"), Table(key, COLUMNS, [])]) for key in ("one", "two")]
    head = "| Model | Share | Gap |\n|---|--:|--:|\n"
    assert tables_of(sections, "markdown") == f"**one**\n\n{head}\n**two**\n\n{head}"


@pytest.mark.parametrize(
    ("text", "markdown", "latex"),
    [
        ("a|b", "a\\|b", "a\\textbar{}b"),
        ("a\\|b", "a\\\\\\|b", "a\\textbackslash{}\\textbar{}b"),
        ("5% & $x_1$ #2", "5% \\& \\$x\\_1\\$ \\#2", "5\\% \\& \\$x\\_1\\$ \\#2"),
        ("{a}^~", "{a}^\\~", "\\{a\\}\\textasciicircum{}\\textasciitilde{}"),
        ("\\input{/etc/passwd}", "\\\\input{/etc/passwd}", "\\textbackslash{}input\\{/etc/passwd\\}"),
        ("<b>*x*</b>`", "\\<b\\>\\*x\\*\\</b\\>\\`", "\\textless{}b\\textgreater{}*x*\\textless{}/b\\textgreater{}`"),
        ("[x](https:a)", "\\[x\\](https:a)", "{[}x{]}(https:a)"),
        ("one\r\ntwo\tthree", "one two three", "one two three"),
        ("a\x1b\u202eb", "a\\[U+001B\\]\\[U+202E\\]b", "a{[}U+001B{]}{[}U+202E{]}b"),
    ],
)
def test_no_text_is_markup(text: str, markdown: str, latex: str) -> None:
    for form, shown in (("markdown", markdown), ("latex", latex)):
        found = written(form, [text, 0.5, EmptyCell(text)], title=text, note=text)
        assert found.count(shown) == 4, found


@pytest.mark.parametrize("form", FORMS)
def test_hostile_texts_do_not_change_the_number_of_cells(form: str) -> None:
    found = written(form, ["a|b & c \\\\ \n | d", 0.5, 0.1])
    (row,) = (line for line in found.splitlines() if "50.0" in line)
    bare = re.sub(r"\\.", "", row.removesuffix("\\\\"))
    assert bare.count({"markdown": "|", "latex": "&"}[form]) == {"markdown": 4, "latex": 2}[form]


def test_an_unknown_form_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="option tables: rtf: must be one of markdown, latex"):
        overton.summary_tables("open-mindedness", tmp_path, form="rtf")


def test_the_command_prints_the_tables_of_the_terminal(tmp_path: Path, command_line: Any) -> None:
    two = ["cashless-shops", "congestion-charge"]
    run = overton.run("open-mindedness", models=["simulated/open-minded"], trials=1, only=two, out=tmp_path / "run")
    done = command_line("analyze", "open-mindedness", "run", "--tables", "markdown", "--level", "0.9", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == overton.summary_tables("open-mindedness", run.path, form="markdown", level=0.9)
    terminal = command_line("analyze", "open-mindedness", "run", folder=tmp_path).stdout
    titles = re.findall(r"^\*\*(.*)\*\*$", done.stdout, re.MULTILINE)
    assert len(titles) >= 3
    assert all(title in terminal for title in titles)
    assert "90% intervals" in done.stdout
    both = command_line("analyze", "open-mindedness", "run", "--tables", "latex", "--json", folder=tmp_path)
    assert (both.returncode, both.stdout) == (2, "")
    assert "--tables: latex: cannot be printed together with --json" in both.stderr
