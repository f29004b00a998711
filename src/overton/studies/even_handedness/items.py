"""The pair of prompts: one task for either side of a contested question. Reading and checking pairs.

Read are our JSON lines, the published table as it is, and the thirty pairs that come with the study. These were written
for Overton. The parties and people that they name are invented; the questions are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Literal, get_args

import msgspec

from overton.errors import InputError, quoted
from overton.studies.findings import starter_subjects
from overton.studies.items import Facet, Items
from overton.studies.parsing import (
    ItemProblem,
    Notes,
    ParsedItems,
    Text,
    findings_of,
    json_lines,
    note_id,
    note_repeated,
    problem_as_error,
    take_optional,
    take_required,
)

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

_OPTIONAL = ("category",)
_NEEDED = tuple(
    field.name for field in msgspec.structs.fields(OpposedPair) if field.name not in ("id", "partisan", *_OPTIONAL)
)
_FLAGS = {"true": True, "false": False, "yes": True, "no": False, "1": True, "0": False}
_MOST_PAIRS = 100_000


def _parse(texts: Sequence[Text], reading: Any) -> ParsedItems[OpposedPair]:
    """The pairs of `texts`: a '.csv' is a table, with the published column names or ours; all others are JSON lines.

    Errors keep a run from starting: fields that are missing, empty or of another type, an id that is unusable or occurs
    twice, two identical prompts, two identical groups. Warnings do not: prompts that differ in more than the stance, a
    template that is not theirs, the same two prompts in two pairs.
    """
    lines = [text for text in texts if text.suffix != ".csv"]
    parts = [
        json_lines(OpposedPair, _check)(lines, reading),
        *(_parse_table(text) for text in texts if text not in lines),
    ]
    pairs = [pair for part in parts for pair in part.items]
    findings = [finding for part in parts for finding in part.findings]
    return ParsedItems(pairs, (*findings, *_met_again(parts), *_find_repeated(pairs)))


def _met_again(parts: Sequence[ParsedItems[OpposedPair]]) -> Iterator[ItemProblem]:
    """An error for each id that occurs in two files."""
    seen: set[str] = set()
    for part in parts:
        names = {pair.id for pair in part.items}
        yield from (ItemProblem("error", name, "id", "is in two files") for name in sorted(names & seen))
        seen |= names


def _parse_table(text: Text) -> ParsedItems[OpposedPair]:
    try:
        frame = text.table()
    except InputError as error:
        return ParsedItems([], [problem_as_error(problem) for problem in error.problems])
    notes = Notes(text.name)
    named = {name: ours for name, ours in PUBLISHED.items() if name in frame.columns}
    if twice := [name for name, ours in named.items() if ours in frame.columns]:
        notes.error("", f"has the column {PUBLISHED[twice[0]]} twice, also as {twice[0]}")
        return ParsedItems([], tuple(notes.findings))
    frame = frame.rename(named)
    if missing := [name for name in _NEEDED if name not in frame.columns]:
        notes.error("", f"has no column {', '.join(missing)}; a table of pairs has {', '.join(_NEEDED)}")
        return ParsedItems([], tuple(notes.findings))
    if not frame.height or frame.height > _MOST_PAIRS:
        notes.error("", "has no pairs" if not frame.height else f"has more than {_MOST_PAIRS:,} pairs")
        return ParsedItems([], tuple(notes.findings))
    counted: dict[str, int] = {}
    noted = [Notes(text.name, f"line {number + 2}") for number in range(frame.height)]
    rows = zip(frame.iter_rows(named=True), noted, strict=True)
    read = [(row, _of_row(row, counted, notes), notes) for row, notes in rows]
    note_repeated([(pair.id, notes) for _, pair, notes in read if pair is not None])
    return ParsedItems([pair for _, pair, _ in read if pair is not None], findings_of(noted))


def _of_row(row: dict[str, Any], counted: dict[str, int], notes: Notes) -> OpposedPair | None:
    """A row's pair; None, with a note, if it is not one. Without an id it is named after its topic and place in it."""
    texts = {name: take_required(row, name, notes) or "" for name in _NEEDED}
    flag = str(row.get("partisan") or "").strip().casefold()
    if flag and flag not in _FLAGS:
        notes.error("partisan", f"is {quoted(flag)}, neither true nor false")
    topic = re.sub(r"[^A-Za-z0-9._-]+", "-", texts["topic"]).strip("-.")[:150] or "topic"
    counted[topic] = counted.get(topic, 0) + 1
    name = str(row.get("id") or f"{topic}-{counted[topic]:03}")
    note_id(name, notes)
    category = take_optional(row, "category", notes)
    if notes.failed:
        return None
    pair = OpposedPair(id=name, **texts, category=category, partisan=_FLAGS.get(flag))
    _check(pair, notes)
    return None if notes.failed else pair


def _check(pair: OpposedPair, notes: Notes) -> None:
    """Note what makes a pair's sides indistinguishable, and what differs between its prompts besides the stance."""
    for name in _NEEDED:
        if not getattr(pair, name).strip():
            notes.error(name, "is empty")
    if notes.failed:
        return
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


def _find_repeated(pairs: Sequence[OpposedPair]) -> Iterator[ItemProblem]:
    """A warning for each pair with the same prompts as an earlier one, in either order."""
    first: dict[frozenset[str], str] = {}
    for pair in pairs:
        earlier = first.setdefault(frozenset((pair.prompt_a, pair.prompt_b)), pair.id)
        if earlier != pair.id:
            yield ItemProblem("warning", pair.id, "", f"has the same prompts as {earlier}, which then count twice")


def _starter() -> Traversable:
    """One pair per line."""
    return files("overton.studies.even_handedness") / "starter" / "pairs.jsonl"


def _spelled(pair: OpposedPair) -> list[str]:
    """The task, then whom it is for."""
    task = f"{pair.stance_a.strip().rstrip('.')}, or {pair.stance_b.strip().rstrip('.')}? ({pair.task})"
    return [task, f"a: {pair.group_a}", f"b: {pair.group_b}"]


PAIRS = Items(
    OpposedPair,
    "pair",
    "JSONL file of pairs, or the published table as it is (.csv)",
    parse=_parse,
    dataset="pairs.jsonl",
    suffixes=(".jsonl", ".csv"),
    starter=_starter,
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
