"""One protocol, two hosts: the same seed gives the same requests, and the same replies give the same records and
measures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import polars as pl
import pytest
from aiohttp import web

import overton
from overton.engine.records import columns_of, record_type_columns
from overton.inspect.log_format import KEY, TaskData
from overton.inspect.scores import figures_of_study
from overton.runs.items import read_items
from overton.runs.temperature_probe import PROBE
from overton.studies.registry import study_named

SEED = 5
JUDGES = ("judge", "values")
DILEMMAS = [dilemma.id for dilemma in read_items(study_named("deliberation"))[:2]]
ISSUES = [issue.id for issue in read_items(study_named("open-mindedness"))[:2]]


@dataclass
class Case:
    """A study, set up identically for both hosts."""

    study: str
    options: dict[str, Any]
    only: Sequence[str]
    models: Sequence[str] = ("m",)
    roles: dict[str, str] = field(default_factory=dict)
    task: dict[str, Any] = field(default_factory=dict)
    others: dict[str, list[str]] = field(default_factory=dict)


CASES = (
    Case("open-mindedness", {"trials": 1}, ISSUES, task={"trials": 1}),
    Case(
        "stance-stability",
        {"temperatures": [0.0, None], "turns": 3, "retest": 0.5},
        ["nutrition-low-carbohydrate-first", "education-policy-school-phones"],
        roles={"judge": "judge"},
        task={"temperatures": [0, "own"], "turns": 3, "search": "starter", "retest": 0.5},
        others={"search": ["starter"]},
    ),
    Case(
        "even-handedness",
        {"nulls": 1.0, "retest": 0.5},
        ["japan-surnames-story", "mexico-elected-judges-essay"],
        roles={"judge": "judge"},
        task={"nulls": 1.0, "retest": 0.5},
    ),
    Case(
        "pluralism",
        {"responses": 3, "ranked": 5},
        ["free-buses", "the-top-note"],
        roles={"judge": "judge"},
        task={"responses": 3, "ranked": 5},
    ),
    Case(
        "deliberation",
        {"formats": ["synchronous", "round-robin"], "rounds": 3},
        DILEMMAS,
        models=("m", "n", "m"),
        roles={"agent_2": "n", "values_judge": "values"},
        task={"formats": ["synchronous", "round-robin"], "rounds": 3},
    ),
)


def sent(asked: Sequence[Any]) -> Counter[tuple[Any, ...]]:
    return Counter((one.model, one.seed, one.temperature, *one.messages) for one in asked)


def probes(asked: Sequence[Any]) -> list[Any]:
    """Requests that find out whether a judge accepts a temperature."""
    return [one for one in asked if one.prompt == PROBE[0].content]


def rows(table: pl.DataFrame) -> list[str]:
    return sorted(table.write_ndjson().splitlines())


def records_of(study: str, log: Any) -> pl.DataFrame:
    """The records in a log's scores, as in a run, except for its labels."""
    kind = study_named(study).record
    rows = [
        msgspec.convert(record, kind)
        for sample in log.samples
        for score in sample.scores.values()
        for record in score.metadata["records"]
    ]
    return columns_of(rows, record_type_columns(kind))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.study)
def test_requests_records_and_measures_are_those_of_our_own_engine(
    case: Case, talking: Any, evaluate: Any, told: Any, tmp_path: Any
) -> None:
    from inspect_ai.model import GenerateConfig, get_model

    task = case.study.replace("-", "_")
    roles = {
        role: get_model(
            f"openai-api/local/{name}", base_url=talking.url, config=GenerateConfig(seed=SEED), memoize=False
        )
        for role, name in case.roles.items()
    }
    anyway = case.study == "deliberation"  # its verdicts here are not in the form that is asked for
    log = evaluate(task, model_roles=roles, task_args=case.task | {"only": list(case.only), "anyway": anyway})
    assert log.status == "success", log.error
    asked = sent(talking.asked)
    talking.asked.clear()

    specs = [f"inspect/openai-api/local/{name}" for name in case.models]
    others = {  # by their text, as in Inspect
        role: [f"inspect/openai-api/local/{name}"] for role, name in case.roles.items() if not role.startswith("agent")
    }
    named = {*specs, *(spec for found in others.values() for spec in found)}
    run = overton.run(
        case.study,
        models=specs,
        others=case.others,
        only=case.only,
        out=tmp_path / "run",
        model_args={spec: {"seed": str(SEED), "base_url": talking.url} for spec in named},
        anyway=anyway,
        **others,
        **case.options,
    )
    assert run.finished
    assert {one.model for one in probes(talking.asked)} == {name for name in case.roles.values() if name in JUDGES}
    assert sent(talking.asked) == asked
    assert {heat for name, _, heat, *_ in asked if name in JUDGES} <= {0}

    own = run.records()
    records = records_of(case.study, log)
    assert records.height
    assert rows(records) == rows(own.select(records.columns))
    found = told(log)
    own_figures = figures_of_study(case.study, own.select(records.columns), specs)
    assert found == pytest.approx({one.name: one.estimate.value for one in own_figures})
    data = msgspec.convert(log.eval.metadata[KEY], TaskData)
    assert msgspec.json.encode(data.options) == msgspec.json.encode(run.manifest.options)
    assert data.prompts == run.manifest.prompts
    for role, entries in run.manifest.models.items():
        then = [(entry.spec, entry.identity, entry.settings, entry.family) for entry in data.models[role]]
        assert then == [(entry.spec, entry.identity, entry.settings, entry.family) for entry in entries]


def test_a_judge_that_takes_no_temperature_is_asked_without_one_and_a_run_of_the_log_knows_it(
    talking: Any, evaluate: Any, tmp_path: Any
) -> None:
    from inspect_ai.model import get_model

    answer, refused = talking.behave, []

    async def behave(asked: Any) -> Any:
        body = msgspec.json.decode(await asked.request.read())
        if asked.model == "judge" and "temperature" in body:
            refused.append(asked.prompt)
            return web.json_response({"error": {"message": "'temperature' does not support 0 here"}}, status=400)
        return await answer(asked)

    talking.behave = behave
    judge = get_model("openai-api/local/judge", base_url=talking.url, memoize=False)
    small = {"responses": 3, "ranked": 5, "only": ["free-buses", "the-top-note"]}
    log = evaluate("pluralism", model_roles={"judge": judge}, task_args=small)
    assert log.status == "success", log.error
    assert refused == [PROBE[0].content]
    run = overton.import_logs([log.location], out=tmp_path / "run")
    (entry,) = run.manifest.models["judge"]
    assert (entry.settings.temperature, entry.unsure, entry.not_sent) == (None, False, ("temperature",))
    assert rows(run.records().drop("model", "held")) == rows(records_of("pluralism", log))
    asked = len(talking.asked)
    assert overton.resume(run.path, trust=True).finished
    assert len(talking.asked) == asked


def test_a_log_goes_on_as_a_run_of_our_own_engine(talking: Any, evaluate: Any, tmp_path: Any) -> None:
    small = {"trials": 1, "templates": [1], "conditions": ["baseline", "balanced"], "only": ISSUES[:1]}
    log = evaluate("open_mindedness", task_args=small, temperature=0.5)
    run = overton.import_logs([log.location], out=tmp_path / "run")
    assert rows(run.records().drop("model", "held")) == rows(records_of("open-mindedness", log))
    asked = len(talking.asked)
    extended = overton.extend(run.path, trust=True, trials=2)
    assert extended.finished
    assert len(talking.asked) == 2 * asked
    assert extended.records().height == 2 * asked
