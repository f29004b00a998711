"""Refusals in prose are distinguished from replies that cannot be read."""

from __future__ import annotations

import pytest

from overton.judging.refusals import reads_as_refusal


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that request.",
        "I’m sorry, but I can’t take a side.",
        "I cannot choose a position on this.",
        "As an AI, I do not hold opinions.",
        "As a large language model I have no views.",
        "I would rather not say.",
        "Thank you for asking. I won't pick A or B here.",
        "This is a contested matter, and it isn't appropriate for me to choose.",
    ],
)
def test_refusals_are_recognised(text: str) -> None:
    assert reads_as_refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "**Answer: A**",
        "<think>Is it A or B?</think>\nA",
        "Zorp flibber wok, quon.",
        "position <<A>>",
        "Shops should be allowed to refuse cash, since cards are safer.",
        f"{'A long argument about the question. ' * 10}I cannot say more.",
    ],
)
def test_other_replies_do_not_count_as_refusals(text: str) -> None:
    assert not reads_as_refusal(text)
