"""A judge's question, declared once: the request, records, sheets and repeats that follow from it."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from overton.calls import Alternative, Draw, Form, Message, Reply, Settings, Spot, user
from overton.errors import CallFailed, InputError
from overton.judging import Reading, read_choice
from overton.studies.asking import ReadableReply
from overton.studies.judged_rows import rows_of
from overton.studies.orders import OWN, REVERSED, Order
from overton.studies.questions import (
    JudgeAnswer,
    JudgedLabels,
    JudgePrompt,
    Material,
    Question,
    Questions,
    controls_in,
    from_columns,
    label_prompts,
)
from overton.studies.results import MeasuredModel, Results, RunFacts
from overton.studies.self_agreement import of_questions

PAGE = (Path(__file__).parents[2] / "docs" / "your-own-study.md").read_text("utf-8")


def which_is_longer(material: Material, order: Order) -> tuple[Message, ...]:
    texts = material["text"] if order.is_own else material["text"][::-1]
    return (user(f"{texts[0]} or {texts[1]}?"),)


def how_long(material: Material, order: Order) -> tuple[Message, ...]:
    options = ("short", "long") if order.is_own else ("long", "short")
    return (user(f"{material['text']}: {' or '.join(options)}?"),)


def pairs(results: Results) -> pl.DataFrame:
    return results.records.select(
        "model", id="pair", label=LONGER.label("longer"), group="topic", condition="setting", text_a="a", text_b="b"
    )


def texts(results: Results) -> pl.DataFrame:
    return results.records.select("model", id="pair", label="length", group="topic", condition="setting", text="a")


LONGER = Question(
    key="longer",
    labels=("A", "B", "same"),
    prompts=label_prompts(
        ("A", "B", "same"), which_is_longer, read_choice, Form(choices=("A", "B", "same")), swap={"A": "B", "B": "A"}
    ),
    columns={"longer": "longer_turned"},
    stored={"A": 1, "B": 2, "same": 3},
    probability_columns={"longer_turned": "p_turned"},
    rows=pairs,
    material=from_columns(text=("text_a", "text_b")),
    asks="Which is longer?",
    meanings=lambda: {"A": "the first", "B": "the second", "same": "neither"},
    shown={"First": "text_a", "Second": "text_b"},
    row="pair",
    group="topic",
    role="measurer",
)
LENGTH = Question(
    key="length",
    labels=("short", "long"),
    prompts=label_prompts(("short", "long"), how_long, read_choice, Form(choices=("short", "long"))),
    columns={"length": "length_again"},
    repeated="asked_again",
    rows=texts,
    material=from_columns(text="text"),
    asks="Is it long?",
    meanings=lambda: {"short": "up to five letters", "long": "more"},
    shown={"Text": "text"},
    row="text",
    group="topic",
    role="measurer",
)
QUESTIONS = Questions((LONGER, LENGTH), complaint=str, attempts=2, size=30)
TEXTS = {"text": ["ship", "boats"]}


@pytest.fixture
def results() -> Results:
    records = pl.DataFrame(
        {
            "model": ["m", "m", "n"],
            "pair": ["p1", "p2", "p3"],
            "topic": ["t1", "t1", "t2"],
            "setting": ["none", "system-1", "none"],
            "a": ["ship", "canoe", "raft"],
            "b": ["boats", "dinghy", "tugs"],
            "longer": [2, None, 1],
            "longer_turned": [2, None, 2],
            "length": ["short", "long", "long"],
            "length_again": ["long", None, "long"],
            "asked_again": [True, False, True],
        }
    )
    judge = MeasuredModel("j", "simulated/judge")
    facts = RunFacts("r", seed=0, options={}, roles={"measurer": (judge,)})
    return Results(records, runs=(facts,))


class Judge:
    """An `Ask` that plays replies in order; prompts are kept with their speakers and settings."""

    def __init__(self, *replies: str | Reply | Exception) -> None:
        self.replies = list(replies)
        self.sent: list[tuple[str, str | None, Settings | None]] = []
        self.weighed: list[tuple[str, ...]] = []

    async def __call__(
        self,
        role: str,
        messages: Any,
        *,
        speaker: str | None = None,
        form: Any = None,
        settings: Settings | None = None,
        **how: Any,
    ) -> Reply:
        self.sent.append((messages[-1].content, speaker, settings))
        self.weighed.append(form.weigh)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return Reply(reply) if isinstance(reply, str) else reply


@pytest.mark.parametrize(("order", "sent", "label"), [(OWN, "ship or boats?", "B"), (REVERSED, "boats or ship?", "A")])
def test_a_label_has_its_meaning_in_the_studys_own_order(order: Order, sent: str, label: str) -> None:
    (prompt,) = LONGER.prompts_about(TEXTS, order)
    assert prompt.form == Form(choices=("A", "B", "same"))
    assert [message.content for message in prompt.messages] == [sent]
    assert [prompt.read(Reply(said)) for said in ("B", "same", "none")] == [
        read_choice(label, LONGER.labels),
        read_choice("same", LONGER.labels),
        read_choice("none", LONGER.labels),
    ]
    assert [prompt.single_label(said) for said in ("B", "none")] == [label, None]


def test_a_refusal_names_no_label() -> None:
    (prompt,) = LONGER.prompts_about(TEXTS)
    assert prompt.read(Reply("A", refused=True)).value is None


def test_probabilities_are_of_meanings_in_the_studys_own_order() -> None:
    chances = [Alternative("A", 0.2, 0.2), Alternative("B", 0.7, 0.7), Alternative("same", 0.1, 0.1)]
    reply = Reply("B", spots=(Spot(0, "B", tuple(chances)),))

    def answered(order: Order, *, choice: bool = True) -> JudgeAnswer[str]:
        prompts = LONGER.prompts_about(TEXTS, order)
        read = ReadableReply((reply,), (prompts[0].read(reply),), choice=prompts[0].choice if choice else None)
        return JudgeAnswer(LONGER, TEXTS, prompts, (read,))

    assert answered(OWN).probabilities() == pytest.approx((0.2, 0.7, 0.1))
    assert answered(REVERSED).probabilities() == pytest.approx((0.7, 0.2, 0.1))
    assert answered(REVERSED, choice=False).probabilities() is None
    values = LONGER.record_values("longer", answered(OWN))
    assert values == {"longer": 2, "p_longer": pytest.approx((0.2, 0.7, 0.1))}
    values = LONGER.record_values("longer_turned", answered(REVERSED))
    assert values == {"longer_turned": 1, "p_turned": pytest.approx((0.7, 0.2, 0.1))}
    assert LONGER.record_values("longer", answered(OWN, choice=False)) == {"longer": 2}


def test_labels_get_into_records_and_out_of_them(results: Results) -> None:
    assert [LONGER.value(label) for label in ("A", "B", "same", None)] == [1, 2, 3, None]
    assert results.records.select(LONGER.label("longer"))[:, 0].to_list() == ["B", None, "A"]
    assert LENGTH.value("long") == "long"
    assert [LONGER.is_own(column) for column in ("longer", "longer_turned")] == [True, False]
    assert QUESTIONS.label_columns == ("longer", "longer_turned", "length")
    assert QUESTIONS.repeat_columns == ("length_again",)
    assert [QUESTIONS.question_of(column) for column in ("longer_turned", "length_again")] == [LONGER, LENGTH]


def test_labels_of_several_columns_are_requested_side_by_side() -> None:
    judge = Judge("A", "A", "no idea", CallFailed("gone", "no such model"), "none")
    length = {"text": "ship"}
    materials: dict[str, Material] = {"longer": TEXTS, "longer_turned": TEXTS, "length": length}
    materials |= QUESTIONS.in_other_order({"length": length})
    found = asyncio.run(QUESTIONS.ask(judge, materials, "judge/again"))  # type: ignore[arg-type]
    assert found == JudgedLabels(
        {"longer": 1, "longer_turned": 2, "length": None, "length_again": None},
        unread=1,
        attempts=5,
        failure="measurer: gone: no such model",
    )
    asked = ["ship or boats?", "boats or ship?", "ship: short or long?", "ship: long or short?"]
    assert [text for text, _, _ in judge.sent[:4]] == asked
    assert judge.sent[4][0] == "it names none of the choices: short, long"
    assert {speaker for _, speaker, _ in judge.sent} == {"judge/again"}
    assert set(judge.weighed) == {()}


def test_a_refusal_and_an_unusable_reply_are_requested_again_and_others_are_not() -> None:
    judge = Judge("A", Reply("B", refused=True), "what?", "B", CallFailed("gone", "no such model"))
    things = [(LONGER, TEXTS, OWN), (LONGER, TEXTS, OWN), (LENGTH, {"text": "ship"}, OWN)]
    one, two, three = asyncio.run(QUESTIONS.ask_about(judge, things))  # type: ignore[arg-type]
    assert [answer.value for answer in (one, two, three)] == ["A", "B", None]
    assert [(answer.replies[0].attempts, answer.replies[0].unusable) for answer in (one, two, three)] == [
        (1, 0),
        (2, 1),
        (2, 1),
    ]
    assert [answer.failure for answer in (one, two, three)] == [None, None, "measurer: gone: no such model"]
    assert judge.sent[3][0] == "it is a refusal"


def test_replies_to_several_prompts_about_one_thing_are_read_together() -> None:
    def both(values: Any, material: Material) -> dict[str, str | None]:
        return dict(zip(("first", "second"), values, strict=True))

    def prompts(material: Material, order: Order) -> list[JudgePrompt[str]]:
        return [prompt for text in material["text"] for prompt in LENGTH.prompts_about({"text": text}, order)]

    question = replace(LENGTH, prompts=prompts, labels_of=both)
    judge = Judge("short", "no idea", "long", "still none")
    (answer, other) = asyncio.run(
        QUESTIONS.ask_about(judge, [(question, TEXTS, OWN), (LENGTH, {"text": "x"}, REVERSED)], shared=True)  # type: ignore[arg-type]
    )
    assert (answer.labels, other.labels) == ({"first": "short", "second": None}, {"": "long"})
    assert [text for text, *_ in judge.sent[:3]] == [
        "ship: short or long?",
        "boats: short or long?",
        "x: long or short?",
    ]


def test_a_column_may_have_more_than_the_label() -> None:
    question = replace(LENGTH, recorded=lambda value: [value], details=lambda value: {"letters": len(value or "")})
    questions = replace(QUESTIONS, questions=(question,))
    judge = Judge("short", "long")
    own, other = (
        asyncio.run(questions.ask(judge, {column: {"text": "ship"}}))  # type: ignore[arg-type]
        for column in ("length", "length_again")
    )
    assert own == JudgedLabels({"length": ["short"], "letters": 5}, attempts=1)
    assert other == JudgedLabels({"length_again": ["long"]}, attempts=1)


def test_a_label_comes_before_its_reason_if_the_material_says_so() -> None:
    form = Form(schema={"properties": {"why": {}, "label": {}}, "required": ["why", "label"]})
    asked = [user('Reply with {"why": "...", "label": "..."}')]
    question = replace(
        LENGTH, reason="why", prompts=lambda material, order: [JudgePrompt(tuple(asked), form, read_none)]
    )
    for first, keys in ((False, ["why", "label"]), (True, ["label", "why"])):
        (prompt,) = question.prompts_about({"label_first": first})
        assert prompt.form.schema is not None
        assert list(prompt.form.schema["properties"]) == keys


def read_none(reply: Reply) -> Reading[str]:
    return Reading.invalid("none")


def test_second_labels_may_be_sets_or_come_from_a_function(results: Results) -> None:
    sets = results.records.with_columns(
        length=pl.Series([["a"], ["a", "b"], None], dtype=pl.List(pl.String)),
        length_again=pl.Series([["a"], ["a"], None], dtype=pl.List(pl.String)),
        asked_again=pl.lit(value=True),
    )
    (found,) = of_questions([LENGTH], sets, "topic", 0.95).values()
    assert (found.repeated, found.unread, found.kappa) == (3, 1, None)
    assert found.overlap is not None
    assert found.overlap.value == 0.75
    twice = replace(LENGTH, repeats=lambda records: records.select(first="length", second="length", item="topic"))
    (found,) = of_questions([twice], results.records, "topic", 0.95).values()
    assert (found.repeated, found.same.value) == (3, 1.0)
    assert of_questions([LENGTH], sets.drop("asked_again"), "topic", 0.95) == {}
    assert of_questions([LENGTH], sets.with_columns(asked_again=pl.lit("true")), "topic", 0.95) == {}
    assert of_questions([replace(LENGTH, agreement="lengths")], sets, "topic", 0.95).keys() == {"lengths"}
    own = sets.with_columns(topic=pl.lit(""))
    assert of_questions([LENGTH], own, ("absent", "topic", "pair"), 0.95) == of_questions([LENGTH], own, "pair", 0.95)
    nobody = sets.with_columns(length=pl.lit(None, pl.String))
    assert of_questions([LENGTH], nobody, "topic", 0.95) == {}


def test_probabilities_are_requested_of_all_labels_or_of_none() -> None:
    spot = Spot(0, "long", (Alternative("long", 0.8, 0.8), Alternative("short", 0.2, 0.2)))
    judge = Judge(Reply("long", spots=(spot,)))
    found = asyncio.run(QUESTIONS.ask(judge, {"length": {"text": "ship"}}, probabilities=True))  # type: ignore[arg-type]
    assert found.columns == {"length": "long", "p_length": pytest.approx((0.2, 0.8))}
    assert judge.weighed == [("short", "long")]
    assert asyncio.run(QUESTIONS.ask(judge, {})) == JudgedLabels({})  # type: ignore[arg-type]


def test_single_answers_are_values_of_columns_or_none() -> None:
    judge = Judge("B", "either", CallFailed("gone", "no such model"))
    assert asyncio.run(LONGER.sample(judge, TEXTS, 3, "p1")) == ("2", "none")  # type: ignore[arg-type]
    speakers = [f"measurer/sampled/p1/{number}" for number in (1, 2, 3)]
    assert judge.sent == [("ship or boats?", speaker, Settings(temperature=1.0)) for speaker in speakers]
    assert asyncio.run(LONGER.sample(judge, TEXTS, 0)) is None  # type: ignore[arg-type]


def test_every_judged_unit_is_a_row_with_the_texts_for_people(results: Results) -> None:
    assert (QUESTIONS.keys, QUESTIONS.size, LONGER.sheet_columns) == (("longer", "length"), 30, ("text_a", "text_b"))
    rows = rows_of(QUESTIONS, results, "longer")
    assert (rows.given, rows.judge) == (["B", None, "A"], "j")
    assert rows.drawn([2]).select(LONGER.sheet_columns).rows() == [("raft", "tugs")]
    units = rows.units("plain")
    assert (units.id, units.label, units.group, units.model, units.unlabelled) == (
        ["p1", "p3"],
        ["B", "A"],
        ["t1", "t2"],
        ["m", "n"],
        1,
    )


def test_a_judge_is_asked_again_about_the_same_material(results: Results) -> None:
    rows = rows_of(QUESTIONS, results, "longer")
    assert rows.asked.select("id", "condition").rows() == [("p1", "none"), ("p2", "system-1"), ("p3", "none")]
    assert rows.is_labelled == [True, False, True]
    assert (rows.labels(0), list(rows.materials([0]))) == ({"": "B"}, [TEXTS])
    single = rows_of(QUESTIONS, results, "length")
    assert (single.labels(1), list(single.materials([1]))) == ({"": "long"}, [{"text": "canoe"}])


def test_a_judge_is_asked_in_the_other_order_if_there_is_a_draw() -> None:
    judge = Judge("I cannot say", "A", "I cannot say", "A")
    labels = [
        asyncio.run(QUESTIONS.ask_again(judge, "longer", TEXTS, draw, speaker))  # type: ignore[arg-type]
        for draw, speaker in ((None, None), (Draw("1/p1/order"), "judge/again"))
    ]
    assert labels == [{"": "A"}, {"": "B"}]
    assert [sent[:2] for sent in judge.sent[::2]] == [("ship or boats?", None), ("boats or ship?", "judge/again")]


def test_controls_are_a_file_of_the_studys_package_or_given() -> None:
    assert (QUESTIONS.controls, QUESTIONS.own_controls()) == (None, ())
    questions = replace(QUESTIONS, controls=controls_in("overton.studies.even_handedness"))
    assert questions.controls is not None
    found = questions.controls()
    assert not isinstance(found, list | tuple)
    assert found.is_file()  # type: ignore[union-attr]
    assert questions.own_controls() == ()
    assert replace(QUESTIONS, controls=lambda: ["one"]).own_controls() == ["one"]


def test_a_run_may_have_questions_of_its_own(results: Results) -> None:
    own = replace(QUESTIONS, questions=(replace(LENGTH, rows=lambda results: texts(results).head(1)),))
    questions = replace(QUESTIONS, of_run=lambda results: own, of_material=lambda material: own)
    assert rows_of(questions, results, "length").rows["id"].to_list() == ["p1"]
    judge = Judge("short")
    assert asyncio.run(questions.ask_again(judge, "length", {"text": "ship"}, None, None)) == {"": "short"}  # type: ignore[arg-type]
    with pytest.raises(InputError, match="longer: must be length"):
        rows_of(questions, results, "longer")


def test_a_judge_agrees_with_itself_as_far_as_both_orders_agree(results: Results) -> None:
    found = of_questions(QUESTIONS, results.records, "topic", 0.95)
    assert {key: (agreement.repeated, agreement.unread, agreement.same.value) for key, agreement in found.items()} == {
        "longer": (2, 0, 0.5),
        "length": (2, 0, 0.5),
    }
    never = results.records.with_columns(asked_again=False)
    assert of_questions(QUESTIONS, never, "topic", 0.95).keys() == {"longer"}


def test_the_question_of_the_docs_makes_requests_and_a_sheet() -> None:
    (block,) = re.findall(r"^```py\n((?:(?!^```).)*HEDGING = .*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    prompt = "hedged: takes back what it says\ndirect: says it\n{answer} {first} {second}"
    none = {"answer": "", "first": "", "second": ""}
    page: dict[str, Any] = {"PROMPTS": SimpleNamespace(fill=lambda name, **places: prompt.format_map(none | places))}
    exec(compile(block, "docs/your-own-study.md", "exec"), page)
    question: Any = page["HEDGING"]
    texts = [question.prompts_about({"answer": "Yes"}, order)[0].messages[0].content for order in (OWN, REVERSED)]
    assert [text.splitlines()[-1] for text in texts] == ["Yes hedged direct", "Yes direct hedged"]
    records = pl.DataFrame(
        {
            "model": ["m", "m"],
            "trial": ["t1", "t2"],
            "question": ["q", "q"],
            "framing": ["pro", "con"],
            "reply": ["Yes", "No, but"],
            "hedging": ["direct", None],
            "failure": pl.Series([None, None], dtype=pl.String),
        }
    )
    rows = rows_of(page["QUESTIONS"], Results(records), "hedging")
    assert (rows.given, rows.drawn([1])["answer"].to_list()) == (["direct", None], ["No, but"])
    assert question.meanings() == {"hedged": "takes back what it says", "direct": "says it"}
    assert rows.asked["id"].to_list() == ["m/t1", "m/t2"]
