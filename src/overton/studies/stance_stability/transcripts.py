"""A study in which a judge labels every turn of existing conversations. The conversations are read from tables with one
row per turn or per conversation."""

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
    """Options for reading transcripts."""

    propositions: Annotated[
        Any, Option("Text file with the proposition that stances are about, one line per conversation", file=True)
    ] = None
    topics: Annotated[
        Any,
        Option(
            "JSONL file of the topics whose ids are in the table; by default the topics of the run",
            file=True,
            beside="items.jsonl",
        ),
    ] = None


def _transcripts_of(table: pl.DataFrame, names: Mapping[str, str], place: str) -> list[Transcript]:
    """The conversations of a table. `names` maps lower-case column names to the names as written.

    With one row per turn, the table has the columns `_TURN_COLUMNS`, and optionally topic, proposition, model, domain,
    temperature (the same in all rows of a conversation), retrieved and cited. The columns retrieved and cited contain
    addresses, separated by spaces in a CSV. Turns are whole numbers from 1 and may be in any order. Conversations of
    the same name but of different models are separate conversations.

    With one row per conversation, the table has the columns question, response_1, response_2, ... (in upper or lower
    case), and optionally question_2, question_3, ..., conversation, topic, proposition, model, domain and temperature.
    A question without a column is unknown.

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
    """The conversations in the order of the table. In conversations from a run, stances are towards the propositions of
    the run's topics."""
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
    # CSV readers disagree about whether a quotation mark inside a name ends the name.
    if unread := [name for name in names.values() if name not in table.columns]:
        said = f"has an ambiguous first row at {quoted(unread[0])}: remove the quotation marks from the name"
        raise InputError([Problem(file.name, "", said)])
    transcripts = _transcripts_of(table, names, file.name)
    if reading.propositions is not None:
        transcripts = _with_propositions(transcripts, reading.propositions)
    # Only a run's records have the column 'held'. Next to any other table, 'items.jsonl' may be an unrelated file.
    if reading.topics is None or (reading.topics.in_folder and "held" not in names):
        return transcripts
    return _with_topics(transcripts, {topic.id: topic for topic in _topics(reading.topics)})


def _is_wide(names: Mapping[str, str]) -> bool:
    """Whether the table has one row per conversation."""
    return "question" in names and any(map(ANSWER_COLUMN.fullmatch, names)) and "turn" not in names


class _TranscriptProblems:
    """A reader of one table, which collects the table's problems."""

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
        """The conversations in a table with one row per turn. Each of `rows` is a pair: the row's number in the table,
        and the row."""
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
        """The turns of a table with one row per conversation. Empty cells after a conversation's last answer are not
        turns."""
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
    """The transcripts with propositions: line n of the file has the proposition of the n-th transcript."""
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
    """The transcripts. If a transcript names one of the topics, it gets the topic's heading. It also gets the topic's
    proposition, unless it already has a proposition."""
    return [
        transcript
        if (topic := topics.get(transcript.topic)) is None
        else msgspec.structs.replace(
            transcript, topic=topic.topic, proposition=transcript.proposition or topic.proposition
        )
        for transcript in transcripts
    ]


def _topics(file: Text) -> Sequence[Topic]:
    """The topics in a file. If the user named the file, every line must be a topic; in a run's own file, other lines
    are skipped."""
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
    """Different addresses in their order; None if documents are not known."""
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
"""Conversations of any origin."""


class TranscriptTrial(Trial, frozen=True):
    """A trial that labels the turns of one transcript."""

    transcript: Transcript
    options: JudgingOptions
    shares: Literal["probabilities", "auto"] | None = None
    sampled: int = 0


class JudgedTurn(msgspec.Struct, frozen=True, gc=False):
    """One turn of a transcript with its labels: the columns that `overton analyze stance-stability` reads.

    conversation, turn, question, answer, topic, proposition, domain   as in the transcript
    model, temperature     of the conversation, not of the judge. If not known, the model is '' and the temperature None
    retrieved, cited       None if not known
    stance ... failure     as in `Record`; but a failed call does not end the conversation
    judged_again ...       as in `Record`
    faults                 as in `Record`, but never 'cut', because the table does not tell why an answer ended
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
    """Label every turn of a transcript, one after another."""
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
    """The conversations to browse. If a conversation has a proposition, it is shown in place of the topic."""
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
        "Whether the speakers in existing conversations keep their view, how confidently they change it, and how"
        " few sources they use."
    ),
    answers=_answers,
    warnings=lambda results, analysis: (),
)

JUDGING: Study[Transcript, JudgingOptions, JudgedTurn, Any] = Study(
    name="judge-stance-stability",
    title="Stance stability of transcripts",
    question="Do the speakers in existing conversations keep their view?",
    roles=(Role("judge", "Model that labels the stance of every answer", judges=True, together=True),),
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
"""The study in which one judge labels every turn of every transcript. A run has a single judge, because the column
`model` names the speaker and cannot distinguish judges."""
