from __future__ import annotations

import random
from typing import Any

import numpy as np
import polars as pl
import pytest

from overton.errors import InputError
from overton.studies.deliberation.choice import decisions_of
from overton.studies.deliberation.choice_model import NONE, Decisions
from overton.studies.deliberation.deliberations import Part, Setting, talks_from

NAMES = ("deliberation", "dilemma", "format", "round", "position", "model", "verdict", "agent")
Row = tuple[Any, ...]


def made(rows: list[Row]) -> Decisions:
    table = pl.DataFrame(rows, schema=NAMES, orient="row", infer_schema_length=None)
    talks = talks_from(table.with_columns(pl.col("position").cast(pl.Int64)))
    return decisions_of(Part(Setting("all", None, talks.models), talks, np.arange(len(talks))))


def talk(format_: str, *rounds: dict[str, str | None]) -> list[Row]:
    """One discussion; agents are named by their model and, where they share one, a digit."""
    return [
        ("t", "d", format_, number, seat + 1 if format_ == "round-robin" else None, agent[0], verdict, agent)
        for number, said in enumerate(rounds, 1)
        for seat, (agent, verdict) in enumerate(said.items())
    ]


def seen(decisions: Decisions) -> list[tuple[int, list[int], list[int], int]]:
    """Of each decision: own verdict of the round before, heard in earlier rounds, heard in this one, choice."""
    heard = (decisions.n_prev[:, :3], decisions.n_within[:, :3])
    columns = (decisions.own_previous, *heard, decisions.choice)
    return [tuple(value.tolist() for value in row) for row in zip(*columns, strict=True)]


def test_all_at_once_nothing_is_heard_in_the_round() -> None:
    decisions = made(talk("synchronous", {"A": "YTA", "B": "NTA"}, {"A": "NTA", "B": "NTA"}))
    assert seen(decisions) == [
        (NONE, [0, 0, 0], [0, 0, 0], 0),
        (NONE, [0, 0, 0], [0, 0, 0], 1),
        (0, [0, 1, 0], [0, 0, 0], 1),
        (1, [1, 0, 0], [0, 0, 0], 1),
    ]


def test_in_turn_those_before_are_heard_and_counted_again_as_earlier_rounds_later() -> None:
    rounds = {"A": "YTA", "B": "NTA", "C": "ESH"}, {"A": "YTA", "B": "YTA", "C": "YTA"}
    decisions = made(talk("round-robin", *rounds))
    assert seen(decisions) == [
        (NONE, [0, 0, 0], [0, 0, 0], 0),
        (NONE, [0, 0, 0], [1, 0, 0], 1),
        (NONE, [0, 0, 0], [1, 1, 0], 2),
        (0, [0, 1, 1], [0, 0, 0], 0),
        (1, [1, 0, 1], [1, 0, 0], 0),
        (2, [1, 1, 0], [2, 0, 0], 0),
    ]


def test_earlier_rounds_add_up() -> None:
    decisions = made(talk("synchronous", *[{"A": "YTA", "B": "NTA"}] * 3))
    assert seen(decisions)[4:] == [(0, [0, 2, 0], [0, 0, 0], 0), (1, [2, 0, 0], [0, 0, 0], 1)]


def test_an_invalid_verdict_does_not_count_as_a_decision_or_as_heard_or_kept() -> None:
    rounds = {"A": None, "B": "NTA"}, {"A": "NTA", "B": "NTA"}, {"A": "NTA", "B": "NTA"}
    decisions = made(talk("round-robin", *rounds))
    assert seen(decisions) == [
        (NONE, [0, 0, 0], [0, 0, 0], 1),
        (NONE, [0, 1, 0], [0, 0, 0], 1),
        (1, [0, 0, 0], [0, 1, 0], 1),
        (1, [0, 2, 0], [0, 0, 0], 1),
        (1, [0, 1, 0], [0, 1, 0], 1),
    ]


def test_agents_that_share_a_model_hear_each_other_and_keep_their_own() -> None:
    decisions = made(talk("round-robin", {"A1": "YTA", "A2": "NTA"}, {"A1": "YTA", "A2": "YTA"}))
    assert decisions.models == ("A",)
    assert seen(decisions)[2:] == [(0, [0, 1, 0], [0, 0, 0], 0), (1, [1, 0, 0], [1, 0, 0], 0)]


def test_positions_do_not_matter_where_all_speak_at_once() -> None:
    rows = talk("synchronous", {"A": "YTA", "B": "NTA"}, {"A": "NTA", "B": "NTA"})
    seated = [(*row[:4], place % 2, *row[5:]) for place, row in enumerate(rows)]
    assert seen(made(seated)) == seen(made(rows))


def test_the_order_of_rows_does_not_matter() -> None:
    rows = [
        (f"{row[0]}{number}", *row[1:])
        for number in range(3)
        for row in talk("round-robin", {"A": "YTA", "B": "NTA", "C": "ESH"}, {"A": "NTA", "B": None, "C": "NTA"})
    ]
    mixed = random.Random(0).sample(rows, len(rows))
    assert sorted(seen(made(mixed))) == sorted(seen(made(rows)))


def test_discussions_of_the_same_name_on_two_dilemmas_are_two() -> None:
    rows = talk("synchronous", {"A": "YTA", "B": "NTA"}, {"A": "YTA", "B": "NTA"})
    decisions = made(rows + [(row[0], "other", *row[2:]) for row in rows])
    assert decisions.dilemmas == 2
    assert decisions.n_prev.sum() == 4


def test_arrays_that_do_not_fit_together_are_refused() -> None:
    good = made(talk("synchronous", {"A": "YTA", "B": "NTA"}))
    fields = {name: getattr(good, name) for name in good.__dataclass_fields__}
    with pytest.raises(InputError, match="n_prev: has shape"):
        Decisions(**fields | {"n_prev": good.n_prev[:, :2]})
    with pytest.raises(InputError, match="choice: contains a value outside 0 to 4"):
        Decisions(**fields | {"choice": np.array([0, 5])})
