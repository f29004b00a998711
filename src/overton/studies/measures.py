"""Declarations of a study's measures, and of the groups for which measures are computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from overton.statistics.estimate import SHARE, Range, ratio
from overton.studies.numbers import Kind

if TYPE_CHECKING:
    from overton.statistics.arrays import AnyFloats, Floats

WHOLE = ""
"""Replaces the model's name if a number is for all models jointly."""


@dataclass(frozen=True)
class Measure:
    """A measure that models can be compared by.

    `within` is the measure's range. `margin` is the largest difference that is treated as zero, in the measure's own
    units; users can set another. `kind` is the format of the number, and `gap` that of a difference. A measure that
    `leads` is a headline; other measures are compared on request. The function `of` computes the number from sums over
    items [..., K]. The function `flaw` takes the contributions of items [items, K]. It gives the reason why the number
    has no interval, '' if the number has one.

    A `variant` is another number for the quantity that a headline measures. It is displayed with the headline, but is
    not a finding. Random variation may inflate a measure if trials are few. Overton does not compare runs with
    different numbers of trials by such a measure, and advises the measure `unbiased` instead. A `matched` measure
    depends on the number of trials for another reason. Its comparisons reduce both runs to the smaller number of trials
    (`Comparing.few`).

    If a study makes units (`overton.studies.grouping`), it declares every measure by the following fields, and Overton
    computes the numbers:

    units     the kind of unit over which the measure is a mean
    value     the column with a unit's value, null if the unit has none; by default the column `name`
    weight    for a ratio, the column whose sum is the denominator; by default each unit with a value counts as 1
    signed    whether the value is already a difference between two sides, positive if it favours the unit's own side
    compared  whether the measure is used to compare models, and to compare each model with its null conditions
    judge     the role whose labels the measure depends on, '' if it depends on none
    nothing   the reason given for a missing number if no unit has a value
    source    the publication that defines the measure
    needs     the conditions that a design must have for this measure, as trials name them. 'a' includes every condition
              'a/b', and 'a|b' means that either 'a' or 'b' is enough
    least     numeric options, each with the smallest setting at which a unit can have a value
    only      an option and its setting, if the measure exists only with this setting; otherwise None
    heading   the title of its columns in tables, if different from `title`
    phrase    its name in a sentence, if `title` would be unclear there: 'Recall of reference viewpoints'
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
    nothing: str = "no item has this number"
    source: str = ""
    heading: str = ""
    needs: tuple[str, ...] = ()
    least: tuple[tuple[str, int], ...] = ()
    only: tuple[str, Any] | None = None
    phrase: str = ""

    @property
    def words(self) -> str:
        """The measure's name in a sentence."""
        return self.phrase or self.title

    @property
    def column(self) -> str:
        """The column with the values of the measure's units."""
        return self.value or self.name


By: TypeAlias = Mapping[str, str]
"""Facets by which numbers are grouped, by name. Each facet names the column of units that contains its values."""


@dataclass(frozen=True)
class Grouping:
    """Measures, and the groups of units for which they are computed. By default each model and condition is a group.

    by       facets; each value of a facet has a number
    by_item  whether each cluster has separate numbers
    together  whether the numbers pool all models
    sides    if not '', the last facet of `by` has two sides. The rows are each side's number and the difference between
             the sides ('both'), or only the difference ('difference'). A `signed` measure is already a difference, so
             it has no number for one side
    names    the names of the two sides, if each side gets a row even without units
    variant  the name of another estimate of the same quantity; '' for observed numbers
    deviations  whether to add rows with standard deviations over units
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
        """These groups, further divided by a facet of items."""
        return replace(self, by={facet: facet, **self.by})


def key_in(measure: str, condition: str, plain: str) -> str:
    """The key of a measure in a condition, as used in comparisons and stored baselines."""
    return measure if condition == plain else f"{measure}_{condition.replace('-', '_').replace('+', '_')}"
