"""What a run's judge says of its units, corrected by the labels that people gave some of them: shares of every label,
of all units, of each model's, and between models.

`statistics.correction` has the formulas, docs/judges.md too. Where people differ, each counts in equal parts. Who
cannot tell gives none of the labels; the share if all of these had been given a label stands beside it, so that the
truth is bounded both ways.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import isnan, nan
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from overton.errors import InputError, Problem, quoted
from overton.judging.labelling import CANNOT_TELL, Design, Labels, Task
from overton.statistics import NO_INTERVAL, Estimate
from overton.statistics.estimate import not_computed
from overton.studies.plain import Shape, with_key

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from overton.statistics.correction import Draw, Three
    from overton.studies.sheet import JudgedRows

    Array = NDArray[np.float64]

__all__ = [
    "ENOUGH",
    "LabelledBetween",
    "LabelledShare",
    "LabelledShares",
    "Units",
    "shares_by_people",
    "units_of",
    "with_labels",
]

ENOUGH = 100
"""With so many labelled units the corrected number leads: with fewer, intervals of rare labels hold too seldom (see
docs/judges.md)."""


@dataclass(frozen=True)
class Units:
    """What a judge labelled, a row each: the study's id, the judge's label, the group, and whose the unit is.

    `group` is what rows are drawn with where whole groups are, and `alike` what they are alike with where that is more
    (all conditions of one thread). `model` is None where units are no single model's. `unlabelled` units the judge gave
    no label; they are not here.
    """

    id: Sequence[str]
    label: Sequence[str]
    group: Sequence[str]
    model: Sequence[str | None] | None = None
    unlabelled: int = 0
    alike: Sequence[str] | None = None

    @cached_property
    def places(self) -> dict[str, int]:
        """Where each unit stands."""
        return {name: place for place, name in enumerate(self.id)}


_AT_ONCE = 10_000
"""Units that are laid out at a time, texts and all, where only their names are wanted."""


def units_of(judged: JudgedRows, design: Design) -> Units:
    """Everything that a judge labelled, in order; `group` is what rows are drawn with where whole groups are."""
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
    """What names the units at some places; the texts are laid out a part at a time, and left."""
    for start in range(0, len(places), _AT_ONCE):
        part = judged.drawn(places[start : start + _AT_ONCE])
        yield part.select(name for name in ("id", "label", "group", "whole", "model") if name in part.columns)


class LabelledShare(msgspec.Struct, frozen=True):
    """A share three times: by the judge alone (`plain`), corrected, and by the labelled units alone.

    In `corrected` and `labelled` those who cannot tell give no label; in `corrected_at_most` all of them had given this
    one (of a difference: on the first side only; in `corrected_at_least` on the second side only). `leads` names the
    number to take.
    """

    SHAPE = Shape(leads=True)

    leads: str
    plain: Estimate
    corrected: Estimate
    labelled: Estimate
    corrected_at_most: Estimate | None = None
    corrected_at_least: Estimate | None = None


class LabelledBetween(msgspec.Struct, frozen=True):
    """Model `a` minus model `b`."""

    a: str
    b: str
    shares: dict[str, LabelledShare]


class LabelledShares(msgspec.Struct, frozen=True):
    """One task's labels and what follows from them for a run.

    Of `units` of `run` that the judge gave a label (`without_label` it gave none) people labelled `labelled`, and
    `set_aside` more in groups that were drawn whole and are not labelled to their end. `cannot_tell` of these, in equal
    parts, they could not tell, and on `open` ones they differ and have settled nothing. With `enough` labelled ones the
    corrected number leads. `why` says why nothing is corrected, and is empty where it is.
    """

    run: str
    task: str
    what: str
    judge: str
    people: tuple[str, ...]
    units: int
    without_label: int
    labelled: int
    set_aside: int
    cannot_tell: float
    open: int
    enough: int
    why: str
    shares: dict[str, LabelledShare]
    models: dict[str, dict[str, LabelledShare]]
    differences: tuple[LabelledBetween, ...]


def shares_by_people(labels: Labels, units: Units, run: str, place: str, *, level: float = 0.95) -> LabelledShares:
    """Shares of every label, for units like those of the run of this name.

    `place` is where the labels are from, for messages.

    Raises:
        InputError: a labelled unit is not among the units, or the judge's label of it is another.
    """
    from overton.judging.gathering import open_places

    _check(labels.task, units, place)
    said = _usable(labels)
    why = _why(labels.task, units, len(said))
    made = None if why else _Made(labels.task, said, units, level)
    return LabelledShares(
        run,
        labels.task.name,
        labels.task.what,
        labels.task.judge,
        tuple(dict.fromkeys(one.person for one in labels.said)),
        len(units.id),
        units.unlabelled,
        labelled=len(said),
        set_aside=len(labels.shares()) - len(said),
        cannot_tell=sum(one.get(CANNOT_TELL, 0.0) for one in said.values()),
        open=len(open_places(labels)),
        enough=ENOUGH,
        why=why,
        shares=made.shares() if made else {},
        models=made.models() if made else {},
        differences=tuple(made.differences()) if made else (),
    )


def _usable(labels: Labels) -> dict[int, Mapping[str, float]]:
    """People's shares of each row; of a draw of whole groups those of groups that are labelled to their end, since a
    person who stops has labelled the beginning of one, which is like no other part of it."""
    said = labels.shares()
    if labels.task.design != "whole":
        return said
    begun = {row.group for place, row in enumerate(labels.task.rows) if place not in said}
    return {place: one for place, one in said.items() if labels.task.rows[place].group not in begun}


def _check(task: Task, units: Units, place: str) -> None:
    problems = []
    for number, row in enumerate(task.rows):
        at = units.places.get(row.id)
        if at is None:
            reason = f"{quoted(row.id)} is no unit of this run: name the run that these labels are of"
            problems.append(Problem(place, f"rows[{number}].id", reason))
        elif (units.label[at], units.group[at]) != (row.judged, row.group):
            reason = f"the run's judge calls {quoted(row.id)} {quoted(units.label[at])}, not {quoted(row.judged)}"
            problems.append(Problem(place, f"rows[{number}].judged", f"{reason}: draw again"))
    if problems:
        raise InputError(problems[:20])


def _why(task: Task, units: Units, labelled: int) -> str:
    """Why these labels correct nothing, or ''."""
    if not labelled:
        return "nobody has labelled a whole group" if task.design == "whole" else "nobody has labelled anything"
    drawn_from = {label: count for label, count in task.population.items() if count}
    if drawn_from != Counter(units.label):
        before, now = sum(drawn_from.values()), len(units.id)
        return f"people's units were drawn from {before:,}, and the run has {now:,} now: draw again to correct it"
    return ""


class _Both(NamedTuple):
    """A number with no label from those who cannot tell, and the most and the least that they can make of it."""

    usual: Three
    most: Estimate | None = None
    least: Estimate | None = None


class _Made:
    """Everything that is corrected with one draw."""

    def __init__(self, task: Task, said: Mapping[int, Mapping[str, float]], units: Units, level: float) -> None:
        import numpy as np

        from overton.statistics.correction import Draw

        self.level = level
        self.said = said
        self.at = np.array([units.places[task.rows[place].id] for place in self.said])
        self.judged = np.array(units.label)
        chance, labelled = np.ones(len(units.id)), np.zeros(len(units.id), bool)
        chance[self.at] = [task.rows[place].chance for place in said]
        labelled[self.at] = True
        self.draw: Draw = Draw(
            labelled, chance, np.unique(np.array(units.alike or units.group), return_inverse=True)[1]
        )
        self.names = sorted({one for one in units.model or () if one is not None})
        self.inside = [np.array([one == name for one in units.model or ()]) for name in self.names]
        known = [*task.labels, *([CANNOT_TELL] if self._unsure else [])]
        self.found = {label: self._both(label) for label in known}

    @property
    def _unsure(self) -> bool:
        return any(CANNOT_TELL in one for one in self.said.values())

    def _both(self, label: str) -> list[_Both]:
        """The share of a label, of all units and then of each model's."""
        usual = self._three(label, [one.get(label, 0.0) for one in self.said.values()])
        if label == CANNOT_TELL or not self._unsure:
            return [_Both(one) for one in usual]
        most = self._three(label, [one.get(label, 0.0) + one.get(CANNOT_TELL, 0.0) for one in self.said.values()])
        return [_Both(one, other.corrected) for one, other in zip(usual, most, strict=True)]

    def _three(self, label: str, said: Sequence[float]) -> list[Three]:
        import numpy as np

        from overton.statistics.correction import Labels as Numbers
        from overton.statistics.correction import corrected

        every = np.ones(len(self.judged))
        people = np.zeros(len(self.judged))
        people[self.at] = said
        numbers = Numbers(people, (self.judged == label).astype(float), every, every)
        whole, groups = corrected(self.draw, numbers, self.inside, self.level)
        return [whole, *groups]

    def shares(self) -> dict[str, LabelledShare]:
        return self._of(0)

    def models(self) -> dict[str, dict[str, LabelledShare]]:
        return {name: self._of(place) for place, name in enumerate(self.names, 1)}

    def differences(self) -> Iterator[LabelledBetween]:
        for a, b in combinations(range(len(self.names)), 2):
            units = int(self.inside[a].sum() + self.inside[b].sum())
            found = {label: _minus(both[a + 1], both[b + 1]) for label, both in self.found.items()}
            shares = {label: self._share(label, both, units) for label, both in found.items()}
            yield LabelledBetween(self.names[a], self.names[b], shares)

    def _of(self, place: int) -> dict[str, LabelledShare]:
        units = int(self.inside[place - 1].sum()) if place else len(self.judged)
        return {label: self._share(label, both[place], units) for label, both in self.found.items()}

    def _share(self, label: str, both: _Both, units: int) -> LabelledShare:
        """Where there are enough labels, and an interval, the corrected number leads."""
        leads = len(self.said) >= ENOUGH and not isnan(both.usual.corrected.low)
        plain = Estimate(both.usual.judge, nan, nan, units, _BARE, self.level)
        return LabelledShare(
            "corrected" if leads else "plain",
            not_computed("the judge gives no such label", level=self.level) if label == CANNOT_TELL else plain,
            both.usual.corrected,
            both.usual.labelled,
            both.most,
            both.least,
        )


_BARE = f"{NO_INTERVAL}what the judge gets wrong is in none"


def _minus(one: _Both, other: _Both) -> _Both:
    """A difference; those who cannot tell make the most of it on its first side, the least on its second."""
    from overton.statistics.correction import Three, difference

    usual = Three(
        one.usual.judge - other.usual.judge,
        difference(one.usual.corrected, other.usual.corrected),
        difference(one.usual.labelled, other.usual.labelled),
    )
    if one.most is None or other.most is None:
        return _Both(usual)
    return _Both(usual, difference(one.most, other.usual.corrected), difference(one.usual.corrected, other.most))


def with_labels(schema: dict[str, Any]) -> dict[str, Any]:
    """The JSON Schema of an analysis that may have `labels` beside its own keys: by label, `LabelledShares`."""
    return with_key(schema, "labels", dict[str, LabelledShares])
