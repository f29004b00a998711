"""A lane whose plan is not known ahead: it goes in rounds, each decided from what ended before and noted.

A decision is a text, from which its trials follow. It is on the disk before any of them is asked, and a later session
follows it: what was asked stands, whatever would be decided now (by another version, or with calls asked again that had
failed). Where there is no note yet, the decision is made of the records, so that it comes out as it would have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, Protocol

from overton.calls import Reply, Trial, Usage
from overton.engine.identity import Identity, Place, slot_of
from overton.engine.journal import NOTE, Journal
from overton.engine.journal_file import Entry

__all__ = ["Deciding", "Rounds"]

_SPEAKER = f"{NOTE}round"

Ended = Mapping[str, tuple[list[Any], int]]
"""Of each trial that has ended, by its name: its records, and how many calls it made."""


class Deciding(Protocol):
    """Where a lane goes on."""

    def decision(self, ended: Ended) -> str:
        """The decision after what has ended, and nothing else."""
        ...

    def trials(self, decision: str, ended: Ended) -> Sequence[Trial]:
        """The trials that a decision adds, in plan order; none where the lane stops.

        Raises:
            JournalError: the text is none of ours.
        """
        ...


class Rounds:
    """The rounds of one lane. `own` is the identity of the answerer that it has for itself.

    `said` is the last decision, `number` that of its round, `running` how many trials it has and `ahead` how many of
    them have ended in a round that is not whole yet; a first round's count at once.
    """

    def __init__(self, deciding: Deciding, own: str) -> None:
        self.said = ""
        self.number = 0
        self.running = 0
        self.ahead = 0
        self.ended: dict[str, tuple[list[Any], int]] = {}
        self._deciding = deciding
        self._own = own
        self._noted: dict[int, str] = {}

    def recall(self, journal: Journal) -> None:
        """Follow what an earlier session noted.

        Raises:
            JournalError: it is damaged.
        """
        self._noted = {
            one.place.number: one.outcome.text
            for one in journal.notes()
            if one.place.speaker == _SPEAKER and one.place.answerer == self._own and isinstance(one.outcome, Reply)
        }

    def decided(self, journal: Journal) -> set[str]:
        """The names of all trials that an earlier session decided on.

        Raises:
            JournalError: it is damaged.
        """
        self.recall(journal)
        return {one.name for text in self._noted.values() for one in self._deciding.trials(text, {})}

    def next(self, *, anew: bool = False) -> Sequence[Trial]:
        """The trials of the next round, none where the lane stops. What was noted is followed; `anew` says that calls
        were asked again, so that a stop that was noted is decided again.

        Raises:
            JournalError: a note is none of ours.
        """
        self.number += 1
        self.said = self._noted.get(self.number, "") or self._deciding.decision(self.ended)
        trials = self._deciding.trials(self.said, self.ended)
        if not trials and anew and self.number in self._noted:
            self._noted = {number: text for number, text in self._noted.items() if number < self.number}
            self.said = self._deciding.decision(self.ended)
            trials = self._deciding.trials(self.said, self.ended)
        self.running, self.ahead = len(trials), 0
        return trials

    async def note(self, journal: Journal) -> None:
        """Have the decision on the disk before what it asks for is asked.

        Raises:
            JournalError: it cannot be written.
        """
        if self.number not in self._noted:
            await journal.keep(self._entry())

    def _entry(self) -> Entry:
        content = blake2b(f"round/{self.number}/{self._own}".encode(), digest_size=24).digest()
        place = Place("", _SPEAKER, self.number, self._own)
        said = Reply(self.said, finish="note", usage=Usage(0, 0))
        return Entry(Identity(slot_of(place, content), content), place, said)
