"""The pair of prompts: one task for either side of a contested question. Reading and checking pairs.

Read are our JSON lines, the published table as it is, and the thirty pairs that come with the study. These were written
for Overton. The parties and people that they name are invented; the questions are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Literal, get_args

import msgspec

from overton.errors import quoted
from overton.studies.item_tables import ItemFiles
from overton.studies.items import Facet, Items, starter_file, starter_subjects
from overton.studies.parsing import Notes

Side = Literal["a", "b"]

SIDES: tuple[Side, Side] = get_args(Side)

STANCE = "{stance}"
"""The place of the stance in a template."""


class OpposedPair(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Two prompts that ask for the same task, once for each of two opposed stances.

    `id` is unique and made of letters, digits, '-', '_' and '.'. `topic` is the contested question: intervals are over
    topics. `task` is the kind of task. `template` has '{stance}' where the prompts have `stance_a` and `stance_b`.
    `group_a` and `group_b` name those for whom the prompts speak, in the words shown to the judge. `category` is the
    kind of topic, and `partisan` says whether parties divide over it; None if not known.
    """

    id: str
    topic: str
    task: str
    template: str
    stance_a: str
    stance_b: str
    prompt_a: str
    prompt_b: str
    group_a: str
    group_b: str
    category: str | None = None
    partisan: bool | None = None

    def prompt(self, side: Side) -> str:
        """The prompt of a side."""
        return self.prompt_a if side == "a" else self.prompt_b

    def group(self, side: Side) -> str:
        """The group of a side."""
        return self.group_a if side == "a" else self.group_b


PUBLISHED = {
    "topic_name": "topic",
    "main_category": "category",
    "template_category": "task",
    "prompt_a_group": "group_a",
    "prompt_b_group": "group_b",
}
"""Columns of the published table (Shen et al. 2025) that have another name here; its `split` is not read."""


def _check(pair: OpposedPair, notes: Notes) -> None:
    """Note what makes a pair's sides indistinguishable, which is an error, and what differs between its prompts besides
    the stance, which is a warning.
    """
    for key_a, key_b in (("prompt_a", "prompt_b"), ("group_a", "group_b"), ("stance_a", "stance_b")):
        if getattr(pair, key_a).strip().casefold() == getattr(pair, key_b).strip().casefold():
            notes.error(key_b, f"is the same as {key_a}: a pair has two sides")
    if not notes.failed:
        for key, reason in _differences(pair):
            notes.warning(key, reason)


def _differences(pair: OpposedPair) -> Iterator[tuple[str, str]]:
    """How the prompts differ besides the stance, in words that help to mend it."""
    around = [_around(pair.prompt_a, pair.stance_a), _around(pair.prompt_b, pair.stance_b)]
    if None in around:
        side = "ab"[around.index(None)]
        yield f"prompt_{side}", f"does not contain stance_{side} word for word, so other differences cannot be checked"
    elif around[0] != around[1]:
        yield (
            "prompt_b",
            f"differs from prompt_a in more than the stance: {quoted(around[1] or '')}, but prompt_a is"
            f" {quoted(around[0] or '')}",
        )
    elif _collapse_spaces(pair.template) != around[0]:
        yield "template", f"is not the prompts' template, which is {quoted(around[0] or '')}"


def _around(prompt: str, stance: str) -> str | None:
    """A prompt with its stance, in any case, replaced by a mark; None if it does not contain it."""
    stated = re.compile(re.escape(_collapse_spaces(stance).rstrip(".")), re.IGNORECASE)
    marked, count = stated.subn(STANCE, _collapse_spaces(prompt))
    return marked if count else None


def _collapse_spaces(text: str) -> str:
    return " ".join(text.split())


def _spelled(pair: OpposedPair) -> list[str]:
    """The task, then whom it is for."""
    task = f"{pair.stance_a.strip().rstrip('.')}, or {pair.stance_b.strip().rstrip('.')}? ({pair.task})"
    return [task, f"a: {pair.group_a}", f"b: {pair.group_b}"]


PAIRS = Items(
    OpposedPair,
    "pair",
    "JSONL file of pairs, or the published table as it is (.csv)",
    parse=ItemFiles(
        OpposedPair,
        "pairs",
        id_from="topic",
        check=_check,
        renamed=PUBLISHED,
        content="prompts",
        content_of=lambda pair: frozenset((pair.prompt_a, pair.prompt_b)),
    ).parse,
    dataset="pairs.jsonl",
    suffixes=(".jsonl", ".csv"),
    starter=partial(starter_file, "overton.studies.even_handedness", "pairs.jsonl"),
    subjects=partial(starter_subjects, "overton.studies.even_handedness"),
    about=lambda pair: pair.topic,
    spelled=_spelled,
    facets=(
        Facet("partisan", "Matter", {True: "partisan", False: "not partisan"}),
        Facet("task", "Kind of task"),
        Facet("template", "Template", within="task"),
        Facet("category", "Kind of topic"),
    ),
)
"""Pairs of prompts."""
