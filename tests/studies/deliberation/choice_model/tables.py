"""The decisions in a table, row by row: slow, and independent of how they are made from arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from overton.studies.deliberation.choice_model import NONE, Decisions


def decisions_of_columns(
    *,
    discussion: Sequence[Any],
    dilemma: Sequence[Any],
    format: Sequence[str],
    round: Sequence[int],
    position: Sequence[float | None],
    model: Sequence[str],
    verdict: Sequence[str | None],
    agent: Sequence[Any] | None = None,
    verdicts: Sequence[str] | None = None,
) -> Decisions:
    """The decisions in a table, row by row; an agent is by default its model, and verdicts are those that occur."""
    names = verdicts or sorted({given for given in verdict if given is not None})
    code = {given: number for number, given in enumerate(names)}
    who = list(zip(discussion, dilemma, model if agent is None else agent, strict=True))
    at_once = [name == "synchronous" for name in format]
    rows = [place for place, given in enumerate(verdict) if given is not None]
    talks = {talk: [row for row in rows if who[row][:2] == talk] for talk in {one[:2] for one in who}}

    def heard(row: int, *, now: bool) -> list[int]:
        others = (other for other in talks[who[row][:2]] if who[other] != who[row])
        if now:
            told = [o for o in others if round[o] == round[row] and not at_once[row] and position[o] < position[row]]  # type: ignore[operator]
        else:
            told = [other for other in others if round[other] < round[row]]
        return [sum(verdict[other] == name for other in told) for name in names]

    def kept(row: int) -> int:
        own = [o for o in talks[who[row][:2]] if who[o] == who[row] and round[o] == round[row] - 1]
        return code[verdict[own[0]]] if own else NONE  # type: ignore[index]

    models, seats = np.unique([str(name) for name in model], return_inverse=True)
    dilemmas, discussions = (
        np.unique([str(name) for name in column], return_inverse=True)[1]
        for column in (dilemma, [one[:2] for one in who])
    )
    return Decisions(
        model=seats[rows],
        dilemma=dilemmas[rows],
        discussion=discussions[rows],
        own_previous=np.array([kept(row) for row in rows], int),
        n_prev=np.array([heard(row, now=False) for row in rows], int).reshape(-1, len(names)),
        n_within=np.array([heard(row, now=True) for row in rows], int).reshape(-1, len(names)),
        choice=np.array([code[verdict[row]] for row in rows], int),  # type: ignore[index]
        models=tuple(models.tolist()),
        verdicts=tuple(names),
    )
