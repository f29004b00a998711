"""Records of open-mindedness made into units: issues, issues in a configuration or in one wording, and free answers.

Shares, scores and pulls are computed as arrays [issues, ...] (`answer_counts`, `shares`, `score`, `position_bias`).
Each value that a measure is a mean of has a column here, null where a unit has none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from overton.statistics.arrays import Floats
from overton.statistics.jackknife import Jackknife
from overton.studies.open_mindedness.answer_counts import CON, OTHER, PRO, AnswerCounts, with_answers
from overton.studies.open_mindedness.position_bias import FollowedPull, ModelPulls, following, measure_pulls, unmeasured
from overton.studies.open_mindedness.record import STANCES
from overton.studies.open_mindedness.score import (
    SCORED,
    VARIANTS,
    IssueScores,
    baseline_stance,
    crossed,
    crossed_issues,
    issue_scores,
    plurality,
    scored_places,
)
from overton.studies.open_mindedness.shares import ShareTable, answered_shares, corrected_shares, whole
from overton.studies.units import Units

if TYPE_CHECKING:
    from overton.studies.results import Results

NO_STANCE = "no answer takes a stance"

_STRONG_PRIOR = 0.95
"""A baseline share of one side at which the introduction starts to call a prior strong."""
_REFUSING = 0.3
"""A baseline share of 'other' above which figure 7 shows an issue."""
_ABOVE = 0.5
"""What a single contrary argument takes, above which figure 5 counts an issue."""

CONTRASTS = {
    "contrary_con": ("one-sided-pro", "convincing-pro", PRO),
    "contrary_pro": ("one-sided-con", "convincing-con", CON),
    "clean_con": ("three-pro", "convincing-pro", PRO),
    "clean_pro": ("three-con", "convincing-con", CON),
}
"""What a single contrary argument takes from the side that the others support: the two configurations whose shares
differ by it, and the side. In the first two the number of agreeing arguments differs too."""


SHIFTS = ("shift", "shift_con", "shift_other")
"""Changes of the shares of pro, con and other from the baseline."""
MEANS = ("letter", "first", "letter_and_first")
"""Pulls that are means over issues."""


class IssueArrays(NamedTuple):
    """One model's shares and scores by issue, of answers as they are or corrected; `withheld` says why there are no
    scores, '' if there are."""

    table: ShareTable
    scores: IssueScores
    withheld: str


@dataclass(frozen=True)
class ModelArrays:
    """One model's numbers by issue; limits of scores are from so many `draws`, with 0 there are none.

    `followed` is what most of its answers follow. `corrected` has the pulls of letter and position set to zero, None
    without records or if templates do not identify them. `faultless` is without malformed answers, the same if there
    are none, and None if nobody looked for them.
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
        """Indices of the issues that were asked of it."""
        return self.cells.asked(self.model)

    @cached_property
    def followed(self) -> FollowedPull | None:
        """What most of its answers follow; None if nothing, or without records."""
        return following(self.cells, self.model, self.jackknife.level)

    @cached_property
    def answered(self) -> IssueArrays:
        """Answers as they are."""
        return self._answered(self.cells, self.followed)

    @property
    def withheld(self) -> str:
        """Why it has no scores, '' if it has."""
        return self.answered.withheld

    @cached_property
    def corrected(self) -> IssueArrays | None:
        """Letter and position set to zero."""
        fixed = corrected_shares(self.cells, self.model)
        if fixed is None or not np.isfinite(fixed.share).any():
            return None
        return self._scored(fixed, self.withheld)

    @cached_property
    def faultless(self) -> IssueArrays | None:
        """Without malformed answers."""
        without, malformed = self.cells.faultless, is_malformed(self.cells, self.model)
        if malformed is None:
            return None
        if without is None or not malformed:
            return self.answered
        return self._answered(without, following(without, self.model, self.jackknife.level))

    @cached_property
    def pulls(self) -> ModelPulls | None:
        """What moves its answers besides arguments; None without records."""
        return measure_pulls(self.cells, self.model, self.jackknife)

    def variant(self, name: str) -> IssueArrays | None:
        """Answers as they are ('plain'), 'letter_balanced' or 'without_faults'; None if it has none."""
        if name == "plain":
            return self.answered
        return self.corrected if name == "letter_balanced" else self.faultless

    def _answered(self, cells: AnswerCounts, followed: FollowedPull | None) -> IssueArrays:
        takes_sides = cells.answers[self.model][..., :OTHER].any()
        return self._scored(answered_shares(cells, self.model), unmeasured(followed) if takes_sides else NO_STANCE)

    def _scored(self, table: ShareTable, withheld: str) -> IssueArrays:
        scores = issue_scores(table, self.jackknife, self.draws)
        return IssueArrays(table, scores.withheld() if withheld else scores, withheld)


def is_malformed(cells: AnswerCounts, model: int) -> bool | None:
    """Whether any answer of a model is malformed; None if nobody looked for that."""
    own = [count for count in cells.faults if count.model == cells.models[model]]
    return any(count.faulty for count in own) if own else None


def without_faults(results: Results) -> Results:
    """The view without answers that have a fault of form; those not checked for faults stay."""
    records = results.records
    if "faults" not in records.columns:
        return results
    return replace(results, records=records.filter(pl.col("faults").list.len().fill_null(0) == 0))


def flips_of(table: ShareTable) -> Floats:
    """Whether each configuration's most common stance differs from the baseline's [issues, conditions]: 1 or 0, NaN
    without a baseline stance or answers."""
    if "baseline" not in table.conditions:
        return np.full(table.share.shape[:2], np.nan)
    first = baseline_stance(table.share[:, table.conditions.index("baseline")])[:, None]
    known = np.isfinite(table.share[..., PRO]) & (first >= 0)
    return np.where(known, plurality(table.share) != first, np.nan)


def _any_flips(table: ShareTable, names: Sequence[str]) -> Floats:
    """Whether some of these configurations flips an issue's stance [issues]; NaN if none of those with answers does,
    and some have none."""
    flips = flips_of(table)
    if not set(names) <= set(table.conditions):
        flips = np.column_stack([flips, np.full(len(flips), np.nan)])
        names = [name for name in names if name in table.conditions]
        chosen = [*(table.conditions.index(name) for name in names), flips.shape[1] - 1]
    else:
        chosen = [table.conditions.index(name) for name in names]
    own = flips[:, chosen]
    return np.where((own == 1).any(1), 1.0, np.where(np.isfinite(own).all(1), 0.0, np.nan))


def share_in(table: ShareTable, condition: str, stance: int) -> Floats:
    """The share of a stance in a configuration [issues], NaN without answers."""
    if condition not in table.conditions:
        return np.full(len(table.share), np.nan)
    return np.asarray(table.share[:, table.conditions.index(condition), stance])


def _where_known(values: Floats, found: Any) -> Floats:
    """A property of known values as 1 or 0, NaN where they are not known."""
    return np.where(np.isfinite(values), np.asarray(found, float), np.nan)


def _leaning_pro(table: ShareTable) -> Floats:
    leaning = np.round(share_in(table, "baseline", PRO) - share_in(table, "baseline", CON), 9)
    return _where_known(leaning, leaning > 0)


def moved_issues(arrays: ModelArrays) -> dict[str, Floats]:
    """Definition 1's plain question by issue: whether some configuration of equation 1 flips the stance, whether no
    one-sided one does, and whether 95% or more of the baseline's answers take its stance."""
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


def contrary_issues(table: ShareTable) -> dict[str, Floats]:
    """What a single contrary argument takes, by issue, and whether it is more than half (figure 5)."""
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
    """Whether more than 30% of an issue's baseline answers are 'other', and how much more are with arguments."""
    baseline = share_in(table, "baseline", OTHER)
    argued = table.share[:, [place for place, name in enumerate(table.conditions) if name != "baseline"], OTHER]
    known = np.isfinite(argued)
    with np.errstate(invalid="ignore"):
        mean = np.where(known, argued, 0.0).sum(1) / known.sum(1)
    return {"often_other": _where_known(baseline, baseline > _REFUSING), "other_change": mean - baseline}


def _score_columns(arrays: IssueArrays) -> dict[str, Floats]:
    return {name: arrays.scores.value[:, place] for place, name in enumerate(VARIANTS)}


def crossed_columns(arrays: ModelArrays) -> dict[str, Floats]:
    """Cross-fitted scores, by the readings that benefit, whatever the answers follow."""
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
    """Rows of one model, one for each of its issues; `columns` are by issue, NaN for no value, and `texts` the same in
    all rows."""
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
    every: Iterable[ModelArrays], variant: str = "plain", *, subset: Collection[str] = (), compared: bool = False
) -> Units | None:
    """One row for each issue asked of a model, with the scores of a variant; None if no model has any.

    Plain ones have all other values too, unless they are only `compared`. `topic` is the issue's topic, and `subset` is
    'controversial' for those in `subset`.
    """
    found = []
    for arrays in every:
        if (own := arrays.variant(variant)) is None:
            continue
        columns = _score_columns(own)
        if variant == "plain":
            crossing = crossed_columns(arrays)
            nothing = np.full(len(arrays.cells.issues), np.nan)
            columns |= dict.fromkeys(crossing, nothing) if arrays.withheld else crossing
            columns |= moved_issues(arrays)
        if not compared:
            columns["leaning_pro"] = _leaning_pro(own.table)
        if variant == "plain" and not compared:
            columns |= contrary_issues(own.table) | _refusing_issues(own.table) | _pull_columns(arrays)
        found.append(_table(arrays, columns, condition=""))
    if not found:
        return None
    inside = pl.when(pl.col("issue").is_in(list(subset))).then(pl.lit("controversial")).alias("subset")
    return Units(pl.concat(found).with_columns(inside), "issue", ("topic", "subset"))


def answer_units(every: Iterable[ModelArrays], variant: str = "plain") -> Units | None:
    """One row for each issue of a model in a configuration: shares of answers, and what they are above the baseline's;
    None if no model has any. `refusals` is 'often' if more than 30% of the issue's baseline answers are 'other'."""
    found = []
    for arrays in every:
        if (own := arrays.variant(variant)) is None:
            continue
        often = _refusing_issues(arrays.answered.table)["often_other"][arrays.asked] == 1
        refusals = pl.Series("refusals", ["often" if other else None for other in often], dtype=pl.String)
        for condition in arrays.cells.conditions:
            shares = [share_in(own.table, condition, stance) for stance in (PRO, CON, OTHER)]
            shifts = [share - share_in(own.table, "baseline", stance) for stance, share in enumerate(shares)]
            columns = dict(zip((*STANCES, *SHIFTS), (*shares, *shifts), strict=True))
            found.append(_table(arrays, columns, condition=condition).with_columns(refusals))
    return Units(pl.concat(found), "issue", ("refusals",)) if found else None


def wording_units(every: Iterable[ModelArrays]) -> Units | None:
    """One row for each issue of a model in each of the six wordings of the question: shares at the baseline and the
    cross-fitted score of this wording's answers alone; None if the table does not distinguish them."""
    found = []
    for arrays in every:
        cells, baseline, places = (
            arrays.cells,
            arrays.cells.condition("baseline"),
            scored_places(arrays.cells.conditions),
        )
        if cells.design is None or baseline is None:
            continue
        answers = cells.design.by_template(arrays.model)
        for template in wording_counts(arrays):
            own = answers[:, :, int(template) - 1]
            n, score = own[:, baseline].sum(-1), np.full(len(own), np.nan)
            with np.errstate(invalid="ignore"):
                pro, other = (np.where(n > 0, own[:, baseline, stance] / n, np.nan) for stance in (PRO, OTHER))
            if places is not None and not cells.weighed and not arrays.withheld:
                rng = np.random.default_rng((arrays.jackknife.seed, len(arrays.asked)))
                score[arrays.asked] = crossed(own[arrays.asked][:, places], rng)[:, 0]
            columns = {"pro": pro, "other": other, "open_mindedness_cross_fitted": score}
            found.append(_table(arrays, columns, condition="", wording=template))
    return Units(pl.concat(found), "issue", ("wording",)) if found else None


def wording_counts(arrays: ModelArrays) -> dict[str, int]:
    """How many answers of a model each wording of the question has, of those asked at the baseline."""
    baseline = arrays.cells.condition("baseline")
    if arrays.cells.design is None or baseline is None:
        return {}
    answers = arrays.cells.design.by_template(arrays.model)[arrays.asked]
    return {
        str(template + 1): int(whole(answers[:, :, template].sum()))
        for template in range(answers.shape[2])
        if answers[:, baseline, template].any()
    }


KINDS = ("differs", "abstains", "opposite", "speaks")
"""How a free answer differs: at all; no side though the forced one takes one; the other side; a side though the forced
one takes none. The last three add up to the first."""
STRENGTHS = ("slight", "clear", "strong")


def pairs_of(records: pl.DataFrame) -> pl.DataFrame:
    """One row per trial with both answers, in the order of the records: `model`, `trial`, `issue`, `condition`,
    `forced`, `free` (stances), and for each of `KINDS` whether it applies."""
    records = with_answers(records).filter(pl.col("failure").is_null())
    kept = ("model", "trial", "issue", "condition")
    free = records.filter(pl.col("answers") == "free").select(*kept, free="stance")
    forced = records.filter(pl.col("answers") == "forced").select("model", "trial", forced="stance")
    both = free.join(forced, on=["model", "trial"], how="inner", maintain_order="left")
    sides = {name: pl.col(name).cast(pl.String) != "other" for name in ("forced", "free")}
    differs = pl.col("forced").cast(pl.String) != pl.col("free").cast(pl.String)
    return both.with_columns(
        differs=differs,
        abstains=sides["forced"] & ~sides["free"],
        opposite=sides["forced"] & sides["free"] & differs,
        speaks=~sides["forced"] & sides["free"],
    )


def free_answers(records: pl.DataFrame) -> pl.DataFrame:
    """The free answers among records; none if there are none."""
    records = with_answers(records)
    return records.filter(pl.col("answers") == "free") if "trial" in records.columns else records.clear()


def free_units(records: pl.DataFrame) -> dict[str, Units]:
    """Free answers of each model and issue ('free'), and in each configuration as well ('free_in'): issues weigh
    equally, so that each value is a mean over an issue's answers, or over its pairs of a forced and a free one.

    `failed` says how many of an issue's free answers are in no pair, by one that is.
    """
    free, pairs = free_answers(records), pairs_of(records)
    labelled = free.filter(pl.col("failure").is_null()).with_columns(pl.col("stance").cast(pl.String))
    takes = {f"free_{stance}": (pl.col("stance") == stance).mean() for stance in STANCES}
    sided = pl.col("strength").is_not_null()
    of_labelled = {
        "free_neither": (pl.col("stance") == "other").mean(),
        "free_declines": pl.col("declines").drop_nulls().mean(),
        **{f"free_{name}": (pl.col("strength").cast(pl.String) == name).filter(sided).mean() for name in STRENGTHS},
    }
    made = {}
    for kind, keys, values in (
        ("free", ["model", "issue"], of_labelled),
        ("free_in", ["model", "issue", "condition"], takes),
    ):
        table = (
            free.group_by(keys)
            .agg(pl.len().alias("asked"))
            .join(labelled.group_by(keys).agg(**values), on=keys, how="left")
            .join(
                pairs.group_by(keys).agg(
                    pl.len().alias("pairs"), *(pl.col(name).mean().alias(f"free_{name}") for name in KINDS)
                ),
                on=keys,
                how="left",
            )
            .with_columns(failed=pl.col("asked") / pl.col("pairs").fill_null(1) - 1, topic=pl.lit(None, pl.String))
            .sort(keys)
        )
        table = table if "condition" in keys else table.with_columns(condition=pl.lit(""))
        made[kind] = Units(table.with_columns(pl.col("model", "issue", "condition").cast(pl.String)), "issue")
    return made


_CELL = ("model", "issue", "condition", "wording", "template")


def forced_again(records: pl.DataFrame) -> Units:
    """How often a second forced answer would differ from the first: for each `model` and `issue` each of `KINDS` as a
    share of pairs of two answers to one template, configuration and wording.

    Cells are weighted by their free answers, so that both shares are of the same prompts; those with fewer than two
    forced answers say nothing, and neither does an issue that has no others. `opposite` is what chance does to those
    free answers that take a side. Each of the two has arguments of its own, while a free answer shares those of its
    forced one: that adds to the differences here.
    """
    records = with_answers(records).filter(pl.col("failure").is_null())
    stance = pl.col("stance").cast(pl.String)
    counts = {f"n_{name}": (stance == name).sum().cast(pl.Float64) for name in STANCES}
    forced = records.filter(pl.col("answers") == "forced").group_by(_CELL).agg(**counts)
    free = records.filter(pl.col("answers") == "free").group_by(_CELL)
    weight = free.agg(pl.len().alias("weight"), sided=(stance != "other").mean())
    pro, con, other = (pl.col(f"n_{name}") for name in STANCES)
    both, every = pro + con, pro + con + other
    pairs = every * (every - 1)
    cells = forced.join(weight, on=_CELL).filter(every >= 2)
    cells = cells.with_columns(
        free_abstains=both * other / pairs,
        free_opposite=2 * pro * con / pairs * pl.col("sided"),
        free_speaks=other * both / pairs,
        free_differs=2 * (both * other + pro * con) / pairs,
    )
    weighed = [
        ((pl.col(f"free_{kind}") * pl.col("weight")).sum() / pl.col("weight").sum()).alias(f"free_{kind}")
        for kind in KINDS
    ]
    made = cells.group_by("model", "issue").agg(weighed).sort("model", "issue")
    names = made.with_columns(pl.col("model", "issue").cast(pl.String), condition=pl.lit(""))
    return Units(names, "issue")
