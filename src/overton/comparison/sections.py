"""A comparison as tables, charts and a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan
from pathlib import Path

from overton.comparison.differences import Difference
from overton.comparison.results import Comparison, ComparisonRow, Standing, rows_by_measure
from overton.comparison.sources import MissingCounts
from overton.statistics.comparison import FEW, POWER
from overton.studies.charts import Axis, Dot, difference_axis, dots, series_of
from overton.studies.charts.axes import finite_ends
from overton.studies.numbers import number, reason, sentence
from overton.studies.sections import (
    Callout,
    Cell,
    Chart,
    Column,
    Drawing,
    EmptyCell,
    Exhibit,
    Method,
    Prose,
    Section,
    Table,
)

_MOST_PAIRS = 30
"""Most pairs that a chart shows."""


def sections(made: Comparison) -> list[Section]:
    """Everything there is to show; the terminal prints the tables and callouts marked for it."""
    found = [
        Section("same", "What differs between the runs", list(_difference_callouts(made))),
        Section("verdicts", "Verdicts", [Prose("\n\n".join(findings(made)))]),
        Section("differences", "Differences", list(_difference_exhibits(made))),
        Section("places", "Places", list(_place_exhibits(made))),
        Section("missing", "What is missing", list(_missing_exhibits(made))),
    ]
    return [section for section in found if section.exhibits]


def in_report(made: Comparison) -> Section:
    """The part of it that a study's own report shows when it covers several models."""
    found = {section.key: section.exhibits for section in sections(made)}
    wanted = ("same", "verdicts", "differences", "places") if made.differing else ("verdicts", "differences", "places")
    exhibits = [exhibit for key in wanted for exhibit in found.get(key, ())]
    return Section("compared", "Models compared", exhibits)


def findings(made: Comparison) -> list[str]:
    """Every verdict as a sentence."""
    return [_verdict_sentence(row, made.unit) for row in made.rows]


def _difference_callouts(made: Comparison) -> Iterator[Exhibit]:
    if made.although:
        yield Callout(f"Compared although the instruments differ. The reason given: {made.although}", "warning", True)
    for difference in made.differing:
        yield callout(difference)
    if not made.differing:
        yield Prose("Prompts, items, options and judges are the same, as far as the runs record them.")


def callout(difference: Difference) -> Callout:
    """One thing that differs, to be read before any number."""
    return Callout(difference.sentence, "warning" if difference.kind == "instrument" else "note", summary=True)


def _difference_exhibits(made: Comparison) -> Iterator[Exhibit]:
    for name, rows in rows_by_measure(made.rows).items():
        yield _differences_table(rows, made.unit)
        if any(row.variants for row in rows):
            yield _corrections_table(rows)
        if len(rows) <= _MOST_PAIRS and any(not isnan(row.difference.own.value) for row in rows):
            yield _differences_chart(name, rows)
    yield Method(_method_text(made))


def _verdict_sentence(row: ComparisonRow, unit: str) -> str:
    title, base, candidate, own = row.measure.title, row.base, row.candidate, row.difference.own
    if isnan(own.value):
        return f"{title}: {candidate} and {base} cannot be compared: {reason(own)}."
    words = {
        "higher": f"{candidate} is higher than {base}",
        "lower": f"{candidate} is lower than {base}",
        "equivalent": f"{candidate} and {base} are the same to within {_margin(row)}",
        "undecided": f"whether {candidate} differs from {base} is undecided",
    }
    counted = sentence(own, row.measure.gap) + (
        "" if row.with_trials is None else f", as with {_count_trials(row.with_trials)} of each"
    )
    return f"{title}: {words[row.verdict]} ({counted}).{_what_would_decide(row, unit)}"


def _count_trials(count: int) -> str:
    return "1 trial" if count == 1 else f"{count:,} trials"


def _margin(row: ComparisonRow) -> str:
    """The margin, in the units of the difference."""
    margin = number(row.margin, row.measure.gap).replace("+", "")
    return f"{margin} percentage points" if row.measure.gap == "points" else margin


def _what_would_decide(row: ComparisonRow, unit: str) -> str:
    needed = row.needed
    if row.why:
        return f" {row.why[0].upper()}{row.why[1:]}."
    if needed is None:
        return ""
    price = "" if needed.cost is None else f", which would cost about ${needed.cost:,.2f}"
    said = (
        f" About {needed.more:,} more {unit} like these would show it to be {needed.verdict}, with a probability of"
        f" {needed.power:.0%}, if the true difference is the one found{price}."
    )
    if needed.trials is None or needed.more_trials is None:
        return said
    price = "" if needed.trials_cost is None else f", for about ${needed.trials_cost:,.2f}"
    present = needed.trials - needed.more_trials
    return f"{said} So would {needed.trials:,} trials of each instead of {present:,}{price}."


def _differences_table(rows: Sequence[ComparisonRow], unit: str) -> Table:
    measure, several = rows[0].measure, any(row.joint for row in rows)
    columns = [
        Column("Candidate"),
        Column("Base"),
        Column("Candidate's value", measure.kind),
        Column("Base's value", measure.kind),
        Column("Difference", measure.gap),
        *([Column("Simultaneous, all pairs", measure.gap)] if several else []),
        Column("Verdict"),
        Column(unit.capitalize(), "count"),
        Column(f"More {unit} to decide", "count", detail=True),
        Column("Or trials of each", "count", detail=True),
        Column("At worst", detail=True),
    ]
    return Table(
        measure.title,
        columns,
        [_differences_row(row, several=several) for row in rows],
        note=f"Candidate minus base; the margin is {_margin(rows[0])}.{_fewer_trials_note(rows)}",
        summary=True,
    )


def _fewer_trials_note(rows: Sequence[ComparisonRow]) -> str:
    """The note that numbers are for fewer trials than some of the runs have, '' if none are."""
    counts = sorted({row.with_trials for row in rows if row.with_trials is not None})
    if not counts:
        return ""
    fewer = " or ".join(map(str, counts))
    return (
        f" This score depends on the number of trials, and some pairs have different ones. Both values of such a pair"
        f" are what runs with {fewer} {'trial' if counts == [1] else 'trials'} of each give: means over blocks of the"
        " trials of the run with more."
    )


def _corrections_table(rows: Sequence[ComparisonRow]) -> Table:
    """Each difference corrected by people's labels, by the judge alone, and over the labelled part only."""
    measure, lead = rows[0].measure, all(row.variant == "corrected" for row in rows)
    heads = {"corrected": "Corrected", "plain": "Judge alone", "labelled": "Labelled alone"}
    cells: list[list[Cell]] = [
        [row.candidate, row.base, *(row.variants[name].difference for name in heads)] for row in rows if row.variants
    ]
    return Table(
        f"{measure.title}, corrected by people's labels",
        [Column("Candidate"), Column("Base"), *(Column(head, measure.gap) for head in heads.values())],
        cells,
        note="The verdict is about the corrected difference." if lead else _JUDGE_LEADS,
        summary=True,
    )


_JUDGE_LEADS = (
    "The verdict is about the judge's own numbers, errors included: corrected ones lead only if both sides of every"
    " pair have enough labels, and intervals."
)


def _differences_row(row: ComparisonRow, *, several: bool) -> list[Cell]:
    needed, gap = row.needed, row.measure.gap
    why_no_more = "decided" if row.verdict != "undecided" else "cannot be estimated from these"
    joint: list[Cell] = [row.joint.own if row.joint else EmptyCell("there is one pair")] if several else []
    if needed is None:
        more: list[Cell] = [EmptyCell(why_no_more), EmptyCell(why_no_more)]
    else:
        more = [needed.more, EmptyCell(needed.why or why_no_more) if needed.trials is None else needed.trials]
    return [
        row.candidate,
        row.base,
        row.candidate_number,
        row.base_number,
        row.difference.own,
        *joint,
        "not compared" if row.refused else row.verdict,
        row.difference.own.n,
        *more,
        "unknown" if row.worst is None else " to ".join(number(end, gap) for end in row.worst),
    ]


def _differences_chart(name: str, rows: Sequence[ComparisonRow]) -> Chart:
    measure, estimates = rows[0].measure, [row.difference.own for row in rows]
    labels = [f"{row.candidate} minus {row.base}" for row in rows]
    axis = difference_axis(measure.title, estimates) if measure.gap == "points" else _differences_axis(rows)
    points = [Dot(label, 0, row.difference.own, more=row.verdict) for label, row in zip(labels, rows, strict=True)]

    def draw() -> dict[str, object]:
        return dots(points, labels, series_of(["difference"]), axis)

    described = "; ".join(
        f"{label}: {sentence(row.difference.own, measure.gap)}, {row.verdict}"
        for label, row in zip(labels, rows, strict=True)
    )
    return Chart(f"compared-{name.replace('_', '-')}", f"{measure.title}: differences", described, draw)


def _differences_axis(rows: Sequence[ComparisonRow]) -> Axis:
    ends = map(abs, finite_ends(row.difference.own for row in rows))
    reach = 1.1 * max([*ends, rows[0].margin])
    return Axis(f"{rows[0].measure.title}: difference", -reach, reach, "value", mark=0)


def _place_exhibits(made: Comparison) -> Iterator[Exhibit]:
    rows = rows_by_measure(made.rows)
    for name, standings in made.ranks.items():
        measure = rows[name][0].measure
        yield Table(
            f"Places by {measure.title}",
            [Column("Model"), Column("Places"), Column(measure.title, measure.kind)],
            [[standing.model, _place_range(standing), standing.number] for standing in standings],
            note="The highest number has place 1. All places hold simultaneously, at the intervals' level.",
            summary=True,
        )
        yield Chart(
            f"compared-places-{name.replace('_', '-')}",
            f"Places by {measure.title}",
            "; ".join(f"{standing.model}: {_place_range(standing)}" for standing in standings),
            _places_drawing(standings),
        )


def _place_range(standing: Standing) -> str:
    best, worst = standing.places
    return str(best) if best == worst else f"{best} to {worst}"


def _places_drawing(standings: Sequence[Standing]) -> Drawing:
    from overton.statistics import Estimate

    def draw() -> dict[str, object]:
        points = [
            Dot(
                standing.model,
                0,
                Estimate((best + worst) / 2, best, worst, len(standings), "places"),
                more=_place_range(standing),
            )
            for standing in standings
            for best, worst in [standing.places]
        ]
        axis = Axis("Place, 1 the highest", 0.5, len(standings) + 0.5, "value")
        return dots(points, [standing.model for standing in standings], series_of(["places"]), axis)

    return draw


def _missing_exhibits(made: Comparison) -> Iterator[Exhibit]:
    rows: list[list[Cell]] = [
        [name, *_count_cells(counts), ", ".join(counts.missing[:8]) or "none"] for name, counts in made.lost.items()
    ]
    yield Table(
        "Missing replies",
        [
            Column("Model"),
            Column("Records", "count"),
            Column("Failed calls", "count"),
            Column("Flagged as refusals", "count"),
            Column(f"{made.unit.capitalize()} left out as incomplete"),
        ],
        rows,
        note=(
            "The column 'At worst' above shows what a difference could be whatever these had been: failed and refused"
            " replies, answers without a stance and items that only one model has may then be anything."
        ),
        summary=any(counts.failed or counts.refused or counts.missing for counts in made.lost.values()),
    )


def _count_cells(missing_counts: MissingCounts) -> list[Cell]:
    return [
        EmptyCell("unknown for a table") if count is None else count
        for count in (missing_counts.records, missing_counts.failed, missing_counts.refused)
    ]


def _method_text(made: Comparison) -> str:
    level, inner = f"{made.level:.0%}", f"{2 * made.level - 1:.0%}"
    several = (
        " With several pairs, simultaneous intervals for all of them are shown as well (max-t over the items that they"
        f" share; Bonferroni's with fewer than {FEW}), and a verdict needs both."
        if len(made.pairs) > 1
        else ""
    )
    return (
        f"Each difference is between the two numbers over the {made.unit} that both have; the intervals leave each of"
        f" these out of both in turn (docs/statistics.md). Equivalent: the {inner} interval lies within the margin."
        f" Otherwise higher or lower: the {level} interval excludes 0. Otherwise undecided.{several} More {made.unit}"
        f" to decide: by normal theory, for a verdict with a probability of {POWER:.0%} if the true difference is the"
        " one found; if chance made that too large or too small, the number is too low or too high."
    )


def write_page(made: Comparison, out: str | Path) -> Path:
    """Write the comparison to `out`; returns the file.

    Raises:
        RunError: it cannot be written.
    """
    from overton.reporting import Report, write

    report = Report(
        title=f"Comparison: {made.title}",
        summary="Which models differ, in which direction, and what the data cannot decide: candidate minus base.",
        facts=[
            ("Compared", "\n".join(f"{candidate} with {base}" for base, candidate in made.pairs)),
            ("Intervals", f"{made.level:.0%}, over {made.unit}"),
        ],
        sections=sections(made),
        warnings=[callout(difference) for difference in made.differing if difference.kind == "instrument"],
        data=made.to_json(),
        mark="Overton comparison",
    )
    return write(report, Path(out))
