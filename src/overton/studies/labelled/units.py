"""What a run's judge labelled, one row for each unit, and which of these rows people labelled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from overton.errors import InputError, Problem, quoted
from overton.judging.label_tasks import LabelDesign, LabelTask, SavedLabels

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.sheet import JudgedRows

__all__ = ["Units", "check", "units_of", "usable_shares", "why_not"]


@dataclass(frozen=True)
class Units:
    """What a judge labelled, one row each: the study's id, the judge's label, the group, and whose the unit is.

    `group` is what rows are drawn with if whole groups are drawn, and `alike` the wider group of rows that are alike
    (all conditions of one thread), if there is one. `model` is None if units are no single model's. The `unlabelled`
    units to which the judge gave no label are not among these.
    """

    id: Sequence[str]
    label: Sequence[str]
    group: Sequence[str]
    model: Sequence[str | None] | None = None
    unlabelled: int = 0
    alike: Sequence[str] | None = None

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each unit."""
        return {name: place for place, name in enumerate(self.id)}


_AT_ONCE = 10_000
"""Units that are laid out at a time, texts and all, when only their names are needed."""


def units_of(judged: JudgedRows, design: LabelDesign) -> Units:
    """Everything that a judge labelled, in order; `group` is what rows are drawn with if whole groups are drawn."""
    import polars as pl

    given = [place for place, label in enumerate(judged.given) if label is not None]
    missing = len(judged.given) - len(given)
    if not given:
        return Units((), (), (), unlabelled=missing)
    table = judged.units() if judged.units else pl.concat(_drawn(judged, given))
    group = "whole" if design == "whole" and "whole" in table.columns else "group"
    ids, labels, groups = (table[name].cast(pl.String).to_list() for name in ("id", "label", group))
    model = table["model"].to_list() if "model" in table.columns else None
    return Units(ids, labels, groups, model, missing, table["group"].to_list())


def _drawn(judged: JudgedRows, places: Sequence[int]) -> Iterator[pl.DataFrame]:
    """What names the units at some places; the texts are laid out part by part, and dropped."""
    for start in range(0, len(places), _AT_ONCE):
        part = judged.drawn(places[start : start + _AT_ONCE])
        yield part.select(name for name in ("id", "label", "group", "whole", "model") if name in part.columns)


def usable_shares(labels: SavedLabels) -> dict[int, Mapping[str, float]]:
    """People's shares of each row; if whole groups were drawn, only of groups that are completely labelled, since a
    person who stops has labelled the start of one, which is like no other part of it."""
    said = labels.shares()
    if labels.task.design != "whole":
        return said
    unfinished = {row.group for place, row in enumerate(labels.task.rows) if place not in said}
    return {place: one for place, one in said.items() if labels.task.rows[place].group not in unfinished}


def check(task: LabelTask, units: Units, place: str) -> None:
    """Check that the rows of a task that was read at `place` are units of this run.

    Raises:
        InputError: a labelled unit is not among the units, or the judge gave it another label.
    """
    problems = []
    for number, row in enumerate(task.rows):
        at = units.places.get(row.id)
        if at is None:
            reason = f"{quoted(row.id)} is no unit of this run: name the run that these labels belong to"
            problems.append(Problem(place, f"rows[{number}].id", reason))
        elif (units.label[at], units.group[at]) != (row.judged, row.group):
            reason = f"the run's judge calls {quoted(row.id)} {quoted(units.label[at])}, not {quoted(row.judged)}"
            problems.append(Problem(place, f"rows[{number}].judged", f"{reason}: draw again"))
    if problems:
        raise InputError(problems[:20])


def why_not(task: LabelTask, units: Units, labelled: int) -> str:
    """Why these labels correct nothing, or ''."""
    if not labelled:
        return "nobody has labelled a whole group" if task.design == "whole" else "nobody has labelled anything"
    drawn_from = {label: count for label, count in task.population.items() if count}
    if drawn_from != Counter(units.label):
        before, now = sum(drawn_from.values()), len(units.id)
        return f"people's units were drawn from {before:,}, and the run now has {now:,}: draw again to correct it"
    return ""
