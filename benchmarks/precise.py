"""The accuracy of limits shown after stopping, for conversations: deliberation and stance stability.

    python benchmarks/precise.py [--simulations 500] [--study NAME ...] [--cell NAME ...] [--rule NAME] [--quick]

Conversations are drawn from items whose truth is known, and runs of at most 15 trials decide by them as real ones do.
(Tests check whether records are read correctly, which would take ten times as long here.) A row is a way of stopping in
a cell. It has the share of the trials that it took and the root mean square error of the number shown. Then come how
often its limits cover the items' true number, and their half-width. Next to it are two numbers that do not allow for
having stopped. 'plain' is the mean over conversations with two standard errors over them, as in reports of 0.2.0
outside the section 'Precision'. 'weighted' is weighted by planned over asked trials, with the usual interval over
items, as reports have it now. Numbers are in points, hundredths of their own unit.

`--rule divided` stops by the limits of 0.2.0. `--quick` stops runs by both rules in the cells of `QUICK` and exits with
1 if a claim of docs/price.md fails.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import comb, isnan, nan, sqrt
from time import perf_counter
from typing import NamedTuple

import numpy as np

from overton.calls import Trial
from overton.statistics.jackknife import Jackknife
from overton.studies.deliberation.precision import BLOCKS as TALKS
from overton.studies.precision import (
    AnsweredTrial,
    Arm,
    Blocks,
    InterimResult,
    Mean,
    PrecisionLimit,
    PrecisionState,
    PrecisionTarget,
    Rule,
    StoppingPlan,
    TrialOutcome,
    decide,
    judged_by_means,
)
from overton.studies.stance_stability.precision import BLOCKS as CONVERSATIONS

TRIALS, TURNS = 15, 6
SURE = 0.67
STANCES = ("supportive", "critical", "balanced")
SIDES = {"supportive": 1.0, "critical": -1.0, "balanced": 0.0}


class Planned(Trial, frozen=True):
    """A trial, as far as its block goes."""

    repetition: int


@dataclass(frozen=True)
class Item:
    """Chances of what a conversation on an item does, each with its weight: consensus, or a change at a turn."""

    chances: tuple[float, ...]
    parts: tuple[float, ...] = (1.0,)

    def mean(self, of: Callable[[float], float]) -> float:
        """The mean of a function of the chance."""
        return sum(part * of(chance) for chance, part in zip(self.chances, self.parts, strict=True))


Made = Callable[[np.random.Generator], list[Item]]


def _even(chance: float, count: int = 12) -> Made:
    return lambda rng: [Item((chance,))] * count


def _spread(count: int, often: float = 0.5) -> Made:
    return lambda rng: [Item((float(one),)) for one in rng.beta(2 * often, 2 * (1 - often), count)]


def _halves(rare: float, often: float) -> Made:
    return lambda rng: [Item((rare,))] * 6 + [Item((often,))] * 6


def _one(often: float) -> Made:
    return lambda rng: [Item((0.0,))] * 11 + [Item((often,))]


def _two(rare: float, often: float) -> Made:
    return lambda rng: [Item((rare,))] * 10 + [Item((often,))] * 2


def _sure(often: float) -> Made:
    return lambda rng: [Item((float(rng.random() < often),)) for _ in range(12)]


def _torn(chance: float) -> Made:
    """Each conversation is one that does not move, or one that moves twice as often."""
    return lambda rng: [Item((0.0, 2 * chance), (0.5, 0.5))] * 12


CELLS: dict[str, dict[str, Made]] = {
    "deliberation": {
        "even, 50%": _even(0.5),
        "even, 5%": _even(0.05),
        "half 2%, half 50%": _halves(0.02, 0.5),
        "half 50%, half 95%": _halves(0.5, 0.95),
        "spread": _spread(12),
        "deterministic": _sure(0.8),
        "one of 12 at 50%": _one(0.5),
        "ten 0%, two 90%": _two(0.0, 0.9),
        "3 dilemmas": _spread(3),
        "40 dilemmas": _spread(40, 0.7),
    },
    "stance-stability": {
        "even, 30%": _even(0.3),
        "even, 3%": _even(0.03),
        "half 2%, half 50%": _halves(0.02, 0.5),
        "torn, 20%": _torn(0.2),
        "spread": _spread(12),
        "deterministic": lambda rng: [Item((float(one > 0.8),)) for one in rng.random(12)],
        "one of 12 at 50%": _one(0.5),
        "ten 2%, two 80%": _two(0.02, 0.8),
        "3 topics": _spread(3),
        "40 topics": _spread(40, 0.3),
    },
}
WANTED: dict[str, list[tuple[dict[str, float], ...]]] = {
    "deliberation": [
        ({"consensus": 0.15}, {"consensus": 0.1}),
        ({"changed": 0.1},),
        ({"consensus": 0.15, "share": 0.4},),
    ],
    "stance-stability": [
        ({"change_rate": 0.08}, {"change_rate": 0.05}, {"change_rate": 0.04}),
        ({"chameleon": 0.05},),
        ({"drift": 0.25},),
    ],
}
"""Ways of stopping; those that differ in the width of one measure alone decide alike until they stop, and are one run,
looked at in several places."""


def _deliberation(chance: float, draw: random.Random) -> dict[str, float]:
    """Two agents who agree, half of the time at once and otherwise because one gives way, or who do not agree."""
    agreed, at_once, who = draw.random() < chance, draw.random() < 0.5, draw.randrange(2)
    moved = agreed and not at_once
    return {"consensus": float(agreed), "changed": float(moved and who == 0), "other": float(moved and who == 1)}


def _conversation(chance: float, draw: random.Random) -> dict[str, float]:
    """A stance that changes to one of the others at each turn with a chance; the same page cited throughout."""
    stances = ["supportive"]
    for _ in range(TURNS - 1):
        others = [one for one in STANCES if one != stances[-1]]
        stances.append(draw.choice(others) if draw.random() < chance else stances[-1])
    changes = sum(one != two for one, two in pairwise(stances))
    score = sqrt(((changes / (TURNS - 1)) ** 2 + (SURE * (changes > 0)) ** 2 + 1) / 3)
    drift = SIDES[stances[-1]] - SIDES[stances[0]]
    return {"change_rate": changes / (TURNS - 1), "chameleon": score, "drift": drift}


def _answered(looked: InterimResult, measure: str, low: float = 0.0, high: float = 1.0) -> dict[Arm, AnsweredTrial]:
    made = {}
    for arm, given in looked.records.items():
        values = [(one[measure] - low) / (high - low) for one in given]
        mean = sum(values) / max(len(values), 1)
        made[arm] = AnsweredTrial(sum(values), len(values), sum((one - mean) ** 2 for one in values))
    return made


def _judged(looked: InterimResult, wanted: Mapping[str, float]) -> PrecisionState:
    """As both studies judge."""
    weights = dict.fromkeys(looked.records, 1.0)
    some = next(iter(looked.records.values()))[0]
    if "consensus" in some:
        agreed = _answered(looked, "consensus")
        means = [Mean("consensus", "", agreed, weights)]
        means += [Mean("changed", "", _answered(looked, name), weights) for name in ("changed", "other")]
        return judged_by_means(looked, wanted, means, agreed, "")
    within = {"change_rate": (0.0, 1.0), "chameleon": (0.0, 1.0), "drift": (-2.0, 2.0)}
    numbers = [
        Mean(name, "", _answered(looked, name, *ends), weights, *ends, numbers=True) for name, ends in within.items()
    ]
    return judged_by_means(looked, wanted, numbers, {}, "")


def _score(chance: float) -> float:
    """The expected Chameleon score: re-use is 1, certainty at changes is `SURE` if there are any."""
    pairs = TURNS - 1
    each = (comb(pairs, k) * chance**k * (1 - chance) ** (pairs - k) for k in range(pairs + 1))
    return sum(p * sqrt(((k / pairs) ** 2 + (SURE * (k > 0)) ** 2 + 1) / 3) for k, p in enumerate(each))


def _drift(chance: float) -> float:
    step = np.full((3, 3), chance / 2) + np.eye(3) * (1 - 1.5 * chance)
    return float(np.linalg.matrix_power(step, TURNS - 1)[0] @ [SIDES[one] for one in STANCES]) - 1.0


TRUE: dict[str, Callable[[float], float]] = {
    "consensus": lambda chance: chance,
    "changed": lambda chance: chance / 4,
    "change_rate": lambda chance: chance,
    "chameleon": _score,
    "drift": _drift,
    "share": lambda chance: chance,
}


class Number(NamedTuple):
    """A number with its limits."""

    value: float
    low: float
    high: float


class Shown(NamedTuple):
    """The results of one run: its limits, the truth by measure, its share of trials, and the plain and the weighted
    number, each with its limits."""

    limits: list[PrecisionLimit]
    items: dict[str, Item]
    part: float
    plain: Number
    weighted: Number


def run(study: str, items: list[Item], ways: tuple[dict[str, float], ...], seed: int, rule: Rule) -> list[Shown]:
    """The results of each of several ways for one run, the widest first."""
    blocks, hold = (TALKS, _deliberation) if study == "deliberation" else (CONVERSATIONS, _conversation)
    own = Blocks(lambda trial: ("all", trial.repetition), blocks.goals, _judged, blocks.first)
    named = {f"i{number:02}": item for number, item in enumerate(items)}
    trials = [Planned(f"{name}/r{k}", name, 0, k) for name in named for k in range(1, TRIALS + 1)]
    design = StoppingPlan(own, trials, PrecisionTarget(ways[-1], rule=rule), 0)
    measure = next(iter(ways[-1]))
    ended: dict[str, TrialOutcome] = {}
    shown: list[Shown] = []
    while (decision := decide(design, ended)).blocks:
        if ended and len(shown) < len(ways) - 1 and decision.limits[0].half <= ways[len(shown)][measure]:
            shown.append(_shown(measure, decision.limits, named, ended, len(trials)))
        for trial in design.chosen(decision, ended.keys()):
            draw = random.Random(f"{seed}/{trial.name}")
            item = named[trial.item]
            (chance,) = draw.choices(item.chances, item.parts)
            ended[trial.name] = TrialOutcome([hold(chance, draw)], 1)
    last = _shown(measure, decision.limits, named, ended, len(trials))
    return [*shown, *[last] * (len(ways) - len(shown))]


def _shown(
    measure: str, limits: list[PrecisionLimit], items: dict[str, Item], ended: dict[str, TrialOutcome], trials: int
) -> Shown:
    by_item: dict[str, list[float]] = defaultdict(list)
    for name, one in ended.items():
        by_item[name.rpartition("/")[0]].append(one.records[0][measure])
    values = np.concatenate([*by_item.values()])
    mean, half = float(values.mean()), 2 * float(values.std(ddof=1)) / sqrt(len(values))
    weights = [TRIALS / len(own) for own in by_item.values()]
    above = [weight * sum(own) for weight, own in zip(weights, by_item.values(), strict=True)]
    below = [weight * len(own) for weight, own in zip(weights, by_item.values(), strict=True)]
    within = (-2.0, 2.0) if measure == "drift" else (0.0, 1.0)
    usual = Jackknife().ratio(above, below, within)
    weighted = Number(usual.value, usual.low, usual.high)
    return Shown(limits, items, len(ended) / trials, Number(mean, mean - half, mean + half), weighted)


class Row(NamedTuple):
    """A way of stopping in a cell, in percent and points. The trials it took come first, then error, coverage and
    half-width of the limits. Last are error and coverage of plain and of weighted numbers, NaN for proportions."""

    study: str
    cell: str
    way: str
    measure: str
    trials: float
    error: float
    held: float
    half: float
    plain: tuple[float, float]
    weighted: tuple[float, float]
    limits: int


def rows(
    study: str, cell: str, simulations: int, rule: Rule, chosen: Sequence[tuple[dict[str, float], ...]] = ()
) -> Iterator[Row]:
    """A row for each way of stopping and measure; of all `WANTED`, or of those `chosen`."""
    for number, ways in enumerate(WANTED[study]):
        if chosen and ways not in chosen:
            continue
        drawn = (CELLS[study][cell](np.random.default_rng((seed, number))) for seed in range(simulations))
        found = [run(study, items, ways, seed * 10 + number, rule) for seed, items in enumerate(drawn)]
        for way, wanted in enumerate(ways):
            own = [shown[way] for shown in found]
            name = ", ".join(f"{measure}={width:g}" for measure, width in wanted.items())
            for measure in wanted:
                yield counted((study, cell, name, measure), own)


def counted(of: tuple[str, str, str, str], found: Sequence[Shown]) -> Row:
    """The row of some runs."""
    measure = of[3]
    errors, held, halves = [], [], []
    others: dict[str, list[tuple[float, bool | None]]] = {"plain": [], "weighted": []}
    for shown in found:
        mean = float(np.mean([item.mean(TRUE[measure]) for item in shown.items.values()]))
        for limit in shown.limits:
            if limit.measure != measure:
                continue
            true = shown.items[limit.item].mean(TRUE[measure]) if limit.item else mean
            errors.append(limit.value - true)
            held.append(limit.low - 1e-9 <= true <= limit.high + 1e-9)
            halves.append(limit.half)
        for name, some in others.items():
            one: Number = getattr(shown, name)
            if measure != "share":
                held_ = None if isnan(one.low) else one.low - 1e-9 <= mean <= one.high + 1e-9
                some.append((one.value - mean, held_))
    plain, weighted = (
        (_rms([e for e, _ in some]), _percent([h for _, h in some if h is not None])) for some in others.values()
    )
    part = 100 * float(np.mean([one.part for one in found]))
    limits = (_rms(errors), _percent(held), 100 * float(np.mean(halves)))
    return Row(*of, part, *limits, plain, weighted, len(held))


def _rms(errors: Sequence[float]) -> float:
    return 100 * sqrt(float(np.mean(np.square(errors)))) if errors else nan


def _percent(flags: Sequence[bool]) -> float:
    return 100 * float(np.mean(flags)) if flags else nan


HEAD = (
    "| study | cell | asked for | measure | trials, % | error | limits cover, % | half-width |"
    " plain: error | covers, % | weighted: error | covers, % |\n|---|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|"
)


def formatted(row: Row) -> str:
    """A line of the table."""
    numbers = (row.error, row.held, row.half, *row.plain, *row.weighted)
    shown = " | ".join("" if isnan(one) else f"{one:.1f}" for one in numbers)
    return f"| {row.study} | {row.cell} | {row.way} | {row.measure} | {row.trials:.0f} | {shown} |"


QUICK: tuple[tuple[str, str, tuple[dict[str, float], ...]], ...] = (
    ("stance-stability", "ten 2%, two 80%", WANTED["stance-stability"][0]),
    ("stance-stability", "spread", WANTED["stance-stability"][0]),
    ("deliberation", "ten 0%, two 90%", WANTED["deliberation"][0]),
    ("deliberation", "spread", WANTED["deliberation"][0]),
)


def quick(simulations: int) -> Iterator[str]:
    """Print the cells of `QUICK` by both rules, and give each claim that fails.

    Coverage is at least 95% but for three standard errors of as many simulations. Where the plain number is more than 5
    points off, the weighted one is off by less than half as much. Repeated limits take fewer trials.
    """
    print(HEAD)
    trials: dict[Rule, float] = {"divided": 0.0, "repeated": 0.0}
    for rule in trials:
        for study, cell, ways in QUICK:
            for row in rows(study, cell, simulations, rule, [ways]):
                print(formatted(row).replace(f"| {study} |", f"| {study} ({rule}) |", 1), flush=True)
                trials[rule] += row.trials
                least = 95 - 300 * sqrt(0.05 * 0.95 / simulations)
                if row.held < least:
                    yield f"{cell}, {row.way}: limits cover in {row.held:.1f}%, not {least:.1f}% or more"
                if row.plain[0] > 5 and not row.weighted[0] < row.plain[0] / 2:
                    yield f"{cell}, {row.way}: weighted error {row.weighted[0]:.1f}, plain {row.plain[0]:.1f}"
    if not trials["repeated"] < 0.95 * trials["divided"]:
        yield f"repeated limits take {trials['repeated'] / trials['divided']:.2f} of the trials of divided ones"


def main() -> None:
    """Print a table for each study."""
    parser = argparse.ArgumentParser(description="Coverage of limits after stopping, for conversations.")
    parser.add_argument("--simulations", type=int, default=500)
    parser.add_argument("--study", nargs="+", choices=[*CELLS], default=[*CELLS])
    parser.add_argument("--cell", nargs="+", default=None)
    parser.add_argument("--rule", choices=["repeated", "divided"], default="repeated")
    parser.add_argument("--quick", action="store_true")
    chosen = parser.parse_args()
    started = perf_counter()
    if chosen.quick:
        failed = list(quick(50))
        print(f"\n{perf_counter() - started:.0f} s")
        sys.exit("\n".join(failed) or 0)
    print(f"{TRIALS} trials at most, {chosen.simulations} simulations each, {chosen.rule} limits\n\n{HEAD}")
    for study in chosen.study:
        for cell in chosen.cell or CELLS[study]:
            for row in rows(study, cell, chosen.simulations, chosen.rule):
                print(formatted(row), flush=True)
    print(f"\n{perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
