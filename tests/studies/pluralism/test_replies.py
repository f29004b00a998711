"""Parsing of the judge's replies: labels, numbers of viewpoints, beliefs, and matches by shared words."""

from __future__ import annotations

import pytest

from overton.studies.pluralism.replies import (
    LONGEST,
    lexical,
    read_belief,
    read_entailed,
    read_stance,
    read_stances,
    read_yes,
)

GOOD = {1: "supporting", 2: "against", 4: "neutral"}
WELL = '{"1": "supporting", "2": "against", "4": "neutral"}'


@pytest.mark.parametrize(
    ("text", "repaired", "dropped"),
    [
        (WELL, False, 0),
        (f"```json\n{WELL}\n```", True, 0),
        ('{"1": "supporting", "2": "against", "4": "neutral",}', True, 0),
        (f"Here are the labels you asked for:\n{WELL}\nLet me know!", True, 0),
        ("{'1': 'supporting', '2': 'against', '4': 'neutral'}", True, 0),
        ('{"labels": {"1": "Supporting", "2": " AGAINST ", "4": "neutral"}}', False, 0),
        ('{"opinion 1": "supporting", "v2": "against", "#4": "neutral"}', False, 0),
        (
            '[{"opinion": 1, "stance": "supporting"}, {"opinion": 2, "stance": "against"},'
            ' {"opinion": "4", "stance": "neutral"}]',
            False,
            0,
        ),
        ('[{"1": "supporting"}, {"2": "against"}, {"4": "neutral"}]', False, 0),
        ('{"1": "supporting", "2": "against", "3": "against", "4": "neutral", "99": "neutral"}', False, 2),
        ('[{"1": "supporting"}, {"1": "supporting"}, {"2": "against"}, {"4": "neutral"}]', False, 1),
    ],
)
def test_labels_are_read_in_any_shape(text: str, repaired: bool, dropped: int) -> None:
    answer = read_stances(text, [1, 2, 4])
    assert answer == (type(answer)(GOOD, "repaired" if repaired else "as is", "", dropped))


@pytest.mark.parametrize(
    ("text", "left", "problem"),
    [
        ('{"1": "supporting", "2": "against"', None, "not valid JSON"),
        ("", None, "not valid JSON"),
        ("I would rather not judge these people.", None, "not valid JSON"),
        ('{"1": "supporting", "2": "against"}', {1: "supporting", 2: "against"}, "for 4"),
        ('{"1": "unterstützend", "2": "dagegen", "4": "neutral"}', {4: "neutral"}, "for 1, 2"),
        (
            '{"1": "supporting", "2": "against", "opinion 1": "neutral", "4": "neutral"}',
            {2: "against", 4: "neutral"},
            "for 1",
        ),
        ('{"summary": "supporting", "other": "against"}', None, "for 1, 2, 4"),
        ('{"1": true, "2": 0, "4": null}', None, "for 1, 2, 4"),
        (f'{WELL}\nOr rather:\n{{"1": "against", "2": "against", "4": "against"}}', None, "more than one answer"),
        ("[]", None, "for 1, 2, 4"),
        ('"supporting"', None, "for 1, 2, 4"),
    ],
)
def test_missing_labels_are_reported_and_the_others_kept(text: str, left: dict[int, str] | None, problem: str) -> None:
    answer = read_stances(text, [1, 2, 4])
    assert answer.value == left
    assert problem in answer.problem


@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        ('{"stance": "against"}', False),
        ('```json\n{"stance": "Against"}\n```', True),
        ('{"label": "against"}', True),
        ("Against.", True),
        ("**against**", True),
        ('The response objects.\n\n{"stance": "against",}', True),
        ('{"reason": "It objects.", "stance": "against"}', False),
    ],
)
def test_one_label_is_read(text: str, repaired: bool) -> None:
    answer = read_stance(text)
    assert (answer.value, answer.problem, answer.repaired) == ("against", "", repaired)


@pytest.mark.parametrize(
    "text",
    [
        "It is not supporting the opinion.",
        '{"stance": "opposed"}',
        '{"stance": ["against"]}',
        '{"stance": "agai',
        "",
        '{"stance": "against"} or {"stance": "neutral"}',
        '{"a": "against", "b": "neutral"}',
    ],
)
def test_a_label_is_not_guessed(text: str) -> None:
    answer = read_stance(text)
    assert answer.value is None
    assert answer.problem


@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        ('{"belief": "I do think so."}', False),
        ('```json\n{"belief": "I do\\n think so."}\n```', True),
        ('Sure:\n{"belief": " I do think so. "}', True),
        ('{"statement": "I do think so."}', True),
    ],
)
def test_a_belief_is_read(text: str, repaired: bool) -> None:
    answer = read_belief(text)
    assert (answer.value, answer.repaired, answer.problem) == ("I do think so.", repaired, "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I do think so.",
        '{"belief": "I think that."}',
        '{"belief": "I think that ..."}',
        '{"belief": ""}',
        '{"belief": 3}',
        "[]",
        '{"belief": "I th',
        f'{{"belief": "{"I " * LONGEST}"}}',
    ],
)
def test_a_reply_without_a_belief_is_retried(text: str) -> None:
    answer = read_belief(text)
    assert answer.value is None
    assert answer.problem


def test_a_belief_without_spaces_is_read() -> None:
    assert read_belief('{"belief": "我认为公交车应该免费。"}').value == "我认为公交车应该免费。"


FIVE = range(1, 6)


@pytest.mark.parametrize(
    ("text", "places", "repaired", "dropped"),
    [
        ('{"entailed": [4, 1]}', (4, 1), False, 0),
        ('{"entailed": []}', (), False, 0),
        ("[4, 1]", (4, 1), False, 0),
        ("```\n[4, 1]\n```", (4, 1), True, 0),
        ('It voices two: {"entailed": [4, 1,]} I think.', (4, 1), True, 0),
        ('{"matches": ["4", "opinion 1"]}', (4, 1), True, 0),
        ('{"entailed": [{"opinion": 4}, {"opinion": 1}]}', (4, 1), False, 0),
        ('{"entailed": [4, 9, 4, 1, 0, -1, true, null]}', (4, 1), False, 6),
    ],
)
def test_lists_are_read_in_the_judges_order(text: str, places: tuple[int, ...], repaired: bool, dropped: int) -> None:
    answer = read_entailed(text, FIVE)
    assert (answer.value, answer.repaired, answer.dropped, answer.problem) == (places, repaired, dropped, "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "None of them.",
        '{"entailed": [4, 1',
        '{"entailed": "4"}',
        '{"entailed": [7, 8]}',
        "[1] or [2]",
        '{"a": [1], "b": [2]}',
    ],
)
def test_an_empty_reply_gives_no_answer(text: str) -> None:
    answer = read_entailed(text, FIVE)
    assert answer.value is None
    assert answer.problem


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("No", False),
        ("**Yes.**", True),
        ("No, it denies it.", False),
        ("Yes\n\nIt says so.", True),
        ("There is no doubt", None),
        ("No doubt it does", None),
        ("yesterday", None),
        ("ja", None),
        ("", None),
    ],
)
def test_yes_and_no_are_read_at_the_start_of_a_reply(text: str, value: bool | None) -> None:
    answer = read_yes(text)
    assert answer.value is value
    assert bool(answer.problem) == (value is None)


def test_the_lexical_matcher_goes_by_shared_words() -> None:
    summaries = [
        "Bus drivers deserve higher wages.",
        "Night buses should be cancelled, as nobody rides them.",
        "Taxis would be cheaper.",
    ]
    assert lexical(summaries, "Nobody rides the night bus; cancel it, and give the drivers better wages!") == (2, 1)
    assert lexical(summaries, "Ask your neighbours.") == ()
    assert lexical(["The of it"], "The of it") == ()
