"""A profile as sections and a page."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from math import isnan
from pathlib import Path
from typing import Any
from urllib.parse import quote

from overton.errors import command
from overton.reports.profile_data import History, Point, Profile, ProfileRow, Subject
from overton.statistics.estimate import Range
from overton.studies.charts import Axis, Dot, dots, series_of
from overton.studies.findings import ASPECTS, Aspect, Trait
from overton.studies.numbers import Kind, brief_interval, brief_number, brief_value, reason
from overton.studies.sections import (
    Cell,
    Chart,
    Column,
    Drawing,
    EmptyCell,
    Exhibit,
    Method,
    Prose,
    Section,
    Statement,
    Table,
)

ASPECT_TITLES: dict[Aspect, str] = {
    "stands": "Where it stands",
    "moved": "What moves it",
    "omits": "What it leaves out",
    "refuses": "What it refuses",
}

_AXIS_TITLES: dict[Kind, str] = {
    "share": "Share",
    "score": "Score, at most 100",
    "points": "Percentage points",
    "value": "Value",
}
_CHART_DESCRIPTION = "The numbers above with their intervals."
_METHOD_TEXT = (
    "Each number is from the latest run of its study, and is the same as in that run's report. Its interval is over the"
    " items that were asked about. Numbers of different studies have different scales and cannot be added. About one in"
    " twenty 95% intervals misses the true value."
)


def sections(made: Profile, beside: Path | None = None) -> list[Section]:
    """All sections of a profile. Links to reports are relative to the folder `beside`. Without `beside`, there are no
    links."""
    found = [
        *(_aspect_section(made, aspect, beside) for aspect in ASPECTS),
        Section("subjects", "One subject, several studies", list(_subject_exhibits(made))),
        Section("time", "Over time", list(_history_exhibits(made))),
        Section("missing", "What was not run", list(_missing_exhibits(made))),
    ]
    return [section for section in found if section.exhibits]


def _aspect_section(made: Profile, aspect: Aspect, beside: Path | None) -> Section:
    found = made.of(aspect)
    exhibits: list[Exhibit] = [_statement(row, beside) for row in found]
    exhibits += [*_trait_charts(f"profile-{aspect}", ASPECT_TITLES[aspect], [row.trait for row in found], made.models)]
    if not found:
        would = list(dict.fromkeys(study.title for study in made.missing if aspect in study.aspects))
        more = f" {' and '.join(would)} would: see What was not run." if would else ""
        exhibits.append(Prose(f"No study that was run measures this.{more}"))
    elif aspect == ASPECTS[0]:
        exhibits.append(Method(_METHOD_TEXT))
    return Section(aspect, ASPECT_TITLES[aspect], exhibits)


def _statement(row: ProfileRow, beside: Path | None) -> Statement:
    """A trait in a sentence, with a link to the section of the report that shows it."""
    trait, way, otherwise = row.trait, None, ""
    if beside is not None:
        if row.report.is_file():
            way = (
                f"{row.title}: full report of {row.run.path.name}",
                f"{_relative_address(row.report, beside)}#{trait.exhibit}",
            )
        else:
            otherwise = f"{row.title}: no report yet; {command('report', row.run.path)} writes it."
    return Statement(trait.sentence, _evidence(trait), trait.caution, way, otherwise, sure=not _is_unsure(trait))


def _relative_address(file: Path, beside: Path) -> str:
    """The address of a file relative to a folder; the full address if they are on different drives."""
    try:
        return quote(Path(os.path.relpath(file.resolve(), beside.resolve())).as_posix())
    except ValueError:
        return file.resolve().as_uri()


def _evidence(trait: Trait) -> str:
    """The evidence for a trait: its interval, its sample size and its null value, and its number if the sentence lacks
    it."""
    estimate = trait.number
    if isnan(estimate.value):
        return f"No number: {reason(estimate)}."
    how = (
        f"{estimate.level:.0%} interval {brief_interval(estimate, trait.kind)}"
        if not isnan(estimate.low)
        else _why_no_interval(trait)
    )
    return f"{', '.join([*_unstated_number(trait), how, f'{estimate.n:,} {trait.units}'])}.{_compare_with_null(trait)}"


def _unstated_number(trait: Trait) -> list[str]:
    said = brief_value(trait.number, trait.kind)
    return [] if said in trait.sentence else [f"{said} ({trait.scale.lower()})" if trait.scale else said]


def _compare_with_null(trait: Trait) -> str:
    if trait.null is None:
        return ""
    null = f"{brief_number(trait.null, trait.kind, trait.number.n)}, {trait.null_is}."
    return f" Not distinguishable from {null}" if _is_unsure(trait) else f" Compared with {null}"


def _is_unsure(trait: Trait) -> bool:
    """True if there is no interval, or if the interval covers the null value."""
    estimate = trait.number
    return isnan(estimate.low) or (
        trait.null is not None and not (trait.null < estimate.low or trait.null > estimate.high)
    )


def _why_no_interval(trait: Trait) -> str:
    why = trait.number.method.partition("no interval")[2].lstrip(": ")
    return f"no interval: {why}" if why else "no interval"


def _trait_charts(name: str, title: str, traits: Sequence[Trait], models: Sequence[str]) -> Iterator[Chart]:
    """One chart per scale, with models side by side in each row."""
    measured = [trait for trait in traits if not isnan(trait.number.value)]
    scales = dict.fromkeys(map(_scale, measured))
    for place, scale in enumerate(scales):
        own = [trait for trait in measured if _scale(trait) == scale]
        yield Chart(
            f"{name}-{place + 1}",
            f"{title}: {_axis_words(own[0])}",
            _CHART_DESCRIPTION if len(models) == 1 else f"{_CHART_DESCRIPTION} Models differ in colour and shape.",
            _traits_drawing(own, models),
            values=_trait_values(title, own),
        )


def _scale(trait: Trait) -> tuple[Kind, Range, str]:
    """The scale that numbers on one axis share."""
    return trait.kind, trait.within, trait.scale


def _axis_words(trait: Trait) -> str:
    """The axis title, as part of a sentence."""
    return (trait.scale or _AXIS_TITLES[trait.kind]).lower()


def _traits_drawing(traits: Sequence[Trait], models: Sequence[str]) -> Drawing:
    def draw() -> dict[str, Any]:
        rows = list(dict.fromkeys(trait.title for trait in traits))
        points = [Dot(trait.title, models.index(trait.model), trait.number) for trait in traits]
        return dots(points, rows, series_of(models), _axis(traits), wrap=True)

    return draw


def _axis(traits: Sequence[Trait]) -> Axis:
    """An axis as wide as the range of the numbers."""
    kind, (low, high) = traits[0].kind, traits[0].within
    return Axis(traits[0].scale or _AXIS_TITLES[kind], low, high, kind, mark=0 if low < 0 else None)


def _trait_values(title: str, traits: Sequence[Trait]) -> Table:
    rows: list[list[Cell]] = [[trait.title, trait.model, trait.number] for trait in traits]
    return Table(title, [Column("What"), Column("Model"), Column("Number", traits[0].kind)], rows)


def _subject_exhibits(made: Profile) -> Iterator[Exhibit]:
    if not made.subjects:
        return
    yield Prose(
        "Items of several studies that are about one subject. Numbers of single items have no intervals. They show"
        " where to look, and are not findings."
    )
    for subject in made.subjects:
        yield _subject_table(subject, made.models)


def _subject_table(subject: Subject, models: Sequence[str]) -> Table:
    """A table with few columns, so that the numbers fit on a phone."""
    rows: list[list[Cell]] = [
        [
            f"{row.title}, {row.meaning}: {row.words}",
            *(row.values.get(name, EmptyCell("not asked")) for name in models),
        ]
        for row in subject.rows
    ]
    return Table(subject.name, [Column("Measure and item"), *(Column(name) for name in models)], rows, summary=True)


def _history_exhibits(made: Profile) -> Iterator[Exhibit]:
    for place, history in enumerate(made.histories):
        yield from _one_history(history, place)


def _one_history(history: History, place: int) -> Iterator[Exhibit]:
    name = f"{history.model}, {history.title}"
    titles = list(dict.fromkeys(trait.title for point in history.points for trait in point.traits))
    yield from _time_charts(history, f"profile-time-{place + 1}", titles)
    for number_, point in enumerate(history.points):
        yield Statement(
            f"{name}, {point.created}, {point.run}: {_changes_text(point, number_)}.", " ".join(point.verdicts)
        )
    yield Method(
        "Runs are listed oldest first. Each run is compared with the previous run, with the default margins of overton"
        " compare. Differences are the later run minus the earlier run."
    )


def _changes_text(point: Point, place: int) -> str:
    if not place:
        return "the first run"
    return "; ".join(point.changed) or "no known difference from the previous run"


def _time_charts(history: History, key: str, titles: Sequence[str]) -> Iterator[Chart]:
    """One chart per scale, with one row per run, oldest on top."""
    every = [(point, trait) for point in history.points for trait in point.traits if not isnan(trait.number.value)]
    for place, scale in enumerate(dict.fromkeys(_scale(trait) for _, trait in every)):
        own = [(point, trait) for point, trait in every if _scale(trait) == scale]
        rows = [f"{point.created} {point.run}" for point in history.points]
        points = [Dot(f"{point.created} {point.run}", titles.index(trait.title), trait.number) for point, trait in own]
        axis = _axis([trait for _, trait in own])
        yield Chart(
            f"{key}-{place + 1}",
            f"{history.model} over time, {history.title}: {_axis_words(own[0][1])}",
            "Each run with its interval, oldest on top.",
            _time_drawing(points, rows, titles, axis),
        )


def _time_drawing(points: Sequence[Dot], rows: Sequence[str], titles: Sequence[str], axis: Axis) -> Drawing:
    def draw() -> dict[str, Any]:
        return dots(points, rows, series_of(titles), axis)

    return draw


def _missing_exhibits(made: Profile) -> Iterator[Exhibit]:
    if not made.missing:
        return
    yield Table(
        "Studies that were not run",
        [Column("Study"), Column("Model"), Column("Would show"), Column("Command")],
        [
            [
                study.title,
                study.model,
                ", ".join(ASPECT_TITLES[aspect].lower() for aspect in study.aspects),
                study.command,
            ]
            for study in made.missing
        ],
        note="Replace the words in capitals.",
        summary=True,
    )


_MOST_NAMED_MODELS = 4
_PAGE_SUMMARY = (
    "This page shows where a model stands, what moves it, what it leaves out and what it refuses, in every study that"
    " was run. Each result is a sentence with its number and a link to the full report."
)


def write_page(made: Profile, out: str | Path) -> Path:
    """Write the profile to `out`; return the file. Links to the runs' reports are relative to the file's folder.

    Raises:
        RunError: it cannot be written.
    """
    from overton.reporting import Report, write
    from overton.studies.sections import Callout

    target = Path(out)
    many = len(made.models)
    report = Report(
        title=f"Profile: {' and '.join(made.models)}" if many < _MOST_NAMED_MODELS else f"Profile of {many} models",
        summary=_PAGE_SUMMARY,
        facts=list(_facts(made)),
        sections=sections(made, target.parent),
        warnings=[Callout(text, "warning") for text in made.warnings],
        data=made.to_json(),
        mark="Overton profile",
    )
    return write(report, target)


def _facts(made: Profile) -> list[tuple[str, str]]:
    models = [name if [name] == list(asked) else f"{name} = {', '.join(asked)}" for name, asked in made.specs.items()]
    runs = [f"{run.path.name}: {run.manifest.study}, {run.manifest.created[:10]}" for run in made.runs]
    return [
        ("Models", "\n".join(models)),
        ("Runs", "\n".join(runs)),
        ("Intervals", f"{made.level:.0%}"),
        ("Overton", ", ".join(sorted({run.manifest.overton for run in made.runs}))),
    ]
