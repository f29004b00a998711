"""How often a run's calibration is right: models that answer as reported, or surer than reported, at random prompts.

    python benchmarks/calibration.py [--simulations 400]

A prompt's probability is uniform ('uniform'), or the logistic function of a normal logit with standard deviation 2
('spread') or 6 ('strong'). Answers are drawn from it ('same'), or from it with its logit times 1.5 or 3.
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np
from scipy.special import expit

from overton.statistics.calibration import calibration

LEANS = {
    "uniform": lambda rng, count: rng.random(count),
    "spread": lambda rng, count: expit(2 * rng.normal(size=count)),
    "strong": lambda rng, count: expit(6 * rng.normal(size=count)),
}
DESIGNS = ((20, 10), (20, 20), (40, 10))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=400)
    simulations = parser.parse_args().simulations
    rng = np.random.default_rng(0)
    print("| prompts x answers | probabilities | logit times | agree | differ | cannot tell |", end="")
    print(" slope's interval covers |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for prompts, answers in DESIGNS:
        for name, lean in LEANS.items():
            for factor in (1.0, 1.5, 3.0):
                verdicts, held = Counter(), 0
                for _ in range(simulations):
                    p = lean(rng, prompts)
                    x = rng.binomial(answers, p**factor / (p**factor + (1 - p) ** factor))
                    found = calibration(np.stack([p, 1 - p], 1), np.stack([x, answers - x], 1))
                    verdicts[found.verdict] += 1
                    held += found.slope.low <= factor <= found.slope.high
                shares = (f"{100 * verdicts[one] / simulations:.1f}" for one in ("agree", "differ", "cannot tell"))
                print(
                    f"| {prompts} x {answers} | {name} | {factor:g} | {' | '.join(shares)} |"
                    f" {100 * held / simulations:.1f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
