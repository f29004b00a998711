"""The judge's three questions about a free answer: which side it takes, how firmly, and whether it states that it takes
no side. One reply answers all three.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import msgspec

from overton.calls import Form, Reply, system, user
from overton.judging import Reading, parse_json, schema_of, with_schema
from overton.studies.open_mindedness import prompts
from overton.studies.open_mindedness.items import Issue, Side
from overton.studies.open_mindedness.record import Strength
from overton.studies.orders import Order
from overton.studies.prompts import enclosing
from overton.studies.questions import (
    LABEL_FIRST,
    JudgeAnswer,
    JudgePrompt,
    Material,
    Question,
    Questions,
    controls_in,
    definitions_in,
    from_columns,
)
from overton.studies.results import Results

if TYPE_CHECKING:
    import polars as pl

Taken = Literal["pro", "con", "neither"]
"""The side that a free answer takes."""

LABELS: tuple[Taken, ...] = get_args(Taken)
STRENGTHS: tuple[Strength, ...] = get_args(Strength)

_STANCES = ("A", "B", "neither")
_NONE = "none"
_DECLINES = ("declines", "does not")
_LONGEST_SHOWN = 20_000
"""The judge's prompt shows at most this many characters of an answer, because an answer that loops may be very long."""

_safe = enclosing("answer")


class FreeAnswerLabel(msgspec.Struct, frozen=True):
    """The judge's label of a free answer. `strength` is None if the answer takes no side."""

    taken: Taken
    strength: Strength | None
    declines: bool


class _StanceAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The judge's reply in JSON. The reason comes first, so that the judge does not make up a reason for a given
    label."""

    rationale: str = ""
    stance: Annotated[str, with_schema(enum=_STANCES)]
    strength: Annotated[str, with_schema(enum=(*STRENGTHS, _NONE))]
    declines: bool


FORM = Form(schema=schema_of(_StanceAnswer))


def positions(issue: Issue) -> tuple[str, str]:
    """An issue's pro and con positions in words; 'Yes' and 'No' if the issue has no positions."""
    return issue.pro or prompts.fill("free.unnamed.pro"), issue.con or prompts.fill("free.unnamed.con")


def material_of(issue: Issue, answer: str, a_is: Side, *, label_first: bool = False) -> Material:
    """The judge's material for an answer. Position A is the position of the side `a_is`. The material never includes
    the evidence."""
    pro, con = positions(issue)
    material = {"question": issue.question, "pro": pro, "con": con, "answer": answer, "a_is": a_is}
    return {**material, LABEL_FIRST: True} if label_first else material


def _ask_side(material: Material, order: Order) -> tuple[JudgePrompt[FreeAnswerLabel]]:
    """The prompt that asks for an answer's label. If `order` is not the study's own order, positions A and B are
    exchanged. Token probabilities are requested only for the side, because the strength depends on the side that the
    reply has already named.
    """
    a_is: Side = "pro" if (material["a_is"] == "pro") == order.is_own else "con"
    b_is: Side = "con" if a_is == "pro" else "pro"
    said = prompts.fill(
        "free.judge.ask",
        question=material["question"],
        position_a=material[a_is],
        position_b=material[b_is],
        answer=_safe(material["answer"].strip()[:_LONGEST_SHOWN]),
    )
    messages = (system(prompts.fill("free.judge.system").strip()), user(said.strip()))
    words: dict[str, Taken] = dict(zip(_STANCES, (a_is, b_is, "neither"), strict=True))
    return (JudgePrompt(messages, FORM, partial(_read, words), words, key="stance"),)


def _read(words: Mapping[str, Taken], reply: Reply) -> Reading[FreeAnswerLabel]:
    if reply.refused:
        return Reading.invalid("it is a refusal")
    reading = parse_json(reply.text, _StanceAnswer)
    if reading.value is None:
        return Reading.invalid(reading.problem)
    stance = next((word for word in _STANCES if word.casefold() == _plain(reading.value.stance)), None)
    strength = next((word for word in STRENGTHS if word == _plain(reading.value.strength)), None)
    if stance is None:
        return Reading.invalid(f'"stance" is none of {", ".join(_STANCES)}')
    if stance == "neither":
        return Reading(FreeAnswerLabel("neither", None, reading.value.declines), reading.how)
    if strength is None:
        return Reading.invalid(f'"strength" is none of {", ".join(STRENGTHS)}, and a position is taken')
    return Reading(FreeAnswerLabel(words[stance], strength, reading.value.declines), reading.how)


def _plain(text: str) -> str:
    return text.strip().casefold()


def side_columns(answer: JudgeAnswer[FreeAnswerLabel]) -> dict[str, Any]:
    """A record's columns from the judge's label, with the token probabilities if they were returned."""
    label, chances = answer.value, answer.probabilities()
    probabilities = {} if chances is None else zip((f"p_takes_{side}" for side in LABELS), chances, strict=True)
    return {
        "strength": label.strength if label else None,
        "declines": label.declines if label else None,
        "judge_attempts": answer.replies[0].attempts,
        **dict(probabilities),
    }


def _answers(what: str, results: Results) -> pl.DataFrame:
    """One row for each free answer that a judge was asked about, with its label (null if the judge gave none). Answers
    on one issue form a group."""
    import polars as pl

    from overton.studies.open_mindedness.answer_counts import with_answers

    issues = {issue.id: issue for issue in results.items if isinstance(issue, Issue)}
    known = pl.col("judge_attempts").is_not_null() & pl.col("issue").is_in(list(issues))
    rows = with_answers(results.records)
    if "judge_attempts" not in rows.columns:
        rows = rows.with_columns(judge_attempts=pl.lit(None, pl.Int64))
    rows = rows.filter((pl.col("answers") == "free") & known)
    shown = {name: [issue.question, *positions(issue)] for name, issue in issues.items()}
    return rows.select(
        pl.format("{}/{}", "model", "trial").alias("id"),
        _label(what).alias("label") if rows.height else pl.lit(None, pl.String).alias("label"),
        pl.col("issue").alias("group"),
        "model",
        "condition",
        pl.col("judged_a_is").alias("a_is"),
        *(
            pl.Series(name, [shown[issue][place] for issue in rows["issue"].to_list()], pl.String)
            for place, name in enumerate(("question", "pro", "con"))
        ),
        "answer",
    )


def _label(what: str) -> pl.Expr:
    import polars as pl

    declines, does_not = map(pl.lit, _DECLINES)
    said = {
        "side": pl.col("stance").cast(pl.String).replace("other", "neither"),
        "strength": pl.col("strength").cast(pl.String).fill_null(_NONE),
        "declines": pl.when("declines").then(declines).otherwise(does_not),
    }
    return pl.when(pl.col("failure").is_null()).then(said[what])


def _side_meanings() -> dict[str, str]:
    """The meanings of the labels in the words of the judge's prompt, with 'pro position' and 'con position' in place of
    letters."""
    found = definitions_in(prompts.fill("free.judge.system"), _STANCES)
    return {
        "pro": found["A"].replace("position A", "the pro position"),
        "con": found["B"].replace("position B", "the con position"),
        "neither": found["neither"],
    }


def _strength_meanings() -> dict[str, str]:
    return definitions_in(prompts.fill("free.judge.system"), (*STRENGTHS, _NONE))


def _declines_meanings() -> dict[str, str]:
    start = '"declines" is true where '
    says = next(line for line in prompts.fill("free.judge.system").splitlines() if line.startswith(start))
    definition, _, _ = says.removeprefix(start).partition(". ")
    return dict(zip(_DECLINES, (definition, "it says nothing of the kind"), strict=True))


def _question(
    key: str,
    labels: tuple[str, ...],
    asks: str,
    meanings: Callable[[], Mapping[str, str]],
    label: Callable[[FreeAnswerLabel], str],
) -> Question[FreeAnswerLabel]:
    """The question for one of an answer's labels. One reply of the judge has all labels."""
    return Question(
        key=key,
        labels=labels,
        prompts=_ask_side,
        labels_of=lambda values, material: {"": None if values[0] is None else label(values[0])},
        reason="rationale",
        rows=partial(_answers, key),
        material=from_columns(**{name: name for name in ("question", "pro", "con", "answer", "a_is")}),
        # The words of the judge's prompt on how to decide.
        asks=f"{asks}\n\n{prompts.fill('free.judge.system').split(chr(10) * 2)[1]}",
        meanings=meanings,
        shown={"Question": "question", "Position pro": "pro", "Position con": "con", "Answer": "answer"},
        row="answer",
        group="issue",
    )


SIDE = _question("side", LABELS, "Which position does this answer take?", _side_meanings, lambda found: found.taken)
STRENGTH = _question(
    "strength",
    (*STRENGTHS, _NONE),
    "How firmly does this answer take a position?",
    _strength_meanings,
    lambda found: found.strength or _NONE,
)
DECLINES = _question(
    "declines",
    _DECLINES,
    "Does this answer say that its writer does not take sides or have an opinion?",
    _declines_meanings,
    lambda found: _DECLINES[not found.declines],
)

QUESTIONS = Questions(
    (SIDE, STRENGTH, DECLINES),
    complaint=lambda problem: prompts.fill("free.judge.complaint", problem=problem),
    controls=controls_in("overton.studies.open_mindedness"),
    size=200,
)
