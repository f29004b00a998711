"""What results share: settings, two numbers side by side, and parameters of the choice model, in log-odds."""

from __future__ import annotations

from math import isnan, nan
from typing import NamedTuple

import msgspec

from overton.statistics import NOT_COMPUTED, Estimate
from overton.studies.deliberation.choice_model import LikelihoodRatio
from overton.studies.document import Shape, shaped


class Setting(msgspec.Struct, frozen=True, order=True):
    """Deliberations of one format and goal among the same models; `goal` is None if the table has none.

    `agents` are the models in the order of speaking; sorted if all speak at once, or if orders are pooled.
    """

    format: str
    goal: str | None
    agents: tuple[str, ...]


class Significance(msgspec.Struct, frozen=True):
    """A test of no difference, two-sided.

    `adjusted` is `p` corrected for the `of` comparisons made together (Holm 1979). Both are NaN if there is nothing to
    compare.
    """

    name: str
    p: float
    adjusted: float
    of: int


class Contrast(msgspec.Struct, frozen=True):
    """Two numbers side by side; `difference` is the second minus the first, on the same dilemmas if they share any.

    `unpaired` is the paper's test, which treats all observations as independent; `paired` is its counterpart, which
    compares within dilemmas.
    """

    first_name: str
    second_name: str
    first: Estimate
    second: Estimate
    difference: Estimate
    unpaired: Significance
    paired: Significance


@shaped(flat=("contrast",))
class ContrastIn(NamedTuple):
    """Two numbers side by side in a setting."""

    setting: Setting
    contrast: Contrast


@shaped(flat=("contrast",))
class ContrastOf(NamedTuple):
    """Two numbers of a model side by side in a setting."""

    setting: Setting
    model: str
    contrast: Contrast


@shaped(flat=("contrast",))
class ContrastBy(NamedTuple):
    """Two numbers side by side for a value."""

    value: str
    contrast: Contrast


_MEASURE = Shape(measure="number", without=("estimate", "low", "high", "reason", "n"))


class Parameter(msgspec.Struct, frozen=True):
    """A parameter of equation 2: log-odds with standard error and interval, and its odds ratio.

    All numbers are NaN if the data do not determine them, and `reason` says why. `n` counts the decisions of the fit;
    `method` says which kind of interval it is.
    """

    estimate: float
    se: float
    low: float
    high: float
    odds_ratio: float
    reason: str | None = None
    n: int = 0
    method: str = "Wald"

    SHAPE = Shape(measure="number", without=("estimate", "low", "high", "reason", "n", "method"))

    @property
    def number(self) -> Estimate:
        """It and its interval."""
        return _number(self, self.method)


class Spread(msgspec.Struct, frozen=True):
    """A standard deviation of random effects, in log-odds; NaN, with the reason, if the data do not determine it.

    `n` counts the decisions of the fit.
    """

    estimate: float
    se: float
    low: float
    high: float
    reason: str | None = None
    n: int = 0

    SHAPE = _MEASURE

    @property
    def number(self) -> Estimate:
        """It and its interval, a Wald interval for its logarithm."""
        return _number(self, "Wald, of the logarithm")


def _number(parameter: Parameter | Spread, method: str) -> Estimate:
    if parameter.reason:
        method = NOT_COMPUTED + parameter.reason if isnan(parameter.estimate) else parameter.reason
    return Estimate(parameter.estimate, parameter.low, parameter.high, parameter.n, method)


class Conformity(NamedTuple):
    """How readily a model follows what others said: in earlier rounds, and within the round."""

    previous: Parameter | dict[str, Parameter]
    within: Parameter | dict[str, Parameter]


class Choice(msgspec.Struct, frozen=True):
    """The choice model (equation 2) fitted to the decisions with one goal, or with all if they are fitted together.

    `goal` is None if the table has no goals, or several are fitted together. `decisions` counts valid verdicts.
    `inertia` is by model; `previous` and `within`, the conformity to earlier rounds and within the round, are for all
    models together or by model; `preferences` are by model and verdict, relative to the mean of the verdicts that the
    model uses. `estimator` is the one that was used: 'taste_by_model', 'taste' or 'random' if the choice was left to
    the data. `dilemma_spread` is that of the dilemmas' effects, `taste_spread` that of a model's own taste on a
    dilemma (over all models, their root mean square), None if the estimator has none, and `taste_spreads` that of each
    model, if fitted by model. `likelihood_ratio` tests tastes against none, if they are left out and may count as
    inertia; `likelihood_ratio_of_spreads` tests a spread of tastes for each model against one for all.
    `notes` are warnings. `without_faults` is the same fit with the verdicts of messages with faults of form treated as
    unreadable, None if faults were not looked for. If there is no fit at all, `not_computed` says why, and the
    parameters are empty.
    """

    goal: str | None
    estimator: str
    decisions: int
    dilemmas: int
    inertia: dict[str, Parameter]
    previous: Parameter | dict[str, Parameter]
    within: Parameter | dict[str, Parameter]
    preferences: dict[str, dict[str, Parameter]]
    dilemma_spread: Spread | None = None
    taste_spread: Spread | None = None
    taste_spreads: dict[str, Spread] = msgspec.field(default_factory=dict)
    loglik: float = nan
    likelihood_ratio: LikelihoodRatio | None = None
    likelihood_ratio_of_spreads: LikelihoodRatio | None = None
    notes: tuple[str, ...] = ()
    not_computed: str | None = None
    without_faults: Choice | None = None

    SHAPE = Shape(
        also={"conformity": "conformity"},
        without=("previous", "within", "without_faults"),
        variants={"without_faults": {"inertia": "inertia_of_the_rest", "conformity": "conformity_of_the_rest"}},
    )

    @property
    def conformity(self) -> Conformity:
        """Both kinds of it."""
        return Conformity(self.previous, self.within)

    @property
    def inertia_of_the_rest(self) -> dict[str, Parameter] | None:
        """Inertia without faulty messages."""
        return self.without_faults.inertia if self.without_faults else None

    @property
    def conformity_of_the_rest(self) -> Conformity | None:
        """Conformity without faulty messages."""
        return self.without_faults.conformity if self.without_faults else None
