"""The measures by which models can be compared, as a study declares them, and groups that have numbers of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from overton.statistics.estimate import SHARE, Range, ratio
from overton.studies.numbers import Kind

if TYPE_CHECKING:
    from overton.statistics.arrays import AnyFloats, Floats

WHOLE = ""
"""Stands in place of a model's name if a number is for all models that answered together."""


@dataclass(frozen=True)
class Measure:
    """A measure that models can be compared by.

    `within` is its range. `margin` is the difference that counts as none unless the user names another, in the
    measure's own units. `kind` says how it reads, `gap` how a difference of two does. With `leads` it is a headline;
    others are compared on request. `of` maps sums over items [..., K] to the number; `flaw` says, from what the items
    contribute [items, K], why the number has no interval, '' if it has one.

    A `variant` is another number for what a headline measures: it is shown beside it, and no finding. `unbiased` names
    the measure to take instead if chance in few trials raises this one: it is not compared across numbers of trials.
    One that depends on them for another reason is `matched`: both are then taken as with as few trials as the one with
    fewer has (`Comparing.few`).

    A study that makes units (`overton.studies.grouping`) declares every measure, and its numbers follow:

    units     the kind of unit that it is a mean over
    value     the column with a unit's value, null if the unit has none; `name` if not given
    weight    the column by which the sum of values is divided, for a ratio; 1 for each unit with a value if not given
    signed    the value is a difference already, above 0 for the unit's own side: its mean needs no second side
    compared  models, and a model and its null condition, are compared by it
    judge     the role on whose labels it rests, '' if it rests on none
    nothing   why there is no number if no unit has a value
    source    where it is published
    heading   the title of its columns in tables, if that is not `title`
    """

    name: str
    title: str
    within: Range = SHARE
    margin: float = 0.05
    kind: Kind = "share"
    gap: Kind = "points"
    leads: bool = False
    of: Callable[[AnyFloats], AnyFloats] = ratio
    flaw: Callable[[Floats], str] | None = None
    variant: bool = False
    unbiased: str = ""
    matched: bool = False
    units: str = ""
    value: str = ""
    weight: str = ""
    signed: bool = False
    compared: bool = False
    judge: str = ""
    nothing: str = "no item has it"
    source: str = ""
    heading: str = ""

    @property
    def column(self) -> str:
        """The column of its units with their values."""
        return self.value or self.name


By: TypeAlias = Mapping[str, str]
"""Facets by which numbers are grouped, each with the column of the units that has its values."""


@dataclass(frozen=True)
class Grouping:
    """Some measures, and what units their numbers are over: all of a model and condition if nothing is given.

    by       facets of whose values each has a number
    by_item  whether each cluster has numbers of its own
    together  whether the numbers are over all models together
    sides    the last facet of `by` has two sides, and there are differences between them: besides each side's number
             ('both'), or alone ('difference'). A `signed` measure is a difference, and has no number of a side
    names    the two sides, if there are numbers even without units
    variant  the variant of its rows, if they are another estimate of the same; '' if they are as observed
    deviations  whether there are standard deviations over units, too
    """

    measures: Sequence[Measure]
    by: By = field(default_factory=dict)
    by_item: bool = False
    together: bool = False
    sides: Literal["", "both", "difference"] = ""
    names: tuple[str, str] | None = None
    variant: str = ""
    deviations: bool = False

    def within(self, facet: str) -> Grouping:
        """The same within each value of a facet of items."""
        return replace(self, by={facet: facet, **self.by})


def key_in(measure: str, condition: str, plain: str) -> str:
    """The key of a measure in a condition, as comparisons and stored baselines name it."""
    return measure if condition == plain else f"{measure}_{condition.replace('-', '_').replace('+', '_')}"
