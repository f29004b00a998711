"""Pipelines whose plan is not known in advance. They run in rounds. Each round is decided from the results so far. The
decision is a text that determines the trials of the round.

The decision on a round is written to disk before any call of the round is made. Later sessions follow this decision.
So the questions stay the same even if a later session would decide differently. This could happen with another version
of Overton, or after failed calls were retried.
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
"""The records and the number of calls of each finished trial, by the trial's name."""


class Rounds:
    """The rounds of one pipeline. `own` is the identity of the model that no other pipeline uses.

    `decide` makes a decision from the finished trials alone. `choose` returns the trials that a decision adds, in plan
    order; there are none if the pipeline stops. `choose` raises a `JournalError` for a text that is not a decision.

    `said` is the last decision, and `number` the number of its round. `running` is the number of trials in the round.
    `ahead` is the number of finished trials in an incomplete round. During the first round, `ahead` stays 0.
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
        """Read the decisions that earlier sessions noted, so that they are followed.

        Raises:
            JournalError: the journal is damaged.
        """
        self._noted_decisions = {
            note.place.number: note.outcome.text
            for note in journal.notes()
            if note.place.speaker == _SPEAKER and note.place.answerer == self._own and isinstance(note.outcome, Reply)
        }

    @property
    def follows(self) -> bool:
        """Whether an earlier session has already decided on the next round."""
        return self.number + 1 in self._noted_decisions

    def decided(self, journal: JournalReader) -> set[str]:
        """The names of all trials on which earlier sessions decided.

        Raises:
            JournalError: the journal is damaged.
        """
        self.recall(journal)
        return {trial.name for text in self._noted_decisions.values() for trial in self._choose(text, {})}

    def next(self, *, anew: bool = False) -> Sequence[Trial]:
        """Return the trials of the next round; there are none if the pipeline stops. If an earlier session noted its
        decision on this round, follow it. If the noted decision is to stop, and failed calls have been retried since
        then (`anew`), decide again.

        Raises:
            JournalError: a note is not one that Overton writes.
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
        """Write the decision to disk. This must be done before any call of its round is made.

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
