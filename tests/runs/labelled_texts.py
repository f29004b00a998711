"""A study for tests: a model says something of a text, and a judge labels it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from overton.calls import Conduct, Trial
from overton.studies.items import Items
from overton.studies.options import StudyOptions
from overton.studies.study import Role, Study


class Text(msgspec.Struct, frozen=True):
    id: str


class Label(msgspec.Struct, frozen=True):
    text: str
    said: str
    label: str


class Labels(StudyOptions, frozen=True, forbid_unknown_fields=True):
    pass


def trials(texts: Sequence[Text], options: Any, seed: int) -> Iterator[Trial]:
    for text in texts:
        yield Trial(f"{text.id}/label", text.id, seed)


def labelled(conduct: Conduct) -> Any:
    """The study, with trials conducted like this."""
    return Study(
        name="labelled",
        roles=(Role("subject", "Model to measure", flag="model"), Role("judge", "Model that labels", judges=True)),
        items=Items(Text, "text", "texts"),
        options=Labels,
        record=Label,
        trials=trials,
        conduct=conduct,
        prompts=dict,
    )
