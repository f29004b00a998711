"""The headlines that a design can measure. The requirements of the measures determine these headlines, so Overton knows
them before the first call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from overton.calls import Trial
from overton.errors import list_names
from overton.statistics.estimate import FEWEST
from overton.studies.findings import counted
from overton.studies.null_conditions import null_of

if TYPE_CHECKING:
    from overton.studies.measures import Measure
    from overton.studies.study import AnyStudy

_MOST_NAMES = 6


class PlannedHeadline(msgspec.Struct, frozen=True):
    """A headline of a study, and whether a design can measure it.

    `lacks` names required conditions that the design does not have. `short` names options whose value is too small,
    with the smallest value that the headline requires. The design can measure the headline if `lacks` and `short` are
    empty. The headline's interval is over `units` units (such as issues), and needs at least five. `width` is the width
    of its 95% interval if models vary as in a pilot, None without a pilot. `items_for_half` is the number of units that
    would halve this width. `trials_for_half` is the number of trials of each unit that would halve it. Each of these
    two fields is None if the number is unknown, or if no number is large enough.
    """

    measure: str
    title: str
    units: int
    lacks: tuple[str, ...] = ()
    short: dict[str, int] = {}
    width: float | None = None
    items_for_half: int | None = None
    trials_for_half: int | None = None

    @property
    def is_measurable(self) -> bool:
        """Whether the design has everything that the headline needs."""
        return not self.lacks and not self.short


def planned_headlines(
    study: AnyStudy, options: Any, items: Sequence[Any], trials: Iterable[Trial]
) -> tuple[PlannedHeadline, ...]:
    """The headlines of a study, each with the requirements that a design does not meet. Null conditions are not
    considered."""
    headline = study.measuring.headline if study.measuring else None
    if headline is None:
        return ()
    asked = [measure for measure in headline.measures if _is_asked(measure, options)]
    units = len({study.items.about(item) for item in items})
    met = _conditions_met({name for measure in asked for name in measure.needs}, trials)
    return tuple(
        PlannedHeadline(
            measure.name,
            measure.title,
            units,
            tuple(name for name in measure.needs if name not in met),
            {name: least for name, least in measure.least if _is_less(getattr(options, name, None), least)},
        )
        for measure in asked
    )


def _is_asked(measure: Measure, options: Any) -> bool:
    """Whether a measure exists with these options."""
    return measure.only is None or getattr(options, measure.only[0], None) == measure.only[1]


def _conditions_met(wanted: set[str], trials: Iterable[Trial]) -> set[str]:
    """The wanted conditions that have a trial. A trial in 'a/b' also counts for the condition 'a'."""
    met: set[str] = set()
    left = {either: need for need in wanted for either in need.split("|")}
    for trial in trials if wanted else ():
        if not null_of(trial.name):
            parts = trial.condition_name.split("/")
            met |= {left[name] for depth in range(1, len(parts) + 1) if (name := "/".join(parts[:depth])) in left}
            if met == wanted:
                break
    return met


def _is_less(given: Any, least: int) -> bool:
    return isinstance(given, int) and given < least


def describe_unmeasurable(headlines: Iterable[PlannedHeadline]) -> Iterator[str]:
    """Sentences about the headlines that the design cannot measure: one sentence for all headlines with the same unmet
    requirements."""
    reasons: dict[str, list[str]] = {}
    for headline in headlines:
        if not headline.is_measurable:
            names = [need.replace("|", " or ") for need in headline.lacks]
            needs = [f"the conditions {list_names(names, _MOST_NAMES)}"] if names else []
            needs += [f"at least {least} {name.replace('_', ' ')}" for name, least in headline.short.items()]
            reasons.setdefault(" and ".join(needs), []).append(headline.title)
    for needed, titles in reasons.items():
        yield f"This design cannot measure {', '.join(titles)}, because these measures also need {needed}."


def describe_measurable(headlines: Sequence[PlannedHeadline], unit: str, pilot: str) -> Iterator[str]:
    """Sentences about the headlines that the design measures, with the expected widths of their intervals. `pilot`
    names the pilot run; '' without a pilot."""
    measurable = [headline for headline in headlines if headline.is_measurable]
    if not measurable:
        return
    units = measurable[0].units
    titles = ", ".join(headline.title for headline in measurable)
    if units < FEWEST:
        yield (
            f"The design measures {titles}, but without intervals. Intervals need {FEWEST} {unit}, and the plan has"
            f" {units}."
        )
    elif not pilot:
        yield (
            f"The design measures {titles}. To learn the width of the intervals, name a pilot (--pilot RUN). With"
            f" {4 * units:,} {unit} instead of {units:,}, intervals would be at most half as wide."
        )
    else:
        yield f"The design measures {titles}. Expected widths of 95% intervals, if models vary as in {pilot}:"
        yield from (_describe_width(headline, unit) for headline in measurable)


def _describe_width(headline: PlannedHeadline, unit: str) -> str:
    if headline.width is None:
        return f"  {headline.title}: unknown, because the pilot does not show how this measure varies."
    halving = [f"{headline.items_for_half:,} {unit}"] if headline.items_for_half else []
    halving += [f"{counted(headline.trials_for_half, 'trials')} of each"] if headline.trials_for_half else []
    half = f"; {' or '.join(halving)} would halve this width" if halving else ""
    return f"  {headline.title}: {headline.width:.2g} with {headline.units:,} {unit}{half}."
