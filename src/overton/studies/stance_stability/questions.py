"""The two questions to the judge about a turn (sections 3.2, step 4, and 3.3; appendix A.3). Overton's question asks
for the answer's stance towards the topic's proposition. The published question asks for the answer's stance towards the
premise of the question asked in the turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Protocol, get_args

import msgspec

from overton.calls import Ask, Draw, Form, Message, Reply
from overton.judging import Reading, parse_json, schema_of, with_schema
from overton.studies.asking import ask_until_read, failure_in
from overton.studies.calibration_sample import choose_calibration_turns
from overton.studies.orders import OWN, Order, asked_in_order, drawn_order
from overton.studies.questions import (
    LABEL_FIRST,
    JudgedLabels,
    JudgePrompt,
    LabelPlans,
    Material,
    Question,
    Questions,
    controls_in,
    definitions_in,
)
from overton.studies.results import Results
from overton.studies.self_agreement import is_retested, retest_speaker
from overton.studies.stance_stability import prompts
from overton.studies.stance_stability.context import EarlierTurn, bounded, shortened
from overton.studies.stance_stability.items import Topic
from overton.studies.stance_stability.options import JUDGED_CHARACTERS, JudgingOptions, Options
from overton.studies.stance_stability.record import STANCES, Stance

if TYPE_CHECKING:
    import polars as pl

    from overton.statistics.misclassification import LabelCount

CERTAINTY: dict[str, float] = {"clearly": 1.0, "likely": 0.67, "uncertain": 0.33}
"""The confidence for each word of certainty, by the rubric of section 3.3. The rubric's 'Rescale to [0,1]' does not
change these values."""

_LONGEST_ANSWER = 20_000
_MOST_CLAIMS, _LONGEST_CLAIM, _LONGEST_RATIONALE = 20, 500, 2_000


class _TurnAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON of Overton's own prompt.

    Labels are parsed as any strings, so that 'Critical' with a capital does not cause another request. The reason comes
    first, so that the judge does not make it up to fit the label.
    """

    rationale: str = ""
    stance: Annotated[str, with_schema(enum=STANCES)]
    key_claims: Annotated[list[str], with_schema(maxItems=8)] = []
    contradictions_acknowledged: bool
    certainty: Annotated[str, with_schema(enum=tuple(CERTAINTY))]


class _PublishedAnswer(msgspec.Struct, frozen=True):
    stance: str


FORM = Form(schema=schema_of(_TurnAnswer))
CERTAINTY_FORM = Form(schema=schema_of(_TurnAnswer, only=("certainty",)))
PUBLISHED_FORM = Form(schema=schema_of(_TurnAnswer, only=("stance", "key_claims", "contradictions_acknowledged")))


def material_of(
    towards: str, turn: EarlierTurn, earlier: Sequence[EarlierTurn], characters: int, *, label_first: bool = False
) -> Material:
    """The material about a turn for the judge: the turn, the object of the stance (`towards`, see `prompts.matter`),
    and at most `characters` characters of the `earlier` turns."""
    material = {
        "towards": towards,
        "turn": (turn.question, turn.answer),
        "earlier": [(before.question, before.answer) for before in earlier],
        "characters": characters,
    }
    return {**material, LABEL_FIRST: True} if label_first else material


def _by_topic(material: Material, order: Order) -> tuple[JudgePrompt[_TurnAnswer]]:
    return (_stance_prompt(prompts.judge_messages(material["towards"], *_shown(material)), FORM, _read, order),)


def _by_premise(material: Material, order: Order) -> tuple[JudgePrompt[Stance]]:
    return (_stance_prompt(prompts.published_messages(*_shown(material)), PUBLISHED_FORM, _read_published, order),)


def _shown(material: Material) -> tuple[EarlierTurn, list[EarlierTurn]]:
    question, answer = material["turn"]
    earlier = [EarlierTurn(*turn) for turn in material["earlier"]]
    return EarlierTurn(question, shortened(answer, _LONGEST_ANSWER)), bounded(earlier, material["characters"])


def _stance_prompt(
    messages: Sequence[Message], form: Form, read: Callable[[Reply], Reading[Any]], order: Order
) -> JudgePrompt[Any]:
    """A prompt that names the labels in the given order.

    Token probabilities are read for the stance only. Claims and certainty follow the stance in the reply, so their
    probabilities would be conditional on it.
    """
    ordered, labelled = asked_in_order(messages, form, STANCES, order.of(STANCES))
    return JudgePrompt(ordered, labelled, read, dict(zip(STANCES, STANCES, strict=True)), key="stance")


def _read(reply: Reply) -> Reading[_TurnAnswer]:
    reading = parse_json(reply.text, _TurnAnswer)
    answer = reading.value
    if answer is not None and _stance(answer.stance) is None:
        return Reading.invalid(_NO_STANCE)
    if answer is not None and _plain(answer.certainty) not in CERTAINTY:
        return Reading.invalid(_NO_CERTAINTY)
    return reading


def _read_published(reply: Reply) -> Reading[Stance]:
    reading = parse_json(reply.text, _PublishedAnswer)
    if reading.value is None:
        return Reading.invalid(reading.problem)
    stance = _stance(reading.value.stance)
    return Reading.invalid(_NO_STANCE) if stance is None else Reading(stance, reading.how)


class _CertaintyAnswer(msgspec.Struct, frozen=True):
    certainty: str


def _read_certainty(reply: Reply) -> Reading[float]:
    reading = parse_json(reply.text, _CertaintyAnswer)
    if reading.value is None:
        return Reading.invalid(reading.problem)
    confidence = CERTAINTY.get(_plain(reading.value.certainty))
    return Reading.invalid(_NO_CERTAINTY) if confidence is None else Reading(confidence, reading.how)


_NO_CERTAINTY = f'"certainty" is none of {", ".join(CERTAINTY)}'
_NO_STANCE = f'"stance" is none of {", ".join(STANCES)}'


def _stance(text: str) -> Stance | None:
    return next((stance for stance in get_args(Stance) if stance == _plain(text)), None)


def _plain(text: str) -> str:
    return text.strip().casefold()


def _stance_of(values: Sequence[_TurnAnswer | None], material: Material) -> dict[str, str | None]:
    (answer,) = values
    return {"": None if answer is None else _stance(answer.stance)}


def _details(answer: _TurnAnswer | None) -> dict[str, Any]:
    """The columns of a record, except the stance, that come from the judge's answer."""
    if answer is None:
        return {"confidence": None, "claims": (), "contradictions_acknowledged": None, "rationale": ""}
    claims = (" ".join(claim.split()) for claim in answer.key_claims)
    return {
        "confidence": CERTAINTY[_plain(answer.certainty)],
        "claims": tuple(shortened(claim, _LONGEST_CLAIM) for claim in claims if claim)[:_MOST_CLAIMS],
        "contradictions_acknowledged": answer.contradictions_acknowledged,
        "rationale": shortened(answer.rationale.strip(), _LONGEST_RATIONALE),
    }


def _turns(results: Results, table: pl.DataFrame) -> pl.DataFrame:
    """The table with the columns `proposition`, `group` (the conversation's name with its model) and `id` (`group` and
    the turn's number)."""
    import polars as pl

    if "proposition" not in table.columns:
        propositions = {topic.id: topic.proposition for topic in results.items}
        table = table.with_columns(proposition=pl.col("topic").replace_strict(propositions, default=""))
    group = pl.format("{}/{}", pl.col("model").fill_null(""), "conversation")
    return table.with_columns(pl.format("{}/{}", group, "turn").alias("id"), group.alias("group"))


def _labelled_turns(key: str, results: Results) -> pl.DataFrame:
    """One row per turn, with its label and its conversation as `group`. `asked` is False for empty answers, which the
    judge does not label."""
    import polars as pl

    turns = _turns(results, results.records)
    return turns.select(
        "id",
        pl.col(key).alias("label"),
        "group",
        _conditions(turns),
        (pl.col("answer").str.strip_chars() != "").fill_null(value=False).alias("asked"),
        *("model", "conversation", "topic", "turn", "proposition", "question", "answer"),
    )


def _conditions(turns: pl.DataFrame) -> pl.Expr:
    """A column with each turn's order of questions and temperature, as far as they are known."""
    import polars as pl

    known = [name for name in ("ordering", "temperature") if name in turns.columns]
    named = [pl.format(f"{name} {{}}", pl.col(name).cast(pl.String).fill_null("None")) for name in known]
    return pl.concat_str(named or [pl.lit("")], separator=", ").alias("condition")


def _materials(key: str, results: Results, rows: pl.DataFrame) -> list[Material]:
    characters = _characters(results)
    return [
        material_of(
            towards if key == "stance" else "", EarlierTurn(row["question"] or "", row["answer"]), earlier, characters
        )
        for row, towards, earlier in _in_context(results, rows)
    ]


def _texts(results: Results, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with two more columns: the object of the stance, as named in the judge's prompt, and the earlier
    turns."""
    import polars as pl

    characters, context = _characters(results), _in_context(results, rows)
    return rows.with_columns(
        pl.Series("matter", [towards for _, towards, _ in context], pl.String),
        pl.Series("earlier", [_earlier_text(bounded(earlier, characters)) for *_, earlier in context], pl.String),
    )


def _in_context(results: Results, rows: pl.DataFrame) -> list[tuple[Mapping[str, Any], str, list[EarlierTurn]]]:
    """Each turn with the object of the stance, as named in the judge's prompt, and the earlier turns of its
    conversation."""
    import polars as pl

    conversations = rows["conversation"].unique().to_list()
    whole = _turns(results, results.records.filter(pl.col("conversation").is_in(conversations)))
    by_group = whole.sort("turn", maintain_order=True).partition_by("group", as_dict=True)
    turns = {str(group): some.to_dicts() for (group,), some in by_group.items()}
    topics = {topic.id: topic for topic in results.items if isinstance(topic, Topic)}
    found: list[tuple[Mapping[str, Any], str, list[EarlierTurn]]] = []
    for row in rows.iter_rows(named=True):
        conversation, topic = turns[row["group"]], topics.get(row["topic"])
        name, first = (topic.topic, topic.questions[0].text) if topic else (row["topic"], conversation[0]["question"])
        towards = prompts.matter(row["proposition"] or "", name or "", first or "")
        before = (turn for turn in conversation if turn["turn"] < row["turn"])
        earlier = [EarlierTurn(turn["question"] or "", turn["answer"] or "") for turn in before]
        found.append((row, towards, earlier))
    return found


def _earlier_text(turns: Sequence[EarlierTurn]) -> str:
    return "\n\n".join(f"QUESTION: {turn.question.strip()}\n\nANSWER: {turn.answer.strip()}" for turn in turns)


def _characters(results: Results) -> int:
    """The number of characters of earlier turns that the judge was shown; the default if no run records it."""
    given = [run.options.get("judged_characters") for run in results.runs]
    return next((number for number in given if isinstance(number, int)), JUDGED_CHARACTERS)


def _meanings(file: str) -> dict[str, str]:
    return definitions_in(prompts.filled(file, "system"), STANCES)


_OfTurns = partial(
    Question,
    labels=STANCES,
    reason="rationale",
    repeated="judged_again",
    texts=_texts,
    row="turn",
    group="conversation",
    whole=True,
)

STANCE = _OfTurns(
    key="stance",
    prompts=_by_topic,
    labels_of=_stance_of,
    details=_details,
    columns={"stance": "stance_again"},
    rows=partial(_labelled_turns, "stance"),
    material=partial(_materials, "stance"),
    # Quote the prompt's own instructions on how to decide.
    asks=f"Where does this answer stand?\n\n{prompts.filled('judge', 'system').split(chr(10) * 2)[1]}",
    meanings=partial(_meanings, "judge"),
    shown={
        "What the stance is towards": "matter",
        "Earlier turns": "earlier",
        "Question": "question",
        "Answer": "answer",
    },
    sheet=("proposition", "question", "answer"),
)
"""The question for the stance towards the topic's proposition, with certainty and a reason."""

PREMISE_STANCE = _OfTurns(
    key="premise_stance",
    prompts=_by_premise,
    columns={"premise_stance": "premise_stance_again"},
    rows=partial(_labelled_turns, "premise_stance"),
    material=partial(_materials, "premise_stance"),
    asks="Where does this answer stand towards the premise of its question?",
    meanings=partial(_meanings, "stance"),
    # The premise is in the question. A proposition shown next to the question would mislead annotators.
    shown={"Earlier turns": "earlier", "Question": "question", "Answer": "answer"},
    sheet=("question", "answer"),
)
"""The question for the stance towards the premise of the turn's question, with the published prompt."""


def _for_width(results: Results, people: pl.DataFrame, measure: str, width: float) -> Sequence[LabelCount]:
    from overton.studies.stance_stability.errors import labels_for_width

    return labels_for_width(results.records, people, measure, width)


QUESTIONS = Questions(
    (STANCE, PREMISE_STANCE),
    complaint=lambda problem: prompts.filled("judge", "complaint", problem=problem),
    # Quote only the start of a long reply, to keep the retry prompt short.
    repeated=lambda text: shortened(text, _LONGEST_RATIONALE),
    controls=controls_in("overton.studies.stance_stability"),
    size=500,
    shared=lambda results: {"characters": _characters(results)},
    plans=LabelPlans("stance", ("change_rate", "chameleon", "flips", "stance_changes", "turn_of_flip"), _for_width),
)

NOT_JUDGED = JudgedLabels({"stance": None, "premise_stance": None, **_details(None)})
"""The columns of a turn that was not sent to the judge, because the answer is empty."""

_SAMPLED = {"stance": ("sampled", ""), "premise_stance": ("sampled_premise", "/premise")}
"""For each question to the judge, the column of its sampled labels, and the suffix in the names of the calls that
sample them."""


class _Trial(Protocol):
    """A trial whose turns are judged."""

    @property
    def options(self) -> Options | JudgingOptions: ...
    @property
    def shares(self) -> str | None: ...
    @property
    def sampled(self) -> int: ...
    def draw(self, purpose: str) -> Draw:
        """See `overton.calls.Trial`."""


def is_turn_retested(trial: _Trial, number: int) -> bool:
    """Whether the turn `number` gets a second label."""
    return is_retested(trial.draw(f"retest/{number}"), trial.options.retest)


def calibration_turns(trial: _Trial, turns: Sequence[int]) -> dict[int, int]:
    """The number of labels to sample for calibration, by turn. Turns for which no labels are sampled are left out."""
    return choose_calibration_turns(trial.draw("calibration/turns"), trial.sampled, turns)


async def judge_turn(
    trial: _Trial,
    ask: Ask,
    towards: str,
    turn: EarlierTurn,
    earlier: Sequence[EarlierTurn],
    *,
    number: int,
    turns: Sequence[int],
    speaker: str | None = None,
) -> JudgedLabels:
    """Ask the judge about turn `number` of a trial, according to the trial's options.

    The judge labels a random sample of turns a second time, with the labels in another order. To calibrate the judge's
    probabilities, further labels are sampled for some of the trial's `turns`.

    With the prompt 'published', the judge gives only `premise_stance`. With 'topic' (Overton's own prompt), the judge
    gives all other columns. With 'both', the judge gets both prompts. With `ask_certainty`, a further call after the
    published prompt gives `confidence`. The judge does not get empty answers.
    """
    if not turn.answer.strip():
        return NOT_JUDGED
    options, weighed = trial.options, trial.shares is not None
    material = material_of(towards, turn, earlier, options.judged_characters, label_first=weighed)
    keys = {"topic": ("stance",), "published": ("premise_stance",), "both": ("stance", "premise_stance")}
    asked = dict.fromkeys(keys[options.judge_prompts], material)
    sampled = calibration_turns(trial, turns).get(number, 0)
    first = await _ask_in_turn(ask, asked, speaker, probabilities=weighed, sampled=sampled, place=f"{number}")
    if options.ask_certainty and not first.failure and (stance := first.columns["premise_stance"]) is not None:
        first = await _with_certainty(ask, material, stance, speaker or "judge", first)
    if first.failure or not is_turn_retested(trial, number):
        return first
    second = await _ask_in_turn(
        ask,
        QUESTIONS.in_other_order(asked),
        retest_speaker(speaker or "judge", number),
        order=drawn_order(trial.draw(f"retest/{number}/labels")),
    )
    return replace(first, columns={**first.columns, "judged_again": True, **second.columns})


async def _with_certainty(
    ask: Ask, material: Material, stance: str, speaker: str, judged: JudgedLabels
) -> JudgedLabels:
    """The labels of a turn, with the answer's `confidence` added from a separate call. The call's prompt contains the
    label `stance`."""
    answered = await ask_until_read(
        ask,
        "judge",
        prompts.certainty_messages(*_shown(material), stance),
        _read_certainty,
        attempts=QUESTIONS.attempts,
        complaint=QUESTIONS.complaint,
        repeated=QUESTIONS.repeated,
        form=CERTAINTY_FORM,
        speaker=f"{speaker}/certainty",
    )
    columns = {**judged.columns, "confidence": answered.value}
    return replace(judged, columns=columns, failure=failure_in("judge", [answered]))


async def _ask_in_turn(
    ask: Ask,
    asked: Mapping[str, Material],
    speaker: str | None,
    *,
    order: Order = OWN,
    probabilities: bool = False,
    sampled: int = 0,
    place: str = "",
) -> JudgedLabels:
    """Ask for the labels of these columns one after another, until a call fails permanently."""
    columns, attempts, failure = dict(NOT_JUDGED.columns) if order.is_own else {}, 0, None
    for column, material in asked.items():
        labels = await QUESTIONS.ask(ask, {column: material}, speaker, order=order, probabilities=probabilities)
        columns |= labels.columns
        attempts, failure = attempts + labels.attempts, labels.failure
        if failure:
            break
        if sampled:
            name, end = _SAMPLED[column]
            columns[name] = await QUESTIONS.question(column).sample(ask, material, sampled, f"{place}{end}")
    return JudgedLabels(columns, attempts=attempts, failure=failure)
