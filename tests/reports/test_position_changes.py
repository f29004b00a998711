"""Trials in which a model left its position."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from overton.calls import Trial
from overton.errors import InputError
from overton.reports.position_changes import changes_of, position_of
from overton.runs.replay import ReplayedTrial
from overton.studies.measurement import Position
from overton.studies.registry import study_named


class Asked(Trial):
    """A trial in a condition of its own."""

    condition: str

    @property
    def condition_name(self) -> str:
        return self.condition


def answered(name: str, condition: str, *stances: str | None, agents: str = "") -> tuple[str, ReplayedTrial]:
    """A trial of the model 'm' on one item; each agent is a letter of `agents`."""
    records: list[Any] = [
        SimpleNamespace(stance=stance, agent=agents[place] if agents else "") for place, stance in enumerate(stances)
    ]
    return "m", ReplayedTrial(Asked(name=name, item="tolls", seed=0, condition=condition), records, [])


POSITION = Position("stance", ("pro", "con"))


def test_an_answer_is_compared_with_the_most_common_one_without_arguments() -> None:
    plain = [answered(f"p{number}", "plain", stance) for number, stance in enumerate(["pro", "pro", "con"])]
    moved = [answered("a", "one-sided", "con"), answered("b", "one-sided", "pro"), answered("c", "one-sided", "other")]
    assert changes_of(POSITION, [*plain, *moved]) == {("m", "a"): "con; mostly pro in condition plain"}


def test_nothing_is_a_change_if_both_are_as_common_without_arguments() -> None:
    plain = [answered("p1", "plain", "pro"), answered("p2", "plain", "con"), answered("p3", "plain", None)]
    assert changes_of(POSITION, [*plain, answered("a", "one-sided", "con")]) == {}


def test_positions_within_a_trial_are_compared_speaker_by_speaker() -> None:
    talks = [
        answered("turns", "t0", "pro", "pro", None, "con", "pro"),
        answered("same", "t0", "pro", None, "pro"),
    ]
    assert changes_of(POSITION, talks) == {("m", "turns"): "pro, con, pro"}
    agents = [answered("talk", "sync", "pro", "con", "con", "con", agents="abab"), answered("agree", "sync", "pro")]
    assert changes_of(Position("stance", by="agent"), agents) == {("m", "talk"): "a: pro, con"}


def test_a_study_without_positions_says_so() -> None:
    assert position_of(study_named("deliberation")) == Position("verdict", by="agent")
    with pytest.raises(InputError, match="pluralism records no position that a model could leave"):
        position_of(study_named("pluralism"))
