"""Drawing judged rows for people to label: a sheet, pages, or as many as a measure needs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Any

from overton.errors import InputError, Problem, command


def for_measure(
    run: Path, wanted: str, what: str | None, people: int | None, *, size: int | None, whole: bool | None
) -> tuple[int | None, bool | None, str]:
    """Show how many labels a measure needs; returns how many to draw, whether in whole groups, and which label.

    Raises:
        InputError: see `labels_for`; or a size is given, too.
    """
    from overton.cli.output import results, say
    from overton.cli.tables import show
    from overton.judge.label_plan import PILOT, WIDTH, labels_for
    from overton.studies.judged_rows import plans_table

    _refuse_beside_for({"--size": size is not None, "--whole": whole is True, "--single": whole is False})
    measure, equals, width = wanted.partition("=")
    found = labels_for(run, measure, _parse_width(width) if equals else WIDTH, what=what)
    if found.labelled < PILOT:
        so_far = f"{found.labelled} labels so far are too few" if found.labelled else "There are no labels yet"
        say(f"{so_far}: a pilot of {PILOT} shows how many are needed.")
        return PILOT, False, found.what
    show([plans_table(found.measure, found.width, found.labelled, (found.row, found.group), found.plans)], results())
    chosen = found.chosen
    if chosen is None:
        raise InputError([Problem("--for", wanted, found.plans[0].why)])
    return chosen.labels, chosen.unit == "units", found.what


def _parse_width(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError([Problem("--for", text, "must be MEASURE=WIDTH, as in change_rate=0.1")]) from None


def _refuse_beside_for(given: Mapping[str, bool]) -> None:
    if problems := [Problem(name, "", "is set by --for") for name, there in given.items() if there]:
        raise InputError(problems)


def refuse_without_people(given: Mapping[str, bool]) -> None:
    """Refuse options, by whether they are given, that make sense with pages only."""
    if problems := [Problem(name, "", "needs --people") for name, there in given.items() if there]:
        raise InputError(problems)


def draw_sheet(run: Path, out: Path, size: int | None, seed: int, stratified: bool, what: str | None) -> None:
    """Draw a sheet, and say how it is filled in and read back."""
    from overton.cli.output import results, say
    from overton.judge.sheets import draw_sheet as drawn_sheet

    sheet, key = drawn_sheet(run, out, size=size, seed=seed, stratified=stratified, what=what)
    say(f"Fill in the column 'person'. The judge's labels are in {key}, which that person must not see.")
    say(f"Then: {command('judge', 'agreement', sheet, '--run', Path(run))}")
    results().print(str(sheet), soft_wrap=True)


def draw_pages(run: Path, out: Path, **how: Any) -> None:
    """Draw pages, and say how their files are read back."""
    from overton.cli.output import results, say
    from overton.judge.pages import draw_labels
    from overton.runs.labels import TASK

    pages = draw_labels(run, out, **how)
    for page in pages:
        results().print(str(page), soft_wrap=True)
    if how["whole"] is None:
        _say_if_whole(out / TASK)
    say(f"Send each person one page. The judge's labels are in {out / TASK}, which they must not see.")
    read = f"{command('judge', 'agreement', out)}/*.json --run {quote(str(run))}"
    say(f"Put the files they save into {out}, then: {read}")


def _say_if_whole(task: Path) -> None:
    """Say that whole groups were drawn by default, how many, and how to draw single rows."""
    from overton.cli.output import say
    from overton.judging.label_tasks import LabelTask
    from overton.runs.labels import read_file

    drawn = read_file(task)
    if isinstance(drawn, LabelTask) and drawn.design == "whole":
        groups = len({row.group for row in drawn.rows})
        say(
            f"Drawn: {len(drawn.rows):,} rows in {groups:,} whole groups, which correct measures of many labels"
            " whatever the judge's errors. --single draws single rows, --size fewer or more."
        )
