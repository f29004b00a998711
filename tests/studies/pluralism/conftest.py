"""Threads, an `Ask` that plays scripts or simulated answerers without an engine, and tables and records by hand."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import polars as pl
import pytest

from overton.calls import Draw, Form, Message, Question, Reply, Request, Settings, Usage
from overton.engine.records import columns_of, record_type_columns
from overton.errors import CallFailed
from overton.studies.frame import Analysis
from overton.studies.pluralism import Options, Record, ReferenceThread, Viewpoint
from overton.studies.pluralism.measures import STUDY_MEASURES, analyze
from overton.studies.pluralism.options import ARMS, ThreadCondition
from overton.studies.pluralism.protocol import ThreadTrial, conduct, trials
from overton.studies.pluralism.record import Response


@dataclass
class Asked:
    """One thing that was asked."""

    role: str
    messages: tuple[Message, ...]
    form: Form | None
    settings: Settings | None
    shared: bool

    @property
    def text(self) -> str:
        return self.messages[-1].content

    @property
    def about(self) -> str:
        """The subject of the judge's request: 'summaries', 'belief', 'stance', 'entailed', or 'pair'."""
        keys = list(self.form.schema["properties"]) if self.form and self.form.schema else ["pair"]
        return "summaries" if keys[0].isdigit() else keys[0]

    @property
    def judged(self) -> str:
        """The response in the judge's prompt."""
        return self.messages[1].content.rpartition("<response>")[2].partition("</response>")[0].strip()


Line = str | Reply | Exception
Script = Sequence[Line] | Callable[[Asked], Any]


@dataclass
class Stage:
    """An `Ask` that plays a script by role, or for the judge by the subject of the request ('stance', 'entailed', ...).

    A script is lines in their order, the last again and again, or a function of the ask. A line is a reply's text, a
    reply, or an error to raise. Shared calls with the same content are made once. All requests are in `asked`.
    """

    script: Mapping[str, Script]
    asked: list[Asked] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    known: dict[tuple[Message, ...], Reply] = field(default_factory=dict)

    async def __call__(
        self,
        role: str,
        messages: Sequence[Message],
        *,
        speaker: str | None = None,
        form: Form | None = None,
        settings: Settings | None = None,
        shared: bool = False,
    ) -> Reply:
        one = Asked(role, tuple(messages), form, settings, shared)
        if shared and one.messages in self.known:
            return self.known[one.messages]
        self.asked.append(one)
        number = len(self.asked)
        what = one.about if role == "judge" and one.about in self.script else role
        script, turn = self.script[what], self.counts[what]
        self.counts[what] += 1
        await asyncio.sleep(0)
        line = script(one) if callable(script) else script[min(turn, len(script) - 1)]
        if hasattr(line, "answer"):
            line = await line.answer(Request(one.messages, settings or Settings(), form, number))
        if isinstance(line, Exception):
            raise line
        reply = line if isinstance(line, Reply) else Reply(line, usage=Usage(10, 2))
        if shared:
            self.known[one.messages] = reply
        return reply

    async def all(self, questions: Sequence[Question]) -> list[Reply]:
        asking = [
            self(q.role, q.messages, speaker=q.speaker, form=q.form, settings=q.settings, shared=q.shared)
            for q in questions
        ]
        return list(await asyncio.gather(*asking))

    def by(self, what: str) -> list[Asked]:
        """The requests to a role, or to the judge about something."""
        return [one for one in self.asked if what in (one.role, one.about if one.role == "judge" else "")]


def numbered(*texts: str) -> str:
    return "\n\n".join(f"{number}. {text}" for number, text in enumerate(texts, 1))


def stances(asked: Asked) -> str:
    """Odd places support odd ones and oppose even ones."""
    reference = asked.messages[1].content.partition("<reference_opinion>")[2].partition("</reference_opinion>")[0]
    side = int(reference.strip().rsplit(maxsplit=1)[-1].rstrip(".")) % 2
    assert asked.form is not None
    assert asked.form.schema is not None
    places = asked.form.schema["properties"]
    labels = {place: "supporting" if int(place) % 2 == side else "against" for place in places}
    return msgspec.json.encode(labels).decode()


@dataclass(frozen=True)
class Kit:
    """Builders for tests of this study."""

    stage: type[Stage] = Stage
    numbered: Callable[..., str] = numbered
    stances: Callable[[Asked], str] = stances

    def script(self, **changed: Script) -> dict[str, Script]:
        """All goes well: three responses, all supporting, each entailing the first viewpoint."""
        return {
            "subject": [numbered("Yes.", "Of course.", "Why not?")],
            "summaries": stances,
            "belief": ['{"belief": "I think so too."}'],
            "stance": ['{"stance": "supporting"}'],
            "entailed": ['{"entailed": [1]}'],
            "pair": ["no"],
            **changed,
        }

    async def conduct(self, trial: ThreadTrial, stage: Stage) -> Record:
        (record,) = await conduct(trial, stage)
        assert isinstance(record, Record)
        return record

    def table(self, records: Sequence[Record], model: str | None = None) -> pl.DataFrame:
        """The records as a run has them."""
        table = columns_of(list(records), record_type_columns(Record))
        return table if model is None else table.select(pl.lit(model).alias("model"), pl.all())


@pytest.fixture(scope="session")
def kit() -> Kit:
    return Kit()


@pytest.fixture(scope="session")
def thread() -> Callable[..., ReferenceThread]:
    """A thread with this many viewpoints v1, v2, ..., each with ten votes fewer than the one before."""

    def make(name: str = "buses", viewpoints: int = 6, votes: Sequence[int] | None = None) -> ReferenceThread:
        counts = [10 * (viewpoints - place) for place in range(viewpoints)] if votes is None else votes
        return ReferenceThread(
            id=name,
            community="everyday",
            title=f"Should {name} be free?",
            text=f"They are empty at night, and I drive {name}.",
            viewpoints=tuple(
                Viewpoint(f"v{place}", f"About {name} one can think thing number {place}.", count, ("c1",), 1)
                for place, count in enumerate(counts, 1)
            ),
            method="hand-made",
        )

    return make


@pytest.fixture(scope="session")
def trial(thread: Callable[..., ReferenceThread]) -> Callable[..., ThreadTrial]:
    """The first trial of one experiment and arm: `trial('ranking', 'biased', thread, **options)`.

    By default, viewpoints appear as given, and the judge does not label again.
    """

    def make(experiment: str, arm: str, about: ReferenceThread | None = None, **options: Any) -> ThreadTrial:
        plainly = {"shown": "given", "retest": 0.0} | options
        chosen = Options(experiments=(experiment,), arms=(arm,), **plainly)  # type: ignore[arg-type]
        return next(trials([about or thread()], chosen, 5))

    return make


@pytest.fixture
def failed() -> CallFailed:
    return CallFailed("rate limit", "too many requests")


SIDES = {"s": "supporting", "a": "against", "n": "neutral", "r": "reference", "?": None}
Table = Callable[..., pl.DataFrame]


@pytest.fixture
def responses() -> Table:
    """Rows of matches, with each response as 's v1 v2' (its stance, then its matches). '?' marks an unknown stance, and
    '-' replaces matches if the matcher gave no usable answer."""

    def make(thread: str, condition: str, *said: str, **more: Any) -> pl.DataFrame:
        rows = []
        for number, text in enumerate(said, 1):
            stance, *matched = text.split()
            rows.append(
                {
                    "thread": thread,
                    "condition": condition,
                    "response": number,
                    "stance": SIDES[stance],
                    "matched": None if matched == ["-"] else matched,
                    **more,
                }
            )
        return pl.DataFrame(rows, schema_overrides={"matched": pl.List(pl.String), "stance": pl.String})

    return make


@pytest.fixture
def viewpoints() -> Table:
    """Rows of summaries: 'r100 s50 a-3' is v1, the reference, with 100 votes, and so on."""

    def make(thread: str, said: str, **more: Any) -> pl.DataFrame:
        rows = [
            {"thread": thread, "summary": f"v{number}", "stance": SIDES[one[0]], "votes": int(one[1:]), **more}
            for number, one in enumerate(said.split(), 1)
        ]
        return pl.DataFrame(rows, schema_overrides={"stance": pl.String})

    return make


@pytest.fixture
def ranked() -> Table:
    """One row of rankings: viewpoints as words."""

    def make(thread: str, condition: str, predicted: str | None, true: str, **more: Any) -> pl.DataFrame:
        row = {
            "thread": thread,
            "condition": condition,
            "predicted": None if predicted is None else predicted.split(),
            "true": true.split(),
            **more,
        }
        return pl.DataFrame([row], schema_overrides={"predicted": pl.List(pl.String)})

    return make


HOSTILE = "x'];</script><img src=x onerror=alert(1)>"
STANCES_OF_VIEWS = ("reference", "supporting", "supporting", "against", "against", "neutral")
MODELS = ("gentle", f"keen {HOSTILE}")
VIEWS = tuple(f"v{number}" for number in range(1, 7))
VOTES = (90, 70, 50, 30, 10, -5)


def _thread(number: int) -> ReferenceThread:
    known = zip(VIEWS, VOTES, strict=True)
    views = tuple(Viewpoint(view, f"Summary {view} {HOSTILE}", votes, ("c1",), 1) for view, votes in known)
    return ReferenceThread(f"t{number}", ("economics", "ethics")[number % 2], "A title", "A post.", views, "hand-made")


def _row(item: ReferenceThread, experiment: str, condition: ThreadCondition, **more: Any) -> Record:
    arm, effort, mitigated = condition.arm, condition.effort, condition.mitigated
    about = {"thread": item.id, "community": item.community, "condition": condition.name, "experiment": experiment}
    return Record(trial=f"{item.id}/{experiment}", arm=arm, effort=effort, mitigated=mitigated, **about, **more)


def _responses(name: str, condition: ThreadCondition, keen: bool) -> tuple[Response, ...]:
    """Each view is voiced by a response of its own with a known probability; keen models leave out views against."""
    against = {"toward": "against", "opposing": "supporting"}.get(condition.arm)
    said = [
        (stance if stance in ("supporting", "against") else "neutral", view)
        for view, stance in zip(VIEWS, STANCES_OF_VIEWS, strict=True)
        if not (keen and stance == against) and Draw(f"{name}/{view}").uniform() < 0.8
    ]
    return tuple(
        Response(n, f"Says {view} {HOSTILE}", stance, (view,)) for n, (stance, view) in enumerate(said, 1)
    ) or (Response(1, "Nothing.", "neutral", ()),)


def _rows(model: str, item: ReferenceThread) -> list[Record]:
    keen, made = model != "gentle", []
    for arm in ARMS["sycophancy"]:
        condition = ThreadCondition(arm)
        views = {"viewpoints": VIEWS, "votes": VOTES, "stances": STANCES_OF_VIEWS, "reference": "v1"}
        said = _responses(f"{model}/{item.id}/{arm}", condition, keen)
        made.append(_row(item, "sycophancy", condition, responses=said, asked=10, given=len(said), **views))
    for arm in ARMS["ranking"]:
        for effort in (None, "high"):
            order = tuple(Draw(f"{model}/{item.id}/{arm}/{effort}/ranking").shuffle(VIEWS))
            ranks = {"true": VIEWS, "true_votes": VOTES, "shown": VIEWS}
            predicted = VIEWS if arm == "neutral" else order
            made.append(_row(item, "ranking", ThreadCondition(arm, effort), predicted=predicted, **ranks))
    for arm in ARMS["pairwise"]:
        for pairing in ("most-popular", "random-gap"):
            for first in (True, False):
                right = Draw(f"{model}/{item.id}/{arm}/{pairing}/{first}").uniform() < 0.7
                pair = {"pairing": pairing, "popular": "v1", "other": "v3", "gap": 40, "first": first, "picked": 1}
                made.append(_row(item, "pairwise", ThreadCondition(arm), correct=right, **pair))
    return made


@pytest.fixture(scope="session")
def threads() -> list[ReferenceThread]:
    return [_thread(number) for number in range(6)]


@pytest.fixture(scope="session")
def records(threads: list[ReferenceThread]) -> pl.DataFrame:
    made = [(model, one) for model in MODELS for item in threads for one in _rows(model, item)]
    table = columns_of([one for _, one in made], record_type_columns(Record))
    return table.insert_column(0, pl.Series("model", [model for model, _ in made]))


@pytest.fixture(scope="session")
def analysis(records: pl.DataFrame, threads: list[ReferenceThread]) -> Analysis:
    """Of two models on six threads in all three experiments."""
    return STUDY_MEASURES.analyze_records(records, items=threads, resamples=100)


@pytest.fixture(scope="session")
def least() -> Analysis:
    """Nothing but two comparisons."""
    pairs = pl.DataFrame({"thread": ["t", "u"], "condition": ["c", "c"], "correct": [True, False]})
    return analyze(pairs=pairs, resamples=20)


@pytest.fixture(scope="session")
def hostile() -> str:
    return HOSTILE
