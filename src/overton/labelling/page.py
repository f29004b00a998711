"""A page for one person: each unit with all that the judge saw and nothing that it said, and one key per label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from overton.judging.labelling import CANNOT_TELL, Task
from overton.reporting.cells import encoded, inside_script
from overton.reporting.page import asset, filled

__all__ = ["Unit", "page_of"]

_KEYS = "123456789abcdfghijklmnopqstvwxyz"
"""The keys for labels, in order: digits, then the letters with no other function. Labels past these have none."""


@dataclass(frozen=True)
class Unit:
    """What is shown of one of a task's rows: the texts that the judge saw, by heading, in order."""

    texts: Mapping[str, str]


class _Shown(msgspec.Struct, frozen=True):
    """One unit on the page: its place among the task's rows, the number of its group from 1 if groups are shown whole,
    and pairs of the numbers of a heading and of a text."""

    place: int
    group: int | None
    texts: list[tuple[int, int]]


def page_of(
    task: Task,
    units: Sequence[Unit],
    number: int,
    *,
    row: str = "row",
    group: str = "group",
    places: Sequence[int] | None = None,
) -> bytes:
    """The page `number` of a task, from 1, as UTF-8. `units` are what is shown of each of the task's rows.

    With `places` it is page 0, on which people settle what they say of these rows.

    The file loads nothing and contains none of the judge's labels, names of models, or names of rows and groups: these
    could give a label away. Texts are in it as JSON that no markup can end.

    Raises:
        ValueError: the numbers of units and rows differ, or there is no such page.
    """
    if len(units) != len(task.rows) or not (1 <= number <= len(task.people) if places is None else number == 0):
        raise ValueError("one unit per row is needed, and a page that the task has")
    shown = task.people[number - 1] if places is None else tuple(places)
    asked, *decide = task.question.split("\n\n")
    content = encoded(_content(task, units, shown, number, row=row, group=group))
    text = filled(
        _own("label.html"),
        asset("shared.css") + _own("label.css"),
        asset("shared.js") + _own("answers.js") + _own("label.js"),
        task=task,
        number=number,
        count=len(shown),
        asked=asked,
        decide=decide,
        row=row,
        held=inside_script(content),
    )
    return text.encode()


def _content(
    task: Task, units: Sequence[Unit], asked: Sequence[int], number: int, *, row: str, group: str
) -> dict[str, Any]:
    """What the page's script reads; a text that occurs in several units is included once."""
    texts: dict[str, int] = {}
    groups: dict[str, int] = {}
    shown = [
        _Shown(
            place,
            groups.setdefault(task.rows[place].group, len(groups) + 1) if task.design == "whole" and number else None,
            [
                (texts.setdefault(name, len(texts)), texts.setdefault(text, len(texts)))
                for name, text in units[place].texts.items()
                if text.strip()
            ],
        )
        for place in asked
    ]
    keys = [*_KEYS, *[""] * len(task.labels)]
    return {
        "task": task.name,
        "page": number,
        "cannotTell": CANNOT_TELL,
        "labels": [
            {"name": name, "meaning": meaning, "key": key}
            for (name, meaning), key in zip(task.labels.items(), keys, strict=False)
        ],
        "row": row,
        "group": group,
        "groups": len(groups),
        "texts": list(texts),
        "units": shown,
    }


@cache
def _own(name: str) -> str:
    return files("overton.labelling").joinpath("assets", name).read_text(encoding="utf-8")
