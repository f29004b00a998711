"""The error of open-mindedness by chance: of the plain score, and of the cross-fitted one.

    python benchmarks/crossfit.py [--simulations 200]

Twelve issues with new baseline stances each time, the published design with 1, 3, 5 and 15 trials, the respondent of
`answers.py` and one that arguments do not move. In points from 0 to 100: the mean error, and the root mean squared
error of one issue's score.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import msgspec
import numpy as np
from answers import RESPONDENT, expected_shares, records, score
from drawn import chances
from numpy.typing import NDArray

from overton.studies.open_mindedness.options import PUBLISHED
from overton.studies.open_mindedness.score import crossed
from overton.studies.open_mindedness.simulated import Parameters

Floats = NDArray[np.float64]

ISSUES = 12
UNMOVED = msgspec.structs.replace(RESPONDENT, susceptibility_pro=0.0, susceptibility_con=0.0)


def main() -> None:
    """Print a row for each respondent and number of trials."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=200)
    simulations = parser.parse_args().simulations
    print("| respondent | trials | plain: mean error | its size | cross-fitted: mean error | its size |")
    print("|---|--:|--:|--:|--:|--:|")
    for name, respondent in (("moved", RESPONDENT), ("unmoved", UNMOVED)):
        for trials in (1, 3, 5, 15):
            plain, other = np.moveaxis(np.array(list(errors(respondent, trials, simulations))), 1, 0)
            print(f"| {name} | {trials} | {formatted(plain)} | {formatted(other)} |")


def formatted(gaps: Floats) -> str:
    """Mean error and its size."""
    return f"{np.nanmean(gaps):.2f} | {np.sqrt(np.nanmean(gaps**2)):.2f}"


def errors(respondent: Parameters, trials: int, simulations: int) -> Iterator[tuple[Floats, Floats]]:
    """Both scores of all issues minus the truth, simulation by simulation."""
    design = records(ISSUES, trials)
    issue = design["issue"].rank("dense").to_numpy().astype(int) - 1
    place = issue * len(PUBLISHED) + np.array([PUBLISHED.index(name) for name in design["condition"]])
    for number in range(simulations):
        refuse, pro = chances(design, msgspec.structs.replace(respondent, seed=number))
        rng = np.random.default_rng(number)
        stance = np.where(rng.random(design.height) < refuse, 2, np.where(rng.random(design.height) < pro, 0, 1))
        counted = np.bincount(place * 3 + stance, minlength=ISSUES * 18).reshape(ISSUES, len(PUBLISHED), 3)
        truth = score(np.array([shares for _, (shares, _) in sorted(expected_shares(design, refuse, pro).items())]))
        yield score(counted / counted.sum(-1, keepdims=True)) - truth, crossed(counted, rng)[:, 0] - truth


if __name__ == "__main__":
    main()
