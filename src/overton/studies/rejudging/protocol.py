"""A judge asked about what a run's judge labelled: word for word, then with labels or materials in another order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from overton.calls import Ask, Conduct, Reply, Trial
from overton.errors import CallFailed
from overton.studies.rejudging.units import READINGS, JudgedUnit, Reading, Readings
from overton.studies.retesting import again
from overton.studies.sheet import JudgedAgain

__all__ = ["UnitTrial", "conduct_of", "trials"]

_LONGEST_SAID = 2_000


class UnitTrial(Trial, frozen=True):
    """One unit."""

    unit: JudgedUnit


def trials(units: Sequence[JudgedUnit], options: Any, seed: int) -> Iterator[UnitTrial]:
    """One trial for each unit."""
    for unit in units:
        yield UnitTrial(f"{unit.id}/again", unit.id, seed, unit=unit)


def conduct_of(judged: JudgedAgain) -> Conduct:
    """The protocol, using a study's own way of asking its judge."""

    async def conduct(trial: UnitTrial, ask: Ask) -> list[Reading]:
        rows: list[Reading] = []
        for reading, draw, speaker in zip(
            READINGS, (None, trial.draw("order")), (None, again(judged.role)), strict=True
        ):
            heard = _Hearing(ask)
            try:
                labels = await judged.ask(heard, trial.unit.what, trial.unit.material, draw, speaker)
            except CallFailed:
                labels = {}
            rows += _rows(trial.unit, reading, labels, heard)
        return rows

    return conduct


def _rows(unit: JudgedUnit, reading: Readings, labels: Mapping[str, str | None], heard: _Hearing) -> Iterator[Reading]:
    for row in unit.rows:
        label = labels.get(row)
        said = "" if label is not None or heard.last is None else heard.last.text[:_LONGEST_SAID]
        refused = heard.last is not None and heard.last.refused
        yield Reading(unit.id, row, reading, label, heard.replies, refused, heard.failure, said)


class _Hearing:
    """An `Ask` that notes the replies, whatever the study makes of them."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self.replies = 0
        self.last: Reply | None = None
        self.failure: str | None = None

    async def __call__(self, role: str, messages: Any, **how: Any) -> Reply:
        """Ask, and note the reply. Shared calls belong to the source run: here each judge answers by itself."""
        try:
            reply = await self._ask(role, messages, **{**how, "shared": False})
        except CallFailed as failed:
            self.failure = str(failed)
            raise
        self.replies += 1
        self.last = reply
        return reply

    async def all(self, questions: Any) -> list[Reply]:
        """Ask one after another: the replies in order."""
        return [
            await self(one.role, one.messages, speaker=one.speaker, form=one.form, settings=one.settings)
            for one in questions
        ]
