"""Coverage of differences from null conditions where nothing happens, and how often effects are found.

    python -m benchmarks.nulls [--runs 1000] [--power 200] [--only STUDY] [--seed 0] [--issues 107] [--spread 1]
    python -m benchmarks.nulls --shares [--runs 1000]
    python -m benchmarks.nulls --quick

Records are drawn directly, without a model (`benchmarks/drawn.py`). There is a subject that arguments never move, one
that never changes beyond a judge's errors, one that leaves nothing out, and agents without inertia and conformity. Then
come subjects with known effects. Printed for every headline and null condition is in how many runs the 95% interval of
the difference covers 0. A difference that moves in steps (a proportion of a few issues) also gets the coverage of any
interval of one width: the steps around 95%.

With `--shares`, even-handedness alone is simulated, for a model that treats both sides alike. The table shows how much
a null condition of a fifth, a half or all of the trials can tell, by the number of pairs. `--quick` runs small cells of
everything and ends with 1 if one misses its target (under two minutes).

The Chameleon score is also compared, only here, with the null conditions that it lacks: `same-question` and
`same-pages` fix how often sources are used again.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from math import isnan

import numpy as np
import polars as pl
from benchmarks.drawn import ISSUES, ONE_PAGE, SPREAD, Rng, deliberated, even_handed, open_minded, plural, stable
from scipy.stats import binom

from overton.analysis.analyze import chosen_how
from overton.analysis.results import measuring_of
from overton.studies.contrasts import compare_with_nulls, is_said
from overton.studies.null_conditions import Null, split_nulls
from overton.studies.registry import study_named
from overton.studies.results import MeasuredModel, Results

Draw = Callable[[Rng, bool], pl.DataFrame]
"""Records of a run, including those of null conditions; if the flag is False nothing happens in it."""

LEVEL = 0.95
ANY = ("any headline", "any null")
"""Verdicts of which a sentence speaks are one family: how often at least one of them is 'clear'."""
STEPS = 20
"""A difference that takes no more sizes than these moves in steps."""


@dataclass
class Tally:
    """The numbers of all runs, of those with an interval, of intervals that cover 0, and of verdicts 'clear'."""

    runs: int = 0
    intervals: int = 0
    hold: int = 0
    clear: int = 0
    differences: list[float] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)

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
    "even-handedness": (even_handed, "both sides alike", "one side helped less in two fifths"),
}


def tallied(  # noqa: PLR0917
    name: str, draw: Draw, runs: int, happens: bool, seed: int, nulls_: tuple[Null, ...] = ()
) -> dict[tuple[str, str], Tally]:
    """The results of these runs, by measure and null condition, and for `ANY`; with `nulls_` in place of the study's
    own."""
    study = study_named(name)
    declared = nulls_ or study.nulls
    comparing, how = measuring_of(study).comparing, chosen_how(study, {})
    assert comparing is not None
    made: dict[tuple[str, str], Tally] = defaultdict(Tally)
    for run in range(runs):
        design, nulls = split_nulls(draw(np.random.default_rng((seed, run, happens)), happens), study.nulls)
        models = [MeasuredModel(model, model) for model in design["model"].unique().sort()]
        results = Results(design, models=models, nulls=nulls)
        claims = False
        for measure, null, one in compare_with_nulls(declared, comparing, results, how):
            claims |= one.verdict == "clear" and is_said(measure, one.model, comparing)
            tally = made[measure.name, null.name]
            tally.runs += 1
            if not isnan(one.difference.low):
                tally.intervals += 1
                tally.hold += one.difference.low <= 0 <= one.difference.high
                tally.differences.append(one.difference.value)
                tally.widths.append(one.difference.high - one.difference.low)
            tally.clear += one.verdict == "clear"
        made[ANY].runs += 1
        made[ANY].clear += claims
    return made


def reused(runs: int, seed: int) -> dict[tuple[str, str], Tally]:
    """The Chameleon score of a model that nothing moves, against null conditions that fix the reuse of sources."""
    own = study_named("stance-stability").nulls
    fixed = tuple(replace(null, of=("chameleon",)) for null in own if null.name in ONE_PAGE)
    return tallied("stance-stability", stable, runs, False, seed, fixed)


def shares(runs: int, pairs: tuple[tuple[int, int], ...], seed: int) -> dict[tuple[int, float], Tally]:
    """By pairs and share of trials with the null condition, its results for a model that treats sides alike."""
    made = {}
    print("| topics | pairs | share | no interval | median width | covers 0 |")
    print("|--:|--:|--:|--:|--:|--:|")
    for topics, trials in pairs:
        for share in (0.2, 0.5, 1.0):
            draw = partial(even_handed, topics=topics, trials=trials, share=share)
            one = tallied("even-handedness", draw, runs, False, seed)["even", "same-prompt"]
            made[topics * trials, share] = one
            width = f"{np.median(one.widths):.2f}" if one.widths else "-"
            print(
                f"| {topics} | {topics * trials} | {share} | {100 * (1 - one.intervals / runs):.0f}% | {width} |"
                f" {100 * one.hold / max(one.intervals, 1):.1f}% |",
                flush=True,
            )
    return made


QUICK: dict[str, tuple[int, int]] = {
    "open-mindedness": (30, 4),
    "stance-stability": (25, 4),
    "pluralism": (25, 4),
    "deliberation": (25, 4),
    "even-handedness": (100, 20),
}
"""Runs in which nothing happens, and in which the effect does."""


def quick(seed: int) -> list[str]:
    """The targets that small cells miss."""
    missed = []
    for name, (draw, nothing, effect) in DRAWS.items():
        still, moved = QUICK[name]
        drawing = partial(draw, issues=12) if name == "open-mindedness" else draw
        print(f"\n{name}: {nothing}, {still} runs; {effect}, {moved} runs", flush=True)
        found = tallied(name, drawing, still, False, seed)
        shown(found)
        total = Counter[str]()
        for one in found.values():
            total.update(intervals=one.intervals, hold=one.hold)
        if total["hold"] < 0.91 * total["intervals"]:
            missed.append(f"{name}: differences from nulls cover 0 in {total['hold']} of {total['intervals']}")
        if found[ANY].clear > binom.ppf(0.99, still, 1 - LEVEL):
            missed.append(f"{name}: {found[ANY].clear} of {still} runs have a 'clear' headline and nothing happens")
        with_effect = tallied(name, drawing, moved, True, seed)
        if not any(
            one.clear for (_, null), one in with_effect.items() if null not in ("question-first", "authors-own")
        ):
            missed.append(f"{name}: no effect is found")
        if wrong := [null for measure, null in found if measure == "chameleon" and null in ONE_PAGE]:
            missed.append(f"the Chameleon score is compared with {', '.join(wrong)}")
    print("\nWhat the Chameleon score would show against nulls that fix the reuse of sources:")
    fixed = reused(10, seed)
    shown(fixed)
    missed += [f"{null} leaves the reuse of sources alone" for (_, null), one in fixed.items() if one.hold]
    print()
    told = shares(60, ((15, 2), (50, 4)), seed)
    if told[30, 0.2].intervals > 0.9 * 60 or told[30, 1.0].intervals < 60:
        missed.append("with 30 pairs, a fifth of the trials is as good as all")
    if told[200, 0.2].intervals < 60 or np.median(told[200, 0.2].widths) > 0.5:
        missed.append("with 200 pairs, a fifth of the trials is not enough")
    return missed


def shown(found: dict[tuple[str, str], Tally]) -> None:
    """Print a line for every headline and null condition."""
    for (measure, null), one in found.items():
        hold = f"{100 * one.hold / one.intervals:5.1f}%" if one.intervals else "    - "
        print(
            f"  {measure:34} {null:15} covers 0 {hold} of {one.intervals:5} intervals in {one.runs};"
            f" clear in {100 * one.clear / max(one.runs, 1):5.1f}%{one.steps()}",
            flush=True,
        )


def main() -> None:
    """Print a line for every headline and null condition."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--power", type=int, default=200)
    parser.add_argument("--only", choices=[*DRAWS])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--issues", type=int, default=ISSUES, help="of open-mindedness")
    parser.add_argument("--spread", type=float, default=SPREAD, help="of its leans, in logits")
    parser.add_argument("--shares", action="store_true", help="what a share of trials with nulls can tell instead")
    parser.add_argument("--quick", action="store_true", help="small cells, with their targets")
    given = parser.parse_args()
    if given.quick:
        if missed := quick(given.seed):
            raise SystemExit("\n".join(["", "Missed:", *missed]))
        return
    if given.shares:
        shares(given.runs, ((15, 1), (15, 2), (15, 4), (50, 2), (50, 4), (50, 8)), given.seed)
        return
    drawing = {name: draw for name, (draw, _, _) in DRAWS.items()}
    drawing["open-mindedness"] = partial(open_minded, issues=given.issues, spread=given.spread)
    for name, (_, nothing, effect) in DRAWS.items():
        if given.only in (None, name):
            for happens, runs, said in ((False, given.runs, nothing), (True, given.power, effect)):
                print(f"\n{name}: {said}, {runs} runs", flush=True)
                shown(tallied(name, drawing[name], runs, happens, given.seed))
    if given.only in (None, "stance-stability"):
        print(f"\nThe Chameleon score against nulls that fix the reuse of sources, {given.runs} runs without an effect")
        shown(reused(given.runs, given.seed))


if __name__ == "__main__":
    main()
