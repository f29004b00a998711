"""The measures by which models are compared: each issue's scores, its shares and whether anything moved it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from overton.statistics.arrays import Floats
from overton.statistics.jackknife import DIFFERENCE
from overton.studies.measures import Contribution, Measure, Sides, of_pairs
from overton.studies.open_mindedness.free.compared import free_sides
from overton.studies.open_mindedness.measures import chance
from overton.studies.open_mindedness.measures.cells import (
    OTHER,
    PRO,
    AnswerCounts,
    cells_from_counts,
    cells_from_records,
)
from overton.studies.open_mindedness.measures.crossfit import crossed_issues
from overton.studies.open_mindedness.measures.following import following, unmeasured
from overton.studies.open_mindedness.measures.scores import (
    VARIANTS,
    baseline_stance,
    plurality,
    scored_places,
    scores,
)
from overton.studies.open_mindedness.measures.shares import ShareTable, answered_shares, corrected_shares
from overton.studies.open_mindedness.tables import read_table
from overton.studies.results import Results

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.open_mindedness.how import OpenMindednessHow
    from overton.studies.probabilities import Weighing
    from overton.studies.tables import RawTable


_SCORE, _PLAIN = (0.0, 100.0), VARIANTS.index("open_mindedness")


def _score(name: str, title: str, *, leads: bool = False) -> Measure:
    """A score that few answers raise: chance flips evenly divided issues."""
    return Measure(name, title, _SCORE, 5.0, "score", "score", leads, variant=True, unbiased=CROSS_FITTED.name)


CROSS_FITTED = Measure(
    "open_mindedness_cross_fitted",
    "Open-mindedness",
    (-100.0, 100.0),
    5.0,
    "score",
    "score",
    leads=True,
    matched=True,
)
"""The headline, cross-fitted (`measures.crossfit`): chance in few answers does not raise it. But half of few answers
overlooks flips that half of many finds."""
_SCORES = (
    _score("open_mindedness", "Open-mindedness, plain", leads=True),
    _score("open_mindedness_as_published", "Open-mindedness, by the published formula", leads=True),
    _score("open_mindedness_even", "Open-mindedness, plain, even weights"),
    _score("open_mindedness_even_as_published", "Open-mindedness, by the published formula, even weights"),
)
"""In the order of `VARIANTS`."""
_BALANCED = _score("open_mindedness_letter_balanced", "Open-mindedness, plain, letter-balanced")
_MOVED = Measure("issues_moved", "Share of issues moved", margin=0.1, unbiased=CROSS_FITTED.name)
_NOT_SCORED = "no issue has a baseline stance and answers in all five configurations"
_NOT_HALVED = "no issue has a baseline stance and two answers in all five configurations"


def of_records(results: Results, how: OpenMindednessHow) -> Sides:
    """Every model's contributions, by the reading that `how` names; after them those of free answers."""
    return _with_free(results.records, _sides(cells_from_records(results.records, *_chosen(how)), how))


def of_table(table: RawTable, how: OpenMindednessHow) -> Sides:
    """The same of a table of records or of counts.

    Raises:
        InputError: it is neither.
    """
    found = read_table(table)
    if found.kind == "counts":
        return _sides(cells_from_counts(found.table), how)
    return _with_free(found.table, _sides(cells_from_records(found.table, *_chosen(how)), how))


def _chosen(how: OpenMindednessHow) -> tuple[str, str, str]:
    return how.reading, how.shares, how.answers


def _with_free(records: pl.DataFrame, sides: Sides) -> Sides:
    free = free_sides(records)
    return {name: [*found, *free.get(name, ())] for name, found in sides.items()}


def weighing(results: Results, how: OpenMindednessHow) -> Weighing | None:
    """What shares are made of; None if nobody asked for token probabilities."""
    return cells_from_records(results.records, *_chosen(how)).weighing


def cross_fitted(results: Results, how: OpenMindednessHow) -> Sides:
    """Every model's contributions to the cross-fitted score alone, whatever its answers follow."""
    cells = cells_from_records(results.records, *_chosen(how))
    return {name: [_of_halves(cells, model, how)] for model, name in enumerate(cells.models)}


def _of_halves(cells: AnswerCounts, model: int, how: OpenMindednessHow, withheld: str = "") -> Contribution:
    halves = _crossed(cells, model, scored_places(cells.conditions), how.seed)
    return _means(CROSS_FITTED, cells, halves, withheld or _NOT_HALVED, withheld=bool(withheld))


def by_chance(results: Results, how: OpenMindednessHow) -> Sides:
    """What chance alone would give each model's scores and its share of issues moved, given its answers."""
    cells = cells_from_records(results.records, *_chosen(how))
    return {name: list(_chances(cells, model, how)) for model, name in enumerate(cells.models)}


def _chances(cells: AnswerCounts, model: int, how: OpenMindednessHow) -> Iterator[Contribution]:
    made = chance.by_chance(cells, model, how.seed)
    for variant, measure in enumerate(_SCORES):
        yield _dealt(measure, cells, made.scores[..., variant])
    yield _dealt(_MOVED, cells, made.moved)


def _dealt(measure: Measure, cells: AnswerCounts, deals: Floats) -> Contribution:
    """The means over deals [deals, issues], and each deal's deviation from them."""
    known = np.isfinite(deals)
    with np.errstate(invalid="ignore"):
        mean = np.where(known, deals, 0.0).sum(0) / known.sum(0)
    return _means(measure, cells, mean, _NOT_SCORED, noise=np.where(known, deals - mean, 0.0))


def _sides(cells: AnswerCounts, how: OpenMindednessHow) -> Sides:
    return {name: list(_contributions(cells, model, how)) for model, name in enumerate(cells.models)}


def _contributions(cells: AnswerCounts, model: int, how: OpenMindednessHow) -> Iterator[Contribution]:
    asked = cells.answers[model].sum(-1)
    answers = float(asked[asked > 0].mean()) if asked.any() else None
    for contribution in _measured(cells, model, how):
        yield (
            replace(contribution, answers=answers)
            if contribution.measure.unbiased or contribution.measure.matched
            else contribution
        )


def _measured(cells: AnswerCounts, model: int, how: OpenMindednessHow) -> Iterator[Contribution]:
    withheld = unmeasured(following(cells, model, how.level))
    answered, fixed = answered_shares(cells, model), corrected_shares(cells, model)
    places = scored_places(cells.conditions)
    value = _scored(answered, places)
    extremes = cache(partial(_extreme_scores, cells, model, places)) if places else None
    for variant, measure in enumerate(_SCORES):
        made = _means(measure, cells, value[:, variant], withheld or _NOT_SCORED, withheld=bool(withheld))
        yield (
            replace(made, extreme_values=partial(_extremes, extremes, cells, made.items, variant)) if extremes else made
        )
    if fixed is not None:
        yield _means(
            _BALANCED, cells, _scored(fixed, places)[:, _PLAIN], withheld or _NOT_SCORED, withheld=bool(withheld)
        )
    yield _of_halves(cells, model, how, withheld)
    yield _means(_MOVED, cells, _moved(answered, places), withheld or _NOT_SCORED, withheld=bool(withheld))
    yield from _shares(cells, answered)


def _means(
    measure: Measure,
    cells: AnswerCounts,
    values: Floats,
    why: str,
    *,
    withheld: bool = False,
    noise: Floats | None = None,
) -> Contribution:
    """A mean over issues; NaN if an issue has no value."""
    if withheld or not np.isfinite(values).any():
        return Contribution(measure, (), np.empty((0, 2)), why=why)
    known = np.isfinite(values)
    return of_pairs(measure, cells.issues, np.where(known, values, 0.0), known.astype(float), noise=noise)


def _scored(table: ShareTable, places: list[int] | None) -> Floats:
    """Each issue's scores [issues, variants], NaN without one."""
    made = np.full((len(table.share), len(VARIANTS)), np.nan)
    if places is not None:
        share = table.share[:, places]
        known = np.flatnonzero(np.isfinite(share).all((1, 2)))
        made[known] = scores(share[known, 0], share[known, 1:])
    return made


def _crossed(cells: AnswerCounts, model: int, places: list[int] | None, seed: int) -> Floats:
    if places is None:
        return np.full(len(cells.issues), np.nan)
    asked = cells.asked(model)
    made = np.full(len(cells.issues), np.nan)
    made[asked] = crossed_issues(cells, model, asked, places, seed)[:, _PLAIN]
    return made


def _moved(table: ShareTable, places: list[int] | None) -> Floats:
    """Whether some configuration flips an issue's stance; NaN if unknown."""
    if places is None:
        return np.full(len(table.share), np.nan)
    share = table.share[:, places]
    known = np.isfinite(share[:, :, 0])
    first = baseline_stance(share[:, 0])
    flips = (plurality(share[:, 1:]) != first[:, None]) & known[:, 1:]
    decided = known[:, 0] & (first >= 0) & (flips.any(1) | known[:, 1:].all(1))
    return np.where(decided, flips.any(1).astype(float), np.nan)


def _shares(cells: AnswerCounts, table: ShareTable) -> Iterator[Contribution]:
    """The pro share in each configuration, and the shares that are neither pro nor con."""
    for place, condition in enumerate(cells.conditions):
        word = condition.replace("-", "_")
        for stance, name in ((PRO, "pro"), (OTHER, "other")):
            measure = Measure(f"{name}_{word}", f"Share {name}, {condition}")
            yield _means(measure, cells, table.share[:, place, stance], f"no answers in {condition}")
    if "baseline" in cells.conditions:
        baseline = table.share[:, cells.conditions.index("baseline"), PRO]
        for place, condition in enumerate(cells.conditions):
            if condition != "baseline":
                measure = Measure(f"shift_{condition.replace('-', '_')}", f"Shift by {condition}", DIFFERENCE)
                yield _means(measure, cells, table.share[:, place, PRO] - baseline, f"no answers in {condition}")


def _extremes(
    extremes: Callable[[], tuple[Floats, Floats]], cells: AnswerCounts, items: Sequence[str], variant: int
) -> tuple[Floats, Floats]:
    """What the scores of some issues could be in one variant."""
    rows = [cells.issues.index(name) for name in items]
    least, most = extremes()
    return least[rows, variant], most[rows, variant]


def _extreme_scores(cells: AnswerCounts, model: int, places: Sequence[int]) -> tuple[Floats, Floats]:
    """The lowest and the highest scores that each issue could have, each [issues, variants].

    In each configuration, the failed calls and the answers without a stance all turn out pro, all con, or all other.
    """
    counts, failed = cells.answers[model][:, places], cells.failures[model][:, places]
    free = counts[..., OTHER] + failed
    least, most = np.full((2, len(counts), len(VARIANTS)), np.nan)
    some = np.flatnonzero((counts.sum(-1) > 0).all(1) & (free.sum(1) > 0))
    sure = (counts.sum(-1) > 0).all(1) & (free.sum(1) == 0)
    plain = counts[sure] / counts[sure].sum(-1, keepdims=True)
    least[sure] = most[sure] = scores(plain[:, 0], plain[:, 1:])
    ways = np.eye(3)[np.array([*product(range(3), repeat=len(places))])]  # [ways, configurations, stance]
    for issue in some:
        fixed = counts[issue].astype(float)
        fixed[:, OTHER] = 0.0
        answers = fixed + ways * free[issue][:, None]
        shares = answers / answers.sum(-1, keepdims=True)
        found = scores(shares[:, 0], shares[:, 1:])
        if np.isfinite(found).any():
            least[issue], most[issue] = np.nanmin(found, 0), np.nanmax(found, 0)
    return np.nan_to_num(least, nan=_SCORE[0]), np.nan_to_num(most, nan=_SCORE[1])
