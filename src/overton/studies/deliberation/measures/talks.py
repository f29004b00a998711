"""Decisions as arrays: deliberations by seat by round, which every measure starts from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from overton.studies.deliberation.measures.analysis import Setting

__all__ = ["ABSENT", "INVALID", "Talks"]

Ints = NDArray[np.integer]
Flags = NDArray[np.bool_]
Masks = NDArray[np.uint64]

INVALID, ABSENT = -1, -2
"""Stand for a verdict that could not be read, and for a seat that is not there or did not speak in a round."""


@dataclass(frozen=True)
class Talks:
    """T deliberations, sorted by dilemma, of up to S agents and R rounds; N messages.

    dilemmas, models, values   the names behind the numbers; `values` is None where none are known
    settings   format, goal and agents in their seats: those of a synchronous deliberation sorted, since order means
               nothing there, those of a round-robin one in the order in which they speak
    dilemma, setting [T]       numbers of each deliberation's dilemma and setting
    model [T, S]               each seat's model, ABSENT where there is no such seat
    message [T, S, R]          the number of the message, -1 where there is none
    verdict [T, S, R]          its verdict in the order of `VERDICTS`, INVALID or ABSENT
    masks [N, W]               each message's values as bits, 64 to a word; None where no values are known
    known [N]                  whether a message's values are known
    crowd [dilemmas]           the crowd's verdict, INVALID where unknown
    failed                     deliberations left out because a call of theirs failed for good
    """

    dilemmas: tuple[str, ...]
    models: tuple[str, ...]
    values: tuple[str, ...] | None
    settings: tuple[Setting, ...]
    dilemma: Ints
    setting: Ints
    model: Ints
    message: Ints
    verdict: Ints
    masks: Masks | None
    known: Flags
    crowd: Ints
    failed: int

    def __len__(self) -> int:
        return len(self.dilemma)

    @cached_property
    def seated(self) -> Flags:
        """Which seats exist [T, S]."""
        return self.model >= 0

    @cached_property
    def rounds(self) -> Ints:
        """How many rounds each deliberation has [T]."""
        spoken: Flags = np.asarray((self.message >= 0).any(1))
        return np.asarray(spoken.shape[1] - np.argmax(spoken[:, ::-1], axis=1))

    @cached_property
    def agreement(self) -> Ints:
        """The first round in which all agents give one valid verdict [T], 0 where there is none."""
        opening = self.verdict[:, :1]
        agreed = ((self.verdict == opening) | ~self.seated[:, :, None]).all(1) & (opening[:, 0] >= 0)
        return np.where(agreed.any(1), np.argmax(agreed, axis=1) + 1, 0)

    @cached_property
    def agreed_verdict(self) -> Ints:
        """The verdict of that round [T], INVALID where there is none."""
        found = self.verdict[np.arange(len(self)), 0, np.maximum(self.agreement - 1, 0)]
        return np.where(self.agreement > 0, found, INVALID)

    @cached_property
    def first(self) -> Ints:
        """Each agent's first valid verdict [T, S], INVALID where it gave none."""
        return self._first(self.verdict)

    @cached_property
    def last(self) -> Ints:
        """Each agent's last valid verdict [T, S], INVALID where it gave none."""
        return self._first(self.verdict[:, :, ::-1])

    @staticmethod
    def _first(verdicts: Ints) -> Ints:
        found = verdicts[:, :, 0].copy()
        for place in range(1, verdicts.shape[2]):
            found = np.where(found >= 0, found, verdicts[:, :, place])
        return np.where(found >= 0, found, INVALID)

    @cached_property
    def moved(self) -> Flags:
        """Whether a message's verdict is valid and differs from its agent's first [T, S, R]."""
        return np.asarray((self.verdict >= 0) & (self.verdict != self.first[..., None]))

    @cached_property
    def changed(self) -> Flags:
        """Whether any later verdict differs from the agent's first [T, S]."""
        return np.asarray(self.moved.any(2))

    @cached_property
    def at_end(self) -> Ints:
        """Each agent's verdict in the last round [T, S], INVALID or ABSENT where there is none."""
        return self.verdict[np.arange(len(self)), :, self.rounds - 1]
