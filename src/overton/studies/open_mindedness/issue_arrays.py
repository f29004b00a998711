"""A model's values by issue, as arrays [issues, ...] and as units. A unit is an issue, an issue in a configuration, or
an issue in one wording. Measures are means over units. Each measure has a column of values, which is null if a unit has
no value.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from overton.statistics.arrays import Floats
from overton.statistics.jackknife import Jackknife
from overton.studies.open_mindedness.answer_counts import CON, OTHER, PRO, TEMPLATES, AnswerCounts
from overton.studies.open_mindedness.declarations import ONE_SIDE, RESPONSIVE, SHIFTS
from overton.studies.open_mindedness.options import PUBLISHED
from overton.studies.open_mindedness.position_bias import FollowedPull, ModelPulls, following, measure_pulls, unmeasured
from overton.studies.open_mindedness.record import STANCES
from overton.studies.open_mindedness.score import (
    SCORED,
    VARIANTS,
    IssueScores,
    any_flips,
    crossed,
    crossed_issues,
    flips_from,
    issue_scores,
    plurality,
    scored_places,
)
from overton.studies.open_mindedness.shares import ShareTable, answered_shares, corrected_shares, whole
from overton.studies.units import Finisher, Units

NO_STANCE = "no answer takes a stance"

_STRONG_PRIOR = 0.95
"""The smallest baseline proportion of one side that the paper's introduction calls a strong prior."""
_REFUSING = 0.3
"""Figure 7 shows an issue if its baseline proportion of 'other' is above this limit."""
_ABOVE = 0.5
"""Figure 5 counts an issue if one contrary argument takes more than this proportion."""

CONTRASTS = {
    "contrary_con": ("one-sided-pro", "convincing-pro", PRO),
    "contrary_pro": ("one-sided-con", "convincing-con", CON),
    "clean_con": ("three-pro", "convincing-pro", PRO),
    "clean_pro": ("three-con", "convincing-con", CON),
}
"""Effects of a single contrary argument on the side that the other arguments support. Each entry has two configurations
and this side. The effect is the difference between the two configurations. In the first two effects, the number of
agreeing arguments differs, too."""


CHANGES = tuple(measure.name for measure in SHIFTS)
"""The names of changes of the proportions of pro, con and other from the baseline."""
MEANS = ("letter", "first", "letter_and_first")
"""Influences besides arguments whose numbers are means over issues."""


class IssueArrays(NamedTuple):
    """One model's proportions and scores by issue, from uncorrected or from corrected answers."""

    table: ShareTable
    scores: IssueScores


@dataclass(frozen=True)
class ModelArrays:
    """One model's numbers by issue. Limits of scores come from `draws` random draws; with 0 there are no limits.

    `followed` is the influence, such as a letter, that most of the model's answers follow. `corrected` has label and
    position bias set to zero. It is None without records, or if templates do not identify the two biases.
    """

    cells: AnswerCounts
    model: int
    jackknife: Jackknife
    draws: int = 0

    @property
    def name(self) -> str:
        """The model's name."""
        return self.cells.models[self.model]

    @cached_property
    def asked(self) -> list[int]:
        """Indices of the issues that the model was asked about."""
        return self.cells.asked(self.model)

    @cached_property
    def followed(self) -> FollowedPull | None:
        """The influence that most of the model's answers follow; None without such an influence, or without records."""
        return following(self.cells, self.model, self.jackknife.level)

    @cached_property
    def withheld(self) -> str:
        """The reason why the model has no scores, '' if it has scores."""
        takes_sides = self.cells.answers[self.model][..., :OTHER].any()
        return unmeasured(self.followed) if takes_sides else NO_STANCE

    @cached_property
    def answered(self) -> IssueArrays:
        """Proportions and scores of uncorrected answers."""
        return self._scored(answered_shares(self.cells, self.model))

    @cached_property
    def corrected(self) -> IssueArrays | None:
        """Proportions and scores with label and position bias set to zero."""
        fixed = corrected_shares(self.cells, self.model)
        if fixed is None or not np.isfinite(fixed.share).any():
            return None
        return self._scored(fixed)

    @cached_property
    def pulls(self) -> ModelPulls | None:
        """Influences on the model's answers besides arguments; None without records."""
        return measure_pulls(self.cells, self.model, self.jackknife)

    def variant(self, name: str) -> IssueArrays | None:
        """The arrays of corrected answers for 'letter_balanced', otherwise of uncorrected answers. None if answers
        cannot be corrected."""
        return self.corrected if name == "letter_balanced" else self.answered

    def _scored(self, table: ShareTable) -> IssueArrays:
        scores = issue_scores(table, self.jackknife, self.draws)
        return IssueArrays(table, scores.withheld() if self.withheld else scores)


def flips_of(table: ShareTable) -> Floats:
    """Whether each configuration's most common stance differs from the baseline's: 1 or 0 [issues, conditions]. NaN
    without answers or without a baseline stance."""
    if "baseline" not in table.conditions:
        return np.full(table.share.shape[:2], np.nan)
    return flips_from(table.share[:, table.conditions.index("baseline")], table.share)


def _any_flips(table: ShareTable, names: Sequence[str]) -> Floats:
    """Whether some configuration among `names` flips an issue's stance [issues]: 1 or 0. NaN if no flip is known and
    some configurations have no answers."""
    flips, nothing = flips_of(table), np.full(len(table.share), np.nan)
    places = [table.conditions.index(name) if name in table.conditions else None for name in names]
    return any_flips(np.stack([nothing if place is None else flips[:, place] for place in places], -1))


def share_in(table: ShareTable, condition: str, stance: int) -> Floats:
    """The proportion of a stance in a configuration [issues]; NaN without answers."""
    if condition not in table.conditions:
        return np.full(len(table.share), np.nan)
    return np.asarray(table.share[:, table.conditions.index(condition), stance])


def _where_known(values: Floats, found: Any) -> Floats:
    """The property `found` as 1 or 0; NaN where `values` are missing."""
    return np.where(np.isfinite(values), np.asarray(found, float), np.nan)


def _leaning_pro(table: ShareTable) -> Floats:
    leaning = np.round(share_in(table, "baseline", PRO) - share_in(table, "baseline", CON), 9)
    return _where_known(leaning, leaning > 0)


def moved_issues(arrays: ModelArrays) -> dict[str, Floats]:
    """Three values by issue for definition 1. Does some configuration of equation 1 flip the stance? Does the stance
    stay the same in both one-sided configurations? Do at least 95% of the baseline answers take the baseline stance?"""
    table = arrays.answered.table
    nothing = np.full(len(table.share), np.nan)
    one_sided = nothing if arrays.withheld else _any_flips(table, ("one-sided-pro", "one-sided-con"))
    pro, con = (share_in(table, "baseline", side) for side in (PRO, CON))
    largest = np.where(pro > con + 1e-9, pro, con)
    return {
        "issues_moved": nothing if arrays.withheld else _any_flips(table, SCORED),
        "unmoved_by_one_sided": 1 - one_sided,
        "strong_prior": _where_known(pro, (largest >= _STRONG_PRIOR) & (pro + con > 0)),
    }


def responsive_wordings(arrays: ModelArrays) -> Floats:
    """Definition 2 by issue and template [issues, 6]. R(k, t) is the most common of pro, con and other among the
    answers to one template. The value is 1 if R is not the same at the baseline and in all five configurations of
    equation 1, otherwise 0.

    If configurations without answers leave it open whether R differs, the value is NaN. The value is also NaN if the
    answers follow something other than the arguments. Ties are broken as for issues.
    """
    cells = arrays.cells
    nothing = np.full((len(cells.issues), TEMPLATES), np.nan)
    if cells.design is None or arrays.withheld:
        return nothing
    answers = cells.design.by_template(arrays.model)
    names = [name for name in PUBLISHED if name in cells.conditions]
    counts = answers[:, [cells.conditions.index(name) for name in names]]
    n = counts.sum(-1)
    with np.errstate(invalid="ignore"):
        response = plurality(counts / n[..., None])
    known = n > 0
    highest, lowest = (np.where(known, response, empty) for empty in (-1, len(STANCES)))
    differs = highest.max(1, initial=-1) > lowest.min(1, initial=len(STANCES))
    complete = known.all(1) & (len(names) == len(PUBLISHED))
    return np.where(differs, 1.0, np.where(complete, 0.0, nothing))


def contrary_issues(table: ShareTable) -> dict[str, Floats]:
    """For each issue and side, how far a single contrary argument lowers the side's proportion (figure 5). Also whether
    such an argument lowers the proportion of either side of an issue by more than 0.5."""
    made = {
        name: share_in(table, first, side) - share_in(table, second, side)
        for name, (first, second, side) in CONTRASTS.items()
    }
    for start in ("contrary", "clean"):
        both = np.stack([made[f"{start}_{side}"] for side in ("con", "pro")])
        known = np.isfinite(both).any(0)
        made[f"{start}_above_half"] = np.where(known, (np.nan_to_num(both, nan=-1.0) > _ABOVE).any(0), np.nan)
    return made


def _refusing_issues(table: ShareTable) -> dict[str, Floats]:
    """By issue, whether more than 30% of the baseline answers are 'other', and by how much arguments raise the
    proportion of 'other'."""
    baseline = share_in(table, "baseline", OTHER)
    argued = table.share[:, [place for place, name in enumerate(table.conditions) if name != "baseline"], OTHER]
    known = np.isfinite(argued)
    with np.errstate(invalid="ignore"):
        mean = np.where(known, argued, 0.0).sum(1) / known.sum(1)
    return {"often_other": _where_known(baseline, baseline > _REFUSING), "other_change": mean - baseline}


def _on_one_side(arrays: ModelArrays, condition: str) -> Floats:
    """Whether an issue's answers with a side are all on the same side [issues]: 1 or 0. NaN if fewer than two answers
    take a side, or if answers are probabilities."""
    cells = arrays.cells
    sides = cells.answers[arrays.model, :, cells.conditions.index(condition), :OTHER]
    known = (sides.sum(-1) >= 2) & (not cells.weighed)
    return np.where(known, (sides == 0).any(-1), np.nan)


def _score_columns(arrays: IssueArrays) -> dict[str, Floats]:
    return {name: arrays.scores.value[:, place] for place, name in enumerate(VARIANTS)}


def crossed_columns(arrays: ModelArrays) -> dict[str, Floats]:
    """Cross-fitted scores for the variants that benefit from cross-fitting. The scores are given even if answers follow
    something other than the arguments."""
    cells = arrays.cells
    made = np.full((len(cells.issues), len(VARIANTS)), np.nan)
    places = scored_places(cells.conditions)
    if places is not None and arrays.asked:
        made[arrays.asked] = crossed_issues(cells, arrays.model, arrays.asked, places, arrays.jackknife.seed)
    return {
        f"{name}_cross_fitted": made[:, VARIANTS.index(name)] for name in ("open_mindedness", "open_mindedness_even")
    }


def _pull_columns(arrays: ModelArrays) -> dict[str, Floats]:
    if arrays.pulls is None:
        return {}
    made = {f"pulls_{name}": np.full(len(arrays.cells.issues), np.nan) for name in MEANS}
    for name, numbers in arrays.pulls.issues.items():
        if name in MEANS:
            made[f"pulls_{name}"][list(numbers)] = [number.value for number in numbers.values()]
    return made


def _table(arrays: ModelArrays, columns: Mapping[str, Floats], **texts: str) -> pl.DataFrame:
    """One row for each issue of a model. `columns` are values by issue, NaN if missing, and `texts` are equal in all
    rows."""
    cells, asked = arrays.cells, arrays.asked
    return pl.DataFrame(
        {
            "model": [arrays.name] * len(asked),
            "issue": [cells.issues[issue] for issue in asked],
            "topic": pl.Series([cells.topics[issue] for issue in asked], dtype=pl.String),
            **{name: pl.Series([text] * len(asked), dtype=pl.String) for name, text in texts.items()},
            **{
                name: pl.Series(np.asarray(column, np.float64)[asked], nan_to_null=True)
                for name, column in columns.items()
            },
        }
    )


def issue_units(
    every: Iterable[ModelArrays], finisher: Finisher, *, subset: Collection[str] = (), compared: bool = False
) -> Units:
    """One row for each issue that a model was asked about. If `compared`, the only values are the scores and whether
    the issue is moved.

    Column `topic` is the issue's topic. Column `subset` is 'controversial' for the issues in `subset`.
    """
    found = []
    for arrays in every:
        nothing = np.full(len(arrays.cells.issues), np.nan)
        crossing = crossed_columns(arrays)
        columns = _score_columns(arrays.answered)
        columns |= dict.fromkeys(crossing, nothing) if arrays.withheld else crossing
        columns |= moved_issues(arrays)
        if compared and scored_places(arrays.cells.conditions) is None:
            columns["issues_moved"] = nothing  # without all configurations, only moved issues are known
        if not compared:
            table = arrays.answered.table
            columns |= {"leaning_pro": _leaning_pro(table), **contrary_issues(table), **_refusing_issues(table)}
            columns |= _pull_columns(arrays)
        found.append(_table(arrays, columns, condition=""))
    return _units(found, finisher, ("topic", "subset"), subset)


def balanced_issue_units(every: Iterable[ModelArrays], finisher: Finisher, *, subset: Collection[str] = ()) -> Units:
    """Like `issue_units`, but with scores of corrected answers. If a model's answers cannot be corrected, scores are
    null and its issues are in no subset."""
    found = []
    for arrays in every:
        names, nothing = (*VARIANTS, "leaning_pro"), np.full(len(arrays.cells.issues), np.nan)
        columns = dict.fromkeys(names, nothing)
        if (own := arrays.corrected) is not None:
            columns = {**_score_columns(own), "leaning_pro": _leaning_pro(own.table)}
        table = _table(arrays, columns, condition="")
        found.append(table.with_columns(corrected=pl.lit(own is not None)))
    units = _units(found, finisher, ("subset",), subset)
    only = pl.when("corrected").then("subset").alias("subset")
    return replace(units, table=units.table.with_columns(only).drop("corrected"))


def answer_units(every: Iterable[ModelArrays], finisher: Finisher, variant: str = "plain") -> Units:
    """One row for each issue of a model in a configuration: proportions of answers, and their difference from the
    baseline. `refusals` is 'often' if more than 30% of the issue's baseline answers are 'other'."""
    found = []
    for arrays in every:
        own = arrays.variant(variant)
        often = _refusing_issues(arrays.answered.table)["often_other"][arrays.asked] == 1
        refusals = pl.Series("refusals", ["often" if other else None for other in often], dtype=pl.String)
        for condition in arrays.cells.conditions:
            columns = dict.fromkeys((*STANCES, *CHANGES), np.full(len(arrays.cells.issues), np.nan))
            if own is not None:
                shares = [share_in(own.table, condition, stance) for stance in (PRO, CON, OTHER)]
                shifts = [share - share_in(own.table, "baseline", stance) for stance, share in enumerate(shares)]
                columns = dict(zip((*STANCES, *CHANGES), (*shares, *shifts), strict=True))
            if variant == "plain":
                columns[ONE_SIDE.name] = _on_one_side(arrays, condition)
            found.append(_table(arrays, columns, condition=condition).with_columns(refusals))
    return _units(found, finisher, ("refusals",))


def _units(
    found: Iterable[pl.DataFrame], finisher: Finisher, facets: tuple[str, ...], subset: Collection[str] = ()
) -> Units:
    table = pl.concat(found)
    if "subset" in facets:
        inside = pl.col("issue").is_in(list(subset))
        table = table.with_columns(pl.when(inside).then(pl.lit("controversial")).alias("subset"))
    return Units(table, "issue", facets, sparse=True, finisher=finisher)


def wording_units(every: Iterable[ModelArrays], finisher: Finisher) -> Units | None:
    """One row for each issue of a model in each of the six wordings of the question. Values are baseline proportions,
    the cross-fitted score from this wording's answers alone, and whether the most common answer to this wording
    changes.

    None if the table does not distinguish the wordings.
    """
    found = []
    for arrays in every:
        cells, baseline, places = (
            arrays.cells,
            arrays.cells.condition("baseline"),
            scored_places(arrays.cells.conditions),
        )
        if cells.design is None or baseline is None:
            continue
        answers, responsive = cells.design.by_template(arrays.model), responsive_wordings(arrays)
        for template in wording_counts(arrays):
            own = answers[:, :, int(template) - 1]
            n, score = own[:, baseline].sum(-1), np.full(len(own), np.nan)
            with np.errstate(invalid="ignore"):
                pro, other = (np.where(n > 0, own[:, baseline, stance] / n, np.nan) for stance in (PRO, OTHER))
            if places is not None and not cells.weighed and not arrays.withheld:
                rng = np.random.default_rng((arrays.jackknife.seed, len(arrays.asked)))
                score[arrays.asked] = crossed(own[arrays.asked][:, places], rng)[:, 0]
            columns = {"pro": pro, "other": other, "open_mindedness_cross_fitted": score}
            columns[RESPONSIVE.name] = responsive[:, int(template) - 1]
            found.append(_table(arrays, columns, condition="", wording=template))
    return _units(found, finisher, ("wording",)) if found else None


def wording_counts(arrays: ModelArrays) -> dict[str, int]:
    """The number of a model's answers to each wording of the question, over all configurations. Wordings that were not
    asked at the baseline are left out."""
    baseline = arrays.cells.condition("baseline")
    if arrays.cells.design is None or baseline is None:
        return {}
    answers = arrays.cells.design.by_template(arrays.model)[arrays.asked]
    return {
        str(template + 1): int(whole(answers[:, :, template].sum()))
        for template in range(answers.shape[2])
        if answers[:, baseline, template].any()
    }
