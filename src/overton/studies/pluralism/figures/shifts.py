"""Suppression of views against a stated belief and amplification of those with it (figure 3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan

from overton.statistics import Estimate
from overton.studies.charts import difference_axis
from overton.studies.exhibits import Callout, Cell, Chart, Column, Exhibit, Method, Section, Table
from overton.studies.pluralism.figures import names
from overton.studies.pluralism.figures.charts import Picked, by_model, points
from overton.studies.pluralism.measures.analysis import Against, Analysis, Group, Shift
from overton.studies.pluralism.measures.comparing import SHIFTS, named

__all__ = ["shifts"]

_DRAWN = {
    "suppression": "Suppression of views against the belief",
    "amplification": "Amplification of views with the belief",
}
_BASELINES: tuple[Against, ...] = ("neutral", "matched-neutral")
_METHOD = (
    "Suppression is the fall of recall for views against the stated belief, amplification the rise of recall for views "
    "with it; both are positive where the model moves towards the belief, on the threads that have both conditions. "
    "With 'biased toward' the views against are those against the reference opinion, with 'biased opposing' those that "
    "support it. The published biased prompts also differ from the neutral one in their wording, system prompt too: "
    "the neutral condition in their wording shows what of a shift is the belief's. Intervals resample threads."
)


def shifts(analysis: Analysis) -> Section | None:
    """Figure 3, and its numbers against either neutral condition."""
    biased = [one for one in names.conditions(analysis, "sycophancy") if named(one).arm in SHIFTS]
    exhibits: list[Exhibit] = []
    for against in _BASELINES:
        if any(_shift(analysis.group(), one, against) for one in biased):
            exhibits += [*_charts(analysis, biased, against), *_tables(analysis, biased, against)]
    if not exhibits:
        return None
    return Section("shifts", "What a stated belief suppresses", [*_said(analysis, biased), *exhibits, Method(_METHOD)])


def _shift(group: Group, condition: str, against: Against) -> Shift | None:
    result = group.experiments.get("sycophancy", {}).get(condition)
    return result.shifts.get(against) if result else None


def _said(analysis: Analysis, biased: Sequence[str]) -> Iterator[Callout]:
    """Whether leaving out outweighs taking up, where the data tell."""
    for one in biased:
        shift = _shift(analysis.group(), one, "neutral")
        if shift is None or isnan(shift.asymmetry.low):
            continue
        if shift.asymmetry.low > 0:
            yield Callout(
                f"With '{names.condition(one)}', views against the belief are lost more than views with it are gained.",
                summary=True,
            )
        elif shift.asymmetry.high < 0:
            yield Callout(
                f"With '{names.condition(one)}', views with the belief are gained more than views against it are lost.",
                summary=True,
            )


def _charts(analysis: Analysis, biased: Sequence[str], against: Against) -> Iterator[Chart]:
    """Suppression and amplification on one scale, so that their lengths compare."""
    made = {part: points(analysis, biased, _picked(part, against)) for part in _DRAWN}
    axis = difference_axis("Recall towards the belief", [dot.estimate for dots in made.values() for dot in dots])
    for part, dots in made.items():
        title = f"{_DRAWN[part]}, against {names.AGAINST[against]}"
        about = f"{_DRAWN[part]}, in recall, for each model and biased condition against {names.AGAINST[against]}."
        spec = by_model(analysis, biased, dots, axis)
        yield Chart(f"{part}-{against}", title, about, spec, source="figure 3")


def _picked(part: str, against: Against) -> Picked:
    def picked(group: Group, condition: str) -> Estimate | None:
        shift = _shift(group, condition, against)
        return getattr(shift, part) if shift else None

    return picked


def _tables(analysis: Analysis, biased: Sequence[str], against: Against) -> Iterator[Table]:
    """All communities together; where there are several, then each."""
    title = f"Shifts towards the belief, against {names.AGAINST[against]}"
    note = "In percentage points of recall. Asymmetry: suppression minus amplification."
    columns = [Column("Model"), Column("Condition")]
    columns += [Column(part, "points") for part in ("Suppression", "Amplification", "Asymmetry")]
    *several, _ = names.communities(analysis)
    together = list(_rows(analysis, biased, against, None))
    yield Table(title, columns, together, note=note, source="figure 3", summary=True)
    if several:
        apart = [[one or "", *row] for one in several for row in _rows(analysis, biased, against, one)]
        heads = [Column("Community"), *columns]
        yield Table(f"{title}, by community", heads, apart, note=note, source="figure 3")


def _rows(analysis: Analysis, biased: Sequence[str], against: Against, community: str | None) -> Iterator[list[Cell]]:
    for group in names.groups(analysis, community):
        for one in biased:
            if shift := _shift(group, one, against):
                head = [names.model(group.model), names.condition(one)]
                yield [*head, shift.suppression, shift.amplification, shift.asymmetry]
