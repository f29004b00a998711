"""The question to a judge, which users give as a file or as the name of another study's question. Overton checks it
before the first call.

A file is TOML:

    key = "stance"
    asks = "Does the letter support the proposal?"
    prompt = '''
    Read this letter to the editor.

    <letter>
    {text}
    </letter>

    Does it support the proposal?

    {labels}
    '''

    [labels]
    supports = "It welcomes the proposal."
    opposes = "It rejects the proposal."
    neither = "It takes no side."

`{labels}` is replaced by the labels with their meanings, which annotators also read. Any other word in braces is a
placeholder for a column of the table of texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from overton.errors import InputError, Problem, Unreadable, list_names, quoted
from overton.judging.label_tasks import CANNOT_TELL
from overton.studies.parsing import Notes, is_id, kind_of, read_whole, take_optional, take_required
from overton.studies.questions import FromColumns
from overton.untrusted import converted, decode_toml

if TYPE_CHECKING:
    from overton.studies.parsing import Text
    from overton.studies.questions import Question

OWN_COLUMNS = ("id", "model", "group", "condition")
"""Columns of a table of texts that describe a text. The judge never sees them."""

LABEL, LABELS = "label", "labels"
"""The column of records with the judge's label, and the placeholder for the labels in a prompt."""

_PLACE = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_LABEL = re.compile(r"\w[\w .+'-]{0,59}")
_MOST_LABELS = 30
_MOST_CONTROLS = 1_000
_AT_LINE = re.compile(r"\(at line (\d+), column \d+\)")


class ControlRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A text whose label is known: its columns by name, and the label."""

    columns: dict[str, str]
    label: str


class TableQuestion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A question about single texts: the user's own question, or the question `key` of an installed `study`.

    key       the kind of label, in one word ('stance')
    prompt    the words sent to the judge, with placeholders for columns and for the labels
    labels    the labels with their meanings
    asks      the question to people. They see the first paragraph with each text, and the other paragraphs as help
    row, group  the words for a text and for a group of texts
    controls  texts whose label is known
    """

    key: str
    study: str = ""
    prompt: str = ""
    labels: dict[str, str] = {}
    asks: str = ""
    row: str = "text"
    group: str = "group"
    controls: tuple[ControlRow, ...] = ()

    @property
    def name(self) -> str:
        """The question's name on a command line: STUDY/KEY for another study's question, otherwise the key."""
        return f"{self.study}/{self.key}" if self.study else self.key

    @property
    def places(self) -> tuple[str, ...]:
        """The columns that the question's own prompt shows, in order."""
        return tuple(dict.fromkeys(name for name in _PLACE.findall(self.prompt) if name != LABELS))

    def fill(self, values: Mapping[str, str]) -> str:
        """The question's own prompt with a value in place of each placeholder. All placeholders are replaced in one
        pass. So a value that itself looks like a placeholder stays as it is."""
        return _PLACE.sub(lambda place: values[place[1]], self.prompt)


def named_questions() -> dict[str, Question[Any]]:
    """The questions of installed studies that a judge can answer about a table's texts, by STUDY/KEY. The material of
    such a question consists of single columns, and annotators see exactly these columns."""
    from overton.studies.registry import usable_studies

    found = [(study.name, question) for study in usable_studies() if study.questions for question in study.questions]
    return {f"{name}/{question.key}": question for name, question in found if columns_shown(question)}


def columns_shown(question: Question[Any]) -> tuple[str, ...]:
    """The columns in a question's material, if annotators see exactly these columns unchanged; otherwise ()."""
    parts = question.material.parts if isinstance(question.material, FromColumns) else {}
    columns = tuple(column for column in parts.values() if isinstance(column, str))
    own = {*OWN_COLUMNS, LABEL} & {*columns}
    return columns if len(columns) == len(parts) and {*columns} == {*question.shown.values()} and not own else ()


def read_question(given: Text | Mapping[str, Any] | TableQuestion) -> TableQuestion:
    """The question in a file, or a study's question if the file's name is STUDY/KEY.

    In Python, `given` may also be a mapping with the keys of a file. A mapping with the key 'study' comes from a stored
    run.

    Raises:
        InputError: the question has errors. The message lists each error with file, line and key.
    """
    if isinstance(given, TableQuestion):
        return given
    if isinstance(given, Mapping):
        return _stored(given) if "study" in given else _checked(dict(given), Notes("question"))
    name = given.name.replace("\\", "/")
    if not given.suffix:
        if name not in (known := named_questions()):
            reason = f"is neither a file (.toml) nor a known question: {list_names(sorted(known), 20)}"
            raise InputError([Problem(given.name, "", reason)])
        study, _, key = name.partition("/")
        return TableQuestion(key=key, study=study)
    notes = Notes(given.name)
    text = read_whole(given, notes) or ""
    try:
        data = decode_toml(text)
    except Unreadable as error:
        at = _AT_LINE.search(error.reason)
        notes.error(f"line {at[1]}" if at else "", error.reason)
        data = {}
    if notes.failed:
        raise InputError([finding.problem() for finding in notes.findings])
    return _checked(data, notes, text)


def _stored(values: Mapping[str, Any]) -> TableQuestion:
    try:
        return converted(values, TableQuestion)
    except Unreadable as error:
        raise InputError([Problem("question", "", error.reason)]) from None


def _checked(data: dict[str, Any], notes: Notes, text: str = "") -> TableQuestion:
    """The question made from a file's values. `text` is the file's text, from which problems get their line numbers."""
    known = [name for name in TableQuestion.__struct_fields__ if name != "study"]
    for key in data:
        if key not in known:
            notes.error(key, f"is not a key of a question ({', '.join(known)})")
    words = {name: take_required(data, name, notes) or "" for name in ("key", "prompt", "asks")}
    more = {name: word for name in ("row", "group") if (word := take_optional(data, name, notes))}
    question = TableQuestion(**words, **more, labels=_labels_in(data, notes), controls=tuple(_controls_in(data, notes)))
    if not notes.failed:
        for key, reason in faults_of(question):
            notes.error(key, reason)
    if notes.failed:
        lines = _lines_of_keys(text)
        raise InputError([_with_line(finding.problem(), lines) for finding in notes.findings])
    return question


def _labels_in(data: dict[str, Any], notes: Notes) -> dict[str, str]:
    """The labels with their meanings, each on one line."""
    given = data.get("labels")
    if not isinstance(given, dict):
        notes.error("labels", "is missing" if given is None else f"is {kind_of(given)}, not a table of labels")
        return {}
    meanings = {label: take_required(given, label, notes, "labels.") or "" for label in given}
    return {label: " ".join(meaning.split()) for label, meaning in meanings.items()}


def _controls_in(data: dict[str, Any], notes: Notes) -> Iterator[ControlRow]:
    given = data.get("controls", [])
    if not isinstance(given, list) or not all(isinstance(control, dict) for control in given):
        notes.error("controls", "must be tables, each headed [[controls]]")
        return
    for number, control in enumerate(given):
        texts = {name: take_required(control, name, notes, f"controls[{number}].") or "" for name in control}
        yield ControlRow({name: text for name, text in texts.items() if name != "label"}, texts.get("label", ""))


def _lines_of_keys(text: str) -> dict[str, list[int]]:
    """The line numbers of each key or table in a file."""
    found: dict[str, list[int]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        name, end, _ = line.lstrip("[ \t").partition("]" if line.lstrip().startswith("[") else "=")
        if end:
            found.setdefault(name.strip(" \t\"'"), []).append(number)
    return found


def _with_line(problem: Problem, lines: Mapping[str, Sequence[int]]) -> Problem:
    """The problem with the line number of its key, if the file has the key."""
    first, *more = re.split(r"\.|\[(\d+)\]\.?", problem.key)
    found = lines.get(problem.key.removeprefix(f"{LABELS}.") if more and first == LABELS else first, ())
    at = int(more[0]) if first == "controls" and more and more[0] else 0
    if at >= len(found):
        return problem
    return Problem(problem.place, f"line {found[at]}, {problem.key}", problem.reason)


def faults_of(question: TableQuestion) -> Iterator[tuple[str, str]]:
    """All errors in a question whose values have the right types, each with its key."""
    if question.study:
        if question.name not in (known := named_questions()):
            names = list_names(sorted(known), _MOST_LABELS)
            yield "study", f"has no question {quoted(question.key)} about single texts; known questions are {names}"
        return
    if not is_id(question.key):
        yield "key", "must be one word of letters, digits, '-', '_' and '.'"
    yield from _faults_of_prompt(question)
    yield from _faults_of_labels(list(question.labels))
    yield from _faults_of_controls(question)


def _faults_of_prompt(question: TableQuestion) -> Iterator[tuple[str, str]]:
    places = _PLACE.findall(question.prompt)
    if places.count(LABELS) != 1:
        yield "prompt", "must contain {labels} exactly once; the labels and their meanings replace it"
    if not question.places:
        yield "prompt", "has no placeholder for a text; write the column's name in braces, such as {text}"
    for name in question.places:
        if name in (*OWN_COLUMNS, LABEL):
            yield "prompt", f"has a placeholder for {name}, which judges never see; give the column another name"


def _faults_of_labels(labels: Sequence[str]) -> Iterator[tuple[str, str]]:
    if not 2 <= len(labels) <= _MOST_LABELS:
        yield "labels", f"must be 2 to {_MOST_LABELS} labels; the question has {len(labels)}"
    for number, label in enumerate(labels):
        if not _LABEL.fullmatch(label) or label != label.strip():
            yield (
                f"labels.{label}",
                "must be 1 to 60 letters, digits, spaces or . + ' - _, and begin with a letter, digit or _",
            )
        if label.casefold() == CANNOT_TELL.casefold():
            yield f"labels.{label}", "is reserved for people who cannot tell; choose another word"
        if label.casefold() in [other.casefold() for other in labels[:number]]:
            yield f"labels.{label}", "differs from another label only in its case"


def _faults_of_controls(question: TableQuestion) -> Iterator[tuple[str, str]]:
    if len(question.controls) > _MOST_CONTROLS:
        yield "controls", f"must be at most {_MOST_CONTROLS:,}"
    for number, control in enumerate(question.controls):
        if control.label not in question.labels:
            known = list_names(list(question.labels), _MOST_LABELS)
            yield f"controls[{number}].label", f"is {quoted(control.label)}; it must be one of {known}"
        for name in sorted(set(question.places) ^ set(control.columns)):
            where = "is missing" if name in question.places else "is not a placeholder in the prompt"
            yield f"controls[{number}].{name}", where
