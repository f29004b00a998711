"""The report section on the precision that a run reached before it stopped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from math import isnan

from overton.statistics import Estimate
from overton.studies.precision import LEVEL, PrecisionLimit, PrecisionTarget, Stop, StopState
from overton.studies.sections import Callout, Cell, Column, Exhibit, Method, Prose, Section, Table

_WEIGHTED = (
    "In other sections, the weight of an item in a condition is its planned number of trials divided by the number"
    " of trials that were run. These sections leave out numbers that cannot be weighted. Weights do not correct for"
    " early stopping, so prefer the numbers in the section 'Precision'."
)
_UNWEIGHTED = (
    "Other sections count all trials equally, which gives more weight to items with more trials. So prefer the"
    " numbers in the section 'Precision'."
)


def unequal(*, weighted: bool) -> str:
    """The note on the other sections' numbers for a run that stopped at its target precision. The text follows the
    run's name."""
    return (
        "stopped asking about an item once its trials were enough for the target precision."
        f" {_WEIGHTED if weighted else _UNWEIGHTED}"
    )


_RULES = {
    "divided": (
        "and the limits divide the significance level among the interim analyses. Shares have exact limits, which"
        " divide the level in the same way."
    ),
    "repeated": (
        "and the limits are repeated confidence intervals. Shares have exact limits, which divide the significance"
        " level among the interim analyses."
    ),
}
_PRECISION_METHOD = (
    "The limits in this section describe exactly the items and wordings that were asked. They stay valid after any"
    " number of interim analyses (checks whether the run may stop). A model's number pools its items, {rule} The"
    " intervals in other sections describe other items like these. More trials of the same items hardly narrow the"
    " intervals in other sections."
)


def precision_section(
    wanted: PrecisionTarget, reached: Mapping[str, StopState], noun: str, *, weighted: bool
) -> Section:
    """The section on precision. `reached` has the state of each model's trials by model name, `noun` is the study's
    word for an item, and `weighted` tells whether the other sections' numbers are weighted."""
    rows = [row for model, state in reached.items() for row in _precision_rows(model, state)]
    exhibits: list[Exhibit] = [Prose(" ".join(_describe_target(wanted))), *_stop_callouts(reached)]
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
    exhibits += _item_tables(reached, noun)
    exhibits += _share_tables(reached, noun)
    return Section("precision", "Precision", [*exhibits, Method(_PRECISION_METHOD.format(rule=_RULES[wanted.rule]))])


def _describe_target(wanted: PrecisionTarget) -> Iterator[str]:
    said = ", ".join(f"{name} {width:g}" for name, width in wanted.measures.items())
    if said:
        yield (f"This run asked in rounds, until intervals reached the target half-widths: {said}.")
    if wanted.calls is not None:
        yield f"The run was limited to {wanted.calls:,} calls."


def _stop_callouts(reached: Mapping[str, StopState]) -> Iterator[Callout]:
    for model, state in reached.items():
        if state.last.blocks:
            said = "stopped within a round, so these are the numbers at the end of the round before"
            yield Callout(f"{model} {said}. Resume the run to continue.", "warning", summary=True)
        elif short := [
            limit for limit in _model_limits(state) if limit.wanted is not None and not limit.half <= limit.wanted
        ]:
            for limit in short:
                said = f"the half-width of {limit.measure} is {limit.half:.2f}, and the target is {limit.wanted:g}"
                yield Callout(f"{model}: {said}. The run used all trials or calls that were allowed.", summary=True)


def _model_limits(stop_state: StopState) -> list[PrecisionLimit]:
    return [limit for limit in stop_state.last.limits if not limit.item]


def _precision_rows(model: str, stop_state: StopState) -> Iterator[list[Cell]]:
    for limit in _model_limits(stop_state):
        estimate = Estimate(
            limit.value, limit.low, limit.high, stop_state.trials, "for these items, after stopping", LEVEL
        )
        yield [model, limit.title, estimate, limit.half, limit.wanted, stop_state.rounds, stop_state.trials]
    widest: dict[str, PrecisionLimit] = {}
    for limit in stop_state.last.limits:
        if limit.item and (limit.measure not in widest or limit.half > widest[limit.measure].half):
            widest[limit.measure] = limit
    for name, limit in widest.items():
        yield [model, f"{name}, the widest", None, limit.half, limit.wanted, stop_state.rounds, stop_state.trials]


def _item_tables(reached: Mapping[str, StopState], noun: str) -> Iterator[Table]:
    rows: list[list[Cell]] = [
        [model, item, trials, why]
        for model, state in reached.items()
        for item, trials, why in _reasons_by_item(state.last.stops)
    ]
    if rows:
        columns = [Column("Model"), Column(noun, items=True), Column("Trials", "count"), Column("Stopped because")]
        yield Table("Trials of each, and why it stopped", columns, rows)


def _reasons_by_item(stops: Sequence[Stop]) -> Iterator[tuple[str, int, str]]:
    """Each item, its number of trials, and the reasons why its arms stopped, the most common first."""
    for item, own in groupby(sorted(stops, key=lambda stop: stop.item), key=lambda stop: stop.item):
        some = list(own)
        counted = sorted({stop.why: sum(o.why == stop.why for o in some) for stop in some}.items(), key=lambda p: -p[1])
        yield item, sum(stop.trials for stop in some), "; ".join(why for why, _ in counted)


def _share_tables(reached: Mapping[str, StopState], noun: str) -> Iterator[Table]:
    rows: list[list[Cell]] = [
        [model, limit.item, limit.arm, limit.title, Estimate(limit.value, limit.low, limit.high, 0, "exact", LEVEL)]
        for model, state in reached.items()
        for limit in state.last.limits
        if limit.item and not isnan(limit.value)
    ]
    if rows:
        columns = [Column("Model"), Column(noun, items=True), Column("Condition"), Column("Of answers")]
        yield Table("Shares, with limits that are valid after stopping", [*columns, Column("Share", "share")], rows)
