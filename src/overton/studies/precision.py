"""Stopping at a target precision: the requested target, the decision to continue or stop, and interim means.

A run proceeds in rounds of whole blocks. After each round, `decide` uses only the records so far to choose the arms
that get further blocks. An arm is an item in one condition. `decide` first chooses arms whose own interval is too wide,
then arms where further blocks narrow the headline's interval most per call. Numbers of blocks grow geometrically, so
interim analyses are few and intervals stay valid (`overton.statistics.stopping`).

The headline of a study that can stop early is a mean of one value per conversation: yes or no, or a number with bounds.
In a run that stops early, items have unequal numbers of conversations. The headline is therefore a mean over arms, and
each arm has its weight in the whole design. The headline's limits allow for early stopping
(`overton.statistics.stopping`). Measures in other sections have the same weights (`overton.studies.arm_weights`), and
the usual intervals over items.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heapify, heappop, heappush
from math import isnan
from typing import Any, Literal, NamedTuple

import msgspec

from overton.calls import Trial
from overton.errors import InputError, Problem
from overton.studies.null_conditions import null_of
from overton.studies.options import option_place

LEVEL = 0.95
"""The confidence level of all limits."""

PRECISE, SPENT, WHOLE = "precise enough", "no more calls were allowed", "all of its trials were asked"
"""Reasons why an arm got no further block."""

Rule = Literal["divided", "repeated"]


class PrecisionTarget(msgspec.Struct, frozen=True, omit_defaults=True):
    """The target precision of a run: half-widths of intervals by measure, in the measure's units, and the maximum
    number of calls.

    `rule` is the method that keeps limits valid over several interim analyses. 'repeated' uses repeated confidence
    intervals. 'divided' divides the significance level among the analyses, so its intervals are wider. Manifests that
    name no rule, as in version 0.2.0, have the rule 'divided'.
    """

    measures: dict[str, float] = {}
    calls: int | None = None
    rule: Rule = "divided"


class PrecisionLimit(msgspec.Struct, frozen=True, omit_defaults=True):
    """A number that describes only the run's items and wordings, with limits at the confidence level `LEVEL`. The
    limits are valid even though the run decided from its own results when to stop. The number is for a whole model if
    `item` is ''. `wanted` is the requested half-width, None without a request."""

    measure: str
    title: str
    value: float
    low: float
    high: float
    wanted: float | None = None
    item: str = ""
    arm: str = ""

    @property
    def half(self) -> float:
        """The half-width of the interval."""
        return (self.high - self.low) / 2


class Stop(msgspec.Struct, frozen=True):
    """The number of blocks and trials of an arm, and the reason why the arm stopped."""

    item: str
    arm: str
    blocks: int
    trials: int
    why: str


class Decision(msgspec.Struct, frozen=True):
    """The decision from the records so far. `blocks` has the new number of blocks of each arm that continues; it is
    empty if all arms stop.

    `calls` is the number of calls so far, and `limits` are the limits so far. If all arms stop, `stops` has the reason
    for every arm.
    """

    blocks: list[tuple[str, str, int]] = []
    calls: int = 0
    limits: list[PrecisionLimit] = []
    stops: list[Stop] = []


class StopState(msgspec.Struct, frozen=True):
    """The state of a model's trials in a run: the number of rounds, the last decision, and the number of finished
    trials."""

    rounds: int
    last: Decision
    trials: int


ROUND = 1.35
"""The smallest factor by which a round multiplies the number of calls while the headline's interval is too wide."""
_LEAST_ROUND_SHARE = 0.15
"""The limit on calls may cut a round short. Such a round is not run if it is smaller than this proportion of the calls
so far. Trials may make fewer calls than their maximum, which leaves calls for another short round. There are at most
`_MAX_SHORT_ROUNDS` short rounds."""
_MAX_SHORT_ROUNDS = 4


class Arm(NamedTuple):
    """An item in one condition. Each arm gets further blocks or stops."""

    item: str
    name: str


class PrecisionState(NamedTuple):
    """The precision of the records so far. `wide` has the arms whose own interval is too wide. `headline_wide` says
    whether a headline's interval is too wide. `variance` has each arm's contribution to the headline's variance."""

    limits: list[PrecisionLimit]
    wide: frozenset[Arm]
    headline_wide: bool
    variance: Mapping[Arm, float]


@dataclass(frozen=True)
class Goal:
    """A measure whose half-width users can request. `title` is its title, and a requested half-width must be below
    `most`."""

    title: str
    most: float


class InterimResult(NamedTuple):
    """The input of a stopping rule. `arm_looks` is the largest possible number of interim analyses of one arm, and
    `looks` is the largest possible number for the headline. `sizes` has the number of trials in a block of each arm,
    and `rule` is the method that keeps limits valid."""

    records: Mapping[Arm, Sequence[Any]]
    arm_looks: int
    looks: int
    level: float
    seed: int
    sizes: Mapping[Arm, int] = {}
    rule: Rule = "divided"

    @property
    def reach(self) -> float:
        """The distance from the headline's mean to each limit, in standard errors.

        Repeated confidence intervals assume the largest possible number of interim analyses, each with `ROUND` times
        the information of the previous analysis. With fewer analyses, intervals would be narrower.
        """
        from overton.statistics.proportions import quantile
        from overton.statistics.stopping import divide_level, repeated_reach

        if self.rule == "repeated":
            return repeated_reach(self.level, tuple(ROUND**look for look in range(self.looks)))
        return quantile(divide_level(self.level, self.looks))


@dataclass(frozen=True)
class Blocks:
    """A study's declaration of its blocks of trials, which allows runs to stop at a target precision.

    of        `of(trial)` gives the name of the trial's condition, and the number of the trial's block in that
              condition, from 1. All trials of an item and condition with the same number form a block. A block has
              every template and wording, so it is balanced
    goals     the measures whose half-width users can request, by name; the headline is the first
    judge     `judge(looked, measures)` gives the precision of the records, whose order does not matter
    first     the number of blocks of a condition before the first interim analysis
    check     `check(options, measures)` names the options that cannot be combined with stopping
    trial     the column of records that names the trial
    like      `like(record, trial)` converts a pilot's record to a record of `trial`, another trial of the same
              condition
    longest   `longest(trial)` gives a trial with the largest number of calls that is possible in its condition
    weighted  whether the study's measures weight records by the column `overton.studies.arm_weights.WEIGHT`, and leave
              out numbers that cannot be weighted. Otherwise reports warn that items with more trials count more
    """

    of: Callable[[Any], tuple[str, int]]
    goals: Mapping[str, Goal]
    judge: Callable[[InterimResult, Mapping[str, float]], PrecisionState]
    first: Callable[[str], int] = lambda condition: 1
    check: Callable[[Any, Iterable[str]], Iterable[Problem]] = lambda options, measures: ()
    trial: str = "trial"
    like: Callable[[Any, Any], Any] = lambda record, trial: record
    longest: Callable[[Any], Any] = lambda trial: trial
    weighted: bool = False

    def problems(self, wanted: PrecisionTarget, options: Any) -> Iterator[Problem]:
        """Problems with the requested precision."""
        place = option_place("precision")
        for name, width in wanted.measures.items():
            if name not in self.goals:
                yield Problem(place, name, f"no such measure; known are {', '.join(self.goals)}")
            elif isnan(width) or not 0 < width < self.goals[name].most:
                yield Problem(place, f"{name}={width:g}", f"must be above 0 and below {self.goals[name].most:g}")
        yield from self.check(options, wanted.measures)


class TrialOutcome(NamedTuple):
    """The outcome of a trial: its records, and its number of calls."""

    records: Sequence[Any]
    calls: int


@dataclass(frozen=True)
class StoppingPlan:
    """The longest possible plan of a model pipeline, in blocks. The stopping rule decides which of these blocks are
    run.

    `most` maps each arm to the maximum number of calls of one trial. `calls` is the maximum number of calls of the
    whole pipeline.
    """

    blocks: Blocks
    trials: Sequence[Trial]
    wanted: PrecisionTarget
    seed: int
    most: Mapping[Arm, int] = field(default_factory=dict)
    calls: int | None = None

    def __post_init__(self) -> None:
        """Refuse null conditions, because their headlines must be compared with headlines of a full design.

        Raises:
            InputError: the plan has trials of null conditions.
        """
        if any(null_of(trial.name) for trial in self.trials):
            reason = "null conditions cannot stop early; run them separately, without --precision"
            raise InputError([Problem(option_place("precision"), "", reason)])

    @cached_property
    def arms(self) -> dict[Arm, list[list[Trial]]]:
        """The blocks of every arm, by number and in plan order."""
        found: dict[Arm, dict[int, list[Trial]]] = defaultdict(lambda: defaultdict(list))
        for trial in self.trials:
            name, number = self.blocks.of(trial)
            found[Arm(trial.item, name)][number].append(trial)
        return {arm: [own[number] for number in sorted(own)] for arm, own in found.items()}

    @cached_property
    def looks(self) -> dict[Arm, tuple[int, ...]]:
        """For each arm, the numbers of blocks after which Overton makes an interim analysis."""
        from overton.statistics.stopping import looks

        return {arm: looks(self.blocks.first(arm.name), len(own)) for arm, own in self.arms.items()}

    @cached_property
    def order(self) -> dict[str, int]:
        """The index of each trial in the plan, by name."""
        return {trial.name: place for place, trial in enumerate(self.trials)}

    def cost(self, arm: Arm, start: int, end: int) -> int:
        """The maximum number of calls of an arm's blocks from `start` to `end` (not included), counted from 0."""
        return sum(map(len, self.arms[arm][start:end])) * self.most.get(arm, 1)

    @property
    def first_round(self) -> int:
        """The maximum number of calls in the first round."""
        return sum(self.cost(arm, 0, counts[0]) for arm, counts in self.looks.items())

    @property
    def whole(self) -> int:
        """The maximum number of calls in the whole plan."""
        return sum(self.cost(arm, 0, counts[-1]) for arm, counts in self.looks.items())

    @property
    def most_looks(self) -> int:
        """The maximum number of interim analyses of the headline. This maximum is larger if arms are also analysed
        separately."""
        from overton.statistics.stopping import most_looks

        alone = max((len(counts) for counts in self.looks.values()), default=1) if len(self.wanted.measures) > 1 else 0
        cut_short = _MAX_SHORT_ROUNDS if self.calls is not None and max(self.most.values(), default=1) > 1 else 0
        return most_looks(self.first_round, self.whole, ROUND) + 1 + alone + cut_short

    def chosen(self, decision: Decision, ended: Set[str]) -> list[Trial]:
        """The trials that a decision adds to the finished trials, in plan order."""
        made = [
            trial
            for item, name, count in decision.blocks
            for block in self.arms.get(Arm(item, name), [])[:count]
            for trial in block
            if trial.name not in ended
        ]
        return sorted(made, key=lambda trial: self.order[trial.name])


def decide(design: StoppingPlan, ended: Mapping[str, TrialOutcome]) -> Decision:
    """Decide how a model pipeline continues. `ended` has the finished trials by name. Only trials in complete blocks
    count.

    The decision does not depend on the order of trials or records, on time, or on other pipelines.
    """
    have = {arm: _whole_blocks(own, ended) for arm, own in design.arms.items()}
    if not any(have.values()):
        return Decision([(*arm, counts[0]) for arm, counts in design.looks.items()])
    judged = design.blocks.judge(_interim_result(design, ended, have), design.wanted.measures)
    spent = sum(outcome.calls for outcome in ended.values())
    left = None if design.calls is None else design.calls - spent
    chosen = _choose_blocks(design, have, judged, spent, left)
    stops = [
        Stop(*arm, count, sum(map(len, design.arms[arm][:count])), _stop_reason(design, judged, arm, count))
        for arm, count in have.items()
        if not chosen
    ]
    return Decision([(*arm, count) for arm, count in chosen.items()], spent, judged.limits, stops)


def _whole_blocks(blocks: Sequence[Sequence[Trial]], ended: Mapping[str, TrialOutcome]) -> int:
    return next(
        (number for number, block in enumerate(blocks) if any(trial.name not in ended for trial in block)), len(blocks)
    )


def _interim_result(design: StoppingPlan, ended: Mapping[str, TrialOutcome], have: Mapping[Arm, int]) -> InterimResult:
    records = {
        arm: [record for block in design.arms[arm][:count] for trial in block for record in ended[trial.name].records]
        for arm, count in have.items()
    }
    most = max(len(counts) for counts in design.looks.values())
    sizes = {arm: len(own[0]) for arm, own in design.arms.items()}
    return InterimResult(records, most, design.most_looks, LEVEL, design.seed, sizes, design.wanted.rule)


def _choose_blocks(
    design: StoppingPlan, have: Mapping[Arm, int], judged: PrecisionState, spent: int, left: int | None
) -> dict[Arm, int]:
    """The new number of blocks of each arm that gets further blocks. Arms whose own interval is too wide come first,
    then arms where a block narrows the headline's interval most."""
    chosen: dict[Arm, int] = {}
    used = 0
    for arm in have:
        if arm in judged.wide and (count := _next_look(design, arm, have[arm])):
            cost = design.cost(arm, have[arm], count)
            if left is None or used + cost <= left:
                chosen[arm], used = count, used + cost
    alone = bool(chosen)
    had = sum(design.cost(arm, 0, count) for arm, count in have.items())
    if judged.headline_wide:
        used = _add_headline_blocks(design, have, judged, chosen, (used, had), left)
    more = any(_next_look(design, arm, chosen.get(arm, count)) for arm, count in have.items())
    if left is not None and more and not alone and spent < had and used < _LEAST_ROUND_SHARE * had:
        return {}
    return {arm: chosen[arm] for arm in have if arm in chosen}


def _add_headline_blocks(  # noqa: PLR0917
    design: StoppingPlan,
    have: Mapping[Arm, int],
    judged: PrecisionState,
    chosen: dict[Arm, int],
    calls: tuple[int, int],
    left: int | None,
) -> int:
    """Add blocks where a call reduces the headline's variance most, until the round is large enough for another interim
    analysis. Return the maximum number of calls in the round. Among equally useful arms, the first is chosen.

    The sizes of this round and of all rounds before it are maximum numbers of calls. If actual calls counted, short
    conversations would allow more interim analyses.
    """
    used, had = calls
    steps = [step for place, arm in enumerate(have) if (step := _next_step(design, have, judged, chosen, arm, place))]
    heapify(steps)
    while steps and used < (ROUND - 1) * had:
        _, place, arm, count, cost = heappop(steps)
        if left is not None and used + cost > left:
            continue
        chosen[arm], used = count, used + cost
        if step := _next_step(design, have, judged, chosen, arm, place):
            heappush(steps, step)
    return used


def _next_step(  # noqa: PLR0917
    design: StoppingPlan,
    have: Mapping[Arm, int],
    judged: PrecisionState,
    chosen: Mapping[Arm, int],
    arm: Arm,
    place: int,
) -> tuple[float, int, Arm, int, int] | None:
    """An arm's next step: the negated reduction of the headline's variance per call, `place`, the arm, its new number
    of blocks, and the calls. None if the arm has no further blocks. An arm's part in the variance is inversely
    proportional to its number of blocks."""
    at = chosen.get(arm, have[arm])
    if not (count := _next_look(design, arm, at)):
        return None
    cost = design.cost(arm, at, count)
    gain = judged.variance.get(arm, 0.0) * have[arm] * (1 / at - 1 / count) / max(cost, 1)
    return -gain, place, arm, count, cost


def _next_look(design: StoppingPlan, arm: Arm, count: int) -> int:
    """The next number of blocks after which Overton makes an interim analysis of the arm; 0 if the arm has no further
    blocks."""
    return next((look for look in design.looks[arm] if look > count), 0)


def _stop_reason(design: StoppingPlan, judged: PrecisionState, arm: Arm, count: int) -> str:
    if not judged.headline_wide and arm not in judged.wide:
        return PRECISE
    if count >= design.looks[arm][-1]:
        return WHOLE
    if design.calls is not None and (judged.headline_wide or arm in judged.wide):
        return SPENT
    return PRECISE


SHARE = "share"
"""The name that studies with blocks give to the proportion of yes in each arm."""
_FEWEST_TRIALS = 3


class AnsweredTrial(NamedTuple):
    """The answers of an arm, on [0, 1]: their sum, their number, and their sum of squares about the mean."""

    total: float = 0.0
    many: float = 0.0
    within: float = 0.0


class Mean(NamedTuple):
    """A headline: its name and title, the answers and weight of each of its arms, and its range. `numbers` is true if
    answers are numbers, whose variance must be estimated, and false if each answer is yes or no."""

    name: str
    title: str
    answers: Mapping[Arm, AnsweredTrial]
    weights: Mapping[Arm, float]
    low: float = 0.0
    high: float = 1.0
    numbers: bool = False


def twice(condition: str) -> int:
    """The number of blocks of a condition in the first round. It is two, so that the variation between conversations
    can be estimated."""
    return 2


def check_trials(options: Any, measures: Iterable[str]) -> Iterator[Problem]:
    """Yield a problem if the option `trials` is so small that a run cannot stop early."""
    trials = getattr(options, "trials", None)
    if isinstance(trials, int) and trials < _FEWEST_TRIALS:
        reason = f"the first round asks everything twice, so set at least {_FEWEST_TRIALS}"
        yield Problem(option_place("trials"), str(trials), reason)


def judged_by_means(
    looked: InterimResult,
    wanted: Mapping[str, float],
    means: Sequence[Mean],
    shares: Mapping[Arm, AnsweredTrial],
    title: str,
) -> PrecisionState:
    """The precision of the requested headlines (by default the first), and of `shares` if requested.

    Several of `means` may have the same name, such as one for each model. Then each of these means must reach the
    target precision.
    """
    limits, wide = _share_limits(looked, shares, wanted[SHARE], title) if SHARE in wanted else ([], frozenset())
    named = {name for name in wanted if name != SHARE} or (set() if wanted else {means[0].name})
    variance = dict.fromkeys(looked.records, 0.0)
    any_wide = False
    whole = []
    for mean in means:
        if mean.name not in named:
            continue
        limit, parts = _headline_limit(looked, mean, wanted.get(mean.name))
        whole.append(limit)
        if limit.wanted is None or not limit.half <= limit.wanted:
            any_wide = True
            for arm, part in parts.items():
                variance[arm] += part / (limit.wanted or 1.0) ** 2
    return PrecisionState([*whole, *limits], wide, any_wide, variance)


def _headline_limit(looked: InterimResult, mean: Mean, wanted: float | None) -> tuple[PrecisionLimit, dict[Arm, float]]:
    """A headline's limits, and each arm's part in its variance. Conditions differ, so an arm's mean and variance borrow
    strength only from arms of the same condition."""
    from math import sqrt

    if not any(answer.many for answer in mean.answers.values()):
        return PrecisionLimit(mean.name, mean.title, float("nan"), mean.low, mean.high, wanted), {}
    whole = sum(mean.weights.values())
    value = variance = 0.0
    parts: dict[Arm, float] = {}
    for name in sorted({arm.name for arm in mean.answers}):
        arms = sorted(arm for arm in mean.answers if arm.name == name)
        known = _condition_mean(mean, arms, whole)
        value, variance = value + known[0], variance + known[1]
        parts |= dict(zip(arms, known[2], strict=True))
    wide, half = mean.high - mean.low, looked.reach * sqrt(variance)
    low, high = (mean.low + wide * min(max(value + side * half, 0.0), 1.0) for side in (-1, 1))
    scaled = {arm: part * wide**2 for arm, part in parts.items()}
    return PrecisionLimit(mean.name, mean.title, mean.low + wide * value, low, high, wanted), scaled


def _condition_mean(mean: Mean, arms: Sequence[Arm], whole: float) -> tuple[float, float, list[float]]:
    """The contribution of one condition to a headline: its mean, its variance, and each arm's part in the variance
    [arms]."""
    import numpy as np

    from overton.statistics.stopping import mean_of_strata

    sums, counts, within = np.array([mean.answers[arm] for arm in arms], float).T
    weights = np.array([mean.weights[arm] / whole for arm in arms])
    known = mean_of_strata(sums, counts, weights, within if mean.numbers else None)
    return known.mean, known.variance, known.parts.tolist()


def _share_limits(
    looked: InterimResult, shares: Mapping[Arm, AnsweredTrial], width: float, title: str
) -> tuple[list[PrecisionLimit], frozenset[Arm]]:
    """Exact limits of each arm. Sums of answers are rounded down for the lower limit and up for the upper limit,
    because an answer can lie between yes and no."""
    from math import ceil, floor

    from overton.statistics.stopping import divide_level, exact_limits

    level = divide_level(looked.level, looked.arm_looks)
    found, wide = [], set()
    for arm in looked.records:
        answered = shares.get(arm, AnsweredTrial())
        low, _ = exact_limits(floor(answered.total), answered.many, level)
        _, high = exact_limits(ceil(answered.total), answered.many, level)
        value = answered.total / answered.many if answered.many else float("nan")
        found.append(PrecisionLimit(SHARE, title, value, float(low), float(high), width, *arm))
        if found[-1].half > width:
            wide.add(arm)
    return found, frozenset(wide)
