"""People's labels: what they are asked to label, what each of them said, and what they settled on.

Text in, text out: `Task` is what a draw asks of people (its file is not for them: it has the judge's labels), `Said`
what one person's page saves, and `Labels` what a run stores of both.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Literal

import msgspec

__all__ = ["CANNOT_TELL", "Asked", "Design", "Labels", "Said", "Settled", "Task", "changed", "task_of"]

CANNOT_TELL = "cannot tell"
"""What a person says of a unit for which they can choose no label; counted, and bounded both ways."""

Design = Literal["plain", "stratified", "whole"]
"""How units were drawn: all equally likely, each judged label as equally often as possible, or whole groups."""


class Asked(msgspec.Struct, frozen=True):
    """One label that is requested.

    `id` is the study's name of the unit, `judged` what the judge called it, `group` what it belongs to (a conversation,
    a thread of one model) and `chance` the probability with which it was drawn, in (0, 1].
    """

    id: str
    judged: str
    group: str
    chance: float


class Task(msgspec.Struct, frozen=True):
    """What people are asked, including what they are not shown.

    `name` follows from everything else. `what` is the label in question, `labels` the values that it can have, with
    their definitions. `population` counts what the judge labelled, by label; `groups` how many groups there are. `rows`
    are those that anybody labels; `people` has, for each page, the places in `rows` that it asks for, in its order.
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
    differ on). `seconds` is how long each row was looked at. `taken_back` are rows whose label was removed, and `saved`
    says when this was saved, in seconds since 1970: 0 if that is not known.
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
    """What a run stores of one task: the task, each person's labels, and those that were settled."""

    task: Task
    said: tuple[Said, ...]
    settled: tuple[Settled, ...] = ()

    def shares(self) -> dict[int, Mapping[str, float]]:
        """People's value of each labelled row, by its place: the settled label, or until it is settled each person's
        with equal weight. `CANNOT_TELL` is a label here."""
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
    """Whether a task differs from what it was when written, by accident."""
    return task_of(task).name != task.name
