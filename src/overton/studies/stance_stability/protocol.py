"""The protocol of a conversation (section 3.2). The model answers questions on one topic, each from newly searched
pages, and the judge labels each answer."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from overton.calls import Ask, Draw, Reply, Settings, Trial
from overton.errors import CallFailed
from overton.judging import Fault, faults_of
from overton.studies.asking import total_usage
from overton.studies.calibration_sample import add_calibration
from overton.studies.questions import JudgedLabels
from overton.studies.stance_stability import prompts
from overton.studies.stance_stability.context import NOTHING_FOUND, EarlierTurn, TurnPages, bounded, read
from overton.studies.stance_stability.items import ProbingQuestion, Topic
from overton.studies.stance_stability.options import Options
from overton.studies.stance_stability.questions import NOT_JUDGED, calibration_turns, is_turn_retested, judge_turn
from overton.studies.stance_stability.record import Ordering, Record

NullChange = Literal["", "same-question", "no-history", "no-search", "same-pages"]
"""The change that a null condition makes to a conversation; '' in the design itself."""


class TopicTrial(Trial, frozen=True):
    """One conversation about a topic, at one temperature and with one order of questions. `instead` is the change that
    a null condition makes."""

    topic: Topic
    temperature: float | None
    ordering: Ordering
    repetition: int
    options: Options
    instead: NullChange = ""
    shares: Literal["probabilities", "auto"] | None = None
    sampled: int = 0

    @property
    def condition_name(self) -> str:
        """The conversation's temperature and order of questions."""
        return f"t{'own' if self.temperature is None else f'{self.temperature:g}'}/{self.ordering}"

    @property
    def plan_key(self) -> Hashable:
        """The properties that determine the trial's calls and the lengths of these calls. Temperature and the order of
        labels are not among these properties."""
        order = question_order(self)
        turns = range(1, len(order) + 1)
        retested = tuple([turn for turn in turns if is_turn_retested(self, turn)])
        sampled = tuple(calibration_turns(self, turns).items())
        return self.item, self.instead, self.shares, tuple(order), retested, sampled


def trials(topics: Sequence[Topic], options: Options, seed: int) -> Iterator[TopicTrial]:
    """All conversations, topic by topic."""
    return add_calibration(_trials(topics, options, seed), options, seed)


def _trials(topics: Sequence[Topic], options: Options, seed: int) -> Iterator[TopicTrial]:
    for topic in topics:
        for temperature in options.temperatures:
            for ordering in options.orderings:
                for repetition in range(1, options.trials + 1):
                    heat = "own" if temperature is None else f"{temperature:g}"
                    yield TopicTrial(
                        name=f"{topic.id}/t{heat}/{ordering}/r{repetition}",
                        item=topic.id,
                        seed=seed,
                        topic=topic,
                        temperature=temperature,
                        ordering=ordering,
                        repetition=repetition,
                        options=options,
                    )


def question_order(trial: TopicTrial) -> list[int]:
    """The indices (from 1) of the topic's questions in the order in which they are asked.

    If there are fewer turns than questions, only the first questions are used. These are then ordered, so that all
    orderings ask the same questions. A shuffle depends only on seed, topic and repetition, so it is the same for all
    temperatures and models.
    """
    asked = trial.topic.questions[: trial.options.turns]
    places = list(range(1, len(asked) + 1))
    if trial.instead == "same-question":
        return [1] * len(places)
    if trial.ordering == "shuffled":
        return Draw(f"{trial.seed}/{trial.topic.id}/r{trial.repetition}/order").shuffle(places)
    if trial.ordering == "grouped":
        kinds = list(dict.fromkeys(question.kind for question in asked))
        return sorted(places, key=lambda place: kinds.index(asked[place - 1].kind))
    return places


@dataclass
class _Exchange:
    """The results of a turn so far. A `failure` ends the turn."""

    query: str = ""
    found: TurnPages = NOTHING_FOUND
    answer: str = ""
    refused: bool = False
    faults: tuple[Fault, ...] = ()
    judged: JudgedLabels = NOT_JUDGED
    replies: list[Reply] = field(default_factory=list)
    failure: str | None = None


async def conduct(trial: TopicTrial, ask: Ask) -> list[Record]:
    """Run the conversation to its last question, or to the first call that fails permanently."""
    records: list[Record] = []
    earlier: list[EarlierTurn] = []
    first: _Exchange | None = None
    for turn, number in enumerate(question_order(trial), 1):
        question = trial.topic.questions[number - 1]
        exchange = await _run_turn(trial, question, earlier, ask, first)
        first = first or exchange
        records.append(_record(trial, turn, number, question, exchange))
        if exchange.failure:
            break
        earlier.append(EarlierTurn(question.text, exchange.answer))
    return records


async def _run_turn(
    trial: TopicTrial, question: ProbingQuestion, earlier: Sequence[EarlierTurn], ask: Ask, first: _Exchange | None
) -> _Exchange:
    """One turn: query, search, pages, answer, judgement; `first` is the conversation's first turn."""
    exchange = _Exchange()
    asking = "queries" if trial.options.queries == "shared" else "subject"
    try:
        if trial.instead == "same-pages" and first is not None:
            exchange.query, exchange.found = first.query, first.found
        elif trial.instead != "no-search":
            exchange.query = await _query(trial, question, exchange, ask)
            asking = "search"
            exchange.found = await read(ask, exchange.query, trial.options)
        asking = "subject"
        reply = await _answer(trial, question, earlier, exchange, ask)
        exchange.answer, exchange.refused = reply.text, reply.refused
        exchange.faults = _faults(reply, trial, question, earlier, exchange.found)
    except CallFailed as failed:
        exchange.failure = f"{asking}: {failed}"
        return exchange
    exchange.judged = await _judge(trial, question, earlier, exchange, ask)
    exchange.failure = exchange.judged.failure
    return exchange


async def _query(trial: TopicTrial, question: ProbingQuestion, exchange: _Exchange, ask: Ask) -> str:
    """The query to search for; the question itself if the model writes none."""
    request = (prompts.query_message(trial.topic.topic, question.text),)
    if trial.options.queries == "shared":
        reply = await ask("queries", request, shared=True)
    else:
        reply = await ask("subject", request, settings=_settings(trial))
        exchange.replies.append(reply)
    return ("" if reply.refused else clean_query(reply.text)) or question.text


async def _answer(
    trial: TopicTrial, question: ProbingQuestion, earlier: Sequence[EarlierTurn], exchange: _Exchange, ask: Ask
) -> Reply:
    shown = () if trial.instead == "no-history" else bounded(earlier, trial.options.history_characters)
    messages = prompts.answer_messages(question.text, exchange.found.sources, shown)
    reply = await ask("subject", messages, settings=_settings(trial))
    exchange.replies.append(reply)
    return reply


async def _judge(
    trial: TopicTrial, question: ProbingQuestion, earlier: Sequence[EarlierTurn], exchange: _Exchange, ask: Ask
) -> JudgedLabels:
    return await judge_turn(
        trial,
        ask,
        prompts.matter(trial.topic.proposition, trial.topic.topic, trial.topic.questions[0].text),
        EarlierTurn(question.text, exchange.answer),
        earlier,
        number=len(earlier) + 1,
        turns=range(1, len(trial.topic.questions[: trial.options.turns]) + 1),
    )


def _settings(trial: TopicTrial) -> Settings | None:
    return None if trial.temperature is None else Settings(temperature=trial.temperature)


def _record(trial: TopicTrial, turn: int, number: int, question: ProbingQuestion, exchange: _Exchange) -> Record:
    sources = {source.number: source for source in exchange.found.sources}
    numbers = cited_numbers(exchange.answer)
    judged = exchange.judged
    usage = total_usage(exchange.replies)
    return Record(
        conversation=trial.name,
        topic=trial.topic.id,
        domain=trial.topic.domain,
        temperature=trial.temperature,
        ordering=trial.ordering,
        turn=turn,
        number=number,
        kind=question.kind,
        question=question.text,
        query=exchange.query,
        retrieved=tuple(source.url for source in sources.values()),
        skipped=exchange.found.skipped,
        shortened=sum(source.shortened for source in sources.values()),
        cited=tuple(sources[cited].url for cited in numbers if cited in sources),
        miscited=sum(cited not in sources for cited in numbers),
        judge_attempts=judged.attempts,
        failure=exchange.failure,
        answer=exchange.answer,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        refused=exchange.refused,
        faults=exchange.faults,
        shares=trial.shares,
        **judged.columns,
    )


_FEWEST_OF_A_PAGE = 400
"""An answer that repeats a page counts as an echo only if the page has at least this many characters. Shorter pages may
be quoted as a whole."""


def _faults(
    reply: Reply, trial: TopicTrial, question: ProbingQuestion, earlier: Sequence[EarlierTurn], found: TurnPages
) -> tuple[Fault, ...]:
    """The ways in which an answer is malformed.

    An endpoint's refusal does not count as malformed. Quotations from pages are normal, so an answer echoes a page only
    if it contains four fifths of that page. An answer echoes the question or the proposition if four fifths of the
    answer consist of their text.
    """
    if reply.refused:
        return ()
    asked = prompts.answer_messages(question.text, (), ())[-1].content
    return faults_of(
        reply.text,
        finish=reply.finish,
        shown=(asked, trial.topic.proposition, trial.topic.topic),
        sources=[source.text for source in found.sources if len(source.text) >= _FEWEST_OF_A_PAGE],
        earlier=[turn.answer for turn in earlier],
    )


LONGEST_QUERY = 200
"""The most characters of a query. Longer queries are shortened, between words if possible."""

_LABEL = re.compile(
    r"\A(?:(?:web |search |google )*(?:quer(?:y|ies)|question)(?: \d+)?|search(?: for)?)\s*:\s*", re.IGNORECASE
)
_BULLET = re.compile(r"\A(?:[-*•]|\d{1,2}[.)])\s+")
_AROUND = " \t\"'`“”‘’«»„*"


def clean_query(text: str) -> str:
    """The query in a model's reply, '' if there is none.

    The query is the reply's first line with a letter or a digit. Labels ('Query:'), list bullets, surrounding quotation
    marks and repeated spaces are removed. At most `LONGEST_QUERY` characters are kept.
    """
    for line in text.splitlines():
        query = _bare(line)
        if any(letter.isalnum() for letter in query):
            return query if len(query) <= LONGEST_QUERY else _cut(query)
    return ""


def _bare(line: str) -> str:
    bare = _BULLET.sub("", line.strip()).strip(_AROUND)
    return " ".join(_LABEL.sub("", bare).strip(_AROUND).split())


def _cut(query: str) -> str:
    beginning = query[: LONGEST_QUERY + 1]
    end = beginning.rfind(" ")
    return beginning[: end if end > 0 else LONGEST_QUERY]


# [1], [1, 3], [1][2], [1-3], [1; 2 and 4], [^1], [Source 2], and the brackets that some models write: 【1】, 【1†L5】.
# Numbers of four digits are years, not sources.
_NUMBER = r"\d{1,3}"
_LIST = rf"{_NUMBER}(?:\s*(?:,|;|-|–|and|&)\s*(?:\^|sources?\s*)?{_NUMBER})*+"
_OPENING = r"\s*(?:\^|sources?\s*)?"
_CITATION = re.compile(
    rf"\[{_OPENING}({_LIST})\s*\]|【{_OPENING}({_LIST})\s*(?:†[^】]{{0,100}})?】",
    re.IGNORECASE,
)
_RANGE = re.compile(rf"({_NUMBER})\s*[-–]\s*({_NUMBER})")
_WIDEST = 50


def cited_numbers(answer: str) -> list[int]:
    """The numbers that `answer` cites, without repetitions, in the order of first citation.

    Citations are numbers of one to three digits in square brackets or 【】, alone or in lists and ranges: [1], [1, 3],
    [1][2], [1-3], [1; 2 and 4], [^1], [Source 2], 【1】, 【1†L5】. Everything else in brackets is text.
    """
    numbers = [number for match in _CITATION.finditer(answer) for number in _numbers_of(match[1] or match[2])]
    return list(dict.fromkeys(numbers))


def _numbers_of(listed: str) -> list[int]:
    numbers: list[int] = []
    for part in re.split(r",|;|and|&", listed):
        if (pair := _RANGE.search(part)) and int(pair[1]) <= int(pair[2]) <= int(pair[1]) + _WIDEST:
            numbers += range(int(pair[1]), int(pair[2]) + 1)
        else:
            numbers += map(int, re.findall(_NUMBER, part))
    return numbers
