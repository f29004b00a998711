from __future__ import annotations

import pytest

from overton.calls import Alternative, Reply, Spot
from overton.judging.weighing import chances_at


def spot(at: int, token: str, **chances: float) -> Spot:
    return Spot(at, token, tuple(Alternative(name, chance, chance) for name, chance in chances.items()))


def test_alternatives_of_one_meaning_are_added_up_and_the_rest_is_other() -> None:
    alternatives = tuple(Alternative(token, p, p) for token, p in (("A", 0.5), (" A", 0.1), ("a", 0.05), ("B", 0.3)))
    found = chances_at(Reply("position <<A>>", spots=(Spot(11, "A", alternatives),)), 11, ("A", "B"))
    assert found == pytest.approx({"A": 0.65, "B": 0.3})


def test_probabilities_at_temperature_1_are_not_those_drawn_by() -> None:
    reply = Reply("(A)", spots=(Spot(1, "A", (Alternative("A", 0.6, 1.0), Alternative("B", 0.4, 0.0))),))
    assert chances_at(reply, 1, ("A", "B"), "plain") == {"A": 0.6, "B": 0.4}
    assert chances_at(reply, 1, ("A", "B"), "drawn") == {"A": 1.0, "B": 0.0}


def test_labels_that_begin_alike_are_told_apart_by_the_next_token() -> None:
    spots = (
        spot(0, "support", support=0.8, neutral=0.2),
        spot(7, "ive", ive=0.75, s=0.25),
    )
    found = chances_at(Reply("supportive", spots=spots), 0, ("supportive", "supports", "neutral"))
    assert found == pytest.approx({"supportive": 0.6, "supports": 0.2, "neutral": 0.2})


def test_a_place_of_which_nothing_is_known_has_no_probability() -> None:
    assert chances_at(Reply("position <<A>>"), 11, ("A", "B")) is None
