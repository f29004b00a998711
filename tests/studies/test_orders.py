"""Prompts in another order, or with the label before its reason: no word changes."""

from __future__ import annotations

import pytest

from overton.calls import Draw, Form, Message, user
from overton.studies.deliberation import prompts as values_prompts
from overton.studies.open_mindedness import questions as free
from overton.studies.open_mindedness.prompts import fill
from overton.studies.orders import (
    OWN,
    REVERSED,
    drawn_order,
    form_in_order,
    label_first,
    reorder,
    reverse_last_lines,
    same_but_for_order,
    text_in_order,
)
from overton.studies.pluralism.prompts import PROMPTS as PLURALISM
from overton.studies.pluralism.record import STANCES as TOWARDS
from overton.studies.stance_stability import prompts as stance_prompts
from overton.studies.stance_stability import questions as stances
from overton.studies.stance_stability.prompts import filled
from overton.studies.stance_stability.questions import FORM, PUBLISHED_FORM
from overton.studies.stance_stability.record import STANCES

DRAWS = [Draw(f"7/trial {number}/retest") for number in range(2000)]
BACKWARDS = STANCES[::-1]


def test_an_order_is_the_studys_own_or_drawn_or_else_the_reverse() -> None:
    things = ("a", "b", "c")
    assert (OWN.of(things), REVERSED.of(things)) == (["a", "b", "c"], ["c", "b", "a"])
    assert [drawn_order(draw).of(things) for draw in DRAWS[:9]] == [reorder(draw, things) for draw in DRAWS[:9]]


def test_another_order_is_never_the_one_that_there_was() -> None:
    for size in range(2, 6):
        things = list(range(size))
        orders = [reorder(draw, things) for draw in DRAWS[:200]]
        assert things not in orders
        assert all(sorted(order) == things for order in orders)
    assert reorder(DRAWS[0], ["one"]) == ["one"]


@pytest.mark.parametrize("file", ["judge", "stance"])
def test_a_prompt_in_another_order_has_the_same_lines_and_every_label_its_own_meaning(file: str) -> None:
    text = stance_prompts.filled(file, "system")
    turned = text_in_order(text, STANCES, BACKWARDS)
    assert turned != text
    assert same_but_for_order(turned, text)
    defining = [line for line in text.split("\n") if line.strip().startswith(tuple(f"{one}:" for one in STANCES))]
    found = [line for line in turned.split("\n") if line in defining]
    assert found == defining[::-1]
    listed = next(line for line in turned.split("\n") if all(f'"{one}"' in line for one in STANCES))
    assert [listed.index(f'"{one}"') for one in BACKWARDS] == sorted(listed.index(f'"{one}"') for one in STANCES)
    assert text_in_order(text, STANCES, STANCES) == text


def test_examples_that_name_all_labels_change_their_places_too() -> None:
    text = PLURALISM.fill("judge.response_system")
    last = text_in_order(text, TOWARDS, ("neutral", "supporting", "against")).strip().split("\n")[-1]
    assert last == '{"stance": "neutral"} or {"stance": "supporting"} or {"stance": "against"}'
    assert text_in_order(PLURALISM.fill("judge.pair_system"), ("yes", "no"), ("no", "yes")).endswith("'no' or 'yes'.")


@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
def test_options_at_the_end_of_a_prompt_are_reversed_and_those_in_a_text_are_not(end: str) -> None:
    text = "<text>\n(1) x\n(2) y\n</text>\nOptions:\n(1) none\n(2) some \n(3) all"
    turned = "<text>\n(1) x\n(2) y\n</text>\nOptions:\n(3) all\n(2) some \n(1) none"
    assert reverse_last_lines(text + end, 3) == turned + end


def test_a_form_in_another_order_allows_the_same() -> None:
    for form in (FORM, PUBLISHED_FORM):
        turned = form_in_order(form, STANCES, BACKWARDS)
        assert form.schema is not None
        assert turned.schema is not None
        one, other = (schema["properties"]["stance"]["enum"] for schema in (form.schema, turned.schema))
        assert one != other
        assert sorted(one) == sorted(other) == sorted(STANCES)
        assert form_in_order(form, STANCES, STANCES) == form == form_in_order(turned, STANCES, BACKWARDS)
    assert form_in_order(Form(choices=("yes", "no")), ("yes", "no"), ("no", "yes")).choices == ("no", "yes")
    assert form_in_order(Form(choices=("a", "b")), ("yes", "no"), ("no", "yes")).choices == ("a", "b")


def test_the_published_list_of_values_keeps_its_lines() -> None:
    turned = reorder(DRAWS[0], values_prompts.LISTED)
    assert values_prompts.values_prompt(turned) != values_prompts.values_prompt()
    assert same_but_for_order(values_prompts.values_prompt(turned), values_prompts.values_prompt())


def moved(text: str, form: Form) -> tuple[str, list[str]]:
    messages, told = label_first((Message("system", text), user("x")), form)
    assert messages[1] == user("x")
    assert told.schema is not None
    assert list(told.schema["properties"]) == told.schema["required"]
    return messages[0].content, told.schema["required"]


def test_keys_on_lines_of_their_own_keep_their_words_and_the_reason_comes_last() -> None:
    asked = filled("judge", "system")
    text, keys = moved(asked, stances.FORM)
    assert same_but_for_order(text, asked)
    assert text.splitlines()[-1].startswith('"rationale": ')
    assert keys[0] == "stance"
    assert keys[-1] == "rationale"


def test_keys_of_one_line_do_so_too() -> None:
    asked = fill("free.judge.system").strip()
    text, keys = moved(asked, free.FORM)
    assert same_but_for_order(text, asked)
    assert text.splitlines()[-1].startswith('Reply with JSON: {"stance": ')
    assert text.endswith('"rationale": "one short sentence"}')
    assert (keys[0], keys[-1]) == ("stance", "rationale")


def test_a_question_without_a_reason_stays_as_it_is() -> None:
    asked = filled("stance", "system")
    text, keys = moved(asked, stances.PUBLISHED_FORM)
    assert text == asked
    assert keys == ["stance", "key_claims", "contradictions_acknowledged"]
