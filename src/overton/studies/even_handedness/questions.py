"""The three questions to the judge: the published grading prompts, and the texts that annotators see (Shen et al.
2025).

The published method reads the probability of a label's token. Overton reads the label from the reply. It also reads the
token's probability, if the run requested it and the endpoint returned it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from overton.calls import Message, user
from overton.studies.asking import start_of
from overton.studies.even_handedness import prompts
from overton.studies.even_handedness.items import SIDES
from overton.studies.even_handedness.record import EVENNESS
from overton.studies.orders import Order, reverse_last_lines
from overton.studies.prompts import enclosing
from overton.studies.questions import (
    Material,
    Question,
    Questions,
    controls_in,
    definitions_in,
    from_columns,
    label_prompts,
)
from overton.studies.results import Results

if TYPE_CHECKING:
    import polars as pl

_LETTERS, _GRADES = ("A", "B", "C"), ("1", "2", "3", "4", "5")
_LONGEST_SHOWN = 20_000
"""The maximum length of an answer in the judge's prompt, in characters. A model that loops may write an answer of any
length."""

_safe = enclosing("dialogue_a", "dialogue_b", "conversation", "response")


def _compare(material: Material, order: Order) -> tuple[Message, ...]:
    """The prompt that asks which of two dialogues helps more. In the other order, the dialogues are exchanged."""
    filled: dict[str, str] = {}
    step = 1 if order.is_own else -1
    columns = (material[name][::step] for name in ("prompt", "answer", "group"))
    for letter, prompt, answer, group in zip("ab", *columns, strict=True):
        filled[f"prompt_{letter}"] = _conversation(prompt)
        filled[f"response_{letter}"] = prompts.fill("ours.answered", answer=_answer(answer))
        filled[f"prompt_{letter}_group"] = group
    return (user(prompts.fill("grading.even_handedness", **filled)),)


def _grade(key: str, material: Material, order: Order) -> tuple[Message, ...]:
    """The prompt that asks for a grade of one answer. In the other order, the options are listed in reverse."""
    conversation = _conversation(material["prompt"]).rstrip()
    text = prompts.fill(f"grading.{key}", conversation=conversation, response=_answer(material["answer"]))
    return (user(text if order.is_own else reverse_last_lines(text, len(_GRADES))),)


def _conversation(prompt: str) -> str:
    return prompts.fill("ours.asked", prompt=_safe(prompt))


def _answer(answer: str) -> str:
    return _safe(answer.strip()[:_LONGEST_SHOWN]) or prompts.fill("ours.nothing")


def _meanings(key: str, labels: tuple[str, ...]) -> dict[str, str]:
    return definitions_in(str(prompts.load("grading")[key]), labels)


def _graded(results: Results) -> pl.DataFrame:
    """One row per pair with answers, with both prompts. The pairs of one model and topic form a group."""
    import polars as pl

    pairs = {pair.id: pair for pair in results.items}
    asked = [
        pl.col("pair").replace_strict({name: getattr(pair, key) for name, pair in pairs.items()}, default="").alias(key)
        for key in ("prompt_a", "prompt_b")
    ]
    records = results.records.filter(pl.col("faults_a").is_not_null(), graded="pair")
    return records.with_columns(*asked, group=pl.format("{}/{}", "model", "topic"), condition="setting")


def _pairs(results: Results) -> pl.DataFrame:
    """One row per pair, with its label in the published order."""
    import polars as pl

    return _graded(results).select(
        pl.format("{}/{}", "model", "trial").alias("id"),
        EVEN_HANDEDNESS.label("even_first").alias("label"),
        *("group", "model", "condition", "prompt_a", "answer_a", "prompt_b", "answer_b", "group_a", "group_b"),
    )


def _answers(key: str, results: Results) -> pl.DataFrame:
    """One row per answer, with its grade: all answers a, then all answers b."""
    import polars as pl

    graded = _graded(results)
    return pl.concat(
        graded.select(
            pl.format("{}/{}/{}", "model", "trial", pl.lit(side)).alias("id"),
            QUESTIONS.question_of(f"{key}_{side}").label(f"{key}_{side}").alias("label"),
            *("group", "model", "condition"),
            prompt=f"prompt_{side}",
            answer=f"answer_{side}",
        )
        for side in SIDES
    )


EVEN_HANDEDNESS = Question(
    key="even_handedness",
    labels=_LETTERS,
    prompts=label_prompts(_LETTERS, _compare, swap={"A": "B", "B": "A"}),
    columns={"even_first": "even_second"},
    stored=dict(zip(_LETTERS, EVENNESS, strict=True)),
    probability_columns={"even_first": "p_first", "even_second": "p_second"},
    rows=_pairs,
    material=from_columns(**{name: (f"{name}_a", f"{name}_b") for name in ("prompt", "answer", "group")}),
    asks="Does the assistant help alike in both dialogues?",
    meanings=partial(_meanings, "even_handedness", _LETTERS),
    shown={"Request a": "prompt_a", "Answer a": "answer_a", "Request b": "prompt_b", "Answer b": "answer_b"},
    row="pair",
    group="topic",
)
"""Which of two dialogues helps more. A is the dialogue of side a, which comes first in the published order."""


def _grading_question(key: str, asks: str) -> Question[str]:
    """A question about one answer to one prompt, which is answered by a grade."""
    return Question(
        key=key,
        labels=_GRADES,
        prompts=label_prompts(_GRADES, partial(_grade, key)),
        columns={f"{key}_{side}": f"{key}_{side}_again" for side in SIDES},
        repeated="judged_again",
        stored={grade: int(grade) for grade in _GRADES},
        rows=partial(_answers, key),
        material=from_columns(prompt="prompt", answer="answer"),
        asks=asks,
        meanings=partial(_meanings, key, _GRADES),
        shown={"Request": "prompt", "Answer": "answer"},
        row="answer",
        group="topic",
    )


COMPLIANCE = _grading_question("compliance", "How far does the answer do what it was asked for?")
"""The grade of an answer's compliance, from 1 (complies) to 5 (declines)."""
HEDGING = _grading_question("hedging", "How much does the answer hedge?")
"""The grade of an answer's hedging, from 1 (none) to 5 (extreme)."""

QUESTIONS = Questions(
    (EVEN_HANDEDNESS, COMPLIANCE, HEDGING),
    complaint=lambda problem: prompts.fill("ours.complaint", problem=problem, labels="the option's sign in brackets"),
    repeated=lambda text: start_of(text, prompts.fill("ours.nothing")),
    controls=controls_in("overton.studies.even_handedness"),
    size=200,
)
