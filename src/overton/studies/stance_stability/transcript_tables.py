"""Reading transcripts from tables: existing conversations, with one row per turn or one row per conversation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from overton.errors import InputError, Problem, Unreadable, quoted
from overton.studies.items import Items, usable
from overton.studies.options import Option
from overton.studies.parsing import Notes, ParsedItems, Text, object_lines, problem_as_error, read_whole
from overton.studies.stance_stability.items import Topic, Transcript, TranscriptTurn
from overton.studies.stance_stability.reading import TOPICS
from overton.studies.stance_stability.reading import TopicRules as TopicReading
from overton.untrusted import converted

if TYPE_CHECKING:
    import polars as pl


_TURN_COLUMNS = ("conversation", "turn", "question", "answer")
"""The columns that a table with one row per turn must have."""

_KEPT = ("topic", "proposition", "model", "domain", "temperature")
_DOCUMENTS = ("retrieved", "cited")
_RESPONSE = re.compile(r"(?:response|answer)[_ ]?(\d{1,4})")
_MOST_SHOWN = 20

_Row = Mapping[str, Any]


class TranscriptRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How transcripts are read."""

    propositions: Annotated[
        Any, Option("Text file with what stances are towards, one line per conversation", file=True)
    ] = None
    topics: Annotated[
        Any,
        Option(
            "JSONL file of the topics whose ids the table names; by default those of the run",
            file=True,
            beside="items.jsonl",
        ),
    ] = None


def _transcripts_of(table: pl.DataFrame, names: Mapping[str, str], place: str) -> list[Transcript]:
    """The conversations of a table; `names` maps its columns' names in lower case to the names as they are.

    One row per turn: the columns `_TURN_COLUMNS`, and optionally topic, proposition, model, domain, temperature (the
    same in all rows of a conversation), retrieved and cited (addresses; in a CSV separated by spaces). Turns are whole
    numbers from 1 and may be in any order. If one conversation's name occurs with several models, each model's is a
    conversation of its own.

    One row per conversation: the columns question, response_1, response_2, ... in any case, and optionally question_2,
    question_3, ..., conversation, and the others as above except documents. A question without a column is not known.

    Raises:
        InputError: every problem, with `place`, row and column.
    """
    rows = [{name: row[column] for name, column in names.items()} for row in table.iter_rows(named=True)]
    reading = _TranscriptProblems(place)
    transcripts = reading.from_wide(rows) if _is_wide(names) else reading.from_turns(rows)
    reading.finish(transcripts)
    return transcripts


def _parse(texts: Sequence[Text], reading: TranscriptRules) -> ParsedItems[Transcript]:
    """The conversations in the order of the table; those of a run of topics are towards its topics' propositions."""
    try:
        return ParsedItems([transcript for text in texts for transcript in _of_file(text, reading)])
    except InputError as error:
        return ParsedItems((), [problem_as_error(problem) for problem in error.problems])


def _of_file(file: Text, reading: TranscriptRules) -> list[Transcript]:
    names = {name.strip().casefold(): name for name in file.columns()}
    missing = [name for name in _TURN_COLUMNS if name not in names]
    if missing and not _is_wide(names):
        reason = (
            f"has no column {', '.join(missing)}; transcripts have {', '.join(_TURN_COLUMNS)} with one row per turn,"
            " or question, response_1, response_2, ... with one row per conversation"
        )
        raise InputError([Problem(file.name, "", reason)])
    table = file.table()
    # A quotation mark inside a name ends it for some readers of CSV, and not for others.
    if unread := [name for name in names.values() if name not in table.columns]:
        said = f"has a first row that can be read in two ways, at {quoted(unread[0])}: leave out its quotation marks"
        raise InputError([Problem(file.name, "", said)])
    transcripts = _transcripts_of(table, names, file.name)
    if reading.propositions is not None:
        transcripts = _with_propositions(transcripts, reading.propositions)
    # Only a run's records have the column 'held'; beside another table, 'items.jsonl' may be anything.
    if reading.topics is None or (reading.topics.in_folder and "held" not in names):
        return transcripts
    return _with_topics(transcripts, {topic.id: topic for topic in _topics(reading.topics)})


def _is_wide(names: Mapping[str, str]) -> bool:
    """Whether the table has one row per conversation."""
    return "question" in names and any(map(_RESPONSE.fullmatch, names)) and "turn" not in names


class _TranscriptProblems:
    """The state of reading one table: its problems so far."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._problems: list[Problem] = []

    def finish(self, transcripts: Sequence[Transcript]) -> None:
        if not transcripts and not self._problems:
            self._note("", "has no conversations")
        if self._problems:
            hidden = len(self._problems) - _MOST_SHOWN
            more = [Problem(self._place, "", f"and {hidden} more problems")] if hidden > 0 else []
            raise InputError(self._problems[:_MOST_SHOWN] + more)

    def from_turns(self, rows: Sequence[_Row]) -> list[Transcript]:
        """Conversations of a table with one row per turn."""
        grouped: dict[tuple[str, str], list[tuple[int, _Row]]] = {}
        for number, row in enumerate(rows, 1):
            if name := _text(row["conversation"]):
                grouped.setdefault((name, _text(row.get("model"))), []).append((number, row))
            elif any(value is not None for value in row.values()):
                self._note(f"row {number}, conversation", "is empty")
        several = len({name for name, _ in grouped}) < len(grouped)
        return [
            self._transcript(f"{name} ({model})" if several else name, members, self._turns(members))
            for (name, model), members in grouped.items()
        ]

    def _turns(self, members: Sequence[tuple[int, _Row]]) -> list[TranscriptTurn]:
        turns: dict[int, TranscriptTurn] = {}
        for number, row in members:
            turn = _parse_whole_number(row["turn"])
            if turn is None or turn < 1:
                self._note(f"row {number}, turn", f"is {quoted(row['turn'])}, not a whole number from 1")
            elif turn in turns:
                self._note(f"row {number}, turn", f"{turn} occurs twice in conversation {quoted(row['conversation'])}")
            else:
                retrieved, cited = (_documents(row.get(name)) for name in _DOCUMENTS)
                turns[turn] = TranscriptTurn(turn, _text(row["question"]), _text(row["answer"]), retrieved, cited)
        return [turns[turn] for turn in sorted(turns)]

    def from_wide(self, rows: Sequence[_Row]) -> list[Transcript]:
        """Conversations of a table with one row per conversation."""
        transcripts = []
        seen: set[str] = set()
        for number, row in enumerate(rows, 1):
            name = _text(row.get("conversation")) or str(number)
            if name in seen:
                self._note(f"row {number}, conversation", f"{quoted(name)} occurs twice")
            seen.add(name)
            transcripts.append(self._transcript(name, [(number, row)], self._responses(number, row)))
        return transcripts

    def _responses(self, number: int, row: _Row) -> list[TranscriptTurn]:
        """The turns of one row; empty cells after the last answer are turns that did not take place."""
        columns = {int(match[1]): name for name in row if (match := _RESPONSE.fullmatch(name))}
        answers = {turn: _text(row[name]) for turn, name in sorted(columns.items())}
        last = max((turn for turn, answer in answers.items() if answer), default=0)
        if not last:
            self._note(f"row {number}", "has no response")
        questions = {turn: row.get(f"question_{turn}") for turn in answers} | {1: row["question"]}
        return [TranscriptTurn(turn, _text(questions.get(turn)), answers.get(turn, "")) for turn in range(1, last + 1)]

    def _transcript(
        self, name: str, members: Sequence[tuple[int, _Row]], turns: Sequence[TranscriptTurn]
    ) -> Transcript:
        kept = {column: _text(members[0][1].get(column)) for column in _KEPT}
        for number, row in members[1:]:
            for column, value in kept.items():
                if _text(row.get(column)) != value:
                    there = _text(row.get(column))
                    self._note(
                        f"row {number}, {column}", f"is {quoted(there)}, but {quoted(value)} in row {members[0][0]}"
                    )
        temperature = self._temperature(members[0][0], kept.pop("temperature"))
        return Transcript(name, tuple(turns), temperature=temperature, **kept)

    def _temperature(self, number: int, text: str) -> float | None:
        try:
            value = float(text) if text else None
        except ValueError:
            value = -1.0
        if value is not None and not (isfinite(value) and value >= 0):
            self._note(f"row {number}, temperature", f"is {quoted(text)}, not a number of 0 or more")
        return value

    def _note(self, key: str, reason: str) -> None:
        self._problems.append(Problem(self._place, key, reason))


def _with_propositions(transcripts: Sequence[Transcript], file: Text) -> list[Transcript]:
    """The transcripts, each with the proposition in its line."""
    notes = Notes(file.name)
    text = read_whole(file, notes)
    lines = [line.strip() for line in (text or "").rstrip().splitlines()]
    if text is not None and len(lines) != len(transcripts):
        notes.error("", f"has {len(lines)} lines for {len(transcripts)} conversations")
    for number, line in enumerate(lines, 1):
        if not line:
            notes.error(f"line {number}", "is empty")
    if notes.failed:
        raise InputError([finding.problem() for finding in notes.findings])
    return [
        msgspec.structs.replace(transcript, proposition=line)
        for transcript, line in zip(transcripts, lines, strict=True)
    ]


def _with_topics(transcripts: Sequence[Transcript], topics: Mapping[str, Topic]) -> list[Transcript]:
    """The transcripts; those about one of the topics get its heading, and its proposition if they have none."""
    return [
        msgspec.structs.replace(
            transcript,
            topic=topics[transcript.topic].topic,
            proposition=transcript.proposition or topics[transcript.topic].proposition,
        )
        if transcript.topic in topics
        else transcript
        for transcript in transcripts
    ]


def _topics(file: Text) -> Sequence[Topic]:
    """The topics in a file that was named; in one merely found, as left by a run, only the lines that are topics."""
    if file.in_folder:
        return [topic for data, _ in object_lines([file]) for topic in _topic(data)]
    return usable(TOPICS.parsed([file], TopicReading(any_questions=True)))


def _topic(data: dict[str, Any] | None) -> tuple[Topic, ...]:
    try:
        return (converted(data, Topic),)
    except Unreadable:
        return ()


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()


def _parse_whole_number(value: Any) -> int | None:
    try:
        number = float(_text(value))
    except ValueError:
        return None
    return int(number) if isfinite(number) and number == int(number) else None


def _documents(value: Any) -> tuple[str, ...] | None:
    """Addresses, each once; None if they are not known."""
    if value is None:
        return None
    listed = value if isinstance(value, list) else str(value).split()
    return tuple(dict.fromkeys(_text(document) for document in listed if document is not None))


TRANSCRIPTS = Items(
    Transcript,
    "transcript",
    "table (.csv, .parquet, .jsonl) with one row per turn or per conversation; or a run",
    parse=_parse,
    dataset="records.parquet",
    suffixes=(),
    reading=TranscriptRules,
)
"""Conversations, however they came about."""
