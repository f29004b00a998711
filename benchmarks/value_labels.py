"""Are corrected similarity and inheritance of values right? Simulated deliberations with known truth, judges that err.

    python benchmarks/value_labels.py [--simulations 300] [--budgets 300 1000] [--errors 2 5 10 20]

Sixty dilemmas, two models, three rounds; each message uses about three of 48 values. A third of the agents change
their verdict, and then adopt some of the values that the other used first. A judge misses a given percentage of the
values that are used. It names unused ones at a sixteenth of that rate (so about as many too many as too few). Or each
explanation has a rate of its own, and two errors in one are correlated by 0.3 ('together'). People label pairs of
explanation and value, half of them among those that the judge named; their labels are true.

A cell has bias and coverage of the judge's number. Then come bias, coverage (followed by the percentage that have an
interval, if not all do) and mean width of the corrected one, for deliberations like these.

A first try had 6 data sets per cell, which shows bias but not coverage. A judge that misses 20% of the values made
similarity 0.05 to 0.06 too low, and the corrected one was within 0.02 of the truth.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
from benchmarks.many_labels import TOGETHER, Cell

from overton.studies.correction import Place
from overton.studies.deliberation.errors import ValueCase
from overton.studies.people_labels import People

DILEMMAS, ROUNDS, VALUES = 60, 3, 48
NAMES = tuple(f"v{value:02}" for value in range(VALUES))
FALSE = 16
Array = np.ndarray[Any, Any]
Random = np.random.Generator


def deliberated(random: Random, dilemmas: int) -> tuple[Array, Array]:
    """Verdicts [dilemmas, agents, rounds] and the values that each message uses [..., values]."""
    popular = 0.5 / np.arange(1, VALUES + 1)
    matter = np.minimum(popular * random.gamma(2, 0.7, (dilemmas, VALUES)), 0.9)
    used = random.random((dilemmas, 2, ROUNDS, VALUES)) < matter[:, None, None]
    verdict = np.repeat(random.integers(0, 2, (dilemmas, 2, 1)), ROUNDS, axis=2)
    moved = random.random((dilemmas, 2)) < 1 / 3
    verdict[:, :, -1] = np.where(moved, 1 - verdict[:, :, 0], verdict[:, :, 0])
    taken = moved[..., None] & used[:, ::-1, 0] & (random.random((dilemmas, 2, VALUES)) < 0.5)
    used[:, :, -1] |= taken
    return verdict, used


def table(verdict: Array, used: Array) -> pl.DataFrame:
    """The decisions, one row per message in order of dilemma, agent and round."""
    rows = [
        {
            "dilemma": f"d{one:05}",
            "deliberation": f"d{one:05}",
            "format": "synchronous",
            "goal": "balanced",
            "agent": f"Agent {agent + 1}",
            "model": "ab"[agent],
            "round": number + 1,
            "position": None,
            "crowd": None,
            "failure": None,
            "verdict": ("YTA", "NTA")[verdict[one, agent, number]],
            "values": [NAMES[value] for value in np.flatnonzero(used[one, agent, number])],
        }
        for one in range(len(verdict))
        for agent in range(2)
        for number in range(ROUNDS)
    ]
    return pl.DataFrame(
        rows,
        schema_overrides={"values": pl.List(pl.String), "position": pl.Int64, "crowd": pl.String, "failure": pl.String},
    )


def misread(random: Random, used: Array, error: float, *, together: bool) -> Array:
    """The values that the judge names."""
    rate: Any = error
    if together:
        size = 1 / TOGETHER - 1
        rate = random.beta(error * size, (1 - error) * size, (*used.shape[:-1], 1))
    wrong = random.random(used.shape) < np.where(used, rate, rate / FALSE)
    return used ^ wrong


def people_of(random: Random, used: Array, said: Array, budget: int) -> People:
    """Human labels, half of them of values that the judge named."""
    flat = said.ravel()
    half = min(budget // 2, int(flat.sum()))
    yes = random.choice(np.flatnonzero(flat), half, replace=False)
    no = random.choice(np.flatnonzero(~flat), budget - half, replace=False)
    places = np.concatenate([yes, no])
    chance = np.repeat([half / flat.sum(), (budget - half) / (~flat).sum()], [half, budget - half])
    dilemma, agent, number, value = np.unravel_index(places, used.shape)
    names = [
        f"d{a:05}/{c + 1}/Agent {b + 1}/{NAMES[d]}" for a, b, c, d in zip(dilemma, agent, number, value, strict=True)
    ]
    true = used.ravel()[places]
    return People(names, np.stack([true, ~true], axis=1).astype(float), chance, 0)


NOBODY = People([], np.zeros((0, 2)), np.zeros(0), 0)
SETTING = "synchronous / balanced / a + b"
_BY_AGREEMENT, _BY_VALUE = ("similarity_by_agreement", None), ("inherited_value", "a")
WANTED: dict[Place, str] = {
    (*_BY_AGREEMENT, f"{SETTING} / different verdicts", "pooled / verdicts", None): "similarity, verdicts differ",
    (*_BY_AGREEMENT, f"{SETTING} / same verdict", "pooled / verdicts", None): "similarity, same verdict",
    (*_BY_VALUE, f"{SETTING} / v00", "pooled / value", None): "inheritance of the first value",
    (*_BY_VALUE, f"{SETTING} / v02", "pooled / value", None): "inheritance of the third value",
}


def cells(asked: argparse.Namespace) -> Iterator[tuple[str, Cell]]:
    """All settings."""
    true = ValueCase(table(*deliberated(np.random.default_rng(1), 4_000)), NOBODY, NAMES, (0.95, 10, 0))
    truth = {name: true._numbers[place].plain.value for place, name in WANTED.items()}
    found: dict[str, Cell] = defaultdict(Cell)
    for error in asked.errors:
        for together in (False, True):
            for number in range(asked.simulations):
                random = np.random.default_rng([number, error, together])
                verdict, used = deliberated(random, DILEMMAS)
                said = misread(random, used, error / 100, together=together)
                decisions = table(verdict, said)
                for budget in asked.budgets:
                    people = people_of(random, used, said, budget)
                    case = ValueCase(decisions, people, NAMES, (0.95, 100, number))
                    for one in case.listed:
                        name = WANTED.get(one.place or ())
                        if name is not None:
                            key = f"{name} | {error}% {'together' if together else 'apart'} | {budget}"
                            found[key].add(case.corrected(one), truth[name], case.together.fails)
    yield from found.items()


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    reader.add_argument("--simulations", type=int, default=300)
    reader.add_argument("--budgets", type=int, nargs="+", default=[300, 1000])
    reader.add_argument("--errors", type=int, nargs="+", default=[2, 5, 10, 20], help="in percent")
    asked = reader.parse_args()
    print("| number | errors | labels | bias, plain | coverage | bias, corrected | coverage | width | seen together |")
    print("|---|---|---|--:|--:|--:|--:|--:|--:|")
    for key, cell in sorted(cells(asked)):
        print(f"| {key} | {cell} |", flush=True)


if __name__ == "__main__":
    main()
