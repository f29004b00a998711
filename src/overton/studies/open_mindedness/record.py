"""The outcome of open-mindedness: records, one row for each answer, and tables that are read from files.

Tables have records, or counts of how often each model took each stance on each issue.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, get_args

import msgspec

from overton.errors import InputError, Problem
from overton.judging import Fault
from overton.studies.open_mindedness.items import Side
from overton.studies.open_mindedness.options import CONDITIONS, PUBLISHED_NAMES
from overton.studies.tables import ColumnRules, Once, RawTable, TableField, TableKind, means

if TYPE_CHECKING:
    import polars as pl

Stance = Literal["pro", "con", "other"]

Answers = Literal["forced", "free"]
"""How an answer was asked for: by a letter, or in the model's own words."""

Strength = Literal["slight", "clear", "strong"]
"""How firmly a free answer takes a side."""

NullChange = Literal["", "irrelevant", "elsewhere", "question-first", "authors-own"]
"""What a null condition does to a configuration, '' in the design."""

STANCES: tuple[Stance, ...] = get_args(Stance)

_SHARE = ColumnRules(least=0, most=1)


class Record(msgspec.Struct, frozen=True, gc=False):
    """One answer. In a run's `records.parquet` the column `model` (the spec) comes before these."""

    row_key: ClassVar[tuple[str, ...]] = ("trial", "answers")

    trial: Annotated[str, means("the trial's name, unique for each model; a forced and a free answer share one")]
    issue: Annotated[str, means("the issue's id"), ColumnRules(needed=True)]
    topic: Annotated[str | None, means("the issue's topic, None if unknown")]
    condition: Annotated[
        str,
        means("a name from `CONDITIONS`; in a null condition, prefixed with its name: 'irrelevant/balanced'"),
        ColumnRules(needed=True, known=tuple(CONDITIONS), words=PUBLISHED_NAMES),
    ]
    wording: Annotated[
        int, means("0 at the baseline, otherwise the evidence wrapper's wording, 1 or 2"), ColumnRules(least=0, most=2)
    ]
    template: Annotated[
        int,
        means("1 to 6, appendix B's number; families are templates (1, 4), (2, 5) and (3, 6)"),
        ColumnRules(least=1, most=6),
    ]
    repetition: Annotated[int, means("1 to the number of trials")]
    draw: Annotated[int | None, means("which of D repeated argument draws (1 to D), None if each trial draws its own")]
    arguments: Annotated[
        tuple[str, ...],
        means(
            "ids of the arguments shown, or replaced by other texts, in the order shown ('pro-2', 'con-1', ...); those"
            " of another issue as 'pro-2@ISSUE'"
        ),
        ColumnRules(usual=()),
    ]
    last_argument: Annotated[Side | None, means("side of the last argument shown, None at the baseline")]
    a_is: Annotated[Side, means("the side that answering A supports")]
    pro_first: Annotated[bool, means("whether the pro position is named before the con position")]
    a_first: Annotated[bool, means("whether the closing request names `position <<A>>` first")]
    stance: Annotated[Stance, means("by the strict reading; for a free answer, by the judge"), ColumnRules(needed=True)]
    letter: Annotated[Literal["A", "B"] | None, means("by the strict reading, None if there is none")]
    stance_published: Annotated[
        Stance, means("the stance by the paper's own patterns (section 4.3); for a free answer, by the judge")
    ]
    refused: Annotated[bool, means("the endpoint itself flagged a refusal"), ColumnRules(usual=False)]
    failure: Annotated[
        str | None,
        means(
            "why the call failed for good ('kind: message', after 'judge: ' if it was the judge's or none of its"
            " replies could be read), None if it did not; such rows have stance 'other' and are not answers: measures"
            " leave them out and count them"
        ),
    ]
    answer: Annotated[str, means("the model's reply, '' if the call failed"), ColumnRules(text=True, usual="")]
    faults: Annotated[
        tuple[Fault, ...],
        means("faults of the answer's form: empty, cut, echo (of the prompt), loop; none if the call failed"),
        ColumnRules(hollow=True),
    ]
    input_tokens: Annotated[int | None, means("as reported, None if not reported")]
    output_tokens: Annotated[int | None, means("as reported, None if not reported")]
    shares: Annotated[
        Literal["probabilities", "auto"] | None,
        means("how shares are computed if not by counting answers, otherwise None"),
    ] = None
    p_a: Annotated[
        float | None,
        means(
            "probability of A at the answer's letter, as the endpoint samples; 0 in an answer without a letter; None if"
            " not requested or not reported"
        ),
        _SHARE,
    ] = None
    p_b: Annotated[float | None, means("the same for B; the remainder is neither"), _SHARE] = None
    sampled: Annotated[
        tuple[str, ...] | None,
        means("letters of single answers to the same prompt (A, B, or neither), None if there are none"),
    ] = None
    answers: Annotated[Answers, means("how the answer was asked for: by a letter, or in the model's own words")] = (
        "forced"
    )
    judged_a_is: Annotated[Side | None, means("the side that was position A for the judge, None if none was asked")] = (
        None
    )
    strength: Annotated[
        Strength | None, means("how firmly a free answer takes its side, None if it takes none or is not judged")
    ] = None
    declines: Annotated[
        bool | None, means("whether a free answer says that it does not take sides, None if it is not judged")
    ] = None
    judge_attempts: Annotated[int | None, means("how often the judge was asked, None if it was not")] = None
    judge_shares: Annotated[
        Literal["probabilities", "auto"] | None,
        means("whether the judge of a free answer was asked for its label's probabilities, None if not"),
    ] = None
    p_takes_pro: Annotated[
        float | None,
        means(
            "the judge's probability at temperature 1 that a free answer takes the pro side; None if not requested or"
            " not reported"
        ),
        _SHARE,
    ] = None
    p_takes_con: Annotated[float | None, means("the same for the con side"), _SHARE] = None
    p_takes_neither: Annotated[float | None, means("the same for neither"), _SHARE] = None
    taken_sampled: Annotated[
        tuple[str, ...] | None,
        means("the judge's answers at temperature 1 to the same question (pro, con, neither, none), to calibrate it"),
    ] = None


MEASURED = (
    "topic",
    "wording",
    "template",
    "draw",
    "arguments",
    "last_argument",
    "a_is",
    "pro_first",
    "a_first",
    "stance_published",
    "refused",
    "failure",
)
"""Columns that measures of records need besides those that make a table one of records."""

_DESIGN = ("wording", "template", "arguments", "last_argument", "a_is", "pro_first", "a_first", "stance_published")


def _unfilled(records: pl.DataFrame) -> Iterator[Problem]:
    """Columns of the design that are empty in some row: every trial has them."""
    for name in ("wording", "template", "a_is", "pro_first", "a_first", "stance_published"):
        if name in records.columns and records[name].null_count():
            yield Problem("records", name, "is empty in some row")


RECORDS = TableKind.of(
    Record,
    "records",
    (
        TableField("model", "name", "who answered", needed=True, filled=True),
        TableField("held", "flag", "whether a grammar held its answers to their form", usual=False),
        TableField("family", "name", "the model's family, as in figure 6; by default guessed from its name"),
        *Record.__struct_fields__,
    ),
    checks=(_unfilled,),
    completed=True,
    by_column=True,
)
"""One row for each answer of each model."""

COUNTS = TableKind(
    name="counts",
    columns=(
        TableField("model", "name", "who answered", needed=True, filled=True, must="must name a model"),
        TableField("issue", "name", "the issue's name", needed=True, filled=True, must="must name an issue"),
        TableField(
            "condition",
            "name",
            "the configuration of arguments",
            needed=True,
            filled=True,
            known=tuple(CONDITIONS),
            words=PUBLISHED_NAMES,
            aliases=("case",),
        ),
        TableField(
            "stance",
            "name",
            "the stance counted; one without a row never occurred",
            needed=True,
            filled=True,
            known=STANCES,
            aliases=("issue_stance",),
        ),
        TableField("count", "whole", "how often", needed=True, filled=True, least=0, most=10**9),
        TableField("topic", "name", "the issue's topic"),
    ),
    once=Once(("model", "issue", "condition", "stance"), "counts the same as {first}; add the two"),
)
"""One row for each stance of a model on an issue in a configuration; the published names are read too."""


NOTE = "note"
"""A column with what readers must know of a table that was made elsewhere, a line each."""


def read_table(raw: RawTable) -> pl.DataFrame:
    """Records or counts, distinguished by their columns: a column `count` makes it a table of counts.

    Records that lack columns of the design are counted, without failed calls; the column `note` then says what is
    missing.

    Raises:
        InputError: it is neither; otherwise as `table_frames.read`.
    """
    import polars as pl

    from overton.studies import table_frames

    if "count" in raw.columns:
        return table_frames.read(COUNTS, raw)
    if not RECORDS.fits(raw):
        reason = (
            f"is neither records (columns {', '.join(RECORDS.needed)} and more) nor a table of counts "
            f"(columns {', '.join(COUNTS.needed)}); it has {', '.join(raw.columns[:30]) or 'no columns'}"
        )
        raise InputError([Problem(raw.name, "", reason)])
    records = table_frames.read(RECORDS, raw)
    lacking = [column for column in _DESIGN if column not in raw.columns]
    held = _held(raw.name, records)
    says = "a grammar held answers to their form, so shares of other answers say nothing."
    notes = [f"{', '.join(held)}: {says}"] if held else []
    if lacking:
        file, failed = raw.name.replace("\\", "/").rpartition("/")[2], records["failure"].is_not_null()
        missing = ", ".join(lacking)
        notes.append(f"{file} lacks {missing}: measures that need them (letter, order, draws) are not computed.")
        if failed.any():
            notes.append(f"{int(failed.sum())} failed calls in {file} are not answers and are left out.")
        records = _counted(records.filter(~failed))
    return records.with_columns(pl.lit("\n".join(notes)).alias(NOTE)) if notes else records


def _held(name: str, records: pl.DataFrame) -> list[str]:
    """The models whose answers a grammar held to their form.

    Raises:
        InputError: it held some of a model's answers and not others: the two are never pooled.
    """
    import polars as pl

    if "held" not in records.columns:
        return []
    held = records.filter(pl.col("held"))["model"].unique().sort().to_list()
    free = set(records.filter(~pl.col("held").fill_null(False))["model"].unique())
    reason = "a grammar held some of its answers to their form and not others: give each kind a name of its own"
    if both := [model for model in held if model in free]:
        raise InputError([Problem(name, model, reason) for model in both])
    return held


def _counted(records: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    key = ["model", "issue", "condition", "stance"]
    counts = records.group_by(key).agg(pl.len().cast(pl.Int64).alias("count"), pl.col("topic").drop_nulls().first())
    return counts.sort(key).select(*COUNTS.needed, "topic")


def notes_of_table(records: pl.DataFrame) -> list[str]:
    """What readers must know of a table that was made elsewhere."""
    known = records[NOTE].first() if NOTE in records.columns else None
    return str(known).split("\n") if known else []
