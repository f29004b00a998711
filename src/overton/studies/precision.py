"""Stopping when it is precise: what is stored of it, the decision where a run continues, and means so far.

A run proceeds in rounds of whole blocks. After each, `decide` says from the records so far, and from nothing else,
which arms (an item in one condition) get further blocks: those whose own interval is too wide, and those where a block
narrows the headline most for its calls. Numbers of blocks grow geometrically, so that limits stay valid however often
one looked (`overton.statistics.stopping`).

A headline of such a study is a mean of one value per conversation, a yes or no or a number with bounds. In a run that
stops, items have unequal numbers of conversations. A headline's limits are those of its mean over arms (an item in a
condition), each with its weight in the whole design (`overton.statistics.stopping`), which allow for having stopped.
The usual measures have the same weights (`overton.studies.arm_weights`), and the usual intervals over items.
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
"""The level of all limits."""

PRECISE, SPENT, WHOLE = "precise enough", "no more calls were allowed", "all of its trials were asked"
"""Why an arm got no further block."""

Rule = Literal["divided", "repeated"]


class PrecisionTarget(msgspec.Struct, frozen=True, omit_defaults=True):
    """The precision that a run is to reach: half-widths by measure, in the measure's units, and the most calls in all.

    `rule` says how limits stay valid over several looks: by a level 'divided' among them, as in runs of 0.2.0, whose
    manifests do not mention it; or as 'repeated' intervals, which are narrower.
    """

    measures: dict[str, float] = {}
    calls: int | None = None
    rule: Rule = "divided"


class PrecisionLimit(msgspec.Struct, frozen=True, omit_defaults=True):
    """A number for these items and wordings, with limits that are valid at `LEVEL` after stopping; for a whole model if
    `item` is ''. `wanted` is the half-width requested, None if none was."""

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
        """Its half-width."""
        return (self.high - self.low) / 2


class Stop(msgspec.Struct, frozen=True):
    """How many blocks an arm got, of how many trials in all, and why no more."""

    item: str
    arm: str
    blocks: int
    trials: int
    why: str


class Decision(msgspec.Struct, frozen=True):
    """The decision from the records so far: the new number of blocks of each arm that gets more; empty if all stop.

    `calls` were made until then. `limits` are what is known; `stops` say for every arm why, if all stop.
    """

    blocks: list[tuple[str, str, int]] = []
    calls: int = 0
    limits: list[PrecisionLimit] = []
    stops: list[Stop] = []


class StopState(msgspec.Struct, frozen=True):
    """The state of a model's trials in a run: how many rounds they took, the last decision, and how many there are."""

    rounds: int
    last: Decision
    trials: int


ROUND = 1.35
"""By what factor a round multiplies the number of calls, at least, while the headline is still too wide."""
_LEAST_ROUND_SHARE = 0.15
"""The least that a round adds, as a share of the calls so far, if the calls allowed cut it short. Trials that take
fewer calls than they may leave some for another such round, again and again: there are at most `_MAX_SHORT_ROUNDS`."""
_MAX_SHORT_ROUNDS = 4


class Arm(NamedTuple):
    """An item in one condition: the unit that gets further blocks or does not."""

    item: str
    name: str


class PrecisionState(NamedTuple):
    """The precision that records show: `limits`, the arms that are too wide by themselves, whether the headline is,
    and how much of its variance rests on each arm's answers."""

    limits: list[PrecisionLimit]
    wide: frozenset[Arm]
    headline_wide: bool
    variance: Mapping[Arm, float]


@dataclass(frozen=True)
class Goal:
    """A measure whose half-width can be requested: its title, and the largest half-width."""

    title: str
    most: float


class InterimResult(NamedTuple):
    """The answers to judge: records by arm, how often an arm and the whole can have been looked at, the seed, how many
    trials a block of each arm has, and the rule by which limits stay valid."""

    records: Mapping[Arm, Sequence[Any]]
    arm_looks: int
    looks: int
    level: float
    seed: int
    sizes: Mapping[Arm, int] = {}
    rule: Rule = "divided"

    @property
    def reach(self) -> float:
        """How many standard errors limits of the whole extend to either side.

        Repeated intervals are for as many looks as there can be, each with `ROUND` times the information of the one
        before: fewer looks with larger steps between them need less.
        """
        from overton.statistics.proportions import quantile
        from overton.statistics.stopping import divide_level, repeated_reach

        if self.rule == "repeated":
            return repeated_reach(self.level, tuple(ROUND**look for look in range(self.looks)))
        return quantile(divide_level(self.level, self.looks))


@dataclass(frozen=True)
class Blocks:
    """A study's declaration of its blocks, so that it can stop once it is precise.

    of        `of(trial)` gives the name of its condition, and the number of its block there, from 1 on. A block is
              all trials of an item and condition with one number: every template and wording, so that it is balanced
    goals     the measures whose half-width can be requested, by name, the headline first
    judge     `judge(looked, measures)` says how precise records are, whatever their order
    first     how many blocks of a condition are asked before the first look
    check     `check(options, measures)` says what cannot be combined with stopping
    trial     the column of records that names the trial
    like      `like(record, trial)` gives a pilot's record as if it were one of another trial of its condition
    longest   `longest(trial)` gives the trial as one that makes as many calls as any of its condition can
    weighted  whether the study's measures weight records by the column `overton.studies.arm_weights.WEIGHT`, or leave
              numbers out; otherwise reports say that items asked more often count more
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
        """The problems of the request."""
        place = option_place("precision")
        for name, width in wanted.measures.items():
            if name not in self.goals:
                yield Problem(place, name, f"no such measure; there is {', '.join(self.goals)}")
            elif isnan(width) or not 0 < width < self.goals[name].most:
                yield Problem(place, f"{name}={width:g}", f"must be above 0 and below {self.goals[name].most:g}")
        yield from self.check(options, wanted.measures)


class TrialOutcome(NamedTuple):
    """The outcome of a trial: its records, and how many calls it made."""

    records: Sequence[Any]
    calls: int


@dataclass(frozen=True)
class StoppingPlan:
    """The plan of a lane at its longest, in blocks: what a decision chooses from.

    `most` is the most calls that a trial can make, by its arm; `calls` how many the lane may make in all.
    """

    blocks: Blocks
    trials: Sequence[Trial]
    wanted: PrecisionTarget
    seed: int
    most: Mapping[Arm, int] = field(default_factory=dict)
    calls: int | None = None

    def __post_init__(self) -> None:
        """Refuse nulls: their headlines are compared with those of a full design.

        Raises:
            InputError: the plan has trials of nulls.
        """
        if any(null_of(trial.name) for trial in self.trials):
            reason = "nulls are asked whole: run them separately, without it"
            raise InputError([Problem(option_place("precision"), "", reason)])

    @cached_property
    def arms(self) -> dict[Arm, list[list[Trial]]]:
        """The blocks of every arm, in plan order, by their numbers."""
        found: dict[Arm, dict[int, list[Trial]]] = defaultdict(lambda: defaultdict(list))
        for trial in self.trials:
            name, number = self.blocks.of(trial)
            found[Arm(trial.item, name)][number].append(trial)
        return {arm: [own[number] for number in sorted(own)] for arm, own in found.items()}

    @cached_property
    def looks(self) -> dict[Arm, tuple[int, ...]]:
        """The numbers of blocks at which each arm is looked at."""
        from overton.statistics.stopping import looks

        return {arm: looks(self.blocks.first(arm.name), len(own)) for arm, own in self.arms.items()}

    @cached_property
    def order(self) -> dict[str, int]:
        """The place of each trial in the plan."""
        return {trial.name: place for place, trial in enumerate(self.trials)}

    def cost(self, arm: Arm, start: int, end: int) -> int:
        """How many calls the blocks of an arm from one number to another can make."""
        return sum(map(len, self.arms[arm][start:end])) * self.most.get(arm, 1)

    @property
    def first_round(self) -> int:
        """How many calls the first round can make."""
        return sum(self.cost(arm, 0, counts[0]) for arm, counts in self.looks.items())

    @property
    def whole(self) -> int:
        """How many calls all of it can make."""
        return sum(self.cost(arm, 0, counts[-1]) for arm, counts in self.looks.items())

    @property
    def most_looks(self) -> int:
        """How often the whole can be looked at; more often if arms are looked at by themselves."""
        from overton.statistics.stopping import most_looks

        alone = max((len(counts) for counts in self.looks.values()), default=1) if len(self.wanted.measures) > 1 else 0
        cut_short = _MAX_SHORT_ROUNDS if self.calls is not None and max(self.most.values(), default=1) > 1 else 0
        return most_looks(self.first_round, self.whole, ROUND) + 1 + alone + cut_short

    def chosen(self, decision: Decision, ended: Set[str]) -> list[Trial]:
        """The trials that a decision adds to those that have finished, in plan order."""
        made = [
            trial
            for item, name, count in decision.blocks
            for block in self.arms.get(Arm(item, name), [])[:count]
            for trial in block
            if trial.name not in ended
        ]
        return sorted(made, key=lambda trial: self.order[trial.name])


def decide(design: StoppingPlan, ended: Mapping[str, TrialOutcome]) -> Decision:
    """Where a lane continues after the trials that have finished, by their names; only whole blocks of them count.

    Nothing else matters: neither the order of trials or records, nor time, nor other lanes.
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
    """The new number of blocks of each arm that gets more: first those too wide, then where the headline gains most."""
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
    """Add blocks where a call gains the headline most, until the round is large enough for another look, and return how
    many calls the round can then make. Of arms that gain as much the first comes first.

    A round's size is counted in calls that can be made, like that of all rounds before it: by the number of calls
    actually made, shorter conversations would allow more looks.
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
    """An arm's next step: the headline's variance that it removes per call (negated), the place, the arm, its blocks
    then, and the calls; None if there is none. The variance that rests on an arm falls as its blocks grow."""
    at = chosen.get(arm, have[arm])
    if not (count := _next_look(design, arm, at)):
        return None
    cost = design.cost(arm, at, count)
    gain = judged.variance.get(arm, 0.0) * have[arm] * (1 / at - 1 / count) / max(cost, 1)
    return -gain, place, arm, count, cost


def _next_look(design: StoppingPlan, arm: Arm, count: int) -> int:
    """The next number of blocks at which the arm is looked at, 0 if there is none."""
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
"""The name that every such study gives to its shares of yes in each arm."""
_FEWEST_TRIALS = 3


class AnsweredTrial(NamedTuple):
    """The answers of an arm, on [0, 1]: their sum, their number, and the sum of squares about their mean."""

    total: float = 0.0
    many: float = 0.0
    within: float = 0.0


class Mean(NamedTuple):
    """A headline: its name and title, the answers and weight of each arm that has it, its range, and whether its
    answers are numbers, whose spread has to be estimated; otherwise each is yes or no."""

    name: str
    title: str
    answers: Mapping[Arm, AnsweredTrial]
    weights: Mapping[Arm, float]
    low: float = 0.0
    high: float = 1.0
    numbers: bool = False


def twice(condition: str) -> int:
    """The blocks of a condition in the first round: one conversation does not show how another would go."""
    return 2


def check_trials(options: Any, measures: Iterable[str]) -> Iterator[Problem]:
    """A problem if the option `trials` allows so few that a run has nowhere to stop."""
    trials = getattr(options, "trials", None)
    if isinstance(trials, int) and trials < _FEWEST_TRIALS:
        reason = f"the first round asks everything twice: allow {_FEWEST_TRIALS} or more"
        yield Problem(option_place("trials"), str(trials), reason)


def judged_by_means(
    looked: InterimResult,
    wanted: Mapping[str, float],
    means: Sequence[Mean],
    shares: Mapping[Arm, AnsweredTrial],
    title: str,
) -> PrecisionState:
    """The precision of the requested headlines (the first if none is requested), and of `shares` if they are.

    Several of `means` may have the same name (one per model): each of them then has to be as precise.
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
    """A headline's limits, and how much of its variance rests on each arm. Conditions differ, so only arms of the same
    condition inform each other."""
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
    """Mean, variance and its parts [arms], for one condition's part of a headline."""
    import numpy as np

    from overton.statistics.stopping import mean_of_strata

    sums, counts, within = np.array([mean.answers[arm] for arm in arms], float).T
    weights = np.array([mean.weights[arm] / whole for arm in arms])
    known = mean_of_strata(sums, counts, weights, within if mean.numbers else None)
    return known.mean, known.variance, known.parts.tolist()


def _share_limits(
    looked: InterimResult, shares: Mapping[Arm, AnsweredTrial], width: float, title: str
) -> tuple[list[PrecisionLimit], frozenset[Arm]]:
    """Exact limits of each arm; an answer between yes and no, made of several, counts as the worse one."""
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
