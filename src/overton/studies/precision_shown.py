"""What a run that stopped once it was precise shows: what it reached, how many trials each item got, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from math import isnan

from overton.statistics import Estimate
from overton.studies.exhibits import Callout, Cell, Column, Exhibit, Method, Prose, Section, Table
from overton.studies.precision import LEVEL, Limit, Reached, Stop, Wanted

__all__ = ["precision_section", "unequal"]

_WEIGHTED = (
    "Numbers elsewhere weight each item in each condition by planned over asked trials, or are left out. They do not"
    " correct for stopping early, so use those of the section 'Precision' where it has them."
)
_UNWEIGHTED = (
    "Numbers elsewhere count trials alike, which gives more weight to items that were asked more often; use those of"
    " the section 'Precision' where it has them."
)


def unequal(*, weighted: bool) -> str:
    """What readers have to know about all other numbers of a run that stopped once it was precise, after its name."""
    return f"asked about each item only as often as needed. {_WEIGHTED if weighted else _UNWEIGHTED}"


_RULES = {
    "divided": "with limits at a level divided among the looks; shares have exact limits, divided likewise.",
    "repeated": (
        "with limits that are repeated confidence intervals; shares have exact limits, whose level is divided among the"
        " looks."
    ),
}
_METHOD = (
    "These limits are for exactly the items and wordings that were asked, and are valid however often the run looked"
    " before it stopped: a model's number is of chances pooled over its items, {rule} The intervals elsewhere in this"
    " report are over items: they say what other items like these would give, and no number of trials narrows them."
)


def precision_section(wanted: Wanted, reached: Mapping[str, Reached], noun: str, *, weighted: bool) -> Section:
    """The section on precision; `reached` by model name, `noun` what the study calls an item, and whether other numbers
    are `weighted`."""
    rows = [row for model, one in reached.items() for row in _rows(model, one)]
    exhibits: list[Exhibit] = [Prose(" ".join(_asked(wanted))), *_stopped(reached)]
    exhibits.append(Callout(f"This run {unequal(weighted=weighted)}", "warning", summary=True))
    if rows:
        columns = [
            Column("Model"),
            Column("Measure"),
            Column("For these items", "value"),
            Column("Half-width", "value"),
        ]
        columns += [Column("Asked for", "value"), Column("Rounds", "count"), Column("Trials", "count")]
        exhibits.append(Table("What was reached", columns, rows, summary=True))
    exhibits += _items(reached, noun)
    exhibits += _shares(reached, noun)
    return Section("precision", "Precision", [*exhibits, Method(_METHOD.format(rule=_RULES[wanted.rule]))])


def _asked(wanted: Wanted) -> Iterator[str]:
    said = ", ".join(f"{name} to within {width:g}" for name, width in wanted.measures.items())
    if said:
        yield f"This run asked, round by round, only where it was not yet precise: {said} to either side."
    if wanted.calls is not None:
        yield f"It was limited to {wanted.calls:,} calls."


def _stopped(reached: Mapping[str, Reached]) -> Iterator[Callout]:
    for model, one in reached.items():
        if one.last.blocks:
            said = "stopped within a round: what is shown is the state at the end of the one before"
            yield Callout(f"{model} {said}. Resume the run to continue.", "warning", summary=True)
        elif short := [limit for limit in _whole(one) if limit.wanted is not None and not limit.half <= limit.wanted]:
            for limit in short:
                said = f"{limit.measure} came to within {limit.half:.2f}, not {limit.wanted:g}"
                yield Callout(f"{model}: {said}; all trials or calls that were allowed are used up.", summary=True)


def _whole(one: Reached) -> list[Limit]:
    return [limit for limit in one.last.limits if not limit.item]


def _rows(model: str, one: Reached) -> Iterator[list[Cell]]:
    for limit in _whole(one):
        estimate = Estimate(limit.value, limit.low, limit.high, one.trials, "for these items, after stopping", LEVEL)
        yield [model, limit.title, estimate, limit.half, limit.wanted, one.rounds, one.trials]
    widest: dict[str, Limit] = {}
    for limit in one.last.limits:
        if limit.item and (limit.measure not in widest or limit.half > widest[limit.measure].half):
            widest[limit.measure] = limit
    for name, limit in widest.items():
        yield [model, f"{name}, the widest", None, limit.half, limit.wanted, one.rounds, one.trials]


def _items(reached: Mapping[str, Reached], noun: str) -> Iterator[Table]:
    rows: list[list[Cell]] = [
        [model, item, trials, why] for model, one in reached.items() for item, trials, why in _by_item(one.last.stops)
    ]
    if rows:
        columns = [Column("Model"), Column(noun, items=True), Column("Trials", "count"), Column("Stopped because")]
        yield Table("Trials of each, and why it got no more", columns, rows)


def _by_item(stops: Sequence[Stop]) -> Iterator[tuple[str, int, str]]:
    """Each item with its trials, and why it got no more: the reasons of its arms, the most common first."""
    for item, own in groupby(sorted(stops, key=lambda stop: stop.item), key=lambda stop: stop.item):
        some = list(own)
        counted = sorted({one.why: sum(o.why == one.why for o in some) for one in some}.items(), key=lambda p: -p[1])
        yield item, sum(one.trials for one in some), "; ".join(why for why, _ in counted)


def _shares(reached: Mapping[str, Reached], noun: str) -> Iterator[Table]:
    rows: list[list[Cell]] = [
        [model, limit.item, limit.arm, limit.title, Estimate(limit.value, limit.low, limit.high, 0, "exact", LEVEL)]
        for model, one in reached.items()
        for limit in one.last.limits
        if limit.item and not isnan(limit.value)
    ]
    if rows:
        columns = [Column("Model"), Column(noun, items=True), Column("Condition"), Column("Of answers")]
        yield Table("Shares, with limits that are valid after stopping", [*columns, Column("Share", "share")], rows)
