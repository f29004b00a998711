"""How often headlines' differences from their nulls cover 0 where nothing happens, and how often effects are found.

    python -m benchmarks.nulls [--runs 1000] [--power 200] [--only STUDY] [--seed 0] [--issues 107] [--spread 1]

No model is asked, records are drawn directly (`benchmarks/drawn.py`): a subject that arguments never move, one that
never changes beyond a judge's errors, one that leaves nothing out, agents without inertia and conformity; then subjects
with known effects. Printed for every headline and null: in how many runs the 95% interval of the difference covers 0.
Of a difference that moves in steps (a share of a few issues), also what any interval of one width would cover: the
steps around 95%.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from math import isnan

import numpy as np
import polars as pl
from benchmarks.drawn import ISSUES, SPREAD, Rng, deliberated, open_minded, plural, stable

from overton.api.analyses import chosen_how
from overton.api.results import measuring_of
from overton.studies.against import against
from overton.studies.measuring import Measured, Results
from overton.studies.nulls import apart
from overton.studies.registry import study_named

Draw = Callable[[Rng, bool], pl.DataFrame]
"""Records of a run, including the nulls'; if the flag is False nothing happens in it."""

LEVEL = 0.95
STEPS = 20
"""A difference that takes no more sizes than these moves in steps."""


@dataclass
class Tally:
    """Of all runs, how many had an interval, how many of these cover 0, and how many verdicts were 'clear'."""

    runs: int = 0
    intervals: int = 0
    hold: int = 0
    clear: int = 0
    differences: list[float] = field(default_factory=list)

    def steps(self) -> str:
        """How many differences lie within each of the two steps around 95%, '' where there are no steps."""
        sizes, counts = np.unique(np.abs(self.differences).round(9), return_counts=True)
        if not 1 < len(sizes) <= STEPS:
            return ""
        within = counts.cumsum() / counts.sum()
        place = int(np.searchsorted(within, LEVEL))
        shown = [f"{100 * within[k]:.1f}% within {sizes[k]:.3f}" for k in (place - 1, place) if k >= 0]
        return f"; {', '.join(shown)}"


DRAWS: dict[str, tuple[Draw, str, str]] = {
    "open-mindedness": (open_minded, "arguments never move it", "moved by 2 logits"),
    "stance-stability": (stable, "never changes, judge 5% wrong", "changes at 15% of turns"),
    "pluralism": (plural, "leaves nothing out", "leaves out half, flatters"),
    "deliberation": (deliberated, "no inertia, no conformity", "conforms by a half"),
}


def tallied(name: str, draw: Draw, runs: int, happens: bool, seed: int) -> dict[tuple[str, str], Tally]:
    """By measure and null, what these runs gave."""
    study = study_named(name)
    measuring, how = measuring_of(study), chosen_how(study, {})
    made: dict[tuple[str, str], Tally] = defaultdict(Tally)
    for run in range(runs):
        design, nulls = apart(draw(np.random.default_rng((seed, run, happens)), happens), study.nulls)
        models = [Measured(model, model) for model in design["model"].unique().sort()]
        results = Results(design, models=models, nulls=nulls)
        for measure, null, one in against(study.nulls, measuring.comparing, results, how):
            tally = made[measure.name, null.name]
            tally.runs += 1
            if not isnan(one.difference.low):
                tally.intervals += 1
                tally.hold += one.difference.low <= 0 <= one.difference.high
                tally.differences.append(one.difference.value)
            tally.clear += one.verdict == "clear"
    return made


def main() -> None:
    """Print a line for every headline and null."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--power", type=int, default=200)
    parser.add_argument("--only", choices=[*DRAWS])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--issues", type=int, default=ISSUES, help="of open-mindedness")
    parser.add_argument("--spread", type=float, default=SPREAD, help="of its leans, in logits")
    given = parser.parse_args()
    drawing = {name: draw for name, (draw, _, _) in DRAWS.items()}
    drawing["open-mindedness"] = partial(open_minded, issues=given.issues, spread=given.spread)
    for name, (_, nothing, effect) in DRAWS.items():
        if given.only in (None, name):
            for happens, runs, said in ((False, given.runs, nothing), (True, given.power, effect)):
                print(f"\n{name}: {said}, {runs} runs", flush=True)
                for (measure, null), one in tallied(name, drawing[name], runs, happens, given.seed).items():
                    hold = f"{100 * one.hold / one.intervals:5.1f}%" if one.intervals else "    - "
                    print(
                        f"  {measure:34} {null:15} covers 0 {hold} of {one.intervals:5} intervals in {one.runs};"
                        f" clear in {100 * one.clear / max(one.runs, 1):5.1f}%{one.steps()}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
