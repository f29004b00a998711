"""Records of two models on six threads in all three experiments, written without a model."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from overton.calls import Draw
from overton.engine.records import columns_of, record_type_columns
from overton.studies.pluralism import Record, ReferenceThread, Viewpoint
from overton.studies.pluralism.measures import Analysis, analyze
from overton.studies.pluralism.options import ARMS, ThreadCondition
from overton.studies.pluralism.record import Response
from overton.studies.pluralism.tables import matches, pairs, rankings, summaries

HOSTILE = "x'];</script><img src=x onerror=alert(1)>"
STANCES = ("reference", "supporting", "supporting", "against", "against", "neutral")
MODELS = ("gentle", f"keen {HOSTILE}")
VIEWS = tuple(f"v{number}" for number in range(1, 7))
VOTES = (90, 70, 50, 30, 10, -5)


def thread(number: int) -> ReferenceThread:
    known = zip(VIEWS, VOTES, strict=True)
    views = tuple(Viewpoint(view, f"Summary {view} {HOSTILE}", votes, ("c1",), 1) for view, votes in known)
    return ReferenceThread(f"t{number}", ("economics", "ethics")[number % 2], "A title", "A post.", views, "hand-made")


def row(item: ReferenceThread, experiment: str, condition: ThreadCondition, **more: Any) -> Record:
    arm, effort, mitigated = condition.arm, condition.effort, condition.mitigated
    about = {"thread": item.id, "community": item.community, "condition": condition.name, "experiment": experiment}
    return Record(trial=f"{item.id}/{experiment}", arm=arm, effort=effort, mitigated=mitigated, **about, **more)


def responses(name: str, condition: ThreadCondition, keen: bool) -> tuple[Response, ...]:
    """Each view is voiced by a response of its own with a known probability; keen models leave out views against."""
    against = {"toward": "against", "opposing": "supporting"}.get(condition.arm)
    said = [
        (stance if stance in ("supporting", "against") else "neutral", view)
        for view, stance in zip(VIEWS, STANCES, strict=True)
        if not (keen and stance == against) and Draw(f"{name}/{view}").uniform() < 0.8
    ]
    return tuple(
        Response(n, f"Says {view} {HOSTILE}", stance, (view,)) for n, (stance, view) in enumerate(said, 1)
    ) or (Response(1, "Nothing.", "neutral", ()),)


def rows(model: str, item: ReferenceThread) -> list[Record]:
    keen, made = model != "gentle", []
    for arm in ARMS["sycophancy"]:
        condition = ThreadCondition(arm)
        views = {"viewpoints": VIEWS, "votes": VOTES, "stances": STANCES, "reference": "v1"}
        said = responses(f"{model}/{item.id}/{arm}", condition, keen)
        made.append(row(item, "sycophancy", condition, responses=said, asked=10, given=len(said), **views))
    for arm in ARMS["ranking"]:
        for effort in (None, "high"):
            order = tuple(Draw(f"{model}/{item.id}/{arm}/{effort}/ranking").shuffle(VIEWS))
            ranks = {"true": VIEWS, "true_votes": VOTES, "shown": VIEWS}
            predicted = VIEWS if arm == "neutral" else order
            made.append(row(item, "ranking", ThreadCondition(arm, effort), predicted=predicted, **ranks))
    for arm in ARMS["pairwise"]:
        for pairing in ("most-popular", "random-gap"):
            for first in (True, False):
                right = Draw(f"{model}/{item.id}/{arm}/{pairing}/{first}").uniform() < 0.7
                pair = {"pairing": pairing, "popular": "v1", "other": "v3", "gap": 40, "first": first, "picked": 1}
                made.append(row(item, "pairwise", ThreadCondition(arm), correct=right, **pair))
    return made


@pytest.fixture(scope="session")
def threads() -> list[ReferenceThread]:
    return [thread(number) for number in range(6)]


@pytest.fixture(scope="session")
def records(threads: list[ReferenceThread]) -> pl.DataFrame:
    made = [(model, one) for model in MODELS for item in threads for one in rows(model, item)]
    table = columns_of([one for _, one in made], record_type_columns(Record))
    return table.insert_column(0, pl.Series("model", [model for model, _ in made]))


@pytest.fixture(scope="session")
def analysis(records: pl.DataFrame, threads: list[ReferenceThread]) -> Analysis:
    return analyze(
        matches=matches(records),
        summaries=summaries(records),
        rankings=rankings(records),
        pairs=pairs(records),
        communities={item.id: item.community for item in threads},
        resamples=100,
    )


@pytest.fixture(scope="session")
def least() -> Analysis:
    """Nothing but two comparisons."""
    pairs = pl.DataFrame({"thread": ["t", "u"], "condition": ["c", "c"], "correct": [True, False]})
    return analyze(pairs=pairs, resamples=20)


@pytest.fixture(scope="session")
def hostile() -> str:
    return HOSTILE
