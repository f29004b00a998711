"""The making of topics for the paper's domains (section 3.1; appendix A.1, table 2; appendix A.2).

A model, called the writer, proposes a domain's topics, then writes each topic's questions.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib.resources import files
from typing import Annotated, Any, Literal

import msgspec

from overton.calls import Ask, Trial
from overton.errors import CallFailed, Problem, quoted
from overton.studies.asking import side_by_side
from overton.studies.items import Items
from overton.studies.options import Demands, Option, StudyOptions
from overton.studies.parsing import Notes, ParsedItems, Text, findings_of, unreadable
from overton.studies.stance_stability import prompts
from overton.studies.stance_stability.items import (
    FEWEST_QUESTIONS,
    MOST_QUESTIONS,
    QUESTIONS,
    Belief,
    ProbingQuestion,
    Strength,
    Topic,
)
from overton.studies.stance_stability.topics.writer import Proposal, propose, write_questions
from overton.studies.study import Dataset, Role, Study


class PublishedDomain(msgspec.Struct, frozen=True):
    """A row of table 2: a domain, and its numbers of topics and questions in the paper."""

    name: str
    topics: int
    questions: int


class Domain(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A domain to make topics for; `id` is unique and made of letters, digits and '-'."""

    id: str
    name: str

    @classmethod
    def named(cls, name: str) -> Domain:
        """The domain with an id made from its name."""
        return cls(slug(name), " ".join(name.split()))


def slug(text: str, longest: int = 60) -> str:
    """Turn a text into a part of an id: its words in lower case, joined by '-'.

    The result ends after the last whole word that fits into `longest` characters. Accents are removed. A text without
    any Latin letter or digit becomes 'x'.
    """
    plain = "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
    whole = "-".join(re.findall(r"[a-z0-9]+", plain.lower()))
    cut = whole if len(whole) <= longest else whole[: longest + 1].rpartition("-")[0] or whole[:longest]
    return cut or "x"


_TABLE = files("overton.studies.stance_stability").joinpath("domains.toml").read_text(encoding="utf-8")

PUBLISHED = msgspec.convert(tomllib.loads(_TABLE)["domain"], tuple[PublishedDomain, ...])
"""The twelve domains in the paper's order."""


def _parse(texts: Sequence[Text], reading: Any) -> ParsedItems[Domain]:
    """The domains of text files with one name per line."""
    notes: list[Notes] = []
    domains: dict[str, Domain] = {}
    for text in texts:
        for number, line in text.lines():
            noted = Notes(text.name, f"line {number}")
            notes.append(noted)
            if isinstance(line, Problem):
                noted.problem(line)
            elif (reason := unreadable(line)) is not None:
                noted.error("", reason)
            elif (domain := Domain.named(line)).id in domains:
                noted.error("", f"{quoted(domain.name)} is named twice")
            else:
                domains[domain.id] = domain
    return ParsedItems(list(domains.values()), findings_of(notes))


_DOMAINS = Items(
    Domain,
    "domain",
    "text file of domains that topics are about, one name per line",
    _parse,
    suffixes=(".txt",),
    starter=lambda: [Domain.named(domain.name) for domain in PUBLISHED],
    named=Domain.named,
)
"""The domains for which topics are made."""


_MOST_TOPICS = 1_000

Making = Literal["written", "duplicate", "dropped", "failed", "missing"]


class TopicsOptions(StudyOptions, frozen=True, forbid_unknown_fields=True):
    """The numbers of topics per domain and of questions per topic. The paper has 95 to 104 topics per domain (see
    `PUBLISHED`) and 15 questions per topic."""

    per_domain: Annotated[int, Option("Number of topics in each domain", least=1, most=_MOST_TOPICS, extends=True)] = (
        100
    )
    questions: Annotated[
        int,
        Option(
            "Number of questions for each topic, 30 to 40% of them challenging; 15 in the paper",
            least=FEWEST_QUESTIONS,
            most=MOST_QUESTIONS,
        ),
    ] = QUESTIONS

    def demands(self, named: Mapping[str, Sequence[str]]) -> Demands:
        """A higher token limit for replies with more questions than usual."""
        return Demands(tokens={"writer": _TOKENS_OF_QUESTION * self.questions} if self.questions > QUESTIONS else {})


_TOKENS_OF_QUESTION = 100
"""Output tokens of a question of at most 200 characters, with the JSON around it."""


class DomainTrial(Trial, frozen=True):
    """A trial that makes the topics of one domain."""

    domain: str
    topics: int
    questions: int = QUESTIONS


class MadeTopic(msgspec.Struct, frozen=True):
    """The outcome of one proposed topic.

    trial, domain  the trial's name and the domain
    topic, proposition   as proposed, '' if the row is about the whole domain
    status     'written', 'duplicate' of an earlier topic, 'dropped' if its questions still failed a check after three
                   requests, 'failed' if a call failed, 'missing' if too few topics were proposed
    attempts   number of requests for the topic's questions
    problems   the reasons why it was not written
    id, initial_belief, debate_strength, questions   of the topic that was written
    """

    trial: str
    domain: str
    topic: str
    proposition: str
    status: Making
    attempts: int = 0
    problems: tuple[str, ...] = ()
    id: str = ""
    initial_belief: Belief | None = None
    debate_strength: Strength | None = None
    questions: tuple[ProbingQuestion, ...] = ()


def _trials(domains: Sequence[Domain], options: TopicsOptions, seed: int) -> Iterator[DomainTrial]:
    for domain in domains:
        yield DomainTrial(
            f"{domain.id}/topics",
            domain.id,
            seed,
            domain=domain.name,
            topics=options.per_domain,
            questions=options.questions,
        )


async def _conduct(trial: DomainTrial, ask: Ask) -> list[MadeTopic]:
    """Request the domain's topics, then the questions of all topics in parallel. Each topic has its own speaker."""
    proposed = await propose(ask, trial.domain, trial.topics)
    strands = (_write(ask, trial, number, topic) for number, topic in enumerate(proposed.topics, 1))
    made = _with_ids(trial.item, await side_by_side(strands))
    made += [_row(trial, duplicate, "duplicate") for duplicate in proposed.duplicates]
    if proposed.problem:
        row = _row(trial, Proposal("", ""), "failed" if proposed.failed else "missing")
        made.append(msgspec.structs.replace(row, problems=(proposed.problem,)))
    return made


def _row(trial: DomainTrial, proposal: Proposal, status: Making) -> MadeTopic:
    return MadeTopic(trial.name, trial.domain, proposal.topic, proposal.proposition, status)


async def _write(ask: Ask, trial: DomainTrial, number: int, proposal: Proposal) -> MadeTopic:
    row = _row(trial, proposal, "written")
    try:
        written = await write_questions(ask, f"writer/{number}", proposal.topic, trial.domain, trial.questions)
    except CallFailed as failed:
        return msgspec.structs.replace(row, status="failed", problems=(str(failed),))
    return msgspec.structs.replace(
        row, status="written" if written.questions else "dropped", **msgspec.structs.asdict(written)
    )


def _with_ids(domain: str, made: Sequence[MadeTopic]) -> list[MadeTopic]:
    """The rows, with a unique id for each written topic."""
    taken: set[str] = set()
    rows = []
    for row in made:
        stem = f"{domain}-{slug(row.topic)}"
        numbered = (f"{stem}-{number}" for number in range(2, len(taken) + 3))
        name = next(candidate for candidate in (stem, *numbered) if candidate not in taken)
        taken.add(name)
        rows.append(msgspec.structs.replace(row, id=name) if row.status == "written" else row)
    return rows


def topics_of(records: Iterable[MadeTopic]) -> list[Topic]:
    """The dataset: the topics that were written."""
    return [
        Topic(**{name: getattr(record, name) for name in Topic.__struct_fields__})
        for record in records
        if record.status == "written" and record.initial_belief and record.debate_strength
    ]


def counted(records: Iterable[MadeTopic]) -> dict[str, Counter[Making]]:
    """The number of rows with each status, by domain."""
    counts: dict[str, Counter[Making]] = {}
    for record in records:
        counts.setdefault(record.domain, Counter())[record.status] += 1
    return counts


def _summary(records: Sequence[MadeTopic]) -> Iterator[str]:
    """Lines with the numbers of topics by outcome, and with the reasons why topics are missing."""
    for domain, counts in counted(records).items():
        yield f"{domain}: " + ", ".join(f"{count} {status}" for status, count in counts.items())
    for record in filter(_is_lacking, records):
        yield f"{record.topic or record.domain}: {'; '.join(record.problems)}"


def _is_lacking(record: MadeTopic) -> bool:
    return record.status in ("dropped", "failed", "missing")


STUDY: Study[Domain, TopicsOptions, MadeTopic, None] = Study(
    name="topics",
    title="Topics",
    question="Write contested topics with fifteen checked questions each (Chameleon, appendix A.2).",
    roles=(Role("writer", "Model that proposes topics and writes the questions", flag="model"),),
    items=_DOMAINS,
    dataset=Dataset(
        "topics.jsonl",
        lambda domains, records, options: topics_of(records),
        _summary,
        lambda records: sum(map(_is_lacking, records)),
    ),
    options=TopicsOptions,
    record=MadeTopic,
    kind="makes",
    trials=_trials,
    conduct=_conduct,
    prompts=partial(prompts.texts, "topics", "questions"),
)
"""Topics with questions, one domain per trial; `topics_of` makes the dataset from its records."""
