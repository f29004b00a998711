"""The three questions to the judge: the published grading prompts and how replies are read (Shen et al. 2025).

The publishers read the probability of a label's token. Here the label is read from the reply, and its token's
probability as well if that is requested and the endpoint returns it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any

from overton.calls import Ask, Form, Message, user
from overton.judging import Reading
from overton.studies.asking import ReadableReply, ReadableRequest, ask_all_until_read
from overton.studies.even_handedness import prompts
from overton.studies.even_handedness.items import SIDES
from overton.studies.even_handedness.record import EVENNESS
from overton.studies.prompts import enclosing
from overton.studies.questions import Material, Order, Question, label_columns, repeat_columns, repeats_of, sheet_of
from overton.studies.results import Results

if TYPE_CHECKING:
    import polars as pl

_ATTEMPTS = 3
"""A reply that cannot be read is requested again up to twice."""
_LONGEST_REPEATED = 2_000
_LONGEST_SHOWN = 20_000
"""Characters of an answer that the judge is shown: a looping answer may have any number."""

_safe = enclosing("dialogue_a", "dialogue_b", "conversation", "response")


def _compare(material: Material, order: Order) -> tuple[Message, ...]:
    """Which of two dialogues helps more; in the other order the dialogues change places."""
    filled: dict[str, str] = {}
    step = 1 if order == "own" else -1
    columns = (material[name][::step] for name in ("prompt", "answer", "group"))
    for letter, prompt, answer, group in zip("ab", *columns, strict=True):
        filled[f"prompt_{letter}"] = _conversation(prompt)
        filled[f"response_{letter}"] = prompts.fill("ours.answered", answer=_answer(answer))
        filled[f"prompt_{letter}_group"] = group
    return (user(prompts.fill("grading.even_handedness", **filled)),)


def _grade(name: str, material: Material, order: Order) -> tuple[Message, ...]:
    """A grade of one answer; in the other order the options are listed in reverse."""
    conversation = _conversation(material["prompt"]).rstrip()
    text = prompts.fill(f"grading.{name}", conversation=conversation, response=_answer(material["answer"]))
    return (user(text if order == "own" else _reverse_options(text)),)


def _conversation(prompt: str) -> str:
    return prompts.fill("ours.asked", prompt=_safe(prompt))


def _answer(answer: str) -> str:
    return _safe(answer.strip()[:_LONGEST_SHOWN]) or prompts.fill("ours.nothing")


def _reverse_options(text: str) -> str:
    """A grading prompt with its list of options, with which it ends, in reverse order."""
    before, head, after = text.rpartition("Options:\n")
    lines = after.rstrip("\n").split("\n")
    return f"{before}{head}" + "\n".join(reversed(lines)) + after[len(after.rstrip("\n")) :]


def _form(labels: Sequence[str]) -> Form:
    return Form(choices=tuple(f"({label})" for label in labels))


def _reader(labels: Sequence[str]) -> Callable[[str], Reading[str]]:
    """A reader of one label: alone, at the beginning in brackets, or the only one in brackets anywhere.

    Nothing is read from prose: 'A good answer' begins with a letter but names none.
    """
    letter = f"[{''.join(labels)}]"
    alone, first, anywhere = (
        re.compile(rf"\W*({letter})\W*"),
        re.compile(rf"\s*\(({letter})\)"),
        re.compile(rf"\(({letter})\)"),
    )

    def read(text: str) -> Reading[str]:
        if found := alone.fullmatch(text) or first.match(text):
            return Reading(found[1], "as is")
        named = sorted(set(anywhere.findall(text)))
        if len(named) == 1:
            return Reading(named[0], "repaired")
        return Reading.invalid(f"it names {len(named)} options" if named else "it names no option")

    return read


def _meanings(name: str) -> dict[str, str]:
    """The meaning of each label of a grading prompt, word for word from the list with which it ends."""
    listed = str(prompts.load("grading")[name]).rpartition("Options:\n")[2]
    return {label: meaning.strip() for label, meaning in re.findall(r"^\((\w)\) (.*)$", listed, re.MULTILINE)}


def _graded(results: Results) -> pl.DataFrame:
    """The pairs with answers, with both prompts. Pairs of one model and topic are alike."""
    import polars as pl

    pairs = {pair.id: pair for pair in results.items}
    records = results.records.filter((pl.col("graded") == "pair") & pl.col("faults_a").is_not_null())
    asked = [
        pl.col("pair").replace_strict({name: getattr(pair, key) for name, pair in pairs.items()}, default="").alias(key)
        for key in ("prompt_a", "prompt_b")
    ]
    return records.with_columns(*asked, group=pl.format("{}/{}", "model", "topic"), condition="setting")


def _pairs(results: Results) -> pl.DataFrame:
    """One row per pair, with its label in the published order."""
    import polars as pl

    return _graded(results).select(
        pl.format("{}/{}", "model", "trial").alias("id"),
        EVEN_HANDEDNESS.label("even_first").alias("label"),
        *("group", "model", "condition", "prompt_a", "answer_a", "prompt_b", "answer_b", "group_a", "group_b"),
    )


def _answers(name: str, results: Results) -> pl.DataFrame:
    """One row per answer, with its grade: all answers a, then all answers b."""
    import polars as pl

    graded, question = _graded(results), QUESTION_OF[f"{name}_a"]
    return pl.concat(
        graded.select(
            pl.format("{}/{}/{}", "model", "trial", pl.lit(side)).alias("id"),
            question.label(f"{name}_{side}").alias("label"),
            *("group", "model", "condition"),
            prompt=f"prompt_{side}",
            answer=f"answer_{side}",
        )
        for side in SIDES
    )


_LETTERS, _GRADES = ("A", "B", "C"), ("1", "2", "3", "4", "5")

EVEN_HANDEDNESS = Question(
    key="even_handedness",
    labels=_LETTERS,
    messages=_compare,
    read=_reader(_LETTERS),
    form=_form(_LETTERS),
    columns={"even_first": "even_second"},
    chances={"even_first": "p_first", "even_second": "p_second"},
    stored=dict(zip(_LETTERS, EVENNESS, strict=True)),
    swap={"A": "B", "B": "A"},
    rows=_pairs,
    material={name: (f"{name}_a", f"{name}_b") for name in ("prompt", "answer", "group")},
    asks="Does the assistant help alike in both dialogues?",
    meanings=partial(_meanings, "even_handedness"),
    shown={"Request a": "prompt_a", "Answer a": "answer_a", "Request b": "prompt_b", "Answer b": "answer_b"},
    row="pair",
    group="topic",
)
"""Which of two dialogues helps more: A is that of side a, which comes first in the published order."""


def _grading_question(key: str, asks: str) -> Question:
    """A question about one answer to one prompt, which is answered by a grade."""
    return Question(
        key=key,
        labels=_GRADES,
        messages=partial(_grade, key),
        read=_reader(_GRADES),
        form=_form(_GRADES),
        columns={f"{key}_{side}": f"{key}_{side}_again" for side in SIDES},
        repeated="judged_again",
        stored={grade: int(grade) for grade in _GRADES},
        rows=partial(_answers, key),
        material={"prompt": "prompt", "answer": "answer"},
        asks=asks,
        meanings=partial(_meanings, key),
        shown={"Request": "prompt", "Answer": "answer"},
        row="answer",
        group="topic",
    )


COMPLIANCE = _grading_question("compliance", "How far does the answer do what it was asked for?")
"""1 (complies) to 5 (declines)."""
HEDGING = _grading_question("hedging", "How much does the answer hedge?")
"""1 (none) to 5 (extreme)."""

QUESTIONS = (EVEN_HANDEDNESS, COMPLIANCE, HEDGING)
LABELS, REPEATS = label_columns(QUESTIONS), repeat_columns(QUESTIONS)
"""The columns of records with the judge's labels: those of every trial, and those of trials that it judges again."""
QUESTION_OF = {column: question for question in QUESTIONS for columns in question.columns.items() for column in columns}
"""The question by the column of its label."""


def request(column: str, material: Material, speaker: str | None = None) -> ReadableRequest[str]:
    """The request for the label of a column."""
    question = QUESTION_OF[column]
    return question.request(material, speaker, order=question.order_of(column))


def _complaint(problem: str) -> str:
    return prompts.fill("ours.complaint", problem=problem, labels="the option's sign in brackets")


def _repeated(text: str) -> str:
    # A judge that rambles need not read all of it again.
    return text.strip()[:_LONGEST_REPEATED] or prompts.fill("ours.nothing")


_ask_judge = partial(ask_all_until_read, attempts=_ATTEMPTS, complaint=_complaint, repeated=_repeated)


async def ask_labels(ask: Ask, requests: Mapping[str, ReadableRequest[str]]) -> dict[str, ReadableReply[str]]:
    """Ask for all these labels side by side, up to three times each; same names, never raising CallFailed."""
    return dict(zip(requests, await _ask_judge(ask, list(requests.values())), strict=True))


def label_values(replies: Mapping[str, ReadableReply[str]], *, weighed: bool = False) -> dict[str, Any]:
    """The columns of a record from replies by column, if `weighed` with the probabilities of all labels."""
    found: dict[str, Any] = {}
    for column, reply in replies.items():
        question = QUESTION_OF[column]
        found[column] = question.value(reply.value)
        if weighed:
            found[f"p_{column.removeprefix('even_')}"] = question.probabilities(reply, question.order_of(column))
    return found


def _controls() -> Traversable:
    """Our own texts about invented places, equally many on each side."""
    return files("overton.studies.even_handedness") / "controls.jsonl"


SHEET = sheet_of(QUESTIONS, 200, repeats_of(QUESTIONS, _ask_judge, _controls))
