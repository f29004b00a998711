"""A comparison as tables, charts and a page."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from math import isnan
from pathlib import Path

from overton.comparison.differences import Difference
from overton.comparison.results import Comparison, ComparisonRow, Standing, rows_by_measure
from overton.comparison.sources import MissingCounts
from overton.statistics.comparison import FEW, POWER
from overton.studies.charts import Axis, Dot, difference_axis, dots, series_of
from overton.studies.charts.axes import finite_ends
from overton.studies.findings import Assertion, Direction, Finding, counted
from overton.studies.numbers import (
    brief_interval,
    brief_value,
    interval,
    number,
    percentage,
    reason,
    sentence,
)
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

COMPARED = "compared"
"""The key of the report's section."""

_MOST_PAIRS = 30
"""The maximum number of pairs that a chart shows."""


def sections(made: Comparison) -> list[Section]:
    """All sections of a comparison; the terminal prints only the tables and callouts that are marked as summary."""
    found = [
        Section("same", "Differences between the runs' designs", list(_difference_callouts(made))),
        Section("verdicts", "Verdicts", [Prose("\n\n".join(findings(made)))]),
        Section("differences", "Differences", list(_difference_exhibits(made))),
        Section("places", "Places", list(_place_exhibits(made))),
        Section("missing", "Missing answers", list(_missing_exhibits(made))),
    ]
    return [section for section in found if section.exhibits]


def in_report(made: Comparison) -> Section:
    """The sections that a study's own report shows if it covers several models."""
    found = {section.key: section.exhibits for section in sections(made)}
    wanted = ("same", "verdicts", "differences", "places") if made.differing else ("verdicts", "differences", "places")
    exhibits = [exhibit for key in wanted for exhibit in found.get(key, ())]
    return Section(COMPARED, "Models compared", exhibits)


def difference_findings(made: Comparison, doubtful: Collection[str] = ()) -> list[Finding]:
    """All decided verdicts on headline measures, as findings. If no verdict is decided, the only finding is the largest
    difference by the first headline measure. Findings about the models in `doubtful` have a caution.

    With several pairs a verdict rests on the simultaneous interval, so the sentence gives that interval.
    """
    rows = [row for row in made.rows if row.measure.leads and not row.measure.variant and row.why is None]
    decided = [row for row in rows if row.verdict != "undecided"]
    undecided = [row for row in rows if row.measure == rows[0].measure]
    largest = sorted(undecided, key=lambda row: -abs(row.difference.own.value))[:1]
    return [
        _difference_finding(row, made.unit, doubtful, shared=any(made.lost[name].missing for name in _models(row)))
        for row in decided or largest
    ]


def _models(row: ComparisonRow) -> tuple[str, str]:
    return row.base, row.candidate


def _difference_finding(row: ComparisonRow, unit: str, doubtful: Collection[str], *, shared: bool) -> Finding:
    """A verdict as a finding; see `difference_findings`. With `shared`, one of the models lacks items, and the sentence
    says that the numbers are over shared items."""
    measure, gap = row.measure, row.joint or row.difference
    base, candidate = row.base_number, row.candidate_number
    number = gap.equivalence if row.verdict == "equivalent" else gap.own
    between = f"between {row.candidate} and {row.base}"
    values = " against ".join(brief_value(each, measure.kind) for each in (candidate, base))
    words = {
        "higher": f"{row.candidate} is higher than {row.base}",
        "lower": f"{row.candidate} is lower than {row.base}",
        "equivalent": f"{row.candidate} and {row.base} are the same to within {_margin(row)}",
        "undecided": f"no clear difference {between}"
        if row.joint is None
        else f"no clear difference between any two models; the largest is {between}",
    }
    difference = f"{brief_value(number, measure.gap)} {brief_interval(number, measure.gap)}"
    if row.verdict == "equivalent":
        difference += f" (a {percentage(number.level)} interval)"
    over = f" over the {counted(number.n, unit)} that both have" if shared else ""
    direction: Direction = "above" if row.verdict == "higher" else "below" if row.verdict == "lower" else "within"
    return Finding(
        what="effect" if row.verdict in {"higher", "lower"} else "bound",
        model="",
        sentence=f"{measure.words}: {words[row.verdict]}, {values}, difference {difference}{over}.",
        n=number.n,
        units=unit,
        exhibit=COMPARED,
        number=number,
        kind=measure.gap,
        judge=measure.judge,
        cautions=tuple(
            f"Numbers of {name} say little about its opinions." for name in _models(row) if name in doubtful
        ),
        assertions=(Assertion(measure=measure.name, direction=direction, null=0.0, value=number.value),),
    )


def findings(made: Comparison) -> list[str]:
    """Every verdict as a sentence."""
    return [_verdict_sentence(row, made.unit) for row in made.rows]


def _difference_callouts(made: Comparison) -> Iterator[Exhibit]:
    if made.although:
        yield Callout(f"Compared although the instruments differ. The reason given: {made.although}", "warning", True)
    for difference in made.differing:
        yield callout(difference)
    if not made.differing:
        yield Prose("Prompts, items, options and judges are the same, as far as the runs' records show.")


def callout(difference: Difference) -> Callout:
    """A difference between models or runs, to be read before any number."""
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
    title, base, candidate, own = row.measure.words, row.base, row.candidate, row.difference.own
    if isnan(own.value):
        return f"{title}: {candidate} and {base} cannot be compared: {reason(own)}."
    words = {
        "higher": f"{candidate} is higher than {base}",
        "lower": f"{candidate} is lower than {base}",
        "equivalent": f"{candidate} and {base} are the same to within {_margin(row)}",
        "undecided": f"whether {candidate} differs from {base} is undecided",
    }
    said = sentence(own, row.measure.gap)
    if row.with_trials is not None:
        said += f", both for {counted(row.with_trials, 'trials')} of each"
    return f"{title}: {words[row.verdict]} ({said}{_interval_of_verdict(row)}).{_what_would_decide(row, unit)}"


def _interval_of_verdict(row: ComparisonRow) -> str:
    """The narrower interval on which a verdict of equivalence is based; with several pairs, the simultaneous
    interval."""
    if row.verdict != "equivalent":
        return ""
    found = (row.joint or row.difference).equivalence
    return f"; the {percentage(found.level)} interval {interval(found, row.measure.gap)} lies within the margin"


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
    price = "" if needed.cost is None else f" This would cost about ${needed.cost:,.2f}."
    said = (
        f" If the true difference equals the observed one, about {counted(needed.more, f'more {unit}')} like these"
        f" would give the verdict '{needed.verdict}' with a probability of {needed.power:.0%}.{price}"
    )
    if needed.trials is None or needed.more_trials is None:
        return said
    price = "" if needed.trials_cost is None else f", for about ${needed.trials_cost:,.2f}"
    present = needed.trials - needed.more_trials
    trials = counted(needed.trials, "trials")
    return f"{said} With the same {unit}, {trials} of each instead of {present:,} would also be enough{price}."


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
        measure.words,
        columns,
        [_differences_row(row, several=several) for row in rows],
        note=(
            f"Candidate minus base; the margin is {_margin(rows[0])}."
            f"{_equivalence_note(rows)}{_fewer_trials_note(rows)}"
        ),
        summary=True,
    )


def _equivalence_note(rows: Sequence[ComparisonRow]) -> str:
    """A note with the narrower intervals on which verdicts of equivalence are based, '' if there is no such verdict."""
    equivalent = [row for row in rows if row.verdict == "equivalent"]
    if not equivalent:
        return ""
    found = [(row.joint or row.difference).equivalence for row in equivalent]
    listed = "; ".join(
        f"{interval(gap, row.measure.gap)} for {row.candidate} and {row.base}"
        for row, gap in zip(equivalent, found, strict=True)
    )
    return f" 'Equivalent' means that the {percentage(found[0].level)} interval lies within the margin: {listed}."


def _fewer_trials_note(rows: Sequence[ComparisonRow]) -> str:
    """A note if numbers are for fewer trials than some of the runs have, otherwise ''."""
    counts = sorted({row.with_trials for row in rows if row.with_trials is not None})
    if not counts:
        return ""
    fewer = " or ".join(map(str, counts))
    return (
        " This score depends on the number of trials, and in some pairs the two runs have different numbers of trials."
        f" Both values of such a pair are for {fewer} {'trial' if counts == [1] else 'trials'} of each item. For the"
        " run"
        " with more trials, the value is a mean over blocks of its trials."
    )


def _corrections_table(rows: Sequence[ComparisonRow]) -> Table:
    """A table of each difference in three variants: corrected by human labels, by the judge alone, and over the
    labelled part only."""
    measure, lead = rows[0].measure, all(row.variant == "corrected" for row in rows)
    heads = {"corrected": "Corrected", "plain": "Judge alone", "labelled": "Labelled alone"}
    cells: list[list[Cell]] = [
        [row.candidate, row.base, *(row.variants[name].difference for name in heads)] for row in rows if row.variants
    ]
    return Table(
        f"{measure.words}, corrected by human labels",
        [Column("Candidate"), Column("Base"), *(Column(head, measure.gap) for head in heads.values())],
        cells,
        note="The verdict is about the corrected difference." if lead else _JUDGE_LEADS,
        summary=True,
    )


_JUDGE_LEADS = (
    "The verdict is about the judge's own numbers, which include the judge's errors. Verdicts use corrected numbers"
    " only if both models of every pair have enough human labels, and the corrected numbers have intervals."
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
    axis = difference_axis(measure.words, estimates) if measure.gap == "points" else _differences_axis(rows)
    points = [Dot(label, 0, row.difference.own, more=row.verdict) for label, row in zip(labels, rows, strict=True)]

    def draw() -> dict[str, object]:
        return dots(points, labels, series_of(["difference"]), axis)

    described = "; ".join(
        f"{label}: {sentence(row.difference.own, measure.gap)}, {row.verdict}"
        for label, row in zip(labels, rows, strict=True)
    )
    return Chart(f"compared-{name.replace('_', '-')}", f"{measure.words}: differences", described, draw)


def _differences_axis(rows: Sequence[ComparisonRow]) -> Axis:
    ends = map(abs, finite_ends(row.difference.own for row in rows))
    reach = 1.1 * max([*ends, rows[0].margin])
    return Axis(f"{rows[0].measure.words}: difference", -reach, reach, "value", mark=0)


def _place_exhibits(made: Comparison) -> Iterator[Exhibit]:
    rows = rows_by_measure(made.rows)
    for name, standings in made.ranks.items():
        measure = rows[name][0].measure
        yield Table(
            f"Places by {measure.words}",
            [Column("Model"), Column("Places"), Column(measure.words, measure.kind)],
            [[standing.model, _place_range(standing), standing.number] for standing in standings],
            note="The highest number has place 1. All ranges hold simultaneously, at the intervals' confidence level.",
            summary=True,
        )
        yield Chart(
            f"compared-places-{name.replace('_', '-')}",
            f"Places by {measure.words}",
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
            "The column 'At worst' above gives the most extreme differences that missing values could cause. Missing"
            " values are those of failed and refused replies, answers without a stance, and items that only one model"
            " has."
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
        " With several pairs, simultaneous intervals for all pairs are shown as well (max-t over shared items;"
        f" Bonferroni's with fewer than {FEW} shared items). A verdict then needs both intervals."
        if len(made.pairs) > 1
        else ""
    )
    return (
        f"Each difference is computed over the {made.unit} that both models have. Its interval is from a jackknife that"
        f" leaves out these {made.unit} one by one (docs/statistics.md). 'Equivalent' means that the {inner} interval"
        " lies within"
        f" the margin. 'Higher' or 'lower' means that the {level} interval excludes 0. Otherwise the verdict is"
        f" 'undecided'.{several} 'More {made.unit} to decide' is the number of further {made.unit} that would give a"
        f" verdict with a probability of {POWER:.0%}. It uses normal theory, and assumes that the true difference"
        " equals the observed one. If chance made the observed difference too large, this number is too low. If chance"
        " made the difference too small, the number is too high."
    )


def write_page(made: Comparison, out: str | Path) -> Path:
    """Write the comparison to `out`; returns the file.

    Raises:
        RunError: it cannot be written.
    """
    from overton.reporting import Report, write

    report = Report(
        title=f"Comparison: {made.title}",
        summary=(
            "This page shows which models differ, in which direction, and what the data cannot decide. Differences are"
            " candidate minus base."
        ),
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
