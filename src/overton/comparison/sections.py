"""A comparison as tables, charts and a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan
from pathlib import Path

from overton.comparison.differences import Difference
from overton.comparison.results import Compared, Comparison, MoreTrials, Standing
from overton.comparison.sources import MissingCounts
from overton.statistics.comparison import FEW, POWER
from overton.studies.charts import Axis, Dot, difference_axis, dots, series_of
from overton.studies.charts.axes import finite_ends
from overton.studies.measures import Measure
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

_MOST = 30
"""Most pairs that a chart shows."""


def sections(made: Comparison) -> list[Section]:
    """Everything there is to show; the terminal prints the tables and callouts marked for it."""
    found = [
        Section("same", "What differs between the runs", list(_differing(made))),
        Section("verdicts", "Verdicts", [Prose("\n\n".join(findings(made)))]),
        Section("differences", "Differences", list(_differences(made))),
        Section("places", "Places", list(_places(made))),
        Section("missing", "What is missing", list(_missing(made))),
    ]
    return [one for one in found if one.exhibits]


def in_report(made: Comparison) -> Section:
    """The part of it that a study's own report shows when it covers several models."""
    found = {section.key: section.exhibits for section in sections(made)}
    wanted = ("same", "verdicts", "differences", "places") if made.differing else ("verdicts", "differences", "places")
    exhibits = [exhibit for key in wanted for exhibit in found.get(key, ())]
    return Section("compared", "Models compared", exhibits)


def findings(made: Comparison) -> list[str]:
    """Every verdict as a sentence."""
    return [
        _said(pair.base, pair.candidate, measure, made.unit)
        for pair in made.pairs
        for measure in pair.measures.values()
    ]


def _differing(made: Comparison) -> Iterator[Exhibit]:
    if made.although:
        yield Callout(f"Compared although the instruments differ. The reason given: {made.although}", "warning", True)
    for one in made.differing:
        yield callout(one)
    if not made.differing:
        yield Prose("Prompts, items, options and judges are the same, as far as the runs record them.")


def callout(difference: Difference) -> Callout:
    """One thing that differs, to be read before any number."""
    names = (
        difference.base if difference.base == difference.candidate else f"{difference.base} and {difference.candidate}"
    )
    return Callout(
        f"{names}: {difference.said}.", "warning" if difference.kind == "instrument" else "note", summary=True
    )


def _measures(made: Comparison) -> dict[str, tuple[Measure, list[tuple[str, str, Compared]]]]:
    """All pairs that have each measure, by measure."""
    found: dict[str, tuple[Measure, list[tuple[str, str, Compared]]]] = {}
    for pair in made.pairs:
        for name, measure in pair.measures.items():
            found.setdefault(name, (measure.measure, []))[1].append((pair.base, pair.candidate, measure))
    return found


def _differences(made: Comparison) -> Iterator[Exhibit]:
    for name, (measure, rows) in _measures(made).items():
        yield _table(measure, rows, made.unit)
        if any(one.corrected is not None for _, _, one in rows):
            yield _labelled(measure, rows)
        if len(rows) <= _MOST and any(not isnan(one.alone.own.value) for _, _, one in rows):
            yield _chart(name, measure, rows)
    yield Method(_method(made))


def _said(base: str, candidate: str, compared: Compared, unit: str) -> str:
    """A verdict in words."""
    measure, own = compared.measure, compared.alone.own
    if isnan(own.value):
        return f"{measure.title}: {candidate} and {base} cannot be compared: {reason(own)}."
    margin = _margin(compared)
    words = {
        "higher": f"{candidate} is higher than {base}",
        "lower": f"{candidate} is lower than {base}",
        "equivalent": f"{candidate} and {base} are the same to within {margin}",
        "undecided": f"whether {candidate} differs from {base} is undecided",
    }
    counted = sentence(own, measure.gap) + (
        "" if compared.as_with is None else f", as with {_trials(compared.as_with)} of each"
    )
    return f"{measure.title}: {words[compared.verdict]} ({counted}).{_more(compared, unit)}"


def _trials(count: int) -> str:
    return "1 trial" if count == 1 else f"{count:,} trials"


def _margin(compared: Compared) -> str:
    """The margin, in the units of the difference."""
    margin = number(compared.margin, compared.measure.gap).replace("+", "")
    return f"{margin} percentage points" if compared.measure.gap == "points" else margin


def _more(compared: Compared, unit: str) -> str:
    """What would decide."""
    if compared.why:
        return f" {compared.why[0].upper()}{compared.why[1:]}."
    if compared.needed is None:
        return ""
    more = compared.needed.items - compared.items
    price = "" if compared.price is None else f", which would cost about ${compared.price:,.2f}"
    return (
        f" About {more:,} more {unit} like these would show it to be {compared.needed.verdict}, with a probability of"
        f" {POWER:.0%}, if the true difference is the one found{price}.{_or_trials(compared)}"
    )


def _or_trials(compared: Compared) -> str:
    """What more trials of the same items would do, if that is known."""
    if compared.trials is None or compared.trials.more is None:
        return ""
    price = "" if compared.trials.cost is None else f", for about ${compared.trials.cost:,.2f}"
    return f" So would {compared.trials.trials:,} trials of each instead of {_present(compared.trials)}{price}."


def _present(trials: MoreTrials) -> str:
    return f"{(trials.trials or 0) - (trials.more or 0):,}"


def _table(measure: Measure, rows: Sequence[tuple[str, str, Compared]], unit: str) -> Table:
    several = any(one.together for _, _, one in rows)
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
        [_row(*row, several=several) for row in rows],
        note=f"Candidate minus base; the margin is {_margin(rows[0][2])}.{_matched(rows)}",
        summary=True,
    )


def _matched(rows: Sequence[tuple[str, str, Compared]]) -> str:
    """The note that numbers are for fewer trials than some of the runs have, '' if none are."""
    counts = sorted({one.as_with for _, _, one in rows if one.as_with is not None})
    if not counts:
        return ""
    fewer = " or ".join(map(str, counts))
    return (
        f" This score depends on the number of trials, and some pairs have different ones. Both values of such a pair"
        f" are what runs with {fewer} {'trial' if counts == [1] else 'trials'} of each give: means over blocks of the"
        " trials of the run with more."
    )


def _labelled(measure: Measure, rows: Sequence[tuple[str, str, Compared]]) -> Table:
    """Each difference corrected by people's labels, by the judge alone, and over the labelled part only."""
    heads = {"corrected": "Corrected", "plain": "Judge alone", "labelled": "Labelled alone"}
    lead = all(one.corrected is not None and one.corrected.leads for _, _, one in rows)
    cells: list[list[Cell]] = [
        [candidate, base, *(one.corrected.difference[name] for name in heads)]
        for base, candidate, one in rows
        if one.corrected is not None
    ]
    return Table(
        f"{measure.title}, corrected by people's labels",
        [Column("Candidate"), Column("Base"), *(Column(head, measure.gap) for head in heads.values())],
        cells,
        note="The verdict is about the corrected difference." if lead else _NOT_LED,
        summary=True,
    )


_NOT_LED = (
    "The verdict is about the judge's own numbers, errors included: corrected ones lead only if both sides of every"
    " pair have enough labels, and intervals."
)


def _row(base: str, candidate: str, compared: Compared, *, several: bool) -> list[Cell]:
    joint: list[Cell] = (
        [compared.together.own if compared.together else EmptyCell("there is one pair")] if several else []
    )
    more = EmptyCell(_why_no_more(compared)) if compared.needed is None else compared.needed.items - compared.items
    trials = (
        EmptyCell(_why_no_trials(compared))
        if compared.trials is None or compared.trials.trials is None
        else compared.trials.trials
    )
    worst = (
        "unknown"
        if compared.worst is None
        else " to ".join(number(end, compared.measure.gap) for end in compared.worst)
    )
    return [
        candidate,
        base,
        compared.candidate,
        compared.base,
        compared.alone.own,
        *joint,
        "not compared" if compared.refused else compared.verdict,
        compared.items,
        more,
        trials,
        worst,
    ]


def _why_no_more(compared: Compared) -> str:
    return "decided" if compared.verdict != "undecided" else "cannot be estimated from these"


def _why_no_trials(compared: Compared) -> str:
    return (compared.trials.why if compared.trials else None) or _why_no_more(compared)


def _chart(name: str, measure: Measure, rows: Sequence[tuple[str, str, Compared]]) -> Chart:
    estimates = [one.alone.own for _, _, one in rows]
    labels = [f"{candidate} minus {base}" for base, candidate, _ in rows]
    axis = difference_axis(measure.title, estimates) if measure.gap == "points" else _axis(measure, rows)
    points = [Dot(label, 0, one.alone.own, more=one.verdict) for label, (_, _, one) in zip(labels, rows, strict=True)]

    def draw() -> dict[str, object]:
        return dots(points, labels, series_of(["difference"]), axis)

    described = "; ".join(
        f"{label}: {sentence(one.alone.own, measure.gap)}, {one.verdict}"
        for label, (_, _, one) in zip(labels, rows, strict=True)
    )
    return Chart(f"compared-{name.replace('_', '-')}", f"{measure.title}: differences", described, draw)


def _axis(measure: Measure, rows: Sequence[tuple[str, str, Compared]]) -> Axis:
    ends = map(abs, finite_ends(one.alone.own for _, _, one in rows))
    reach = 1.1 * max([*ends, rows[0][2].margin])
    return Axis(f"{measure.title}: difference", -reach, reach, "value", mark=0)


def _places(made: Comparison) -> Iterator[Exhibit]:
    measures = _measures(made)
    for name, standings in made.ranks.items():
        measure = measures[name][0]
        yield Table(
            f"Places by {measure.title}",
            [Column("Model"), Column("Places"), Column(measure.title, measure.kind)],
            [[standing.name, _between(standing), standing.value] for standing in standings],
            note="The highest number has place 1. All places hold simultaneously, at the intervals' level.",
            summary=True,
        )
        yield Chart(
            f"compared-places-{name.replace('_', '-')}",
            f"Places by {measure.title}",
            "; ".join(f"{one.name}: {_between(one)}" for one in standings),
            _drawn(standings),
        )


def _between(standing: Standing) -> str:
    best, worst = standing.places
    return str(best) if best == worst else f"{best} to {worst}"


def _drawn(standings: Sequence[Standing]) -> Drawing:
    from overton.statistics import Estimate

    def draw() -> dict[str, object]:
        points = [
            Dot(
                standing.name,
                0,
                Estimate((best + worst) / 2, best, worst, len(standings), "places"),
                more=_between(standing),
            )
            for standing in standings
            for best, worst in [standing.places]
        ]
        axis = Axis("Place, 1 the highest", 0.5, len(standings) + 0.5, "value")
        return dots(points, [one.name for one in standings], series_of(["places"]), axis)

    return draw


def _missing(made: Comparison) -> Iterator[Exhibit]:
    rows: list[list[Cell]] = [
        [name, *_counted(one), ", ".join(one.missing[:8]) or "none"] for name, one in made.lost.items()
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
        summary=any(one.failed or one.refused or one.missing for one in made.lost.values()),
    )


def _counted(missing_counts: MissingCounts) -> list[Cell]:
    return [
        EmptyCell("unknown for a table") if count is None else count
        for count in (missing_counts.records, missing_counts.failed, missing_counts.refused)
    ]


def _method(made: Comparison) -> str:
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
            ("Compared", "\n".join(f"{pair.candidate} with {pair.base}" for pair in made.pairs)),
            ("Intervals", f"{made.level:.0%}, over {made.unit}"),
        ],
        sections=sections(made),
        warnings=[callout(one) for one in made.differing if one.kind == "instrument"],
        data=made.to_json(),
        mark="Overton comparison",
    )
    return write(report, Path(out))
