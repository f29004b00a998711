"""Decisions in discussions as arrays: who decided, what they had said themselves, what they had heard."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overton.errors import InputError, Problem

__all__ = ["NONE", "Decisions"]

Counts = NDArray[np.int64]

NONE = -1
"""Stands in `Decisions.own_previous` where there is no own verdict to hold on to."""


@dataclass(frozen=True)
class Decisions:
    """N decisions between K verdicts, each with what equation 2 says it depends on. Invalid verdicts are not decisions.

    `model`, `dilemma` and `discussion` [N] are indices from 0; `choice` [N] is the verdict given, 0 to K - 1;
    `own_previous` [N] the deciding agent's verdict in the round before, or `NONE` (first round, or it was invalid).
    `n_prev` [N, K] counts the other agents' verdicts in all earlier rounds of the discussion, `n_within` [N, K]
    those already given in this round; the agent's own are in neither. `models` and `verdicts` name the indices.

    Raises `InputError` where the arrays do not fit together.
    """

    model: Counts
    dilemma: Counts
    discussion: Counts
    own_previous: Counts
    n_prev: Counts
    n_within: Counts
    choice: Counts
    models: tuple[str, ...]
    verdicts: tuple[str, ...]

    def __post_init__(self) -> None:
        if problems := _misshapen(self) or _out_of_range(self):
            raise InputError(problems)

    @property
    def dilemmas(self) -> int:
        """How many different dilemmas were decided on."""
        return len(np.unique(self.dilemma))

    def __len__(self) -> int:
        return len(self.choice)


def _misshapen(made: Decisions) -> list[Problem]:
    rows, verdicts = len(made.choice), len(made.verdicts)
    expected = dict.fromkeys(("model", "dilemma", "discussion", "own_previous", "choice"), (rows,)) | dict.fromkeys(
        ("n_prev", "n_within"), (rows, verdicts)
    )
    return [
        Problem("decisions", name, f"has shape {getattr(made, name).shape}, expected {shape}")
        for name, shape in expected.items()
        if getattr(made, name).shape != shape
    ]


def _out_of_range(made: Decisions) -> list[Problem]:
    verdicts = len(made.verdicts)
    limits = {
        "model": (0, len(made.models)),
        "dilemma": (0, None),
        "discussion": (0, None),
        "own_previous": (NONE, verdicts),
        "choice": (0, verdicts),
        "n_prev": (0, None),
        "n_within": (0, None),
    }
    return [
        Problem("decisions", name, f"holds a value outside {low} to {'...' if high is None else high - 1}")
        for name, (low, high) in limits.items()
        if (column := getattr(made, name)).size and (column.min() < low or (high is not None and column.max() >= high))
    ]
