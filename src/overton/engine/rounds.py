"""A lane whose plan is not known in advance: it runs in rounds, each decided from earlier results and noted.

A decision is a text from which its trials follow. It is on disk before any of their calls is made, and a later session
follows it: what was asked stays so, whatever would be decided now (by another version, or after failed calls were
retried). If there is no note yet, the decision is made from the records, and so comes out the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from overton.calls import Reply, Trial, Usage
from overton.engine.identity import CallKey, Identity, slot_of
from overton.engine.journal import Journal
from overton.engine.journal_file import JournalEntry
from overton.engine.journal_reader import NOTE, JournalReader

_SPEAKER = f"{NOTE}round"

Ended = Mapping[str, tuple[list[Any], int]]
"""For each finished trial, by name: its records and how many calls it made."""


class Rounds:
    """The rounds of one lane. `own` is the identity of the answerer that belongs to it alone.

    `decide` makes a decision, from the finished trials and nothing else. `choose` gives the trials that a decision
    adds, in plan order, none if the lane stops; it raises a `JournalError` for a text that is not one of ours.

    `said` is the last decision, `number` that of its round, `running` how many trials it has and `ahead` how many of
    them have finished in a round that is not complete yet; those of a first round count at once.
    """

    def __init__(
        self, decide: Callable[[Ended], str], choose: Callable[[str, Ended], Sequence[Trial]], own: str
    ) -> None:
        self.said = ""
        self.number = 0
        self.running = 0
        self.ahead = 0
        self.ended: dict[str, tuple[list[Any], int]] = {}
        self._decide = decide
        self._choose = choose
        self._own = own
        self._noted_decisions: dict[int, str] = {}

    def recall(self, journal: JournalReader) -> None:
        """Follow the notes of earlier sessions.

        Raises:
            JournalError: it is damaged.
        """
        self._noted_decisions = {
            note.place.number: note.outcome.text
            for note in journal.notes()
            if note.place.speaker == _SPEAKER and note.place.answerer == self._own and isinstance(note.outcome, Reply)
        }

    @property
    def follows(self) -> bool:
        """Whether an earlier session decided on the next round."""
        return self.number + 1 in self._noted_decisions

    def decided(self, journal: JournalReader) -> set[str]:
        """The names of all trials that an earlier session decided on.

        Raises:
            JournalError: it is damaged.
        """
        self.recall(journal)
        return {trial.name for text in self._noted_decisions.values() for trial in self._choose(text, {})}

    def next(self, *, anew: bool = False) -> Sequence[Trial]:
        """The trials of the next round, none if the lane stops. Notes are followed; with `anew`, calls were retried, so
        that a noted stop is decided again.

        Raises:
            JournalError: a note is not one of ours.
        """
        self.number += 1
        self.said = self._noted_decisions.get(self.number, "") or self._decide(self.ended)
        trials = self._choose(self.said, self.ended)
        if not trials and anew and self.number in self._noted_decisions:
            self._noted_decisions = {
                number: text for number, text in self._noted_decisions.items() if number < self.number
            }
            self.said = self._decide(self.ended)
            trials = self._choose(self.said, self.ended)
        self.running, self.ahead = len(trials), 0
        return trials

    async def note(self, journal: Journal) -> None:
        """Write the decision to disk before any call that it leads to is made.

        Raises:
            JournalError: it cannot be written.
        """
        if self.number not in self._noted_decisions:
            await journal.keep(self._entry())

    def _entry(self) -> JournalEntry:
        content = blake2b(f"round/{self.number}/{self._own}".encode(), digest_size=24).digest()
        place = CallKey("", _SPEAKER, self.number, self._own)
        said = Reply(self.said, finish="note", usage=Usage(0, 0))
        return JournalEntry(Identity(slot_of(place, content), content), place, said)
