"""A comparison as tables, charts and a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan
from pathlib import Path

from overton.comparison.differences import Difference
from overton.comparison.results import Compared, Comparison, Standing
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
    return [
        _verdict_sentence(pair.base, pair.candidate, measure, made.unit)
        for pair in made.pairs
        for measure in pair.measures.values()
    ]


def _difference_callouts(made: Comparison) -> Iterator[Exhibit]:
    if made.although:
        yield Callout(f"Compared although the instruments differ. The reason given: {made.although}", "warning", True)
    for difference in made.differing:
        yield callout(difference)
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


def _pairs_by_measure(made: Comparison) -> dict[str, tuple[Measure, list[tuple[str, str, Compared]]]]:
    found: dict[str, tuple[Measure, list[tuple[str, str, Compared]]]] = {}
    for pair in made.pairs:
        for name, measure in pair.measures.items():
            found.setdefault(name, (measure.measure, []))[1].append((pair.base, pair.candidate, measure))
    return found


def _difference_exhibits(made: Comparison) -> Iterator[Exhibit]:
    for name, (measure, rows) in _pairs_by_measure(made).items():
        yield _differences_table(measure, rows, made.unit)
        if any(compared.corrected is not None for _, _, compared in rows):
            yield _corrections_table(measure, rows)
        if len(rows) <= _MOST_PAIRS and any(not isnan(compared.alone.own.value) for _, _, compared in rows):
            yield _differences_chart(name, measure, rows)
    yield Method(_method_text(made))


def _verdict_sentence(base: str, candidate: str, compared: Compared, unit: str) -> str:
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
        "" if compared.as_with is None else f", as with {_count_trials(compared.as_with)} of each"
    )
    return f"{measure.title}: {words[compared.verdict]} ({counted}).{_what_would_decide(compared, unit)}"


def _count_trials(count: int) -> str:
    return "1 trial" if count == 1 else f"{count:,} trials"


def _margin(compared: Compared) -> str:
    """The margin, in the units of the difference."""
    margin = number(compared.margin, compared.measure.gap).replace("+", "")
    return f"{margin} percentage points" if compared.measure.gap == "points" else margin


def _what_would_decide(compared: Compared, unit: str) -> str:
    if compared.why:
        return f" {compared.why[0].upper()}{compared.why[1:]}."
    if compared.needed is None:
        return ""
    more = compared.needed.items - compared.items
    price = "" if compared.price is None else f", which would cost about ${compared.price:,.2f}"
    return (
        f" About {more:,} more {unit} like these would show it to be {compared.needed.verdict}, with a probability of"
        f" {POWER:.0%}, if the true difference is the one found{price}.{_or_more_trials(compared)}"
    )


def _or_more_trials(compared: Compared) -> str:
    """How many trials of the same items would decide instead, if that is known."""
    if compared.trials is None or compared.trials.more is None:
        return ""
    price = "" if compared.trials.cost is None else f", for about ${compared.trials.cost:,.2f}"
    present = (compared.trials.trials or 0) - compared.trials.more
    return f" So would {compared.trials.trials:,} trials of each instead of {present:,}{price}."


def _differences_table(measure: Measure, rows: Sequence[tuple[str, str, Compared]], unit: str) -> Table:
    several = any(compared.together for _, _, compared in rows)
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
        [_differences_row(*row, several=several) for row in rows],
        note=f"Candidate minus base; the margin is {_margin(rows[0][2])}.{_fewer_trials_note(rows)}",
        summary=True,
    )


def _fewer_trials_note(rows: Sequence[tuple[str, str, Compared]]) -> str:
    """The note that numbers are for fewer trials than some of the runs have, '' if none are."""
    counts = sorted({compared.as_with for _, _, compared in rows if compared.as_with is not None})
    if not counts:
        return ""
    fewer = " or ".join(map(str, counts))
    return (
        f" This score depends on the number of trials, and some pairs have different ones. Both values of such a pair"
        f" are what runs with {fewer} {'trial' if counts == [1] else 'trials'} of each give: means over blocks of the"
        " trials of the run with more."
    )


def _corrections_table(measure: Measure, rows: Sequence[tuple[str, str, Compared]]) -> Table:
    """Each difference corrected by people's labels, by the judge alone, and over the labelled part only."""
    heads = {"corrected": "Corrected", "plain": "Judge alone", "labelled": "Labelled alone"}
    lead = all(compared.corrected is not None and compared.corrected.leads for _, _, compared in rows)
    cells: list[list[Cell]] = [
        [candidate, base, *(compared.corrected.difference[name] for name in heads)]
        for base, candidate, compared in rows
        if compared.corrected is not None
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


def _differences_row(base: str, candidate: str, compared: Compared, *, several: bool) -> list[Cell]:
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


def _differences_chart(name: str, measure: Measure, rows: Sequence[tuple[str, str, Compared]]) -> Chart:
    estimates = [compared.alone.own for _, _, compared in rows]
    labels = [f"{candidate} minus {base}" for base, candidate, _ in rows]
    axis = difference_axis(measure.title, estimates) if measure.gap == "points" else _differences_axis(measure, rows)
    points = [
        Dot(label, 0, compared.alone.own, more=compared.verdict)
        for label, (_, _, compared) in zip(labels, rows, strict=True)
    ]

    def draw() -> dict[str, object]:
        return dots(points, labels, series_of(["difference"]), axis)

    described = "; ".join(
        f"{label}: {sentence(compared.alone.own, measure.gap)}, {compared.verdict}"
        for label, (_, _, compared) in zip(labels, rows, strict=True)
    )
    return Chart(f"compared-{name.replace('_', '-')}", f"{measure.title}: differences", described, draw)


def _differences_axis(measure: Measure, rows: Sequence[tuple[str, str, Compared]]) -> Axis:
    ends = map(abs, finite_ends(compared.alone.own for _, _, compared in rows))
    reach = 1.1 * max([*ends, rows[0][2].margin])
    return Axis(f"{measure.title}: difference", -reach, reach, "value", mark=0)


def _place_exhibits(made: Comparison) -> Iterator[Exhibit]:
    measures = _pairs_by_measure(made)
    for name, standings in made.ranks.items():
        measure = measures[name][0]
        yield Table(
            f"Places by {measure.title}",
            [Column("Model"), Column("Places"), Column(measure.title, measure.kind)],
            [[standing.name, _place_range(standing), standing.value] for standing in standings],
            note="The highest number has place 1. All places hold simultaneously, at the intervals' level.",
            summary=True,
        )
        yield Chart(
            f"compared-places-{name.replace('_', '-')}",
            f"Places by {measure.title}",
            "; ".join(f"{standing.name}: {_place_range(standing)}" for standing in standings),
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
                standing.name,
                0,
                Estimate((best + worst) / 2, best, worst, len(standings), "places"),
                more=_place_range(standing),
            )
            for standing in standings
            for best, worst in [standing.places]
        ]
        axis = Axis("Place, 1 the highest", 0.5, len(standings) + 0.5, "value")
        return dots(points, [standing.name for standing in standings], series_of(["places"]), axis)

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
            ("Compared", "\n".join(f"{pair.candidate} with {pair.base}" for pair in made.pairs)),
            ("Intervals", f"{made.level:.0%}, over {made.unit}"),
        ],
        sections=sections(made),
        warnings=[callout(difference) for difference in made.differing if difference.kind == "instrument"],
        data=made.to_json(),
        mark="Overton comparison",
    )
    return write(report, Path(out))
