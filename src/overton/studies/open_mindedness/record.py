"""Records of open-mindedness, with one row per answer, and tables that are read from files. A table has either records
or counts. Counts are the numbers of answers by model, issue, configuration and stance.
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
"""How the prompt asked for the answer: with a letter (forced), or in the model's own words (free)."""

Letter = Literal["A", "B"]

LetterForm = Literal[
    "alone", "requested", "marked", "labelled", "sentence", "leading", "named", "both", "none", "empty", "thinking"
]
"""The form in which an answer names its letter, or the reason why it has no letter.

alone      the whole answer is the letter: 'A', '**B**', '(A)'
requested  'position <<A>>', '<<A>>'
marked     \\boxed{A}, {"answer": "A"}, <answer>A</answer>
labelled   'Answer: A', 'my choice is B', 'Antwort: A'
sentence   'I choose A', 'position B is more convincing'
leading    the answer starts with the letter, 'A) ...', 'B, because ...', or its last line is the letter
named      the answer names only this position: 'position A', 'Option B'
both       no letter: the answer names both, or decides for both
none       no letter: the answer decides for neither
empty      no letter: the answer has no text
thinking   no letter: the answer ended before the model had finished thinking
"""

FORMS: tuple[LetterForm, ...] = get_args(LetterForm)
UNREAD_FORMS: tuple[LetterForm, ...] = ("both", "none", "empty", "thinking")
"""The forms of answers without a letter."""

Strength = Literal["slight", "clear", "strong"]
"""How firmly a free answer takes a side."""

NullChange = Literal["", "irrelevant", "elsewhere", "question-first", "authors-own"]
"""The change that a null condition makes to a configuration; '' in the design."""

STANCES: tuple[Stance, ...] = get_args(Stance)

_SHARE = ColumnRules(least=0, most=1)


class Record(msgspec.Struct, frozen=True, gc=False):
    """One answer. In a run's `records.parquet` the column `model` (the spec) precedes the columns here."""

    row_key: ClassVar[tuple[str, ...]] = ("trial", "answers")

    trial: Annotated[str, means("the trial's name, unique for each model; a forced and a free answer share a trial")]
    issue: Annotated[str, means("the issue's id"), ColumnRules(needed=True)]
    topic: Annotated[str | None, means("the issue's topic, None if unknown")]
    condition: Annotated[
        str,
        means("a name from `CONDITIONS`, such as 'balanced'; in a null condition 'NAME/balanced'"),
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
    draw: Annotated[
        int | None,
        means("number of the argument set (1 to D) if D sets are repeated, None if each trial has its own set"),
    ]
    arguments: Annotated[
        tuple[str, ...],
        means(
            "ids of the arguments in the order shown ('pro-2', 'con-1', ...), also if a null condition replaced"
            " their texts; arguments of another issue are 'pro-2@ISSUE'"
        ),
        ColumnRules(usual=()),
    ]
    last_argument: Annotated[Side | None, means("side of the last argument shown, None at the baseline")]
    a_is: Annotated[Side, means("the side that answering A supports")]
    pro_first: Annotated[bool, means("whether the pro position is named before the con position")]
    a_first: Annotated[bool, means("whether the closing request names `position <<A>>` first")]
    stance: Annotated[
        Stance,
        means("the stance by the run's reading (common or strict); for a free answer, by the judge"),
        ColumnRules(needed=True),
    ]
    letter: Annotated[Letter | None, means("the letter by the run's reading, None if the answer names no letter")]
    stance_published: Annotated[
        Stance, means("the stance by the paper's own patterns (section 4.3); for a free answer, by the judge")
    ]
    refused: Annotated[bool, means("whether the endpoint itself flagged a refusal"), ColumnRules(usual=False)]
    failure: Annotated[
        str | None,
        means(
            "why the call failed permanently ('kind: message'), None if it did not. It begins with 'judge: ' if the"
            " judge's call failed or its replies could not be read. Such rows have stance 'other'; measures leave them"
            " out and count them"
        ),
    ]
    answer: Annotated[str, means("the model's reply, '' if the call failed"), ColumnRules(text=True, usual="")]
    faults: Annotated[
        tuple[Fault, ...],
        means("ways in which the answer is malformed (empty, cut, echo of the prompt, loop); empty if the call failed"),
        ColumnRules(hollow=True),
    ]
    input_tokens: Annotated[int | None, means("as reported, None if not reported")]
    output_tokens: Annotated[int | None, means("as reported, None if not reported")]
    shares: Annotated[
        Literal["probabilities", "auto"] | None,
        means("how proportions are computed, None if answers are counted"),
    ] = None
    p_a: Annotated[
        float | None,
        means(
            "probability of A at the token where the answer names its letter, at the endpoint's sampling settings; 0"
            " if the answer names no letter, None if not requested or not reported"
        ),
        _SHARE,
    ] = None
    p_b: Annotated[float | None, means("the same for B; the remaining probability is for neither letter"), _SHARE] = (
        None
    )
    sampled: Annotated[
        tuple[str, ...] | None,
        means("letters of sampled answers to the same prompt (A, B, or neither), None if there are none"),
    ] = None
    answers: Annotated[Answers, means("how the answer was requested: with a letter, or in the model's own words")] = (
        "forced"
    )
    judged_a_is: Annotated[Side | None, means("the side that the judge's prompt called A, None without a judge")] = None
    strength: Annotated[
        Strength | None,
        means("how firmly a free answer takes its side, None if the answer takes no side or is not judged"),
    ] = None
    declines: Annotated[
        bool | None,
        means("whether a free answer says that its writer does not take sides, None if the answer is not judged"),
    ] = None
    judge_attempts: Annotated[int | None, means("number of requests to the judge, None without a judge")] = None
    judge_shares: Annotated[
        Literal["probabilities", "auto"] | None,
        means("the choice by which a judge's token probabilities were requested, None if they were not"),
    ] = None
    p_takes_pro: Annotated[
        float | None,
        means(
            "the judge's probability at temperature 1 that a free answer takes the pro side, None if not requested or"
            " not reported"
        ),
        _SHARE,
    ] = None
    p_takes_con: Annotated[float | None, means("the same for the con side"), _SHARE] = None
    p_takes_neither: Annotated[float | None, means("the same for neither"), _SHARE] = None
    taken_sampled: Annotated[
        tuple[str, ...] | None,
        means(
            "the judge's sampled labels at temperature 1 (pro, con, neither, none), to check the judge's token"
            " probabilities"
        ),
    ] = None
    form: Annotated[
        LetterForm | None,
        means(
            "the form in which a forced answer names its letter by the common reading, or why it has no letter; None in"
            " runs with the strict reading"
        ),
        ColumnRules(newer=True),
    ] = None
    stance_strict: Annotated[
        Stance | None,
        means("the stance of a forced answer by the strict reading; None in runs that use the strict reading"),
        ColumnRules(newer=True),
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
"""Columns that measures need, in addition to the columns by which a table counts as records."""

_DESIGN = ("wording", "template", "arguments", "last_argument", "a_is", "pro_first", "a_first", "stance_published")


def _unfilled(records: pl.DataFrame) -> Iterator[Problem]:
    """A problem for each column of the design that is empty in some row, because every trial has these columns."""
    for name in ("wording", "template", "a_is", "pro_first", "a_first", "stance_published"):
        if name in records.columns and records[name].null_count():
            yield Problem("records", name, "is empty in some row")


RECORDS = TableKind.of(
    Record,
    "records",
    (
        TableField("model", "name", "who answered", needed=True, filled=True),
        TableField("held", "flag", "whether a grammar constrained its answers", usual=False),
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
            "the stance counted; a stance without a row never occurred",
            needed=True,
            filled=True,
            known=STANCES,
            aliases=("issue_stance",),
        ),
        TableField("count", "whole", "the number of answers", needed=True, filled=True, least=0, most=10**9),
        TableField("topic", "name", "the issue's topic"),
    ),
    once=Once(("model", "issue", "condition", "stance"), "is for the same answers as {first}; add the two counts"),
)
"""One row for each stance of a model on an issue in a configuration. The names of columns and configurations in the
published tables are also accepted."""


NOTE = "note"
"""A column with notes on a table made outside Overton, for readers of the report, one note per line."""


def read_table(raw: RawTable) -> pl.DataFrame:
    """Read records or counts. A table with the column `count` has counts.

    Records that lack columns of the design are converted to counts, without failed calls. The column `note` then names
    what is missing.

    Raises:
        InputError: the table has neither records nor counts, or a problem that `table_frames.read` reports.
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
    says = "a grammar constrained answers to the requested form, so the share of other answers has no meaning."
    notes = [f"{', '.join(held)}: {says}"] if held else []
    if lacking:
        file, failed = raw.name.replace("\\", "/").rpartition("/")[2], records["failure"].is_not_null()
        missing = ", ".join(lacking)
        notes.append(f"{file} lacks {missing}. Measures that need them (letter, order, draws) are not computed.")
        if failed.any():
            notes.append(f"{int(failed.sum())} failed calls in {file} are left out.")
        records = _counted(records.filter(~failed))
    return records.with_columns(pl.lit("\n".join(notes)).alias(NOTE)) if notes else records


def _held(name: str, records: pl.DataFrame) -> list[str]:
    """The models whose answers were constrained by a grammar.

    Raises:
        InputError: a grammar constrained only some of a model's answers. Overton never pools constrained and
            unconstrained answers.
    """
    import polars as pl

    if "held" not in records.columns:
        return []
    held = records.filter(pl.col("held"))["model"].unique().sort().to_list()
    free = set(records.filter(~pl.col("held").fill_null(False))["model"].unique())
    reason = "a grammar constrained only some of its answers; use two model names, one for each kind of answer"
    if both := [model for model in held if model in free]:
        raise InputError([Problem(name, model, reason) for model in both])
    return held


def _counted(records: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    key = ["model", "issue", "condition", "stance"]
    counts = records.group_by(key).agg(pl.len().cast(pl.Int64).alias("count"), pl.col("topic").drop_nulls().first())
    return counts.sort(key).select(*COUNTS.needed, "topic")


def notes_of_table(records: pl.DataFrame) -> list[str]:
    """Notes on a table made outside Overton; an empty list if there are none."""
    known = records[NOTE].first() if NOTE in records.columns else None
    return str(known).split("\n") if known else []
