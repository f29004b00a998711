"""Existing conversations, read from tables with one row per turn or per conversation; a judge labels every turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from overton.calls import Ask, Trial
from overton.errors import InputError, Problem, quoted
from overton.judging import Fault, faults_of
from overton.studies import stance_stability
from overton.studies.calibration_sample import add_calibration
from overton.studies.items import Items, usable
from overton.studies.options import Option
from overton.studies.parsing import Notes, ParsedItems, Text, problem_as_error, read_whole
from overton.studies.questions import JudgedLabels
from overton.studies.simulated import late_respondent
from overton.studies.stance_stability import prompts
from overton.studies.stance_stability.context import EarlierTurn
from overton.studies.stance_stability.items import TOPICS, Topic, Transcript, TranscriptTurn
from overton.studies.stance_stability.items import TopicRules as TopicReading
from overton.studies.stance_stability.options import JudgingOptions, StanceHow
from overton.studies.stance_stability.planning import CANNED
from overton.studies.stance_stability.questions import judge_turn
from overton.studies.stance_stability.record import ANSWER_COLUMN, Stance
from overton.studies.study import Role, Study
from overton.studies.study_report import StudyReport

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.frame import Analysis
    from overton.studies.results import Results
    from overton.studies.sections import TrialTable


_TURN_COLUMNS = ("conversation", "turn", "question", "answer")
"""The columns that a table with one row per turn must have."""

_KEPT = ("topic", "proposition", "model", "domain", "temperature")
_DOCUMENTS = ("retrieved", "cited")
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
    turns = reading.turns_of_wide(rows) if _is_wide(names) else enumerate(rows, 1)
    transcripts = reading.transcripts(turns)
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
    return "question" in names and any(map(ANSWER_COLUMN.fullmatch, names)) and "turn" not in names


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

    def transcripts(self, rows: Iterable[tuple[int, _Row]]) -> list[Transcript]:
        """The conversations of rows about one turn each, which come with the number of their row in the table."""
        grouped: dict[tuple[str, str], list[tuple[int, _Row]]] = {}
        for number, row in rows:
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

    def turns_of_wide(self, rows: Sequence[_Row]) -> Iterator[tuple[int, _Row]]:
        """The turns of a table with one row per conversation; empty cells after its last answer are turns that did not
        take place."""
        names: set[str] = set()
        for number, row in enumerate(rows, 1):
            name = _text(row.get("conversation")) or str(number)
            if name in names:
                self._note(f"row {number}, conversation", f"{quoted(name)} occurs twice")
            names.add(name)
            columns = {int(match[1]): column for column in row if (match := ANSWER_COLUMN.fullmatch(column))}
            last = max((turn for turn, column in columns.items() if _text(row[column])), default=0)
            if not last:
                self._note(f"row {number}", "has no response")
            questions = {turn: row.get(f"question_{turn}") for turn in columns} | {1: row["question"]}
            own = {"conversation": name, **{column: row.get(column) for column in _KEPT}}
            for turn in range(1, last + 1):
                answer = row[columns[turn]] if turn in columns else None
                yield number, {**own, "turn": turn, "question": questions.get(turn), "answer": answer}

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
        transcript
        if (topic := topics.get(transcript.topic)) is None
        else msgspec.structs.replace(
            transcript, topic=topic.topic, proposition=transcript.proposition or topic.proposition
        )
        for transcript in transcripts
    ]


def _topics(file: Text) -> Sequence[Topic]:
    """The topics in a file that was named; in one merely found, as left by a run, only the lines that are topics."""
    read = TOPICS.parsed([file], TopicReading(any_questions=True))
    return read.items if file.in_folder else usable(read)


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


class TranscriptTrial(Trial, frozen=True):
    """One transcript."""

    transcript: Transcript
    options: JudgingOptions
    shares: Literal["probabilities", "auto"] | None = None
    sampled: int = 0


class JudgedTurn(msgspec.Struct, frozen=True, gc=False):
    """One turn of a transcript with its labels: the columns that `overton analyze stance-stability` reads.

    conversation, turn, question, answer, topic, proposition, domain   as in the transcript
    model, temperature     of the conversation, not of the judge; '' and None if not known
    retrieved, cited       None if not known
    stance ... failure     as in `Record`; but here a failure ends no conversation
    judged_again ...       as in `Record`
    faults                 as in `Record`; why an answer ended is not known, so none is 'cut'
    shares ... sampled_premise   as in `Record`
    """

    conversation: str
    turn: int
    question: str
    answer: str
    topic: str
    proposition: str
    model: str
    domain: str
    temperature: float | None
    retrieved: tuple[str, ...] | None
    cited: tuple[str, ...] | None
    stance: Stance | None
    confidence: float | None
    claims: tuple[str, ...]
    contradictions_acknowledged: bool | None
    rationale: str
    premise_stance: Stance | None
    judge_attempts: int
    failure: str | None
    judged_again: bool = False
    stance_again: Stance | None = None
    premise_stance_again: Stance | None = None
    faults: tuple[Fault, ...] = ()
    shares: Literal["probabilities", "auto"] | None = None
    p_stance: tuple[float, ...] | None = None
    p_premise_stance: tuple[float, ...] | None = None
    sampled: tuple[str, ...] | None = None
    sampled_premise: tuple[str, ...] | None = None


def _trials(transcripts: Sequence[Transcript], options: JudgingOptions, seed: int) -> Iterator[TranscriptTrial]:
    plain = (
        TranscriptTrial(f"{transcript.id}/judge", transcript.id, seed, transcript=transcript, options=options)
        for transcript in transcripts
    )
    return add_calibration(plain, options, seed)


async def _conduct(trial: TranscriptTrial, ask: Ask) -> list[JudgedTurn]:
    """Label every turn from what the judge is shown of it and of earlier turns."""
    transcript = trial.transcript
    towards = prompts.matter(
        transcript.proposition, transcript.topic, transcript.turns[0].question if transcript.turns else ""
    )
    turns = [turn.turn for turn in transcript.turns]
    earlier: list[EarlierTurn] = []
    rows: list[JudgedTurn] = []
    for recorded in transcript.turns:
        turn = EarlierTurn(recorded.question, recorded.answer)
        judged = await judge_turn(
            trial, ask, towards, turn, earlier, number=recorded.turn, turns=turns, speaker="judge/1"
        )
        rows.append(_row(trial, recorded, judged, [turn.answer for turn in earlier]))
        earlier.append(turn)
    return rows


def _row(trial: TranscriptTrial, turn: TranscriptTurn, judged: JudgedLabels, before: Sequence[str]) -> JudgedTurn:
    transcript = trial.transcript
    return JudgedTurn(
        conversation=transcript.id,
        turn=turn.turn,
        question=turn.question,
        answer=turn.answer,
        topic=transcript.topic,
        proposition=transcript.proposition,
        model=transcript.model,
        domain=transcript.domain,
        temperature=transcript.temperature,
        retrieved=turn.retrieved,
        cited=turn.cited,
        judge_attempts=judged.attempts,
        failure=judged.failure,
        faults=faults_of(turn.answer, shown=(turn.question, transcript.proposition), earlier=before),
        shares=trial.shares,
        **judged.columns,
    )


def _answers(results: Results, analysis: Analysis) -> TrialTable:
    """The conversations, each with its proposition, if there is one, in place of a topic."""
    import polars as pl

    from overton.studies.stance_stability.layouts.conversations import conversation_table

    proposed = pl.col("proposition")
    records = results.records.with_columns(topic=pl.when(proposed != "").then(proposed).otherwise("topic"))
    headings = {item.proposition: item.topic for item in results.items if item.proposition}
    topics = [
        Topic(proposition, "", heading or "Transcript", proposition, "balanced", "moderate", ())
        for proposition, heading in headings.items()
    ]
    return conversation_table(records, analysis, topics)


REPORT: StudyReport[StanceHow, Any] = replace(
    stance_stability.REPORT,
    blocks=None,
    summary=(
        "Whether the speakers in existing conversations keep their view, how confidently they change it, and from how"
        " few sources."
    ),
    answers=_answers,
    warnings=lambda results, analysis: (),
)

JUDGING: Study[Transcript, JudgingOptions, JudgedTurn, Any] = Study(
    name="judge-stance-stability",
    title="Stance stability of transcripts",
    question="Do the speakers in existing conversations keep their view?",
    roles=(Role("judge", "Model that reads the stance of every answer", judges=True, together=True),),
    items=TRANSCRIPTS,
    options=JudgingOptions,
    record=JudgedTurn,
    kind="labels",
    trials=_trials,
    conduct=_conduct,
    prompts=partial(prompts.texts, "judge", "stance"),
    simulated={"stance-judge": late_respondent("overton.studies.stance_stability.simulated:make_judge")},
    measuring=REPORT.measuring,
    labels="stance-stability",
    planning=CANNED,
)
"""Every turn of every transcript, labelled by one judge. The rows' `model` is the speaker, so the judge has no lane of
its own: a run has one judge."""
