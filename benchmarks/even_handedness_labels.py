"""Do corrected headlines of even-handedness cover the truth, if a judge errs and some pairs have human labels?

    python -m benchmarks.even_handedness_labels [--simulations 400] [--quick]

One model answers ten pairs on each of 30 topics. A pair is even with its topic's own chance (correlation 0.1 within a
topic); otherwise side a is helped more in 70%. The judge errs in each order with the probability named, and once more
in 10% towards the dialogue shown first. In a tenth of the pairs no answer complies, and people call these even. The
judge misreads whether an answer complies as often as named, and this is not corrected. Pairs to label are sampled
singly, in whole topics, or as equally often as possible by the judge's label in the first order.

A cell has the bias of the judge's number and, behind it, of the corrected one. Then comes the percentage of 95%
intervals that cover the truth of pairs like these in which an answer complies, with the percentage that exist, if not
all do. Last is their mean width. `gap` is the share of pairs in which side a is helped more, less the share in which b
is.
`--quick` fails unless corrected intervals cover where no compliance is misread.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from benchmarks import many_labels

from overton.engine.records import columns_of, record_type_columns
from overton.judging.label_tasks import LabelDesign, choose_units
from overton.studies.even_handedness import Record
from overton.studies.even_handedness.measures import STUDY_MEASURES
from overton.studies.even_handedness.options import EvenHow
from overton.studies.even_handedness.record import EVENNESS
from overton.studies.people_labels import People
from overton.studies.results import Results
from overton.studies.tables import RawTable

TOPICS, EACH = 30, 10
NEITHER, PULL, TO_A, TOGETHER = 0.1, 0.1, 0.7, 0.1
LABELS = 100
EVEN = EVENNESS.index("even")
Array = np.ndarray[Any, Any]
Random = np.random.Generator


class Setting(NamedTuple):
    """The share of even pairs, the judge's errors, how often it misreads compliance, and how labels are drawn."""

    even: float
    errs: float
    misreads: float
    draw: LabelDesign


EVERY = [
    *(Setting(even, errs, 0.0, draw) for even in (0.5, 0.9) for errs in (0.05, 0.2) for draw in ("plain", "whole")),
    *(Setting(even, 0.2, 0.0, "stratified") for even in (0.5, 0.9)),
    *(Setting(even, 0.2, misreads, "plain") for even in (0.5, 0.9) for misreads in (0.02, 0.05, 0.1)),
]


class Cell(many_labels.Cell):
    """The results for one number: biases, coverage and width."""

    @property
    def coverage(self) -> float:
        """Of a hundred intervals so many cover the truth."""
        return 100 * self.held / max(self.made, 1)

    def __str__(self) -> str:
        some = max(self.made, 1)
        given = "" if self.made == self.many else f" ({100 * self.made / self.many:.0f})"
        bias = f"{self.plain / self.many:+.3f}, {self.corrected / some:+.3f}"
        return f"{bias}, {self.coverage:.1f}{given}, {self.width / some:.2f}"


def labelled(random: Random, setting: Setting) -> tuple[Array, Array, Array, Array]:
    """The pairs' true labels, whether an answer complies, and the judge's labels in both orders."""
    size = 1 / TOGETHER - 1
    chance = np.repeat(random.beta(setting.even * size, (1 - setting.even) * size, TOPICS), EACH)
    many = TOPICS * EACH
    side = np.where(random.random(many) < TO_A, EVENNESS.index("a"), EVENNESS.index("b"))
    complies = random.random(many) >= NEITHER
    truth = np.where((random.random(many) < chance) | ~complies, EVEN, side)
    first, second = (_judged(random, truth, setting.errs, favoured) for favoured in ("a", "b"))
    return truth, complies, first, second


def _judged(random: Random, truth: Array, errs: float, favoured: str) -> Array:
    wrong = (truth + random.integers(1, 3, len(truth))) % 3
    said = np.where(random.random(len(truth)) < errs, wrong, truth)
    return np.where(random.random(len(truth)) < PULL, EVENNESS.index(favoured), said)


SCHEMA = columns_of([], record_type_columns(Record)).schema
NAMES = [f"{topic:02}/{number}" for topic in range(TOPICS) for number in range(EACH)]
TOPIC = [name.partition("/")[0] for name in NAMES]


def records(complies: Array, first: Array, second: Array) -> pl.DataFrame:
    """The records of one model, as a run has them."""
    grade = np.where(complies, 1, 5)
    given: dict[str, Any] = {"trial": NAMES, "pair": NAMES, "topic": TOPIC, "task": "essay", "group_a": "left"}
    given |= {"group_b": "right", "setting": "none", "repetition": 1, "graded": "pair", "refused_a": False}
    given |= {"even_first": np.array(EVENNESS)[first], "even_second": np.array(EVENNESS)[second], "refused_b": False}
    given |= dict.fromkeys(("compliance_a", "compliance_b"), grade) | dict.fromkeys(("hedging_a", "hedging_b"), 1)
    return pl.DataFrame(
        {"model": ["m"] * len(NAMES)}
        | {name: pl.Series(name, value if np.ndim(value) else [value] * len(NAMES)) for name, value in given.items()}
    ).with_columns(pl.lit(None, kind).alias(name) for name, kind in SCHEMA.items() if name not in given)


def simulated(setting: Setting, simulations: int) -> dict[str, Cell]:
    """Both headlines in one setting."""
    sides = pl.DataFrame({"group": ["left", "right"], "side": ["left", "right"]})
    how = EvenHow(sides=RawTable("sides.csv", ".csv", ("group", "side"), lambda: sides))
    truths = {"even": setting.even, "gap": (1 - setting.even) * (2 * TO_A - 1)}
    cells: dict[str, Cell] = defaultdict(Cell)
    for number in range(simulations):
        random = np.random.default_rng([number, *map(ord, str(setting))])
        truth, complies, first, second = labelled(random, setting)
        seen = complies ^ (random.random(len(complies)) < setting.misreads)
        drawn = choose_units(first.tolist(), TOPIC, size=LABELS, seed=number, design=setting.draw)
        places, chances = (list(part) for part in zip(*drawn, strict=True))
        people = People([f"m/{NAMES[place]}" for place in places], np.eye(3)[truth[places]], np.array(chances), 0)
        case = STUDY_MEASURES.correct(Results(records(seen, first, second)), "even_handedness", people, how)
        for resting, found in zip(case.listed, case.found, strict=True):
            cells[resting.name].add(found, truths[resting.name], together=False)
    return cells


def rows(settings: list[Setting], simulations: int) -> Iterator[tuple[Setting, dict[str, Cell]]]:
    """A row of the table for each setting."""
    print("| even | judge errs | compliance misread | labels drawn | `even` | `gap` |")
    print("|--:|--:|--:|---|---|---|")
    for setting in settings:
        found = simulated(setting, simulations)
        shares = f"{setting.even} | {setting.errs:.0%} | {setting.misreads:.0%}"
        print(f"| {shares} | {setting.draw} | {found['even']} | {found['gap']} |", flush=True)
        yield setting, found


def main() -> None:
    """Run as the module says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--simulations", type=int, default=400)
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    settings = [one for one in EVERY if (one.errs, one.misreads) == (0.2, 0.0)] if asked.quick else EVERY
    simulations = 100 if asked.quick else asked.simulations
    off = 3 * 100 * (0.05 * 0.95 / simulations) ** 0.5
    found = rows(settings, simulations)
    failed = [
        f"{setting}, {name}: {cell.coverage:.1f}% of the intervals cover the truth"
        for setting, cells in found
        for name, cell in cells.items()
        if asked.quick and not 95 - off <= cell.coverage
    ]
    if failed:
        raise SystemExit("\n".join(failed))


if __name__ == "__main__":
    main()
