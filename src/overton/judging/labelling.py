"""People's labels: what they are asked to label, what each of them said, and what they settled on.

Text in, text out: `Task` is what a draw asks of people (its file is not for them: it holds the judge's labels), `Said`
what one person's page saves, and `Labels` what a run keeps of both.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Literal

import msgspec

__all__ = ["CANNOT_TELL", "Asked", "Design", "Labels", "Said", "Settled", "Task", "changed", "task_of"]

CANNOT_TELL = "cannot tell"
"""What a person says of a unit that has no label for them; counted, and bounded both ways."""

Design = Literal["plain", "stratified", "whole"]
"""How units were drawn: each as likely as any other, as many of each judged label as can be, or whole groups."""


class Asked(msgspec.Struct, frozen=True):
    """One label that is asked for.

    `id` is the study's name of the unit, `judged` what the judge called it, `group` what it belongs to (a conversation,
    a thread of one model) and `chance` how likely the draw was to take it, in (0, 1].
    """

    id: str
    judged: str
    group: str
    chance: float


class Task(msgspec.Struct, frozen=True):
    """What people are asked, with what they are not shown.

    `name` follows from everything else. `what` is the label in question, `labels` those it can be with their
    definitions. `population` counts what the judge labelled, by label; `groups` how many groups there are. `rows` are
    what is labelled by anybody; `people` has, for each page, the places in `rows` that it asks for, in its order.
    """

    name: str
    study: str
    what: str
    judge: str
    question: str
    labels: dict[str, str]
    seed: int
    design: Design
    population: dict[str, int]
    groups: int
    rows: tuple[Asked, ...]
    people: tuple[tuple[int, ...], ...]


class Settled(msgspec.Struct, frozen=True):
    """What people agreed on after they had differed on the row at `place`; `by` is who says so."""

    place: int
    label: str
    by: str


class Said(msgspec.Struct, frozen=True):
    """What one person said: by the row's place, a label or `CANNOT_TELL`.

    `task` is the task's name and `page` which of its pages it was, from 1 (0: the page on which people settle what they
    differ on). `seconds` is how long each row was looked at. `taken_back` are rows that had a label and have none, and
    `saved` says when this was saved, in seconds since 1970: 0 where that is not known.
    """

    task: str
    page: int
    person: str
    labels: dict[int, str]
    remarks: dict[int, str] = {}
    seconds: dict[int, float] = {}
    taken_back: tuple[int, ...] = ()
    saved: float = 0.0


class Labels(msgspec.Struct, frozen=True):
    """What a run keeps of one task: the task, each person's labels, and those that were settled."""

    task: Task
    said: tuple[Said, ...]
    settled: tuple[Settled, ...] = ()

    def shares(self) -> dict[int, Mapping[str, float]]:
        """People's value of each labelled row, by its place: the settled label, or until it is settled each person's
        in equal parts. `CANNOT_TELL` is a label here."""
        votes: dict[int, list[str]] = {}
        for one in self.said:
            for place, label in one.labels.items():
                votes.setdefault(place, []).append(label)
        votes |= {one.place: [one.label] for one in self.settled}
        return {
            place: {label: some.count(label) / len(some) for label in some} for place, some in sorted(votes.items())
        }


def task_of(task: Task) -> Task:
    """The task under the name that follows from everything else in it."""
    bare = msgspec.structs.replace(task, name="")
    digest = sha256(msgspec.json.encode(bare, order="sorted")).hexdigest()[:12]
    return msgspec.structs.replace(task, name=f"t{digest}")


def changed(task: Task) -> bool:
    """Whether a task is another than it was when it was written, by accident."""
    return task_of(task).name != task.name
