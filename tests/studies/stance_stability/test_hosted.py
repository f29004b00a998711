"""The study under the engine: trials share calls, and a finished run replays without calls."""

from __future__ import annotations

import asyncio
import dataclasses
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.runs.starting import resume_run, start_run

from overton.calls import Reply, Request
from overton.errors import RejectedError
from overton.runs import answerers, dry_run
from overton.runs.answerers import ModelRequest
from overton.runs.experiment import Experiment
from overton.runs.run import Run
from overton.studies.stance_stability import STUDY, Options
from overton.studies.stance_stability.simulated import Chameleon, StanceJudge
from overton.studies.study import AnyStudy


class Web:
    """A search engine or a page fetcher that is quick with some requests and slow with others; an `Answerer`."""

    holds_form = False

    def __init__(self, name: str, reply: Callable[[str], str], asked: Counter[str]) -> None:
        self.name = self.identity = name
        self._reply = reply
        self._asked = asked

    async def answer(self, request: Request) -> Reply:
        (message,) = request.messages
        self._asked[f"{self.name} {message.content}"] += 1
        await asyncio.sleep(len(message.content) % 3 / 1_000)
        if message.content.endswith("/2"):
            raise RejectedError("too long", "this page is too long")
        return Reply(self._reply(message.content))

    async def close(self) -> None:
        pass


@pytest.fixture
def asked() -> Counter[str]:
    return Counter()


@pytest.fixture
def study(kit: Any, asked: Counter[str]) -> AnyStudy:
    """The study with a web of its own: a query finds three pages on a site of its last word and one known to all."""

    def found(query: str) -> str:
        urls = [f"https://{query.rsplit(maxsplit=1)[-1]}.example/{number}" for number in range(3)]
        return str(kit.hits("https://known.example/", *urls))

    def simulated(items: Any, name: str, arguments: Any) -> Any:
        made = {
            "search": lambda: Web("search", found, asked),
            "pages": lambda: Web("pages", kit.page, asked),
            "judge": StanceJudge,
        }
        return made[name]() if name in made else Chameleon(f"simulated/{name}")

    return dataclasses.replace(
        STUDY,
        simulated=dict.fromkeys(("search", "pages", "judge", "chameleon", "chameleon/NAME"), simulated),
        roles=tuple(dataclasses.replace(role, retrieves="") for role in STUDY.roles),
    )


def wanted(*subjects: str, **more: str) -> dict[str, list[ModelRequest]]:
    roles = {"judge": "judge", "search": "search", "pages": "pages", **more}
    others = {role: [ModelRequest(f"simulated/{name}")] for role, name in roles.items()}
    return {"subject": [ModelRequest(f"simulated/{name}") for name in subjects], **others}


def test_a_run_is_recorded_and_replays_as_it_was_without_asking(
    study: AnyStudy, topic: Any, asked: Counter[str], tmp_path: Path
) -> None:
    items = [topic("buses", 4), topic("trams", 4)]
    options = Options(temperatures=(0.0, 1.0), judge_prompts="both")
    manifest = start_run(Experiment(study, items, options), wanted("chameleon"), tmp_path / "run")
    run = Run(tmp_path / "run", manifest)
    assert run.finished
    assert run.failed == 2  # the page on each topic's site that is too long
    records = run.records()
    assert records.height == 2 * 2 * 4
    assert records["failure"].null_count() == records.height
    assert records["stance"].null_count() == 0
    assert {len(retrieved) for retrieved in records["retrieved"]} == {3}
    assert all(skipped[0].endswith("/2 (too long)") for skipped in records["skipped"])
    # Both temperatures write the same queries here, and search and read once.
    assert set(asked.values()) == {1}
    before = sum(asked.values())
    resume_run(study, run.path)
    assert run.records().equals(records)
    assert sum(asked.values()) == before


def test_one_judge_serves_several_models(study: AnyStudy, topic: Any, tmp_path: Path) -> None:
    manifest = start_run(
        Experiment(study, [topic("buses", 4)], Options()), wanted("chameleon/a", "chameleon/b"), tmp_path / "run"
    )
    run = Run(tmp_path / "run", manifest)
    records = run.records()
    assert sorted(set(records["model"])) == ["simulated/chameleon/a", "simulated/chameleon/b"]
    resume_run(study, run.path)
    assert run.records().equals(records)


def test_shared_queries_are_written_once_for_all_models_and_temperatures(
    study: AnyStudy, topic: Any, asked: Counter[str], tmp_path: Path
) -> None:
    options = Options(temperatures=(0.0, 1.0), queries="shared")
    named = wanted("chameleon/a", "chameleon/b", queries="chameleon/q")
    manifest = start_run(Experiment(study, [topic("buses", 3)], options), named, tmp_path / "run")
    # 12 turns are answered and judged; 3 queries, 3 searches and their pages are called once.
    pages = sum(count for what, count in asked.items() if what.startswith("pages"))
    assert manifest.spent.requests == 12 + 12 + 3 + 3 + pages


@pytest.mark.parametrize(("queries", "written"), [("own", []), ("shared", [("queries", 3, 3)])])
def test_a_plan_counts_the_calls_of_each_role(topic: Any, queries: Any, written: list[Any]) -> None:
    """Shared queries once for all models and temperatures, searches and pages as if none were."""
    names = {"judge": "simulated/stance-judge", "search": "starter", "pages": "starter"}
    names |= {"queries": "simulated/chameleon/q"} if written else {}
    specs = {role: [ModelRequest(name)] for role, name in names.items()}
    subjects = [ModelRequest(f"simulated/chameleon/{name}") for name in "ab"]
    models = answerers.open_models(STUDY, [], {"subject": subjects, **specs}, 0)
    options = Options(temperatures=(0.0, 1.0), pages_per_turn=4, queries=queries)
    plan = dry_run.plan(Experiment(STUDY, [topic("buses", 3)], options), models)
    own = 6 if written else 12
    assert [(one.role, one.calls, one.calls_at_most) for one in plan.models] == [
        ("subject", own, own),
        ("subject", own, own),
        ("judge", 12, 36),
        ("search", 12, 12),
        ("pages", 48, 48),
        *written,
    ]
    assert [one.role for one in plan.models if one.retrieves] == ["search", "pages"]
