"""Labels out of what judges write, well-formed and not."""

from __future__ import annotations

import pytest

from overton.studies.pluralism.judging import read_stance, read_stances

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
def test_labels_are_read_in_whichever_shape_says_them(text: str, repaired: bool, dropped: int) -> None:
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
def test_what_is_missing_is_told_and_what_is_there_is_kept(
    text: str, left: dict[int, str] | None, problem: str
) -> None:
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
