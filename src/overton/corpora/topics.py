"""Reading, checking and writing topics: JSON lines, one `Topic` a line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args

from overton.corpora.draft import take_each, take_required
from overton.corpora.findings import Finding, Notes, quoted
from overton.corpora.object_lines import files_at, note_repeated, note_unknown, object_lines, write_objects
from overton.corpora.texts import kind_of
from overton.errors import InputError
from overton.studies.stance_stability.items import KINDS, Belief, Kind, ProbingQuestion, Strength, Topic
from overton.studies.stance_stability.questions import problems_of

__all__ = ["MAX_TOPICS", "TOPICS", "check_topics", "read_topics", "write_topics"]

TOPICS = "topics.jsonl"
"""The name of a dataset of topics in its folder."""

MAX_TOPICS = 100_000

_ID = re.compile(r"(?!\.)[A-Za-z0-9._-]{1,200}")


def read_topics(path: Path, *, published_rules: bool = True) -> list[Topic]:
    """The topics at `path` in their order: a JSONL file, a folder that holds 'topics.jsonl', or a folder of such files.

    Every topic's questions must pass the rules of appendix A.2 (`questions.problems_of`: fifteen, open, not leading,
    30 to 40% challenging, ...); with `published_rules=False` any number of questions of any form will do.

    Raises:
        InputError: every problem of every file, with file, line and key.
    """
    drafts, notes = _read(path, published_rules)
    problems = [finding.problem() for finding in _findings(notes)]
    if problems:
        raise InputError(problems)
    return [draft.topic for draft in drafts if draft.topic is not None]


def check_topics(path: Path, *, published_rules: bool = True) -> list[Finding]:
    """Everything that keeps the topics at `path` from being used; the parameters are those of `read_topics`."""
    return _findings(_read(path, published_rules)[1])


def write_topics(topics: Sequence[Topic], path: Path, *, replace: bool = False) -> Path:
    """Write `topics` to a '.jsonl' file, or as 'topics.jsonl' into a folder, whole or not at all; gives the file.

    Raises:
        InputError: the file exists already and not `replace`, or cannot be written.
    """
    return write_objects(topics, path if path.suffix == ".jsonl" else path / TOPICS, replace=replace)


@dataclass
class _Draft:
    """What one line holds: its id, and the topic where nothing kept it from being read."""

    notes: Notes
    id: str
    topic: Topic | None


def _findings(notes: Sequence[Notes]) -> list[Finding]:
    return [finding for noted in notes for finding in noted.findings]


def _read(path: Path, published_rules: bool) -> tuple[list[_Draft], list[Notes]]:
    """What could be read, and the notes on all lines and files."""
    general = Notes(str(path))
    notes = [general]
    drafts: list[_Draft] = []
    for file in files_at(path, TOPICS, general, advice="name a folder of topics, or a file"):
        drafts += _from_file(file, notes, published_rules, MAX_TOPICS - len(drafts))
    note_repeated((draft.id, draft.notes) for draft in drafts)
    if not drafts and not any(noted.failed for noted in notes):
        general.error("", "holds no topics")
    return drafts, notes


def _from_file(file: Path, notes: list[Notes], published_rules: bool, room: int) -> Iterator[_Draft]:
    for line in object_lines(file, notes):
        if room <= 0:
            line.notes.error("", f"is one topic more than {MAX_TOPICS:,}")
            return
        room -= 1
        yield _draft(line.data, line.notes, published_rules)


def _draft(data: dict[str, Any], notes: Notes, published_rules: bool) -> _Draft:
    note_unknown(data, Topic, notes)
    texts = {key: take_required(data, key, notes) or "" for key in ("id", "domain", "topic", "proposition")}
    belief = _one_of(get_args(Belief), data.get("initial_belief"), "initial_belief", notes)
    strength = _one_of(get_args(Strength), data.get("debate_strength"), "debate_strength", notes)
    taken = take_each(data, "questions", notes, lambda value, _, key: _question(value, key, notes)) or {}
    questions = tuple(taken.values())
    if texts["id"] and not _ID.fullmatch(texts["id"]):
        notes.error("id", f"{quoted(texts['id'])} may hold letters a to z, digits, '-', '_' and '.' only")
    if not notes.failed:
        reasons = problems_of(questions) if published_rules else []
        for reason in reasons or ([] if questions else ["there are none"]):
            notes.error("questions", reason)
    if notes.failed or belief is None or strength is None:
        return _Draft(notes, texts["id"], None)
    return _Draft(
        notes, texts["id"], Topic(**texts, initial_belief=belief, debate_strength=strength, questions=questions)
    )


def _question(value: Any, key: str, notes: Notes) -> ProbingQuestion | None:
    if not isinstance(value, dict):
        notes.error(key, f"is {kind_of(value)}, not an object with text and kind")
        return None
    note_unknown(value, ProbingQuestion, notes, f"{key}.")
    text = take_required(value, "text", notes, f"{key}.")
    kind: Kind | None = _one_of(KINDS, value.get("kind"), f"{key}.kind", notes)
    return ProbingQuestion(text, kind) if text is not None and kind is not None else None


T = TypeVar("T")


def _one_of(known: tuple[T, ...], value: Any, key: str, notes: Notes) -> T | None:
    found = next((one for one in known if one == value), None)
    if found is None:
        allowed = ", ".join(map(str, known))
        notes.error(
            key, f"is missing; it is one of {allowed}" if value is None else f"is {quoted(value)}, none of {allowed}"
        )
    return found
