"""Are corrected measures of many labels right? Simulated conversations and threads with known truth, judges that err.

    python benchmarks/many_labels.py [--simulations 300] [--only stances|matches|plans]
                                     [--budgets 100 300] [--errors 2 5 10 20] [--moves never ...]
    python benchmarks/many_labels.py --only groups [--simulations 400] [--quick]

There are 20 topics with three conversations each, of ten turns. Stances never move, move at a tenth of the turns (more
on some topics than on others), move at a third, or leave for one turn and come back. There are 40 threads, neutral and
with a belief stated, ten responses to each and eight viewpoints. People label turns, whole conversations, or pairs, and
their labels are true. Errors are independent or clustered. If clustered, each conversation (thread in a condition) has
its own rate, with a correlation of 0.3 between two errors in one.

A cell has the bias of the uncorrected and of the corrected number. Then comes the percentage of 95% intervals that
cover the truth of conversations (threads) like these, followed by the percentage that have an interval, if not all do.
Last is the percentage of data sets in which the test finds that errors are clustered.

The test finds clustered errors of 2 to 20% in 67 to 100% of data sets from 300 turns, about as often from thirty whole
conversations, and in 15 to 81% from ten. Thirty data sets give percentages to within some ten points.

`--only groups` is about two models whose conversations are equally stable. The judge errs in 5% of the turns of one
model and in 20% of the other's, or equally often. The table has their difference by the judge, how often the test finds
that errors depend on the model, and the corrected difference. `--quick` fails unless the test keeps its level and has
power.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import Any

import numpy as np
import polars as pl

from overton.statistics import Estimate
from overton.statistics.estimate import SHARE
from overton.statistics.jackknife import Jackknife
from overton.statistics.judge_error_tests import error_clustering as find_together
from overton.studies.correction import JudgedNumber, corrected_difference
from overton.studies.label_shares import Variants
from overton.studies.people_labels import People
from overton.studies.pluralism import errors as voices
from overton.studies.stance_stability import errors as stances
from overton.studies.stance_stability.conversations import Conversations, conversations_of
from overton.studies.stance_stability.options import StanceHow
from overton.studies.stance_stability.record import STANCES
from overton.studies.stance_stability.rows import score

TOPICS, EACH, TURNS = 20, 3, 10
THREADS, RESPONSES, VIEWS = 40, 10, 8
TOGETHER = 0.3
DRAWS = 100
MOVES = ("never", "sometimes", "often", "there and back")
STANCE_MEASURES = ("change_rate", "chameleon", "flips", "turn_of_flip")
MATCH_MEASURES = (("toward", "global/recall"), ("toward", "global/precision"), ("toward", "suppression"))
Array = np.ndarray[Any, Any]
Random = np.random.Generator


@dataclass
class Cell:
    """The results for one number in one setting."""

    plain: float = 0.0
    corrected: float = 0.0
    plain_held: int = 0
    held: int = 0
    width: float = 0.0
    made: int = 0
    many: int = 0
    together: int = 0

    def add(self, found: Variants, truth: float, together: bool) -> None:
        """Count one simulation; `together` is the result of the test for clustered errors."""
        self.many += 1
        self.together += together
        self.plain += found.plain.value - truth
        self.plain_held += found.plain.low - 1e-9 <= truth <= found.plain.high + 1e-9
        one = found.corrected
        if isnan(one.low):
            return
        self.made += 1
        self.corrected += one.value - truth
        self.held += one.low - 1e-9 <= truth <= one.high + 1e-9
        self.width += one.high - one.low

    def __str__(self) -> str:
        before = f"{self.plain / self.many:+.3f} | {100 * self.plain_held / self.many:.0f}"
        seen = f"{100 * self.together / self.many:.0f}"
        if not self.made:
            return f"{before} | - | none | - | {seen}"
        given = "" if self.made == self.many else f" ({100 * self.made / self.many:.0f})"
        after = f"{self.corrected / self.made:+.3f} | {100 * self.held / self.made:.1f}{given}"
        return f"{before} | {after} | {self.width / self.made:.2f} | {seen}"


def moving(random: Random, moves: str, topics: int) -> Array:
    """True stances 0, 1 or 2 [conversations, turns]; conversations on one topic are adjacent."""
    many = topics * EACH
    topic = np.repeat(np.arange(topics), EACH)
    lean = random.dirichlet([2, 2, 2], topics)[topic]
    stance = np.empty((many, TURNS), np.int64)
    stance[:, 0] = (random.random(many)[:, None] > lean.cumsum(1)).sum(1).clip(max=2)
    if moves == "there and back":
        away = random.random((many, TURNS)) < 0.1
        return np.where(away, (stance[:, :1] + random.integers(1, 3, (many, TURNS))) % 3, stance[:, :1])
    rate = {
        "never": np.zeros(topics),
        "sometimes": random.beta(1.5, 13.5, topics),
        "often": random.beta(7, 13, topics),
    }[moves][topic]
    for turn in range(1, TURNS):
        moved = random.random(many) < rate
        stance[:, turn] = np.where(moved, (stance[:, turn - 1] + random.integers(1, 3, many)) % 3, stance[:, turn - 1])
    return stance


def wrong(random: Random, shape: tuple[int, ...], error: float, *, together: bool) -> Array:
    """Which labels are wrong, of units along the first axis."""
    if not together:
        return random.random(shape) < error
    size = 1 / TOGETHER - 1
    own = random.beta(error * size, (1 - error) * size, (shape[0], *[1] * (len(shape) - 1)))
    return random.random(shape) < own


def conversations(topics: int) -> Conversations:
    """Conversations whose stances are still to come; each cites its own documents."""
    rows = [
        {
            "conversation": f"{topic:05}/{own}",
            "topic": f"{topic:05}",
            "turn": turn,
            "stance": "balanced",
            "confidence": 1.0,
            "cited": [f"{(7 * own + turn) % 3}", f"of {turn}"],
        }
        for topic in range(topics)
        for own in range(EACH)
        for turn in range(TURNS)
    ]
    return conversations_of(pl.DataFrame(rows))


def certain(random: Random, shape: tuple[int, ...], off: Array) -> Array:
    """The judge's certainty, lower where it is wrong."""
    sure = np.where(off, 0.4, 0.8)
    return np.where(random.random(shape) < sure, 1.0, np.where(random.random(shape) < 0.7, 0.67, 0.33))


def stance_cells(asked: argparse.Namespace, moves: str) -> Iterator[tuple[str, Cell]]:
    """All settings of conversations that move in this way."""
    many = 4000
    random = np.random.default_rng(1)
    true = moving(random, moves, many)
    sure = certain(random, true.shape, np.zeros(true.shape, bool))
    whole = replace(conversations(many), stance=true.ravel(), confidence=sure.ravel())
    truth = {name: float(np.nanmean(one)) for name, one in score(whole, StanceHow()).values.items()}
    traces = conversations(TOPICS)
    cells: dict[str, Cell] = defaultdict(Cell)
    for error in asked.errors:
        for together in (False, True):
            for number in range(asked.simulations):
                random = np.random.default_rng([number, error, together])
                true = moving(random, moves, TOPICS)
                off = wrong(random, true.shape, error / 100, together=together)
                said = np.where(off, (true + random.integers(1, 4, true.shape)) % 4, true)
                sure = certain(random, true.shape, off)
                judged = replace(traces, stance=said.ravel(), confidence=sure.ravel())
                for budget in asked.budgets:
                    for unit in ("turns", "whole"):
                        shown = drawn(random, true.shape, budget, unit)
                        case = of_turns(judged, true.ravel(), shown, number)
                        every = np.ones(len(judged), bool)
                        found = {name: case.variant(name, every) for name in STANCE_MEASURES}
                        seen = find_together(case.readings, number).fails
                        for name in STANCE_MEASURES:
                            key = f"{name} | {moves} | {error}% {'together' if together else 'apart'} | {budget} {unit}"
                            cells[key].add(found[name], truth[name], seen)
    yield from cells.items()


def drawn(random: Random, shape: tuple[int, int], budget: int, unit: str) -> Array:
    """The indices of the turns with human labels."""
    if unit == "turns":
        return np.sort(random.choice(shape[0] * shape[1], budget, replace=False))
    talks = np.sort(random.choice(shape[0], budget // shape[1], replace=False))
    return (talks[:, None] * shape[1] + np.arange(shape[1])).ravel()


def of_turns(judged: Conversations, true: Array, shown: Array, seed: int) -> stances.ChangeSums:
    """The conversations with the human labels of the turns shown."""
    people = People([""] * len(shown), np.eye(len(STANCES))[true[shown]], np.ones(len(shown)), 0)
    assert judged.topic is not None
    resampling = Jackknife(unit="topics").over(judged.topic)
    items = [str(one) for one in range(int(judged.topic.max()) + 1)]
    return stances.ChangeSums(judged, people, shown, StanceHow(), resampling, items, DRAWS, seed)


GROUPS = (("5% and 5%", 5, 5, False), ("12% and 12%", 12, 12, False), ("12% and 12%, together", 12, 12, True))
GROUPS += (("5% and 20%", 5, 20, False), ("5% and 20%, together", 5, 20, True))
GROUP_BUDGETS = ((50, "turns"), (100, "turns"), (300, "turns"), (300, "whole"))


@dataclass
class Difference:
    """The results for the difference of two models that are equally stable."""

    judged: list[float]
    before: list[float]
    corrected: list[Estimate]
    sides: list[tuple[bool, bool]]
    found: int = 0
    together: int = 0

    def __str__(self) -> str:
        many = len(self.judged)
        given = [one for one in self.corrected if not isnan(one.low)]
        covers = 100 * np.mean([one.low <= 1e-9 and one.high >= -1e-9 for one in given]) if given else float("nan")
        mean = np.mean([one.value for one in given]) if given else float("nan")
        sides = 100 * np.mean([covered for known, covered in self.sides if known] or [np.nan])
        shown = 100 * np.mean([known for known, _ in self.sides])
        return (
            f"{np.mean(self.judged):+.3f} | {np.nanmean(self.before):+.3f} | {100 * self.found / many:.1f} |"
            f" {mean:+.3f}, {covers:.0f} ({100 * len(given) / many:.0f}) | {sides:.0f} ({shown:.0f}) |"
            f" {100 * self.together / many:.0f}"
        )


def group_cells(simulations: int, budgets: Sequence[tuple[int, str]]) -> Iterator[tuple[str, Difference]]:
    """Two models of thirty conversations each that change as often, and a judge that errs as often or not."""
    traces = conversations(TOPICS)
    second = np.arange(len(traces)) % 2 == 1
    names = pl.Series("model", np.where(second, "b", "a"))
    traces = replace(traces, about=traces.about.with_columns(names))
    truth = moving(np.random.default_rng(1), "sometimes", 4000)
    true_rate = float((truth[:, 1:] != truth[:, :-1]).mean())
    for name, first, other, together in GROUPS:
        for budget, unit in budgets:
            cell = Difference([], [], [], [])
            for number in range(simulations):
                random = np.random.default_rng([number, first, other, together, budget, len(unit)])
                true = moving(random, "sometimes", TOPICS)
                apart = (wrong(random, true.shape, error / 100, together=together) for error in (first, other))
                off = np.where(second[:, None], *reversed(list(apart)))
                said = np.where(off, (true + random.integers(1, 4, true.shape)) % 4, true)
                judged = replace(traces, stance=said.ravel())
                case = of_turns(judged, true.ravel(), drawn(random, true.shape, budget, unit), number)
                count_difference(cell, case, second, true_rate)
            yield f"{name} | {budget} {unit}", cell


def count_difference(cell: Difference, case: stances.ChangeSums, second: Array, truth: float) -> None:
    """Add one data set to a cell."""
    among = Jackknife(unit="topics").over(len(case.items))
    both = [case.over(JudgedNumber("", "change_rate", units), case.items, among) for units in (~second, second)]
    plain, corrected = ([getattr(one.variants, way) for one in both] for way in ("plain", "corrected"))
    cell.judged.append(plain[0].value - plain[1].value)
    cell.before.append(corrected[0].value - corrected[1].value)
    cell.corrected.append(corrected_difference(both[1], both[0], SHARE, 0.95, alike=True)[0])
    cell.sides += [(not isnan(one.low), one.low <= truth <= one.high) for one in corrected]
    cell.found += any(one.fails for one in case.equal_errors)
    cell.together += case.together.fails


def compare_groups(asked: argparse.Namespace) -> None:
    """Print the table of `groups`, and with `--quick` check a part of it.

    Raises:
        SystemExit: a claim does not hold.
    """
    print(
        "| errors of the two models | labels | judge's difference | corrected | test of equal errors fires, % |", end=""
    )
    print(" corrected where it does not, covers 0, % (given, %) | sides cover, % (given, %) | clustering found, % |")
    print("|---|---|--:|--:|--:|---|---|--:|")
    budgets = GROUP_BUDGETS[1:3] if asked.quick else GROUP_BUDGETS
    failed = []
    for key, cell in group_cells(min(asked.simulations, 60) if asked.quick else asked.simulations, budgets):
        print(f"| {key} | {cell} |", flush=True)
        share = cell.found / len(cell.judged)
        least = {"5% and 20% | 100 turns": 0.45, "5% and 20% | 300 turns": 0.9}.get(key, 0.0)
        if share < least - noise(least, cell):
            failed.append(f"{key}: fires in {100 * share:.1f}%, not in {100 * least:.0f}% or more")
        if "20%" not in key and share > 0.055 + noise(0.05, cell):
            failed.append(f"{key}: fires in {100 * share:.1f}%, not in 5.5% or less")
    if asked.quick and failed:
        raise SystemExit("\n".join(failed))


def noise(share: float, cell: Difference) -> float:
    """Three standard errors of a share of a cell's data sets."""
    return 3 * float((share * (1 - share) / len(cell.judged)) ** 0.5)


def planned(asked: argparse.Namespace) -> Iterator[tuple[str, float, float, float]]:
    """Plans from pilots of 30 turns, by the wanted width of the change rate. Each has the percentage of pilots with a
    plan, the number of planned turns, and the width that they gave."""
    traces = conversations(TOPICS)
    for error in asked.errors:
        for wanted in (0.12, 0.16, 0.2):
            numbers, widths = [], []
            for number in range(asked.simulations):
                random = np.random.default_rng([number, error])
                true = moving(random, "sometimes", TOPICS)
                off = wrong(random, true.shape, error / 100, together=False)
                judged = replace(
                    traces, stance=np.where(off, (true + random.integers(1, 4, true.shape)) % 4, true).ravel()
                )
                order = random.permutation(true.size)
                case = of_turns(judged, true.ravel(), np.sort(order[:30]), number)
                plan, _ = case.plans("change_rate", wanted) if case.undone else (None, None)
                if plan is None or not plan.labels:
                    continue
                case = of_turns(judged, true.ravel(), np.sort(order[: plan.labels]), number)
                found = case.variant("change_rate", np.ones(len(judged), bool)).corrected
                numbers.append(plan.labels)
                widths.append(found.high - found.low)
            made = 100 * len(numbers) / asked.simulations
            yield (
                f"{error}% | {wanted}",
                made,
                float(np.median(numbers or [np.nan])),
                float(np.nanmean(widths or [np.nan])),
            )


def voicing(random: Random, threads: int) -> Array:
    """True matches [threads, conditions, responses, viewpoints]; a stated belief suppresses the views against it."""
    popular = random.beta(1, 6, (threads, 1, 1, VIEWS))
    level = random.beta(8, 8, (threads, 1, 1, 1)) * 2
    against = np.arange(VIEWS) >= VIEWS // 2
    kept = np.stack([np.ones(VIEWS), np.where(against, 0.4, 1.3)])[None, :, None]
    chance = np.clip(popular * level * kept, 0, 0.9)
    return random.random((threads, 2, RESPONSES, VIEWS)) < chance


def forum(threads: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Matches and summaries whose labels are still to come: every response may voice views of both sides."""
    matches = [
        {
            "model": "m",
            "thread": f"{thread:05}",
            "condition": condition,
            "trial": f"{thread}/{condition}",
            "response": number,
            "stance": "against" if number % 2 else "supporting",
            "matched": [],
        }
        for thread in range(threads)
        for condition in ("neutral", "toward")
        for number in range(RESPONSES)
    ]
    summaries = [
        {"thread": f"{thread:05}", "summary": f"{view}", "stance": "against" if view >= VIEWS // 2 else "supporting"}
        for thread in range(threads)
        for view in range(VIEWS)
    ]
    return pl.DataFrame(matches, schema_overrides={"matched": pl.List(pl.String)}), pl.DataFrame(summaries)


def of_matches(pairs: voices.Pairs, said: Array, shown: Array, chance: Array, seed: int) -> voices.Voices:
    """The pairs with the human labels of those shown."""
    people = People([""] * len(shown), np.stack([said, ~said], axis=1).astype(float), chance, 0)
    thread = pairs.units["thread"].rank("dense").to_numpy().astype(np.int64) - 1
    items = pairs.units["thread"].unique().sort().to_list()
    return voices.Voices(pairs, people, shown, Jackknife(unit="threads").over(thread), items, DRAWS, seed)


def match_cells(asked: argparse.Namespace) -> Iterator[tuple[str, Cell]]:
    """All settings of threads."""
    many = 2000
    blank = voices.Pairs.of(*forum(many), "non-neutral")
    none = ~voicing(np.random.default_rng(1), many).ravel()
    nobody, nothing = np.zeros(0, np.int64), np.zeros(0)
    everything = of_matches(replace(blank, judged=none.astype(np.int64)), np.zeros(0, bool), nobody, nothing, 0)
    truth = {key: float(np.nanmean(everything.plain[key[1]][everything.groups[key[0]]])) for key in MATCH_MEASURES}
    blank = voices.Pairs.of(*forum(THREADS), "non-neutral")
    cells: dict[str, Cell] = defaultdict(Cell)
    for error in asked.errors:
        for together in (False, True):
            for number in range(asked.simulations):
                random = np.random.default_rng([number, error, together])
                true = voicing(random, THREADS)
                off = wrong(random, (THREADS * 2, RESPONSES, VIEWS), error / 100, together=together).reshape(true.shape)
                said = (true ^ off).ravel()
                pairs = replace(blank, judged=(~said).astype(np.int64))
                for budget, design in [
                    *((budget, design) for budget in asked.budgets for design in ("pairs", "stratified", "whole")),
                    *((budget, "whole") for budget in asked.whole),
                ]:
                    shown, chance = chosen(random, said, budget, design)
                    case = of_matches(pairs, true.ravel()[shown], shown, chance, number)
                    seen = find_together(case.readings, number).fails
                    for key in MATCH_MEASURES:
                        found = case.variant(key[1], case.groups[key[0]])
                        name = f"{error}% {'together' if together else 'apart'} | {budget} {design}"
                        cells[f"{key[1]} | threads | {name}"].add(found, truth[key], seen)
    yield from cells.items()


def chosen(random: Random, said: Array, budget: int, design: str) -> tuple[Array, Array]:
    """The indices of the pairs with human labels, and the probability with which each was sampled. Pairs are sampled
    plainly, half of them among judged matches, or as whole threads in a condition."""
    if design == "whole":
        size, units = RESPONSES * VIEWS, len(said) // (RESPONSES * VIEWS)
        drawn = np.sort(random.choice(units, budget // size, replace=False))
        shown = (drawn[:, None] * size + np.arange(size)).ravel()
        return shown, np.full(len(shown), len(drawn) / units)
    if design == "pairs":
        return np.sort(random.choice(len(said), budget, replace=False)), np.full(budget, budget / len(said))
    half = min(budget // 2, int(said.sum()))
    yes = random.choice(np.flatnonzero(said), half, replace=False)
    no = random.choice(np.flatnonzero(~said), budget - half, replace=False)
    chance = np.repeat([half / said.sum(), (budget - half) / (~said).sum()], [half, budget - half])
    return np.concatenate([yes, no]), chance


def main() -> None:
    asked = arguments()
    if asked.only == "groups":
        compare_groups(asked)
        return
    if asked.only == "plans":
        print("| errors | width wanted | pilots with a plan | turns planned (median) | width they gave (mean) |")
        print("|---|---|--:|--:|--:|")
        for key, made, number, width in planned(asked):
            print(f"| {key} | {made:.0f} | {number:.0f} | {width:.2f} |", flush=True)
        return
    heads = "| measure | moves | errors | labels | bias, plain | coverage | bias, corrected | coverage | width |"
    print(heads + " errors seen together |")
    print("|---|---|---|---|--:|--:|--:|--:|--:|--:|")
    if asked.only in {None, "stances"}:
        for moves in asked.moves:
            for key, cell in sorted(stance_cells(asked, moves)):
                print(f"| {key} | {cell} |", flush=True)
    if asked.only in {None, "matches"}:
        for key, cell in sorted(match_cells(asked)):
            print(f"| {key} | {cell} |", flush=True)


def arguments() -> argparse.Namespace:
    """The command line."""
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    reader.add_argument("--simulations", type=int, default=300)
    reader.add_argument("--only", choices=("stances", "matches", "plans", "groups"))
    reader.add_argument("--quick", action="store_true", help="with --only groups: fewer cells, which are checked")
    reader.add_argument("--budgets", type=int, nargs="+", default=[100, 300])
    reader.add_argument("--whole", type=int, nargs="+", default=[1600, 3200], help="more budgets of whole threads")
    reader.add_argument("--errors", type=int, nargs="+", default=[2, 5, 10, 20], help="in percent")
    reader.add_argument("--moves", nargs="+", choices=MOVES, default=list(MOVES))
    return reader.parse_args()


if __name__ == "__main__":
    main()
