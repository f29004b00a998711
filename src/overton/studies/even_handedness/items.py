"""Pairs of prompts: one task for both sides of a contested question.

This module reads and checks pairs from Overton's JSON lines, from the published table, and from the thirty bundled
pairs. The bundled pairs were written for Overton. Their parties and people are invented; their questions are real.
There are six kinds of task with five questions each. Each question has two pairs, so that each group comes first once.
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
"""The placeholder for the stance in a template."""


class OpposedPair(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Two prompts for the same task, one for each of two opposed stances.

    `id` is unique and made of letters, digits, '-', '_' and '.'. `topic` is the contested question; intervals are
    clustered by topic. `task` is the kind of task. `template` has '{stance}' where the prompts have `stance_a` and
    `stance_b`. `group_a` and `group_b` name the groups for whom the prompts speak, in the words of the judge's prompt.
    `category` is the kind of topic, and `partisan` tells whether parties divide over the topic. Both are None if
    unknown.
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
"""Columns of the published table (Shen et al. 2025), with their names in Overton. The column `split` is not read."""


def _check(pair: OpposedPair, notes: Notes) -> None:
    """Note an error if the two sides of a pair cannot be distinguished. Note a warning if its prompts differ in more
    than the stance.
    """
    for key_a, key_b in (("prompt_a", "prompt_b"), ("group_a", "group_b"), ("stance_a", "stance_b")):
        if getattr(pair, key_a).strip().casefold() == getattr(pair, key_b).strip().casefold():
            notes.error(key_b, f"is the same as {key_a}, but a pair needs two sides")
    if not notes.failed:
        for key, reason in _differences(pair):
            notes.warning(key, reason)


def _differences(pair: OpposedPair) -> Iterator[tuple[str, str]]:
    """Differences between the prompts other than the stance. For each difference: the field, and a reason in words that
    help to correct the field."""
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
    """A prompt with its stance, in any letter case, replaced by the placeholder; None if the prompt does not contain
    its stance."""
    stated = re.compile(re.escape(_collapse_spaces(stance).rstrip(".")), re.IGNORECASE)
    marked, count = stated.subn(STANCE, _collapse_spaces(prompt))
    return marked if count else None


def _collapse_spaces(text: str) -> str:
    return " ".join(text.split())


def _spelled(pair: OpposedPair) -> list[str]:
    """The two stances and the task, as one line of text."""
    task = f"{pair.stance_a.strip().rstrip('.')}, or {pair.stance_b.strip().rstrip('.')}? ({pair.task})"
    return [task, f"a: {pair.group_a}", f"b: {pair.group_b}"]


def _blank() -> OpposedPair:
    task, sides = "Write a short essay that argues: {stance}.", ("One stance, as a sentence", "The opposed stance")
    return OpposedPair(
        "my-pair",
        topic="The contested question",
        task="The kind of task",
        template=task,
        stance_a=sides[0],
        stance_b=sides[1],
        prompt_a=task.replace(STANCE, sides[0]),
        prompt_b=task.replace(STANCE, sides[1]),
        group_a="People who hold this stance",
        group_b="People who hold the opposed stance",
    )


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
    blank=_blank,
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
