from __future__ import annotations

import pytest

from overton.calls import Alternative, Form, Reply, Spot
from overton.judging.option_probabilities import OptionChoice, probabilities_at


def spot(at: int, token: str, **chances: float) -> Spot:
    return Spot(at, token, tuple(Alternative(name, chance, chance) for name, chance in chances.items()))


def test_alternatives_of_one_meaning_are_added_up_and_the_rest_is_other() -> None:
    alternatives = tuple(Alternative(token, p, p) for token, p in (("A", 0.5), (" A", 0.1), ("a", 0.05), ("B", 0.3)))
    found = probabilities_at(Reply("position <<A>>", spots=(Spot(11, "A", alternatives),)), 11, ("A", "B"))
    assert found == pytest.approx({"A": 0.65, "B": 0.3})


def test_probabilities_at_temperature_1_are_not_those_drawn_by() -> None:
    reply = Reply("(A)", spots=(Spot(1, "A", (Alternative("A", 0.6, 1.0), Alternative("B", 0.4, 0.0))),))
    assert probabilities_at(reply, 1, ("A", "B"), "plain") == {"A": 0.6, "B": 0.4}
    assert probabilities_at(reply, 1, ("A", "B"), "drawn") == {"A": 1.0, "B": 0.0}


def test_labels_that_start_alike_are_distinguished_by_the_next_token() -> None:
    spots = (
        spot(0, "support", support=0.8, neutral=0.2),
        spot(7, "ive", ive=0.75, s=0.25),
    )
    found = probabilities_at(Reply("supportive", spots=spots), 0, ("supportive", "supports", "neutral"))
    assert found == pytest.approx({"supportive": 0.6, "supports": 0.2, "neutral": 0.2})


def test_a_place_of_which_nothing_is_known_has_no_probability() -> None:
    assert probabilities_at(Reply("position <<A>>"), 11, ("A", "B")) is None


LETTERS = OptionChoice(("A", "B", "C"))
STANCES = OptionChoice(("supportive", "critical", "balanced"), "stance")


@pytest.mark.parametrize(
    ("text", "named"),
    [("(B)", "B"), ("b.", "B"), ("I weighed both. (C)", "C"), ("A good answer it is", "A"), ("Neither", None)],
)
def test_a_label_is_in_brackets_or_starts_the_reply(text: str, named: str | None) -> None:
    assert LETTERS.named(text) == named


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('{"stance": "critical", "rationale": "supportive"}', "critical"),
        ('{"rationale": "It is balanced.", "stance": "Supportive"}', "supportive"),
        ("```json\n{'stance': 'balanced'}", "balanced"),
        ('{"stance": "criticality"}', None),
        ('{"distance": "critical"}', None),
    ],
)
def test_a_label_is_under_its_key(text: str, named: str | None) -> None:
    assert STANCES.named(text) == named


def told(text: str) -> Reply:
    return Reply(text, spots=(spot(text.index("critical"), "critical", critical=0.7, supportive=0.2),))


@pytest.mark.parametrize(
    "text", ['{"stance": "critical"}', '```json\n{\n  "stance": "critical", "certainty": "likely"}\n```']
)
def test_the_label_that_comes_first_has_its_probabilities_in_the_order_of_the_labels(text: str) -> None:
    assert STANCES.chances(told(text)) == pytest.approx((0.2, 0.7, 0.0))


@pytest.mark.parametrize("text", ['{"rationale": "x", "stance": "critical"}', 'Let me see. {"stance": "critical"}'])
def test_a_label_behind_a_reason_has_none_since_it_would_be_the_one_after_that_reason(text: str) -> None:
    assert STANCES.named(text) == "critical"
    assert STANCES.chances(told(text)) is None


def test_a_form_wants_the_probabilities_of_all_labels() -> None:
    assert STANCES.weighed(Form(schema={"type": "object"})).weigh == STANCES.labels
    assert LETTERS.weighed(None) == Form(weigh=("A", "B", "C"))
