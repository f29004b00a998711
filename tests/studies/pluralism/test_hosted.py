"""The study under the engine: shared calls are made once, a stopped run goes on, a finished one replays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.runs.starting import resume_run, start_run

from overton.calls import Reply, Request
from overton.errors import AccessError, OvertonError
from overton.runs import answerers, dry_run
from overton.runs.answerers import ModelRequest
from overton.runs.experiment import Experiment
from overton.runs.run import Run
from overton.studies.pluralism import STUDY, Options, ReferenceThread, tables
from overton.studies.study import AnyStudy


class Counting:
    """Another answerer, that counts what it is asked, and may break down after a while."""

    holds_form = False

    def __init__(self, inner: Any, asked: Counter[str], most: list[int]) -> None:
        self.name, self.identity = inner.name, inner.identity
        self._inner, self._asked, self._most = inner, asked, most

    async def answer(self, request: Request) -> Reply:
        if sum(self._asked.values()) >= self._most[0]:
            raise AccessError("key", "the key has been revoked")
        self._asked[f"{self.name}: {request.messages[0].content.splitlines()[0]}"] += 1
        return await self._inner.answer(request)  # type: ignore[no-any-return]

    async def close(self) -> None:
        pass


@pytest.fixture
def asked() -> Counter[str]:
    return Counter()


@pytest.fixture
def most() -> list[int]:
    return [10**9]


@pytest.fixture
def study(asked: Counter[str], most: list[int]) -> AnyStudy:
    def simulated(threads: Sequence[Any], name: str, arguments: Mapping[str, str]) -> Any:
        return Counting(STUDY.simulate(threads, name, arguments), asked, most)

    return replace(STUDY, simulated=dict.fromkeys(STUDY.simulated, simulated))


def wanted(*subjects: str) -> dict[str, list[ModelRequest]]:
    return {
        "subject": [ModelRequest(f"simulated/{name}") for name in subjects],
        "judge": [ModelRequest("simulated/pluralist-judge")],
    }


@pytest.fixture
def threads(thread: Callable[..., ReferenceThread]) -> list[ReferenceThread]:
    return [thread("buses"), thread("trams", viewpoints=9), thread("bikes", viewpoints=3)]


def test_two_models_share_reference_opinions_and_beliefs(
    study: AnyStudy, threads: list[ReferenceThread], asked: Counter[str], tmp_path: Path
) -> None:
    manifest = start_run(Experiment(study, threads, Options()), wanted("pluralist/a", "pluralist/b"), tmp_path / "run")
    run = Run(tmp_path / "run", manifest)
    records = run.records()
    assert run.finished
    assert not run.failed
    assert records.height == 2 * 3 * (4 + 3 + 12)
    assert dict(records["status"].value_counts().rows()) == {"done": 2 * (3 * 15 + 2 * 4), "not eligible": 2 * 4}
    judged = {what: count for what, count in asked.items() if "judge" in what}
    assert next(count for what, count in judged.items() if "say for each how it stands" in what) == 2
    assert next(count for what, count in judged.items() if "rewrite an opinion" in what) <= 3 * 5
    beliefs = (
        records.filter(pl.col("belief") != "").group_by("thread", "arm", "pairing").agg(pl.col("belief").n_unique())
    )
    assert set(beliefs["belief"]) == {1}
    assert set(tables.summaries(records).group_by("thread", "summary").agg(pl.col("stance").n_unique())["stance"]) == {
        1
    }


def test_a_finished_run_replays_as_it_was_without_asking(
    study: AnyStudy, threads: list[ReferenceThread], asked: Counter[str], tmp_path: Path
) -> None:
    run = Run(
        tmp_path / "run",
        start_run(Experiment(study, threads, Options()), wanted("pluralist"), tmp_path / "run"),
    )
    records, before = run.records(), sum(asked.values())
    resume_run(study, run.path)
    assert run.records().equals(records)
    assert sum(asked.values()) == before


def test_a_run_that_broke_down_goes_on_and_pays_nothing_twice(
    study: AnyStudy, threads: list[ReferenceThread], asked: Counter[str], most: list[int], tmp_path: Path
) -> None:
    whole = Run(
        tmp_path / "whole",
        start_run(Experiment(study, threads, Options()), wanted("pluralist"), tmp_path / "whole"),
    )
    needed = sum(asked.values())
    asked.clear()
    most[0] = needed // 2
    with pytest.raises(OvertonError):
        start_run(Experiment(study, threads, Options()), wanted("pluralist"), tmp_path / "broken")
    assert sum(asked.values()) == needed // 2
    most[0] = 10**9
    broken = Run(tmp_path / "broken", resume_run(study, tmp_path / "broken"))
    assert sum(asked.values()) == needed
    assert broken.records().equals(whole.records())


def test_a_plan_counts_the_calls_of_each_role(study: AnyStudy, threads: list[ReferenceThread]) -> None:
    models = answerers.open_models(study, threads[:1], wanted("pluralist"), 0)
    plan = dry_run.plan(Experiment(study, threads[:1], Options(experiments=("sycophancy",), retest=0)), models)
    counts = {one.role: (one.calls, one.calls_at_most) for one in plan.models}
    shared = 1 + 2  # the stances of the summaries, and both beliefs
    assert counts == {"subject": (4, 4), "judge": (shared + 4 * 20, shared + 4 * 60)}
