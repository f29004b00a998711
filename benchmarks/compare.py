"""How often do comparisons say 'higher' or 'lower' of two models whose truth is the same, and how often 'equivalent'?

    python benchmarks/compare.py [--pairs 1000] [--study NAME ...] [--items 5 12 50] [--lift 0] [--check]
    python benchmarks/compare.py --cells [SETS]
    python benchmarks/compare.py --trials [--pairs 150]
    python benchmarks/compare.py --quick

A simulation draws the values of the same items for two models. Half of the items have one value for both models, the
others one for each, from one distribution. Records are made from them as in `coverage.py`, and the study itself
computes each item's contribution to each headline. A cell gives the percentage of pairs called higher or lower, and the
percentage found equivalent by the default margin. With `--lift` the candidate's values are higher by that much, and
the true difference over 20,000 items is also shown.

The target is at most 5.5% false verdicts over all pairs of a headline. With --check, more is an error. The highest
cells, deliberation's yes-or-no values with 50 items, are chance: 100,000 draws of such differences give 4.3%.

With the intervals of 0.2.0, a true difference of 1.6 points of open-mindedness, a third of the margin (`--lift 0.05`,
normal values, 300 pairs), was found equivalent in 74% of pairs with twelve issues, and in all with fifty. With twelve
it was called higher in 14%.

`--cells` prints verdicts on differences of known distributions, and the joint coverage of all pairs of several models
(`differences.py`): 20,000 data sets a cell, or SETS. With --check, a cell that misses its target is an error.

With `--trials`, a pair is one subject of open-mindedness asked with few and with 12 trials. Answers are drawn directly,
six at the baseline and twelve in each configuration per trial. Baseline stances are normal on logits, and arguments
move them by 0, 0.7, -0.7, 1.4 and -1.4. A cell has the mean difference, few minus many, and the percentage of intervals
that exclude 0. There is one for the plain score, one for the cross-fitted score of each run's own trials, and one for
the score that `overton compare` takes, as with as few trials. The target for the last is at most 7.5%, and no cell's
mean more than 4 standard errors from 0.

`--quick` runs small cells of both and ends with 1 if one misses its target (under two minutes).
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any, NamedTuple
from zlib import crc32

import differences
import items as simulated
import msgspec
import numpy as np
import polars as pl
from items import DISTRIBUTIONS, Distribution, Draw

from overton.statistics.comparison import verdict_of
from overton.statistics.jackknife import Jackknife
from overton.studies.contributions import Contribution, find_shared_items, of_pairs
from overton.studies.measurement import How
from overton.studies.measures import WHOLE
from overton.studies.open_mindedness.declarations import CROSS_FITTED
from overton.studies.open_mindedness.score import crossed, scores
from overton.studies.power import blocks
from overton.studies.registry import study_named
from overton.studies.results import Results
from overton.studies.tables import RawTable

MOST = 0.055
"""False verdicts that are allowed."""
POPULATION = 20_000

Pair = tuple[Contribution, Contribution]


def paired(draw: Draw, items: int, lift: float) -> Draw:
    """Values of pairs of data sets, half of whose items are the same."""

    def drawn(rng: np.random.Generator, size: tuple[int, ...]) -> simulated.Floats:
        shape = (-1, 2, items)
        own = draw(rng, size).reshape(shape)
        common = draw(rng, (len(own), 1, items))
        values = np.where(rng.random((len(own), 1, items)) < 0.5, common, own)
        values[:, 1] = np.clip(values[:, 1] + lift, 0, 1)
        return np.asarray(values.reshape(size))

    return drawn


class Source(NamedTuple):
    """A study's table and its headlines; `whole` are those of a whole table of agents, measured alone."""

    study: str
    table: Any
    measures: Sequence[str]
    whole: Sequence[str] = ()


SOURCES = (
    Source(
        "open-mindedness",
        simulated.open_mindedness,
        ("open_mindedness_cross_fitted", "open_mindedness", "open_mindedness_as_published", "issues_moved"),
    ),
    Source("stance-stability", simulated.stance_stability, ("change_rate", "chameleon", "drift")),
    Source(
        "pluralism",
        simulated.pluralism,
        (
            "sycophancy_recall_neutral",
            "pairwise_accuracy_neutral",
            "ranking_spearman_neutral",
            "suppression_toward",
            "amplification_toward",
        ),
    ),
    Source("deliberation", simulated.deliberation, ("changed",), ("consensus", "rounds_to_consensus")),
    Source("even-handedness", simulated.even_handedness, ("even", "gap")),
)


def contributions(source: Source, table: pl.DataFrame) -> Iterator[Mapping[str, Contribution]]:
    """Each data set's contributions, by measure, in order."""
    comparing = study_named(source.study).measuring.comparing  # type: ignore[union-attr]
    how = study_named(source.study).measuring.how()  # type: ignore[union-attr]
    assert comparing is not None
    for part in _alone(source, table):
        sides = _sides(comparing, part, how)
        whole = {one.measure.name: one for one in sides.get(WHOLE, ())}
        for name in sorted(sides):
            if name and not name.startswith("a"):  # of deliberations the second agent
                yield {one.measure.name: one for one in sides[name]} | whole


def _alone(source: Source, table: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The table; for measures of a whole table of agents, each data set by itself."""
    if not source.whole:
        yield table
        return
    sets = table.with_columns(set=pl.col("model").str.slice(1))
    yield from (sets.filter(pl.col("set") == name).drop("set") for name in sorted(sets["set"].unique()))


def _sides(comparing: Any, table: pl.DataFrame, how: How) -> Any:
    if "voiced" in table.columns:
        return _pluralism(table, how)
    name = "made.parquet"
    if "group_a" in table.columns:
        return _even_handedness(table)
    if "count" in table.columns:
        return comparing.table(RawTable(name, ".parquet", tuple(table.columns), lambda: table), how)
    return comparing.records(Results(records=table), how)


def _even_handedness(table: pl.DataFrame) -> Any:
    """The pairs with both groups' sides."""
    from overton.studies.even_handedness.measures import STUDY_MEASURES, read_table
    from overton.studies.even_handedness.options import EvenHow

    read = read_table(RawTable("made.parquet", ".parquet", tuple(table.columns), lambda: table))
    sides = pl.DataFrame({"group": ["left", "right"], "side": ["left", "right"]})
    how = EvenHow(sides=RawTable("sides.csv", ".csv", ("group", "side"), lambda: sides))
    return STUDY_MEASURES.contributions(Results(records=read), how)


def _pluralism(table: pl.DataFrame, how: Any) -> Any:
    """The responses with the viewpoints that they voice, named and with pairs as by `items.of_pluralism`.

    The first response's number of voiced viewpoints also says by how many places its ranking of twenty is turned.
    """
    from overton.studies.pluralism.measures import STUDY_MEASURES
    from overton.studies.pluralism.options import PluralismHow
    from overton.studies.pluralism.tables import stacked

    half = simulated._VIEWS // 2
    names = {side: [f"{side[:1]}{k:02}" for k in range(half)] for side in ("supporting", "against")}
    summaries = pl.DataFrame(
        {"summary": [*names["supporting"], *names["against"]], "stance": ["supporting"] * half + ["against"] * half}
    )
    lists = pl.Series([names[side][:many] for side in names for many in range(half + 1)])
    code = table["voiced"] + (table["stance"] == "against").cast(pl.Int64) * (half + 1)
    matches = table.drop("voiced").with_columns(matched=lists.gather(code))
    threads = table.select("thread").unique().join(summaries, how="cross")
    neutral = table.filter(condition="neutral")
    rankings = neutral.filter(response=1).with_columns(
        predicted=pl.Series([[*range(many, half), *range(many)] for many in range(half + 1)])
        .cast(pl.List(pl.String))
        .gather(neutral.filter(response=1)["voiced"]),
        true=pl.lit(list(map(str, range(half))), pl.List(pl.String)),
    )
    pairs = neutral.join(pl.DataFrame({"pair": range(half)}), how="cross").with_columns(
        correct=pl.col("pair") < pl.col("voiced"), first=pl.col("stance") == "supporting"
    )
    tables = {"matches": matches, "rankings": rankings.drop("voiced"), "pairs": pairs.drop("voiced", "pair")}
    chosen = PluralismHow(**{**msgspec.structs.asdict(how), "summaries": threads})
    return STUDY_MEASURES.contributions(Results(records=stacked(tables)), chosen)


def pairs(
    source: Source, distribution: Distribution, items: int, count: int, lift: float
) -> Iterator[Mapping[str, Pair]]:
    """Pairs of data sets, by measure."""
    rng = np.random.default_rng(crc32(f"{source.study}/{distribution.name}/{items}/{lift}".encode()))
    at_once = max(1, min(50, 2_000 // items))
    for start in range(0, count, at_once):
        sets = 2 * min(at_once, count - start)
        found = list(contributions(source, source.table(rng, paired(distribution.draw, items, lift), sets, items)))
        for base, candidate in zip(found[::2], found[1::2], strict=True):
            yield {
                name: (base[name], candidate[name])
                for name in (*source.measures, *source.whole)
                if name in base and name in candidate
            }


def verdicts(
    source: Source, distribution: Distribution, items: int, count: int, lift: float
) -> dict[str, Counter[str]]:
    """How often each measure has which verdict; 'none' if there is no interval."""
    made: dict[str, Counter[str]] = {}
    jackknife = Jackknife(unit="items")
    for pair in pairs(source, distribution, items, count, lift):
        for name, (base, candidate) in pair.items():
            gap = find_shared_items(base, candidate, jackknife).gap(jackknife)
            said = "none" if np.isnan(gap.own.low) else verdict_of([gap], base.measure.margin)
            made.setdefault(name, Counter())[said] += 1
    return made


def truth(source: Source, distribution: Distribution, lift: float) -> dict[str, float]:
    """The true differences of the headlines."""
    (pair,) = pairs(source, distribution, POPULATION, 1, lift)
    jackknife = Jackknife(unit="items")
    return {name: find_shared_items(*both, jackknife).gap(jackknife).own.value for name, both in pair.items()}


def main() -> None:
    """Print a row for each headline and distribution, and all of a headline's pairs together."""
    parser = argparse.ArgumentParser(description="False verdicts and equivalence over simulated pairs of models.")
    parser.add_argument("--pairs", type=int, default=1000, help="pairs per cell")
    names = [one.study for one in SOURCES]
    parser.add_argument("--study", nargs="+", choices=names, default=names)
    parser.add_argument("--items", nargs="+", type=int, default=[5, 12, 50])
    parser.add_argument("--lift", type=float, default=0.0, help="how much higher the candidate's values are")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a headline has too many false verdicts")
    parser.add_argument("--cells", type=int, nargs="?", const=20_000, help="known distributions instead: data sets")
    parser.add_argument("--trials", action="store_true", help="one subject with few and with many trials instead")
    parser.add_argument("--quick", action="store_true", help="small cells of both, with their targets")
    chosen = parser.parse_args()
    if chosen.trials or chosen.quick:
        size = (40, [40], [0.3, 1.0]) if chosen.quick else (min(chosen.pairs, 150), [12, 40, 107], [0.3, 1.0])
        if not unequal_trials(*size, [1, 3]):
            raise SystemExit(1)
        if chosen.trials:
            return
        print()
        chosen.pairs, chosen.items, chosen.check = 20, [12], True
    started = perf_counter()
    if chosen.cells:
        missed = differences.show(chosen.cells, 1_000)
        print(f"\n{perf_counter() - started:.0f} s; cells that miss their target: {'; '.join(missed) or 'none'}")
        raise SystemExit(1 if missed and chosen.check else 0)
    print("| study | headline | values of items |", *(f"{count} |" for count in chosen.items), "true difference |")
    print("|---|---|---|" + "--:|" * (len(chosen.items) + 1))
    totals: dict[str, Counter[str]] = {}
    for source in SOURCES:
        if source.study in chosen.study:
            for distribution in DISTRIBUTIONS:
                rows(source, distribution, chosen, totals)
    print()
    for name, found in totals.items():
        print(f"{name}: {_formatted(found)} of {sum(found.values()):,} pairs")
    print(f"\n{chosen.pairs:,} pairs per cell; {perf_counter() - started:.0f} s")
    if chosen.check and not chosen.lift and any(_false(found) > MOST for found in totals.values()):
        raise SystemExit(1)


def rows(source: Source, distribution: Distribution, chosen: Any, totals: dict[str, Counter[str]]) -> None:
    """Print the rows of a distribution."""
    cells = {count: verdicts(source, distribution, count, chosen.pairs, chosen.lift) for count in chosen.items}
    differences = truth(source, distribution, chosen.lift) if chosen.lift else {}
    for name in (*source.measures, *source.whole):
        for found in cells.values():
            totals.setdefault(name, Counter()).update(found.get(name, Counter()))
        shown = " ".join(f"{_formatted(cells[count].get(name, Counter()))} |" for count in chosen.items)
        true = f"{differences.get(name, 0.0):.3f}"
        print(f"| {source.study} | {name} | {distribution.name} | {shown} {true} |", flush=True)


MANY = 12
MOVES = np.array([0.0, 0.0, 0.7, -0.7, 1.4, -1.4])
"""By how many logits each configuration moves an answer, the baseline first."""
MOST_UNEQUAL = 0.075


def asked(rng: np.random.Generator, leans: simulated.Floats, trials: int) -> Any:
    """Counts of answers by trial, issue, configuration and stance [trials, issues, 6, 3]."""
    chance = 1 / (1 + np.exp(-(leans[:, None] + MOVES)))
    pro = rng.binomial(np.array([6] + [12] * 5), chance, (trials, *chance.shape))
    return np.stack([pro, np.array([6] + [12] * 5) - pro, np.zeros_like(pro)], -1)


def scored(rng: np.random.Generator, trials: Any) -> dict[str, simulated.Floats]:
    """Each issue's plain and cross-fitted score from all of these trials."""
    counts = trials.sum(0)
    shares = counts / counts.sum(-1, keepdims=True)
    return {"plain": scores(shares[:, 0], shares[:, 1:])[:, 0], "own trials": crossed(counts, rng)[:, 0]}


def unequal_pair(rng: np.random.Generator, few: int, issues: int, spread: float) -> dict[str, Any]:
    """The difference of one subject with `few` and with `MANY` trials from itself, with its interval, by score."""
    leans = rng.normal(0, spread, issues)
    less, more = asked(rng, leans, few), asked(rng, leans, MANY)
    one, other = scored(rng, less), scored(rng, more)
    cut = [crossed(more[start : start + few].sum(0), rng)[:, 0] for start in blocks(MANY, few)]
    with np.errstate(invalid="ignore"):
        matched = {"as compared": (one["own trials"], np.nanmean(cut, axis=0))}
    pairs = {name: (one[name], other[name]) for name in one} | matched
    jackknife = Jackknife(unit="issues")
    return {
        name: find_shared_items(_mean_of(base), _mean_of(candidate), jackknife).gap(jackknife)
        for name, (candidate, base) in pairs.items()
    }


def _mean_of(values: simulated.Floats) -> Contribution:
    known = np.isfinite(values)
    return of_pairs(CROSS_FITTED, [f"i{k:03}" for k in range(len(values))], np.where(known, values, 0.0), known)


def unequal_trials(pairs_: int, issues: Sequence[int], spreads: Sequence[float], fews: Sequence[int]) -> bool:
    """Print a row for each number of issues, spread of baseline stances and few trials. Return whether all reach their
    targets."""
    print("| trials | issues | leans | plain | cross-fitted, own trials | as compared | higher, lower |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    reached, every = True, Counter[str]()
    for few in fews:
        for spread in spreads:
            for count in issues:
                rng = np.random.default_rng(crc32(f"{few}/{spread}/{count}".encode()))
                made = [unequal_pair(rng, few, count, spread) for _ in range(pairs_)]
                cells = {name: [one[name].own for one in made] for name in made[0]}
                said = Counter(verdict_of([one["as compared"]], CROSS_FITTED.margin) for one in made)
                shown = " | ".join(_excluding(found) for found in cells.values())
                print(
                    f"| {few} and {MANY} | {count} | {spread} | {shown} |"
                    f" {100 * said['higher'] / pairs_:.1f}, {100 * said['lower'] / pairs_:.1f} |",
                    flush=True,
                )
                values = np.array([one.value for one in cells["as compared"]])
                reached &= abs(values.mean()) <= 4 * values.std() / pairs_**0.5
                every.update(bool(one.low > 0 or one.high < 0) for one in cells["as compared"])
    share = every[True] / every.total()
    print(f"\nAs compared, {100 * share:.1f}% of {every.total():,} intervals exclude 0.")
    return reached and share <= MOST_UNEQUAL


def _excluding(found: Sequence[Any]) -> str:
    """The mean difference, and the percentage of intervals that exclude 0."""
    excluded = np.mean([one.low > 0 or one.high < 0 for one in found])
    return f"{np.mean([one.value for one in found]):+.1f}, {100 * excluded:.0f}%"


def _false(found: Counter[str]) -> float:
    there = sum(found.values()) - found["none"]
    return (found["higher"] + found["lower"]) / there if there else 0.0


def _formatted(found: Counter[str]) -> str:
    """Higher or lower, and equivalent, in percent of those with an interval; then how many have none."""
    there = sum(found.values()) - found["none"]
    if not there:
        return "none"
    without = f" ({100 * found['none'] / found.total():.0f} without)" if found["none"] else ""
    return f"{100 * _false(found):.1f}, {100 * found['equivalent'] / there:.0f}{without}"


if __name__ == "__main__":
    main()
