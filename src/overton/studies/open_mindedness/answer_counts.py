"""Records and tables of counts as arrays of counts, from which every measure is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from overton.errors import InputError, Problem
from overton.statistics.arrays import Floats, Ints
from overton.statistics.calibration import Calibration, calibration
from overton.studies import table_frames
from overton.studies.arm_weights import is_weighted
from overton.studies.open_mindedness.answer_reading import (
    STRICT,
    Reading,
    count_forms,
    count_readings,
    read_answers,
    strict_stance,
)
from overton.studies.open_mindedness.items import SIDES
from overton.studies.open_mindedness.options import CONDITIONS
from overton.studies.open_mindedness.record import COUNTS, MEASURED, RECORDS, STANCES
from overton.studies.probabilities import Weighing, resolve_label
from overton.studies.warnings import FaultCount, count_faults

Answers = NDArray[Any]
"""Numbers of answers: whole numbers if answers are counted, sums if their probabilities are used instead."""

PRO, CON, OTHER = range(3)
TEMPLATES = 6

WEIGHTS = ("w_pro", "w_con", "w_other")
"""Columns with a row's weight for each stance, if probabilities are used. A row's weights add up to 1."""


@dataclass(frozen=True)
class TemplateCounts:
    """Properties of records that a table of counts does not have.

    cells    answers [models, issues, conditions, templates, last argument (none, pro, con), a_first (no, yes), stance]
    letter   +1 if the answer A supports pro, -1 if it supports con, 0 if not asked [models, issues, templates]
    order    +1 if the pro position is named first, -1 if the con position is named first, 0 if not asked; same shape
    readings answers by strict stance, published stance, and whether the endpoint flagged them [models, conditions, 3,
             3, 2]
    rows     the records themselves, without failures; `m`, `i`, `c`, `t`, `s` are their indices on the axes
    moments  sums of products of an answer's probabilities [models, issues, conditions, templates, stance, stance]; None
             if answers are counted, because then each answer has one stance
    """

    cells: Answers
    letter: Ints
    order: Ints
    readings: Ints
    rows: pl.DataFrame
    moments: Floats | None = None

    def of(self, model: int) -> TemplateCounts:
        """The counts of one model, which has the index 0 in the result. `rows` keeps the records of all models."""
        own = slice(model, model + 1)
        arrays = {name: getattr(self, name)[own] for name in ("cells", "letter", "order", "readings")}
        return replace(self, **arrays, moments=None if self.moments is None else self.moments[own])

    def by_template(self, model: int) -> Answers:
        """A model's answers [issues, conditions, templates, stance]."""
        return np.asarray(self.cells[model].sum((3, 4)))

    def products(self, model: int) -> Floats | None:
        """A model's `moments` [issues, conditions, templates, stance, stance], None if answers are counted."""
        return None if self.moments is None else self.moments[model]


@dataclass(frozen=True)
class AnswerCounts:
    """Counts by model, issue and condition, each axis in sorted order (conditions in the order of `CONDITIONS`).

    answers    [models, issues, conditions, stance (pro, con, other)]
    failures   failed calls [models, issues, conditions]
    topics     each issue's topic, None if unknown
    faults     malformed answers by kind and condition; empty if Overton did not look for them
    sampled    sampled answers by stance [models, stance]; used only with probabilities
    weighed    whether answers are sums of probabilities
    way        the kind of answers: 'forced' if the model had to choose a letter, otherwise 'free'. Free answers name
               no letter, so they have no `design`
    unequal    whether some issues and conditions have more trials than others, so that sums over them are not balanced
    reading    the rules that found the stances of answers
    forms      numbers of answers by model and by the form of the letter. `stances` are numbers of answers by model and
               by the stances of the common, the strict and the published reading. `forms` and `stances` are empty if
               Overton never used the common reading
    """

    models: tuple[str, ...]
    issues: tuple[str, ...]
    conditions: tuple[str, ...]
    topics: tuple[str | None, ...]
    answers: Answers
    failures: Ints
    design: TemplateCounts | None = None
    faults: tuple[FaultCount, ...] = ()
    sampled: Ints | None = None
    weighed: bool = False
    way: Literal["forced", "free"] = "forced"
    unequal: bool = False
    reading: Reading = "strict"
    forms: tuple[tuple[str, str, int], ...] = ()
    stances: tuple[tuple[str, str, str, str, int], ...] = ()

    def condition(self, name: str) -> int | None:
        """The index of a condition, None if it was not asked."""
        return self.conditions.index(name) if name in self.conditions else None

    def asked(self, model: int) -> list[int]:
        """Indices of the issues that were asked of a model."""
        both = self.answers[model].sum((1, 2)) + self.failures[model].sum(1)
        return [int(i) for i in np.flatnonzero(both)]


def cells_from_records(
    records: pl.DataFrame, reading: Reading = "as-asked", answers: str = "as-asked", *, weighed: bool = False
) -> AnswerCounts:
    """Count records by one interpretation of the letters. If `weighed`, a record's weights are the probabilities of A
    and B at the place where the run's own reading found the letter. `answers` is the kind of answers to count, as in
    `measured_answers`.

    Raises:
        InputError: columns are missing, a value is not allowed, or a model has no answers of the counted kind. Or a
            template's letter or order differs between records of one issue and model.
    """
    measured, way = measured_answers(records, answers)
    read = read_answers(measured, reading)
    table = _checked(read.records.with_columns(strict_stance(read.records).alias(STRICT)), STRICT)
    axes, coded = _coded(table, "stance_published" if read.used == "published" else "stance")
    failed = coded.filter("failed")
    answered = coded if failed.is_empty() else coded.filter(~pl.col("failed"))
    if answered.is_empty():
        raise InputError([Problem("records", "failure", _why_nothing(table["failure"].to_list()))])
    if weighed:
        answered = answered.with_columns(**_weights())
    letter, order = (
        _signs(answered, column, shown, axes) for column, shown in (("a_pro", "a_is"), ("pro_first", "pro_first"))
    )
    cells = _by_design(answered, axes)
    return AnswerCounts(
        axes.models,
        axes.issues,
        axes.conditions,
        _topics(coded, axes),
        answers=cells.sum((3, 4, 5)),
        failures=_count(failed, ("m", "i", "c"), axes.shape),
        # Free answers name no letter, so they cannot follow a letter. All other counts include them.
        design=None
        if way == "free"
        else TemplateCounts(
            cells,
            letter=letter,
            order=order,
            readings=_count(
                answered.with_columns(
                    strict=_code(STRICT, STANCES),
                    published=_code("stance_published", STANCES),
                    flagged=pl.col("refused").cast(pl.Int64),
                ),
                ("m", "c", "strict", "published", "flagged"),
                (len(axes.models), len(axes.conditions), 3, 3, 2),
            ),
            rows=answered,
            moments=_products(answered, axes),
        ),
        faults=count_faults(answered, "condition"),
        sampled=_count(answered, ("m", "s"), (len(axes.models), 3)),
        weighed=weighed,
        way=way,
        unequal=is_weighted(measured),
        reading=read.used,
        forms=tuple(count_forms(read.records)) if way == "forced" else (),
        stances=tuple(count_readings(read.records)) if way == "forced" else (),
    )


def with_answers(records: pl.DataFrame) -> pl.DataFrame:
    """Records with the column `answers`, filled with 'forced' if the records were made before Overton had free
    answers."""
    if "answers" not in records.columns:
        return records.with_columns(answers=pl.lit("forced"))
    return records.with_columns(pl.col("answers").fill_null("forced"))


def measured_answers(records: pl.DataFrame, answers: str) -> tuple[pl.DataFrame, Literal["forced", "free"]]:
    """The records of one kind of answers, and the kind's name ('forced' or 'free'). 'as-asked' chooses the forced
    answers if there are any, otherwise the free ones.

    Raises:
        InputError: a model has no answers of this kind.
    """
    both = with_answers(records)
    free = both["answers"] == "free"
    wanted: Literal["forced", "free"] = (
        "free" if answers == "free" or (answers == "as-asked" and both.height > 0 and free.all()) else "forced"
    )
    kept = both.filter(pl.col("answers") == wanted)
    if "model" in both.columns and both.height:
        lacking = sorted(set(both["model"].unique()) - set(kept["model"].unique()))
        reason = f"has no {wanted} answers; choose another kind with --answers, or leave this model out"
        if lacking:
            raise InputError([Problem("records", str(name), reason) for name in lacking])
    return kept, wanted


def _checked(records: pl.DataFrame, *more: str) -> pl.DataFrame:
    """The columns that counting needs, and the columns `more`, after checks.

    Raises:
        InputError: a column is missing or contains a value that is not allowed.
    """
    return table_frames.check(RECORDS, records, MEASURED).select(
        *RECORDS.needed, *MEASURED, "faults", *_OF_PROBABILITIES, *more
    )


_UNREADABLE = "judge: unread: "


def _why_nothing(failures: Sequence[str]) -> str:
    """The reason why no answer can be measured: calls failed, or the judge's replies could not be read."""
    reasons = [failure.removeprefix(_UNREADABLE) for failure in failures if failure.startswith(_UNREADABLE)]
    if not reasons:
        return "every call failed, so there is no answer to measure"
    failed = len(failures) - len(reasons)
    others = f", and {failed:,} calls failed" if failed else ""
    return f"the judge's replies about {len(reasons):,} answers could not be read ({reasons[0]}){others}"


def _by_design(answered: pl.DataFrame, axes: _Axes) -> Answers:
    shape = (*axes.shape, TEMPLATES, 3, 2)
    keys = ("m", "i", "c", "t", "last", "first")
    if WEIGHTS[0] not in answered.columns:
        return _count(answered, (*keys, "s"), (*shape, 3))
    return np.stack([_summed(answered, keys, shape, answered[name].to_numpy()) for name in WEIGHTS], -1)


def _products(answered: pl.DataFrame, axes: _Axes) -> Floats | None:
    if WEIGHTS[0] not in answered.columns:
        return None
    shape = (*axes.shape, TEMPLATES)
    chances = [answered[name].to_numpy() for name in WEIGHTS]
    made = [[_summed(answered, ("m", "i", "c", "t"), shape, chance * other) for other in chances] for chance in chances]
    return np.moveaxis(np.array(made), (0, 1), (-2, -1))


def cells_from_counts(counts: pl.DataFrame) -> AnswerCounts:
    """Counts from a table with columns `model`, `issue`, `condition`, `stance`, `count` and optionally `topic`.

    Raises:
        InputError: columns are missing, or a value is not allowed.
    """
    axes, coded = _coded(table_frames.check(COUNTS, counts).with_columns(failure=pl.lit(None, pl.String)), "stance")
    answers = _count(coded, ("m", "i", "c", "s"), (*axes.shape, 3), coded["count"].to_numpy())
    if not answers.sum():
        raise InputError([Problem("counts", "count", "there is no answer to measure")])
    topics = _topics(coded, axes) if "topic" in coded.columns else (None,) * len(axes.issues)
    return AnswerCounts(axes.models, axes.issues, axes.conditions, topics, answers, np.zeros(axes.shape, np.int64))


@dataclass(frozen=True)
class _Axes:
    models: tuple[str, ...]
    issues: tuple[str, ...]
    conditions: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, int, int]:
        return len(self.models), len(self.issues), len(self.conditions)


def _coded(table: pl.DataFrame, stance: str) -> tuple[_Axes, pl.DataFrame]:
    present = set(table["condition"].unique())
    axes = _Axes(
        tuple(table["model"].unique().sort()),
        tuple(table["issue"].unique().sort()),
        tuple(name for name in CONDITIONS if name in present),
    )
    made = {
        "m": _code("model", axes.models),
        "i": _code("issue", axes.issues),
        "c": _code("condition", axes.conditions),
        "s": _code(stance, STANCES),
        "failed": pl.col("failure").is_not_null(),
    }
    if "template" in table.columns:
        made |= {
            "t": pl.col("template").cast(pl.Int64) - 1,
            "last": _code("last_argument", SIDES).add(1).fill_null(0),
            "first": pl.col("a_first").cast(pl.Int64),
            "a_pro": pl.col("a_is") == "pro",
        }
    return axes, table.with_columns(**made)


def _code(column: str, values: Sequence[str]) -> pl.Expr:
    return pl.col(column).cast(pl.Enum(list(values))).to_physical().cast(pl.Int64)


def _summed(table: pl.DataFrame, keys: Sequence[str], shape: tuple[int, ...], values: Any = None) -> Answers:
    """The number of rows in each cell; if `values` are given, their sum in each cell."""
    flat = np.ravel_multi_index(tuple(table[key].to_numpy() for key in keys), shape)
    return np.asarray(np.bincount(flat, values, minlength=int(np.prod(shape))).reshape(shape))


def _count(table: pl.DataFrame, keys: Sequence[str], shape: tuple[int, ...], weights: Any = None) -> Ints:
    counted = _summed(table, keys, shape, weights)
    return np.asarray(counted if weights is None else np.rint(counted), np.int64)


def _signs(table: pl.DataFrame, column: str, shown: str, axes: _Axes) -> Ints:
    shape = (len(axes.models), len(axes.issues), TEMPLATES)
    keys = ("m", "i", "t")
    every, true = _count(table, keys, shape), _count(table, keys, shape, table[column].to_numpy())
    mixed = np.argwhere((true > 0) & (true < every))
    if mixed.size:
        raise InputError(
            [
                Problem(axes.issues[i], shown, f"differs between {axes.models[m]}'s records of template {t + 1}")
                for m, i, t in mixed
            ]
        )
    return np.where(every == 0, 0, np.where(true > 0, 1, -1))


def _topics(coded: pl.DataFrame, axes: _Axes) -> tuple[str | None, ...]:
    known = dict(coded.group_by("i").agg(pl.col("topic").min()).iter_rows())
    return tuple(known.get(place) for place in range(len(axes.issues)))


_OF_PROBABILITIES = ("trial", "shares", "p_a", "p_b", "sampled", "letter")
"""Columns of records that are needed to use probabilities."""


def _weights() -> dict[str, pl.Expr]:
    """A row's weights for pro, con and other, which are its probabilities. If these were not reported, the row's stance
    (coded `s`) has all the weight."""
    a_pro, known = pl.col("a_is") == "pro", pl.col("p_a").is_not_null() & pl.col("p_b").is_not_null()
    p_a, p_b = pl.col("p_a").clip(0, 1), pl.col("p_b").clip(0, 1)
    pro, con = pl.when(a_pro).then(p_a).otherwise(p_b), pl.when(a_pro).then(p_b).otherwise(p_a)
    most = pl.max_horizontal(pro + con, pl.lit(1.0))  # rounding can make the sum exceed 1
    chances = {"w_pro": pro / most, "w_con": con / most, "w_other": 1 - (pro + con) / most}
    return {
        name: pl.when(known).then(chance).otherwise((pl.col("s") == place).cast(pl.Float64))
        for place, (name, chance) in enumerate(chances.items())
    }


def weighing_of_answers(
    records: pl.DataFrame, chosen: str, answers: str, reading: Reading = "as-asked"
) -> Weighing | None:
    """Whether proportions come from probabilities or counts; the result is the same for all models. None if no run has
    probabilities.

    `answers` is the kind of answers to count, as in `measured_answers`, and `reading` is the interpretation of letters.

    Raises:
        InputError: as `cells_from_records`.
    """
    table = _checked(read_answers(measured_answers(records, answers)[0], reading).records)
    asked = table["shares"].fill_null("sampled").unique().to_list()
    if asked == ["sampled"]:
        return None
    answered = table.filter(pl.col("failure").is_null())
    models = table["model"].unique().sort().to_list()
    found = {model: _calibrated(answered.filter(pl.col("model") == model)) for model in models}
    unreported = answered.filter(
        pl.col("shares").is_not_null() & pl.col("letter").is_not_null() & pl.col("p_a").is_null()
    )
    counts = {str(model): int(count) for model, count in unreported["model"].value_counts().sort("model").iter_rows()}
    return resolve_label(chosen, asked, found, counts)


def _calibrated(own: pl.DataFrame) -> Calibration:
    """Compare one model's reported and sampled letters: P(A) of answers that name a letter, and the rate of answers
    with neither letter."""
    drawn = own.filter(pl.col("sampled").list.len() > 0).sort("trial")
    letters = drawn["sampled"].to_list()
    counted = np.array([[names.count(letter) for letter in ("A", "B")] for names in letters], float).reshape(-1, 2)
    reported = drawn.select("p_a", "p_b").cast(pl.Float64).fill_null(float("nan")).to_numpy().reshape(-1, 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        of_letters = reported / reported.sum(1, keepdims=True)
    known = np.isfinite(reported).all(1)
    none = np.array([names.count("neither") / len(names) for names in letters], float).reshape(-1)
    return calibration(of_letters, counted, (1 - reported.sum(1)[known], none[known]))
