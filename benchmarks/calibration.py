"""The error rates of a run's calibration, for models that answer as reported, or otherwise, at random prompts.

    python benchmarks/calibration.py [--simulations 1000] [--quick]

A prompt's probability is from a beta distribution ('beta', both parameters 0.4), uniform ('uniform'), or the logistic
function of a normal logit with standard deviation 2 ('spread') or 6 ('strong'). The model's true proportions are the
probabilities ('same'); these with a bump of 0.25 at one half ('bump'), with their logit times 1.5, 1.8 or 3, or with
0.25 added or taken away at random ('scattered'). `--quick` runs the cells of the first table and exits with 1 if a
claim of docs/probabilities.md fails.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from overton.statistics.calibration import Calibration, calibration

Array = NDArray[np.float64]
Rng = np.random.Generator

REPORTED: dict[str, Callable[[Rng, int], Array]] = {
    "beta": lambda rng, count: rng.beta(0.4, 0.4, count),
    "uniform": lambda rng, count: rng.random(count),
    "spread": lambda rng, count: expit(2 * rng.normal(size=count)),
    "strong": lambda rng, count: expit(6 * rng.normal(size=count)),
}


def _times(factor: float) -> Callable[[Array, Rng], Array]:
    return lambda p, rng: expit(factor * logit(np.clip(p, 1e-12, 1 - 1e-12)))


TRUE: dict[str, Callable[[Array, Rng], Array]] = {
    "same": lambda p, rng: p,
    "bump": lambda p, rng: p + 0.25 * np.exp(-(((p - 0.5) / 0.1) ** 2)),
    "logit times 1.5": _times(1.5),
    "logit times 1.8": _times(1.8),
    "logit times 3": _times(3.0),
    "scattered": lambda p, rng: p + 0.25 * rng.choice([-1.0, 1.0], p.shape),
}
DEFAULT, ONCE = (20, 10), (200, 1)
CELLS = [
    *(("beta", way, design) for design in (ONCE, DEFAULT) for way in ("same", "bump", "logit times 1.8", "scattered")),
    *(("beta", way, design) for design in ((40, 10), (100, 10), (20, 50)) for way in ("same", "bump")),
]
"""The first table: probabilities, truth, and prompts x answers at each."""
MORE = [
    (reported, way, design)
    for design in (DEFAULT, (100, 10))
    for reported in ("uniform", "spread", "strong")
    for way in ("same", "logit times 1.5", "logit times 3")
]
CLAIMS: dict[tuple[str, str, tuple[int, int]], tuple[str, float, float]] = {
    ("beta", "bump", DEFAULT): ("agree", 0.0, 20.0),
    ("beta", "same", DEFAULT): ("differ", 0.0, 5.0),
    ("beta", "same", (100, 10)): ("agree", 75.0, 100.0),
    ("beta", "scattered", DEFAULT): ("agree", 0.0, 1.0),
    ("beta", "scattered", ONCE): ("agree", 0.0, 1.0),
    ("beta", "bump", ONCE): ("agree", 0.0, 20.0),
}
"""A verdict, and the percentages between which its frequency in a cell must lie."""


def simulated(cell: tuple[str, str, tuple[int, int]], rng: Rng) -> Calibration:
    """One model's calibration."""
    reported, way, (prompts, answers) = cell
    p = REPORTED[reported](rng, prompts)
    x = rng.binomial(answers, np.clip(TRUE[way](p, rng), 0, 1))
    return calibration(np.c_[p, 1 - p], np.c_[x, answers - x])


def main() -> None:
    """Print the tables; with `--quick` the first, and check it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=0)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    simulations = given.simulations or (400 if given.quick else 1000)
    started, failed = perf_counter(), []
    for cells in [CELLS] if given.quick else [CELLS, MORE]:
        print("| prompts x answers | probabilities | truth | agree | cannot tell | differ | needed (median) |")
        print("|---|---|---|--:|--:|--:|--:|")
        for cell in cells:
            rng = np.random.default_rng(list(f"{cell}".encode()))
            found = [simulated(cell, rng) for _ in range(simulations)]
            counts = Counter(one.verdict for one in found)
            percent = {one: 100 * counts[one] / simulations for one in ("agree", "cannot tell", "differ")}
            needed = [one.needed for one in found if one.needed]
            told = f"{np.median(needed):.0f}" if needed else ""
            shares = " | ".join(f"{one:.1f}" for one in percent.values())
            print(f"| {cell[2][0]} x {cell[2][1]} | {cell[0]} | {cell[1]} | {shares} | {told} |", flush=True)
            if cell in CLAIMS:
                verdict, least, most = CLAIMS[cell]
                if not least <= percent[verdict] <= most:
                    failed.append(f"{cell}: {verdict} in {percent[verdict]:.1f}%, not {least:g} to {most:g}%")
        print()
    print(f"{simulations} simulations of each, {perf_counter() - started:.0f} s")
    if given.quick and failed:
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    main()
