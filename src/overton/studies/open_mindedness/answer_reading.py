"""Stances of answers by one set of rules, called a reading: the rules that the run used, or other rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from overton.errors import InputError, Problem
from overton.studies.open_mindedness.letters import common_reading
from overton.studies.open_mindedness.record import FORMS

Reading = Literal["as-asked", "common", "strict", "published"]

STRICT = "stance_strict"
"""The column with stances by the strict reading. If a run used the strict reading, they are in `stance` instead."""
_FORM, _NEW_FORM, _NEW_LETTER = "form", "_form", "_letter"


@dataclass(frozen=True)
class ReadAnswers:
    """Records with stances. `own` names the reading behind the column `stance`; it is 'as-asked' if runs with different
    readings were combined.

    `used` is the reading that is measured: `own`, or 'published', whose stances are in another column.
    """

    records: pl.DataFrame
    own: Reading
    used: Reading


def read_answers(records: pl.DataFrame, reading: Reading) -> ReadAnswers:
    """The records with stances from one reading; 'as-asked' means the stances of the runs.

    To apply the common reading to a run that did not use it, Overton reads the texts of the run's answers again. If
    this changes an answer's letter, the answer's token probabilities are dropped: the answer counts fully for its new
    stance.

    Raises:
        InputError: answers must be read again, but the records do not have their text.
    """
    own = own_reading(records)
    if reading in {"as-asked", "published"} or own == reading:
        return ReadAnswers(records, own, own if reading == "as-asked" else reading)
    if reading == "strict":
        return ReadAnswers(_take_strict(records), reading, reading)
    if "answer" not in records.columns:
        reason = f"is missing, so the {reading} reading cannot be used; the run used the {own} reading"
        raise InputError([Problem("records", "answer", reason)])
    return ReadAnswers(_read_again(records), reading, reading)


def own_reading(records: pl.DataFrame) -> Reading:
    """The reading behind the column `stance`. Only the common reading fills the column of the letters' forms."""
    if _FORM not in records.columns:
        return "strict"
    forced = records.filter(_is_answered(records))
    known = forced[_FORM].count()
    return "strict" if not known else "common" if known == forced.height else "as-asked"


def strict_stance(records: pl.DataFrame) -> pl.Expr:
    """The stance of each record by the strict reading."""
    own = pl.col("stance").cast(pl.String)
    return pl.coalesce(pl.col(STRICT).cast(pl.String), own) if STRICT in records.columns else own


def count_forms(records: pl.DataFrame) -> list[tuple[str, str, int]]:
    """The number of each model's answers in each form of `FORMS`, by the common reading: (model, form, answers)."""
    if _FORM not in records.columns:
        return []
    counted = records.filter(_is_answered(records) & pl.col(_FORM).is_not_null()).group_by("model", _FORM).len()
    rows = [(str(model), str(form), int(count)) for model, form, count in counted.iter_rows()]
    return sorted(rows, key=lambda row: (row[0], FORMS.index(row[1])))


def count_readings(records: pl.DataFrame) -> list[tuple[str, str, str, str, int]]:
    """The number of each model's answers by the stances of three readings: (model, common, strict, published,
    answers)."""
    if _FORM not in records.columns:
        return []
    keys = {
        "model": pl.col("model").cast(pl.String),
        "common": pl.col("stance").cast(pl.String),
        "strict": strict_stance(records),
        "published": pl.col("stance_published").cast(pl.String),
    }
    read = records.filter(_is_answered(records) & pl.col(_FORM).is_not_null())
    return sorted(read.select(**keys).group_by(*keys).len().iter_rows())


def _is_answered(records: pl.DataFrame) -> pl.Expr:
    """Whether a record has a forced answer."""
    came = pl.col("failure").is_null() if "failure" in records.columns else pl.lit(value=True)
    return came & (pl.col("answers").fill_null("forced") == "forced") if "answers" in records.columns else came


def _take_strict(records: pl.DataFrame) -> pl.DataFrame:
    letter = pl.when(strict_stance(records) != "other").then(
        pl.when(strict_stance(records) == pl.col("a_is").cast(pl.String)).then(pl.lit("A")).otherwise(pl.lit("B"))
    )
    return _with_letters(records.with_columns(letter.alias(_NEW_LETTER), pl.lit(None, pl.String).alias(_NEW_FORM)))


def _read_again(records: pl.DataFrame) -> pl.DataFrame:
    """Read forced answers by the common reading. Equal texts are read once."""
    texts = records.filter(_is_answered(records))["answer"].fill_null("").unique()
    found = [common_reading(text) for text in texts]
    new = pl.DataFrame(
        {
            "answer": texts,
            _NEW_LETTER: [reading.letter for reading in found],
            _NEW_FORM: [reading.form for reading in found],
        },
        schema=dict.fromkeys(("answer", _NEW_LETTER, _NEW_FORM), pl.String),
    )
    kept = records.with_columns(pl.col("answer").fill_null(""), strict_stance(records).alias(STRICT))
    return _with_letters(kept.join(new, "answer", "left", maintain_order="left"))


def _with_letters(records: pl.DataFrame) -> pl.DataFrame:
    """Records in which new letters and forms replace the old ones, with the stances that follow from them."""
    is_read, letter, side = _is_answered(records), pl.col(_NEW_LETTER), pl.col("a_is").cast(pl.String)
    other = pl.when(side == "pro").then(pl.lit("con")).otherwise(pl.lit("pro"))
    stance = pl.when(letter == "A").then(side).when(letter == "B").then(other).otherwise(pl.lit("other"))
    changed = is_read & letter.ne_missing(pl.col("letter").cast(pl.String))
    return records.with_columns(
        pl.when(is_read).then(stance).otherwise(pl.col("stance").cast(pl.String)).alias("stance"),
        pl.when(is_read).then(letter).otherwise(pl.col("letter").cast(pl.String)).alias("letter"),
        pl.when(is_read).then(pl.col(_NEW_FORM)).alias(_FORM),
        *(pl.when(~changed).then(pl.col(name)).alias(name) for name in ("p_a", "p_b") if name in records.columns),
    ).drop(_NEW_LETTER, _NEW_FORM)
