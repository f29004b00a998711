"""The label ahead of its reason, and not a word of the question another."""

from __future__ import annotations

from overton.calls import Form, Message, user
from overton.studies.open_mindedness.free import judging as free
from overton.studies.open_mindedness.prompts import fill
from overton.studies.self_agreement import label_first, same_but_for_order
from overton.studies.stance_stability import judging as stances
from overton.studies.stance_stability.prompts import filled


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
