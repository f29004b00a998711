"""System prompts under both hosts: the same requests, the text once and first, and never to a judge."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import msgspec
import pytest

import overton
from overton.inspect.scores import figures_of_records
from overton.runs.temperature_probe import PROBE

from .test_same_as_local import CASES, JUDGES, SEED, Case

TEXT = "You write for a small-town newspaper.\n\nAnswer in its style."
SMALL = {
    "open-mindedness": {"conditions": ["balanced"]},
    "stance-stability": {"temperatures": [0.0], "retest": 0.0},
    "pluralism": {"experiments": ["sycophancy"]},
    "deliberation": {"formats": ["synchronous"]},
}


def small(case: Case) -> Case:
    """The case with one item and few conditions: its task's parameters are its options."""
    options = case.options | SMALL.get(case.study, {})
    return replace(case, only=case.only[:1], options=options, task=case.task | SMALL.get(case.study, {}))


def conversations(asked: list[Any]) -> Counter[Any]:
    return Counter((request.model, request.seed, *request.messages) for request in asked)


def by_prompt(asked: list[Any]) -> tuple[list[Any], list[Any]]:
    """The conversations with models that are measured, without the text and with it."""
    own = [request.messages for request in asked if request.model not in JUDGES and request.prompt != PROBE[0].content]
    return [said for said in own if TEXT not in said[0][1]], [said for said in own if TEXT in said[0][1]]


@pytest.mark.parametrize("case", [small(case) for case in CASES], ids=lambda case: case.study)
def test_both_hosts_send_a_system_prompt_once_and_first_and_measure_the_same(
    case: Case, talking: Any, evaluate: Any, told: Any, tmp_path: Any
) -> None:
    from inspect_ai.model import GenerateConfig, get_model

    roles = {
        role: get_model(
            f"openai-api/local/{name}", base_url=talking.url, config=GenerateConfig(seed=SEED), memoize=False
        )
        for role, name in case.roles.items()
    }
    anyway = case.study == "deliberation"  # its verdicts here are not in the form that is asked for
    given = case.task | {"only": list(case.only), "systems": [TEXT], "anyway": anyway}
    log = evaluate(case.study.replace("-", "_"), model_roles=roles, task_args=given)
    assert log.status == "success", log.error
    asked = conversations(talking.asked)
    talking.asked.clear()

    specs = [f"inspect/openai-api/local/{name}" for name in case.models]
    others = {
        role: [f"inspect/openai-api/local/{name}"] for role, name in case.roles.items() if not role.startswith("agent")
    }
    run = overton.run(
        case.study,
        models=specs,
        only=case.only,
        out=tmp_path / "run",
        model_args={
            spec: {"seed": str(SEED), "base_url": talking.url}
            for spec in {*specs, *(spec for found in others.values() for spec in found)}
        },
        systems=(TEXT,),
        anyway=anyway,
        **others,
        **(case.options | {role: found[0] for role, found in case.others.items()}),
    )
    assert run.finished
    assert conversations(talking.asked) == asked

    plain, prompted = by_prompt(talking.asked)
    assert plain
    assert prompted
    first = {said[0][1] for said in plain if said[0][0] == "system"}
    for said in prompted:
        assert sum(content.count(TEXT) for _, content in said) == 1
        (role, content), *_ = said
        assert role == "system"
        rest = content.removeprefix(TEXT)
        assert not rest or (rest.startswith("\n\n") and rest[2:] in first)
    assert any(said[0][1] != TEXT for said in prompted) == bool(first)
    judged = [request for request in talking.asked if request.model in JUDGES]
    assert not any(TEXT in content for request in judged for _, content in request.messages if content != TEXT)

    imported = overton.import_logs([log.location], out=tmp_path / "imported")
    assert imported.records().equals(run.records())
    assert msgspec.to_builtins(imported.options) == msgspec.to_builtins(run.options)


def test_an_eval_has_a_figure_for_each_system_prompt(talking: Any, evaluate: Any, told: Any) -> None:
    case = small(CASES[0])
    log = evaluate("open_mindedness", task_args={"trials": 1, "only": list(case.only), "systems": [TEXT, "Be brief."]})
    assert log.status == "success", log.error
    found = told(log)
    names = {name for name in found if not name.endswith(("_system_1", "_system_2"))}
    assert names
    assert found.keys() == {name + suffix for name in names for suffix in ("", "_system_1", "_system_2")}
    records = [
        record for sample in log.samples for score in sample.scores.values() for record in score.metadata["records"]
    ]
    own = [record for record in records if record["trial"].startswith("system-2/")]
    plain = [record | {"trial": record["trial"].removeprefix("system-2/")} for record in own]
    alone = figures_of_records("open-mindedness", plain, ["inspect/openai-api/local/m"])
    assert {f"{name}_system_2": value for name, value in alone.items()}.items() <= found.items()
    assert 3 * sum(sample.id.endswith("/system-1") for sample in log.samples) == len(log.samples) > 0
