"""Coverage of the intervals of free answers' proportions, with and without human labels.

    python benchmarks/free_answers.py [--runs 1000] [--labels 200] [--seed 0]

Records are drawn directly, without a model. Forced answers have each issue's own probability. Free ones take no side
with a known probability, the other side with another, and otherwise the forced one's side. The judge errs in a known
share of its labels; people do not err and label some. The table shows how often 95% intervals cover the known
proportion (by the judge alone, corrected). It also shows how often the difference from the null condition
'forced-again' covers 0 if free answers are drawn as forced ones are.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import dataclass
from math import isnan

import numpy as np
import polars as pl

from overton.statistics import Estimate
from overton.statistics.jackknife import Jackknife
from overton.studies.contributions import find_shared_items
from overton.studies.grouping import Frame
from overton.studies.open_mindedness.declarations import OF_PAIRS
from overton.studies.open_mindedness.free_answers import FreeCase, by_chance, free_units
from overton.studies.open_mindedness.options import OpenMindednessHow
from overton.studies.open_mindedness.questions import LABELS
from overton.studies.people_labels import read_people
from overton.studies.results import Results

Rng = np.random.Generator

ISSUES, TRIALS, MODEL = 12, 5, "drawn"
CONDITIONS = {"baseline": (0,), "one-sided-pro": (1, 2), "balanced": (1, 2)}
STANCES = np.array(["pro", "con", "other"])
HOW = OpenMindednessHow()


@dataclass(frozen=True)
class Truth:
    """Known properties of a model and its judge: proportions of pairs, and of labels that are one of the other two."""

    abstains: float
    opposite: float
    errors: float

    def differs(self) -> float:
        """The share of pairs that differ."""
        return self.abstains + self.opposite


def drawn(rng: Rng, truth: Truth | None) -> tuple[pl.DataFrame, np.ndarray]:
    """Records by the judge, and the true stances of the free answers among them; without a `truth` free answers are
    drawn as forced ones are. Shares differ between issues, with the known mean."""
    keys = [
        (f"i{issue:02}/{name}/w{w}/t{t}/r{r}", f"i{issue:02}", name, w, t)
        for issue in range(ISSUES)
        for name, wordings in CONDITIONS.items()
        for w in wordings
        for t in range(1, 7)
        for r in range(TRIALS)
    ]
    issue = np.array([int(one[1][1:]) for one in keys])
    chance = 1 / (1 + np.exp(-rng.normal(0, 1, ISSUES)))[issue]
    forced = (rng.random(len(keys)) >= chance).astype(int)
    free = (rng.random(len(keys)) >= chance).astype(int) if truth is None else _free(rng, truth, forced, issue)
    judged = free if truth is None else _judged(rng, free, truth.errors)
    table = pl.DataFrame(keys, schema=["trial", "issue", "condition", "wording", "template"], orient="row")
    table = table.with_columns(
        model=pl.lit(MODEL),
        failure=pl.lit(None, pl.String),
        strength=pl.lit(None, pl.String),
        declines=pl.lit(None, pl.Boolean),
    )
    both = [
        table.with_columns(answers=pl.lit(way), stance=pl.Series(STANCES[stance].tolist()))
        for way, stance in (("forced", forced), ("free", judged))
    ]
    return pl.concat(both), free


def _free(rng: Rng, truth: Truth, forced: np.ndarray, issue: np.ndarray) -> np.ndarray:
    """Issues differ in their shares by a beta distribution of eight pseudo-answers."""
    total = truth.differs()
    differs = rng.beta(8 * total, 8 * (1 - total), ISSUES)[issue]
    leaves = rng.random(len(forced)) < differs
    none = rng.random(len(forced)) < truth.abstains / total
    return np.where(leaves, np.where(none, 2, 1 - forced), forced)


def _judged(rng: Rng, free: np.ndarray, errors: float) -> np.ndarray:
    wrong = rng.random(len(free)) < errors
    return np.where(wrong, (free + rng.integers(1, 3, len(free))) % 3, free)


def by_people(rng: Rng, records: pl.DataFrame, free: np.ndarray, labels: int) -> pl.DataFrame:
    """Human labels of a plain sample of free answers, which are the truth."""
    rows = records.filter(pl.col("answers") == "free")
    chosen = rng.choice(rows.height, labels, replace=False)
    return pl.DataFrame(
        {
            "id": [f"{MODEL}/{rows['trial'][int(row)]}" for row in chosen],
            "label": [LABELS[free[row]] for row in chosen],
            "share": [1.0] * labels,
            "chance": [labels / rows.height] * labels,
            "group": [rows["issue"][int(row)] for row in chosen],
        }
    )


def _covers(one: Estimate, truth: float) -> bool | None:
    return None if isnan(one.low) else one.low <= truth <= one.high


def once(rng: Rng, truth: Truth | None, labels: int) -> dict[str, bool | None]:
    """Whether each interval of one run covers the known value."""
    records, free = drawn(rng, truth)
    frame = Frame(free_units(records), OF_PAIRS, Jackknife())
    if truth is None:
        differs = OF_PAIRS[0]
        null, own = by_chance(Results(records), None, HOW)[MODEL][0], frame.contributions(differs)[MODEL, ""]
        gap = find_shared_items(null, own, Jackknife()).gap(Jackknife())
        return {f"{differs.name} minus forced-again": _covers(gap.own, 0.0)}
    known = {"differs": truth.differs(), "abstains": truth.abstains, "opposite": truth.opposite}
    found = {row.measure: row.number for row in frame.estimates(OF_PAIRS)}
    held = {f"{kind}, judge alone": _covers(found[f"free_{kind}"], one) for kind, one in known.items()}
    people = read_people(by_people(rng, records, free, labels), LABELS)
    case = FreeCase(records, people, 0.95, 0)
    corrected = {one.compared.removeprefix("free_"): case.corrected(one).corrected for one in case.numbers()}
    return held | {f"{kind}, corrected": _covers(corrected[kind], one) for kind, one in known.items()}


CASES = {
    "a judge without errors": Truth(0.3, 0.1, 0.0),
    "a judge that errs in 5% of labels": Truth(0.3, 0.1, 0.05),
    "a judge that errs in 15% of labels": Truth(0.3, 0.1, 0.15),
    "free answers drawn as forced ones are": None,
}


def main() -> None:
    """Print a line for every case and number."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--labels", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for place, (name, truth) in enumerate(CASES.items()):
        held: dict[str, list[bool | None]] = defaultdict(list)
        for run in range(given.runs):
            for what, holds in once(np.random.default_rng((given.seed, place, run)), truth, given.labels).items():
                held[what].append(holds)
        print(f"\n{name}, {given.runs} runs, {given.labels} labels by people", flush=True)
        for what, all_ in held.items():
            there = [one for one in all_ if one is not None]
            share = f"{100 * sum(there) / len(there):5.1f}%" if there else "    - "
            print(f"  {what:32} covers the truth {share} of {len(there)} intervals", flush=True)


if __name__ == "__main__":
    main()
