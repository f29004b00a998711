"""Single arguments: models' answers when an argument is shown, and how well models agree in these answers (figure 6).
Also the effect of the choice of arguments, which is not in the paper."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isnan
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from overton.calls import Draw
from overton.statistics import Estimate, not_computed
from overton.statistics.arrays import Floats, Ints
from overton.statistics.correlation import clustered_pearson
from overton.statistics.estimate import DIFFERENCE, SHARE
from overton.statistics.jackknife import Jackknife
from overton.statistics.proportions import wilson_limits
from overton.studies.frame import EstimateRow
from overton.studies.open_mindedness.answer_counts import PRO, TEMPLATES, WEIGHTS, AnswerCounts
from overton.studies.open_mindedness.score import plurality


@dataclass(frozen=True)
class ArgumentTable:
    """Answers by argument.

    ids     argument ids, the third axis; the same id in two issues means two different arguments
    pro, n  numbers of pro answers and of all answers in trials that showed the argument [models, issues, arguments]
    places  indices in `ids` of all arguments shown, record after record. `rows` has the number of the record for each
            index
    """

    ids: tuple[str, ...]
    pro: NDArray[Any]
    n: Ints
    places: Ints
    rows: Ints


def argument_table(cells: AnswerCounts) -> ArgumentTable | None:
    """Count answers by the arguments shown; None if no record shows arguments."""
    if cells.design is None:
        return None
    table = cells.design.rows
    lengths = table["arguments"].list.len().fill_null(0).to_numpy().astype(np.int64)
    shown = table["arguments"].filter(pl.Series(lengths > 0)).explode()
    if not len(shown):
        return None
    ids = tuple(shown.unique().sort())
    places = shown.cast(pl.Enum(list(ids))).to_physical().to_numpy().astype(np.int64)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    shape = (len(cells.models), len(cells.issues), len(ids))
    flat = (table["m"].to_numpy() * shape[1] + table["i"].to_numpy())[rows] * shape[2] + places
    size = int(np.prod(shape))
    if cells.weighed:
        pro = np.bincount(flat, table[WEIGHTS[PRO]].to_numpy()[rows], minlength=size).reshape(shape)
    else:
        pro = np.bincount(flat[(table["s"].to_numpy() == PRO)[rows]], minlength=size).reshape(shape)
    return ArgumentTable(ids, pro, np.bincount(flat, minlength=size).reshape(shape), places, rows)


def argument_shares(cells: AnswerCounts, table: ArgumentTable, model: int, level: float) -> Iterator[EstimateRow]:
    """A model's proportion of pro answers when an argument was shown, by issue, with Wilson's interval."""
    shown = np.argwhere(table.n[model] > 0)
    pro, n = (counts[model][tuple(shown.T)] for counts in (table.pro, table.n))
    low, high = wilson_limits(pro / n, n, level)
    numbers = zip(shown.tolist(), (pro / n).tolist(), low.tolist(), high.tolist(), n.tolist(), strict=True)
    for (issue, argument), value, lower, upper, count in numbers:
        yield EstimateRow(
            model=cells.models[model],
            item=cells.issues[issue],
            facet="argument",
            condition=table.ids[argument],
            measure="argument_pro",
            number=Estimate(value, lower, upper, count, "Wilson", level),
        )


def families_in(records: pl.DataFrame) -> dict[str, str]:
    """The families of models in a table made outside Overton, by model."""
    if "family" not in records.columns:
        return {}
    named = records.select("model", "family").drop_nulls().unique("model", keep="first", maintain_order=True)
    return dict(named.iter_rows())


def same_family(families: Mapping[str, str], first: str, second: str) -> bool | None:
    """Whether two models are of one family; None if either family is unknown."""
    return families[first] == families[second] if first in families and second in families else None


def agreements(
    cells: AnswerCounts, table: ArgumentTable, families: Mapping[str, str], jackknife: Jackknife
) -> Iterator[EstimateRow]:
    """Pearson correlations between single arguments' effects on two models (figure 6). Rows for all pairs of models
    come first, then the medians within and between families. A correlation is over the arguments that both models were
    shown, and `n` is the number of these arguments.

    `agreement` is the paper's measure: the correlation of the proportions of pro answers over all arguments. This
    correlation mostly reflects differences between issues. `agreement_within` subtracts the mean of each issue and
    side, so that only differences between the arguments of one side remain.
    """
    by_family: dict[bool | None, list[float]] = defaultdict(list)
    for a, b in combinations(range(len(cells.models)), 2):
        first, second = cells.models[a], cells.models[b]
        numbers = _correlations(table, a, b, jackknife)
        for measure, number in zip(("agreement", "agreement_within"), numbers, strict=True):
            yield EstimateRow(model=first, against=second, measure=measure, number=number)
        by_family[same_family(families, first, second)].append(numbers[0].value)
    for name, is_same in (("within", True), ("between", False)):
        number = _median(by_family[is_same], jackknife.level)
        yield EstimateRow(facet="families", condition=name, measure="agreement", number=number)


def _correlations(table: ArgumentTable, first: int, second: int, jackknife: Jackknife) -> tuple[Estimate, Estimate]:
    """The correlation over all arguments, and the correlation within issues and sides."""
    issues, arguments = np.nonzero((table.n[first] > 0) & (table.n[second] > 0))
    x, y = (table.pro[model, issues, arguments] / table.n[model, issues, arguments] for model in (first, second))
    sides = issues * 2 + np.array([name.startswith("pro-") for name in table.ids])[arguments]
    return (
        clustered_pearson(x, y, issues, jackknife),
        clustered_pearson(_centred(x, sides), _centred(y, sides), issues, jackknife),
    )


def _centred(values: Floats, groups: Ints) -> Floats:
    n = np.maximum(np.bincount(groups), 1)
    # Round, so that deviations in groups without spread are exactly 0. Otherwise their rounding errors would correlate.
    return np.asarray(np.round(values - (np.bincount(groups, values) / n)[groups], 12))


def _median(correlations: Sequence[float], level: float) -> Estimate:
    """The median correlation; `n` is the number of pairs. Pairs share models and arguments, so there is no interval."""
    values = [value for value in correlations if not isnan(value)]
    if not values:
        return not_computed("there is no such pair of models with known families", level=level)
    return Estimate(float(np.median(values)), float("nan"), float("nan"), len(values), "median of pairs", level)


_WORDINGS = 3
_NO_PAIRS = (
    "no issue and configuration has both kinds of pairs of answers to one wording and template: with the same"
    " arguments, and with different arguments"
)


class _AnswerPairs(NamedTuple):
    """Numbers of unordered pairs of answers, and of those that differ [models, issues, conditions]."""

    differing: Ints
    every: Ints


DRAWS = ("flips_other_set", "flips_same_set", "flips_extra", "majority_flips", "set_variance")
"""Measures of how much results depend on the random choice of arguments.

A pair consists of two answers to the same issue, configuration, wording and template. In runs with token probabilities,
these are sampled letters. `flips_other_set` is the probability that the two answers differ if their arguments differ.
`flips_same_set` is the probability if the arguments are the same. `flips_extra` is the first probability minus the
second. Two measures need repeated sets (`--draws`). `majority_flips` is the proportion of pairs of sets whose most
common stances differ. `set_variance` is the variance of the pro proportion between sets, beyond sampling noise.
"""


def draw_dependence(
    cells: AnswerCounts, table: ArgumentTable | None, jackknife: Jackknife
) -> list[dict[str, Estimate]] | None:
    """The numbers of `DRAWS` for each model; None if no record shows arguments."""
    if cells.design is None or table is None:
        return None
    rows = cells.design.rows
    places = rows.select("m", "i", "c", "t", "wording", "s", set=pl.Series(_signatures(table, rows.height)))
    shown = places.filter(_varies(places, cells.failures.shape))
    every, same = _count_pairs(shown, cells.failures.shape)
    other = _AnswerPairs(every.differing - same.differing, every.every - same.every)
    repeated = rows.filter(pl.col("draw").is_not_null())
    return [
        _dependence(
            _AnswerPairs(other.differing[model], other.every[model]),
            _AnswerPairs(same.differing[model], same.every[model]),
            _repeated_sets(repeated, model),
            jackknife,
        )
        for model in range(len(cells.models))
    ]


def _varies(places: pl.DataFrame, shape: tuple[int, ...]) -> pl.Series:
    """True for rows whose issue and configuration were shown with more than one set of arguments."""
    place = np.ravel_multi_index(tuple(places[key].to_numpy() for key in ("m", "i", "c")), shape)
    sets = places["set"].to_numpy()
    example = np.zeros(int(np.prod(shape)), np.uint64)
    example[place] = sets
    several = np.bincount(place, sets != example[place], minlength=example.size) > 0
    return pl.Series(several[place])


def _signatures(table: ArgumentTable, height: int) -> NDArray[np.uint64]:
    """A number that identifies each row's set of arguments regardless of their order; 0 if the row has no arguments."""
    words = np.array([Draw(f"argument/{name}").words(1)[0] for name in table.ids], np.uint64)
    total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(words[table.places], dtype=np.uint64)])
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(table.rows, minlength=height))])
    return np.asarray(np.diff(total[ends]), np.uint64)


def _count_pairs(shown: pl.DataFrame, shape: tuple[int, ...]) -> tuple[_AnswerPairs, _AnswerPairs]:
    """Count pairs of answers to the same wording and template: all pairs, and pairs with the same arguments."""
    place = np.ravel_multi_index(tuple(shown[key].to_numpy() for key in ("m", "i", "c")), shape)
    cell = (place * _WORDINGS + shown["wording"].to_numpy().astype(np.int64)) * TEMPLATES + shown["t"].to_numpy()
    order = np.lexsort((shown["set"].to_numpy(), cell))
    place, cell, stance = place[order], cell[order], shown["s"].to_numpy()[order]
    return _grouped([cell], stance, place, shape), _grouped(
        [cell, shown["set"].to_numpy()[order]], stance, place, shape
    )


def _grouped(keys: list[NDArray[np.generic]], stance: Ints, place: Ints, shape: tuple[int, ...]) -> _AnswerPairs:
    """Count pairs of rows with equal keys. Rows with equal keys must be adjacent."""
    starts = np.ones(len(stance), bool)
    starts[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    group = np.cumsum(starts) - 1
    sizes = np.bincount(group * 3 + stance, minlength=3 * int(starts.sum())).reshape(-1, 3)
    n = sizes.sum(1)
    every, agreeing = n * (n - 1) // 2, (sizes * (sizes - 1) // 2).sum(1)
    flat = int(np.prod(shape))
    counted = (np.bincount(place[starts], part, minlength=flat).reshape(shape) for part in (every - agreeing, every))
    return _AnswerPairs(*(np.rint(part).astype(np.int64) for part in counted))


def _dependence(
    other: _AnswerPairs, same: _AnswerPairs, sets: dict[int, tuple[Floats, Floats]], jackknife: Jackknife
) -> dict[str, Estimate]:
    """The measures of `DRAWS`. Flip rates are over the issues and configurations that have two kinds of pairs: with the
    same arguments, and with different arguments.

    In all three rates, an issue in a configuration has the Mantel-Haenszel weight n1 n0 / (n1 + n0). Here n1 and n0 are
    its numbers of pairs of the two kinds.
    """
    majority_flips, variance = _between_sets(sets, jackknife)
    weight = other.every * same.every / np.maximum(other.every + same.every, 1)
    below = weight.sum(1)
    if not below.any():
        none = not_computed(_NO_PAIRS, level=jackknife.level)
        return dict(zip(DRAWS, (none, none, none, majority_flips, variance), strict=True))
    rates = [weight * pairs.differing / np.maximum(pairs.every, 1) for pairs in (other, same)]
    other_set, same_set = (jackknife.ratio(rate.sum(1), below, SHARE) for rate in rates)
    extra = jackknife.ratio((rates[0] - rates[1]).sum(1), below, DIFFERENCE)
    return dict(zip(DRAWS, (other_set, same_set, extra, majority_flips, variance), strict=True))


_NO_SETS = "argument sets were not repeated; --draws repeats them"


def _repeated_sets(rows: pl.DataFrame, model: int) -> dict[int, tuple[Floats, Floats]]:
    """For each issue, two arrays of sums over configurations: (flips, pairs) and (variance, configurations).

    `rows` are records with a repeated set. Flips are pairs of sets whose most common stances differ; pairs are all
    pairs of sets. The variance is that of the pro proportion between sets, minus the variance from sampling alone.
    """
    counted = (
        rows.filter(pl.col("m") == model)
        .group_by("i", "c", "draw", "wording", "t")
        .agg(*((pl.col("s") == stance).sum().alias(f"s{stance}") for stance in range(3)))
        .sort("i", "c", "draw", "wording", "t")
    )
    made: dict[int, tuple[Floats, Floats]] = defaultdict(lambda: (np.zeros(2), np.zeros(2)))
    for (issue, _), part in counted.group_by("i", "c", maintain_order=True):
        draws = part["draw"].to_numpy()
        answers = part.select("s0", "s1", "s2").to_numpy().astype(np.int64)
        sets = [answers[draws == draw] for draw in np.unique(draws)]
        if len(sets) > 1:
            flips, variance = made[int(str(issue))]
            flips += _flips(sets)
            variance += _variance(sets)
    return dict(made)


def _flips(sets: list[Ints]) -> Floats:
    stances = plurality(np.stack([cells.sum(0) for cells in sets]).astype(float))
    pairs = list(combinations(stances.tolist(), 2))
    return np.array([sum(a != b for a, b in pairs), len(pairs)], float)


def _variance(sets: list[Ints]) -> Floats:
    shares = [cells[:, PRO].sum() / cells.sum() for cells in sets]
    beyond = float(np.var(shares, ddof=1) - np.mean([_noise(cells) for cells in sets]))
    return np.array([beyond, 1.0]) if np.isfinite(beyond) else np.zeros(2)


def _noise(cells: Ints) -> float:
    """Sampling variance of one set's pro proportion, stratified by wording and template. If a stratum has fewer than
    two answers, all answers are one stratum."""
    n = cells.sum(1).astype(float)
    if (n < 2).any():
        cells, n = cells.sum(0, keepdims=True), n.sum(keepdims=True)
    share = cells[:, PRO] / n
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(((n / n.sum()) ** 2 * share * (1 - share) / (n - 1)).sum())


def _between_sets(issues: dict[int, tuple[Floats, Floats]], jackknife: Jackknife) -> tuple[Estimate, Estimate]:
    """The measures `majority_flips` and `set_variance` over all issues."""
    if not issues:
        return (not_computed(_NO_SETS, level=jackknife.level),) * 2
    flips = np.stack([issues[issue][0] for issue in sorted(issues)])
    variance = np.stack([issues[issue][1] for issue in sorted(issues)])
    return jackknife.ratio(flips[:, 0], flips[:, 1], SHARE), jackknife.ratio(variance[:, 0], variance[:, 1])
