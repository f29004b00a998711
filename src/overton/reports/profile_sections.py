"""A profile as sections and a page."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from math import isnan
from pathlib import Path
from typing import Any
from urllib.parse import quote

from overton.errors import command
from overton.reports.profile_data import History, Point, Profile, Subject, TraitOfRun
from overton.statistics.jackknife import Range
from overton.studies.charts import Axis, Dot, dots, series_of
from overton.studies.findings import ASPECTS, Aspect, Trait
from overton.studies.numbers import Kind, interval, number, reason
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

_AXES: dict[Kind, str] = {
    "share": "Share",
    "score": "Score, 0 to 100",
    "points": "Percentage points",
    "value": "Value",
}
_DRAWN = "The numbers above with their intervals."
_METHOD = (
    "Each number is the one in the study's own report, from the latest of the runs named here; its interval is over the"
    " items that were asked about. Numbers of different studies are on different scales and cannot be added. Of many"
    " 95% intervals, one in twenty misses the true value."
)


def sections(made: Profile, beside: Path | None = None) -> list[Section]:
    """Everything there is to show. Links to reports are relative to the folder `beside`; without it there are none."""
    found = [
        *(_aspect(made, aspect, beside) for aspect in ASPECTS),
        Section("subjects", "One subject, several studies", list(_subjects(made))),
        Section("time", "Over time", list(_histories(made))),
        Section("missing", "What was not run", list(_missing(made))),
    ]
    return [one for one in found if one.exhibits]


def _aspect(made: Profile, aspect: Aspect, beside: Path | None) -> Section:
    found = made.of(aspect)
    exhibits: list[Exhibit] = [_statement(one, beside) for one in found]
    exhibits += [*_charts(f"profile-{aspect}", ASPECT_TITLES[aspect], [one.trait for one in found], made.models)]
    if not found:
        would = list(dict.fromkeys(one.title for one in made.missing if aspect in one.aspects))
        more = f" {' and '.join(would)} would: see What was not run." if would else ""
        exhibits.append(Prose(f"No study that was run measures this.{more}"))
    elif aspect == ASPECTS[0]:
        exhibits.append(Method(_METHOD))
    return Section(aspect, ASPECT_TITLES[aspect], exhibits)


def _statement(trait_of_run: TraitOfRun, beside: Path | None) -> Statement:
    """A trait in a sentence, with a link to the section of the report that shows it."""
    trait, way, otherwise = trait_of_run.trait, None, ""
    if beside is not None:
        if trait_of_run.report.is_file():
            way = (
                f"{trait_of_run.title}: full report of {trait_of_run.run.path.name}",
                f"{_relative(trait_of_run.report, beside)}#{trait.exhibit}",
            )
        else:
            otherwise = f"{trait_of_run.title}: no report yet; {command('report', trait_of_run.run.path)} writes it."
    return Statement(trait.sentence, _evidence(trait), trait.caution, way, otherwise, sure=not _unsure(trait))


def _relative(file: Path, beside: Path) -> str:
    """The address of a file relative to a folder; the full address if there is no path between them (two drives)."""
    try:
        return quote(Path(os.path.relpath(file.resolve(), beside.resolve())).as_posix())
    except ValueError:
        return file.resolve().as_uri()


def _evidence(trait: Trait) -> str:
    """The number if the sentence lacks it, its interval, its sample size, and its value under the null."""
    one = trait.number
    if isnan(one.value):
        return f"No number: {reason(one)}."
    how = f"{one.level:.0%} interval {interval(one, trait.kind)}" if not isnan(one.low) else _no_interval(trait)
    return f"{', '.join([*_unsaid(trait), how, f'{one.n:,} {trait.units}'])}.{_beside_nothing(trait)}"


def _unsaid(trait: Trait) -> list[str]:
    """The number, if the sentence lacks it."""
    said = number(trait.number.value, trait.kind)
    return [] if said in trait.sentence else [f"{said} ({trait.scale.lower()})" if trait.scale else said]


def _beside_nothing(trait: Trait) -> str:
    if trait.null is None:
        return ""
    null = f"{number(trait.null, trait.kind)}, {trait.null_is}."
    return f" Not distinguishable from {null}" if _unsure(trait) else f" Compared with {null}"


def _unsure(trait: Trait) -> bool:
    """Whether there is no interval, or it covers the value under the null."""
    one = trait.number
    return isnan(one.low) or (trait.null is not None and not (trait.null < one.low or trait.null > one.high))


def _no_interval(trait: Trait) -> str:
    why = trait.number.method.partition("no interval")[2].lstrip(": ")
    return f"no interval: {why}" if why else "no interval"


def _charts(name: str, title: str, traits: Sequence[Trait], models: Sequence[str]) -> Iterator[Chart]:
    """One chart per scale, with models side by side in each row."""
    measured = [trait for trait in traits if not isnan(trait.number.value)]
    scales = dict.fromkeys(map(_scale, measured))
    for place, scale in enumerate(scales):
        own = [one for one in measured if _scale(one) == scale]
        yield Chart(
            f"{name}-{place + 1}",
            f"{title}: {_named(own[0])}",
            _DRAWN if len(models) == 1 else f"{_DRAWN} Models differ in colour and shape.",
            _drawn(own, models),
            values=_values(title, own),
        )


def _scale(trait: Trait) -> tuple[Kind, Range, str]:
    """What numbers on one axis have in common."""
    return trait.kind, trait.within, trait.scale


def _named(trait: Trait) -> str:
    """The axis title, as part of a sentence."""
    return (trait.scale or _AXES[trait.kind]).lower()


def _drawn(traits: Sequence[Trait], models: Sequence[str]) -> Drawing:
    def draw() -> dict[str, Any]:
        rows = list(dict.fromkeys(trait.title for trait in traits))
        points = [Dot(one.title, models.index(one.model), one.number) for one in traits]
        return dots(points, rows, series_of(models), _axis(traits), wrap=True)

    return draw


def _axis(traits: Sequence[Trait]) -> Axis:
    """As wide as the range of the numbers."""
    kind, (low, high) = traits[0].kind, traits[0].within
    return Axis(traits[0].scale or _AXES[kind], low, high, kind, mark=0 if low < 0 else None)


def _values(title: str, traits: Sequence[Trait]) -> Table:
    rows: list[list[Cell]] = [[trait.title, trait.model, trait.number] for trait in traits]
    return Table(title, [Column("What"), Column("Model"), Column("Number", traits[0].kind)], rows)


def _subjects(made: Profile) -> Iterator[Exhibit]:
    if not made.subjects:
        return
    yield Prose(
        "Items of several studies that are about one subject. A single item has no interval: these are places to look,"
        " not findings."
    )
    for subject in made.subjects:
        yield _subject(subject, made.models)


def _subject(subject: Subject, models: Sequence[str]) -> Table:
    """Few columns, so that the numbers fit on a phone."""
    rows: list[list[Cell]] = [
        [
            f"{row.title}, {row.measure}: {row.words}",
            *(row.values.get(name, EmptyCell("not asked")) for name in models),
        ]
        for row in subject.rows
    ]
    return Table(subject.name, [Column("Measure and item"), *(Column(name) for name in models)], rows, summary=True)


def _histories(made: Profile) -> Iterator[Exhibit]:
    for place, history in enumerate(made.histories):
        yield from _history(history, place)


def _history(history: History, place: int) -> Iterator[Exhibit]:
    name = f"{history.model}, {history.title}"
    titles = list(dict.fromkeys(trait.title for point in history.points for trait in point.traits))
    yield from _over_time(history, f"profile-time-{place + 1}", titles)
    for number_, point in enumerate(history.points):
        yield Statement(f"{name}, {point.created}, {point.run}: {_changed(point, number_)}.", " ".join(point.verdicts))
    yield Method(
        "Oldest run first. Verdicts are those of overton compare, candidate minus base, with its default margins, each"
        " run compared with the one before."
    )


def _changed(point: Point, place: int) -> str:
    """What changed since the previous run."""
    if not place:
        return "the first run"
    return "; ".join(point.changed) or "no known difference from the previous run"


def _over_time(history: History, key: str, titles: Sequence[str]) -> Iterator[Chart]:
    """One chart per scale, with one row per run, oldest on top."""
    every = [(point, trait) for point in history.points for trait in point.traits if not isnan(trait.number.value)]
    for place, scale in enumerate(dict.fromkeys(_scale(trait) for _, trait in every)):
        own = [(point, trait) for point, trait in every if _scale(trait) == scale]
        rows = [f"{point.created} {point.run}" for point in history.points]
        points = [Dot(f"{point.created} {point.run}", titles.index(trait.title), trait.number) for point, trait in own]
        axis = _axis([trait for _, trait in own])
        yield Chart(
            f"{key}-{place + 1}",
            f"{history.model} over time, {history.title}: {_named(own[0][1])}",
            "Each run with its interval, oldest on top.",
            _drawn_over_time(points, rows, titles, axis),
        )


def _drawn_over_time(points: Sequence[Dot], rows: Sequence[str], titles: Sequence[str], axis: Axis) -> Drawing:
    def draw() -> dict[str, Any]:
        return dots(points, rows, series_of(titles), axis)

    return draw


def _missing(made: Profile) -> Iterator[Exhibit]:
    if not made.missing:
        return
    yield Table(
        "Studies that were not run",
        [Column("Study"), Column("Model"), Column("Would show"), Column("Command")],
        [
            [one.title, one.model, ", ".join(ASPECT_TITLES[aspect].lower() for aspect in one.aspects), one.command]
            for one in made.missing
        ],
        note="Replace the words in capitals.",
        summary=True,
    )


_FEW = 4
_SUMMARY = (
    "Where a model stands, what moves it, what it leaves out and what it refuses, from every study that was run: each"
    " in a sentence with its number and a link to the full report."
)


def write_page(made: Profile, out: str | Path) -> Path:
    """Write the profile to `out`; returns the file. Links to the runs' reports are relative to it.

    Raises:
        RunError: it cannot be written.
    """
    from overton.reporting import Report, write
    from overton.studies.sections import Callout

    target = Path(out)
    many = len(made.models)
    report = Report(
        title=f"Profile: {' and '.join(made.models)}" if many < _FEW else f"Profile of {many} models",
        summary=_SUMMARY,
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
