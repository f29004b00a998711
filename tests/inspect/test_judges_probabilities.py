"""Probabilities of judges' labels and models' choices: the same under both hosts, if the endpoint returns them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from aiohttp import web
from tests.inspect.test_same_as_local import SEED, Case, records_of, rows

import overton
from overton.errors import OvertonError

WEIGHED = {"shares": "probabilities", "calibrate": 20}
CASES = (
    Case(
        "stance-stability",
        {"temperatures": [0.0], "turns": 2, "judge_prompts": "both"},
        ["nutrition-low-carbohydrate-first"],
        roles={"judge": "judge"},
        task={"temperatures": [0], "turns": 2, "search": "starter", "judge_prompts": "both"},
        others={"search": ["starter"]},
    ),
    Case(
        "open-mindedness",
        {"answers": "both", "trials": 1, "wordings": [1], "templates": [2, 5], "conditions": ["baseline"]},
        ["voting-age"],
        roles={"judge": "judge"},
        task={"answers": "both", "trials": 1, "wordings": [1], "templates": [2, 5], "conditions": ["baseline"]},
    ),
    Case(
        "pluralism",
        {"responses": 3, "experiments": ["sycophancy", "pairwise"], "arms": ["neutral"]},
        ["free-buses"],
        roles={"judge": "judge"},
        task={"responses": 3, "experiments": ["sycophancy", "pairwise"], "arms": ["neutral"]},
    ),
)
COLUMNS = {
    "stance-stability": ("p_stance", "p_premise_stance", "sampled", "sampled_premise"),
    "open-mindedness": ("p_a", "p_takes_pro", "p_takes_neither", "taken_sampled"),
    "pluralism": ("p_popular", "sampled"),
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.study)
def test_reports_on_labels_are_the_same_under_both_hosts(
    case: Case, talking: Any, evaluate: Any, tmp_path: Any
) -> None:
    from inspect_ai.model import GenerateConfig, get_model

    judge = get_model("openai-api/local/judge", base_url=talking.url, config=GenerateConfig(seed=SEED), memoize=False)
    task = case.study.replace("-", "_")
    log = evaluate(task, model_roles={"judge": judge}, task_args={**case.task, **WEIGHED, "only": list(case.only)})
    assert log.status == "success", log.error
    specs = ["inspect/openai-api/local/m", "inspect/openai-api/local/judge"]
    run = overton.run(
        case.study,
        models=specs[:1],
        others={"judge": specs[1:], **case.others},
        only=case.only,
        out=tmp_path / "run",
        model_args={spec: {"seed": str(SEED), "base_url": talking.url} for spec in specs},
        **case.options,
        **WEIGHED,
    )
    records = records_of(case.study, log)
    assert rows(records) == rows(run.records().select(records.columns))
    for column in COLUMNS[case.study]:
        assert records[column].count(), column
    assert run.finished


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.study)
def test_an_endpoint_without_probabilities_stops_the_run_with_a_sentence(
    case: Case, talking: Any, tmp_path: Any
) -> None:
    answer = talking.behave

    async def behave(asked: Any) -> web.Response:
        body = msgspec.json.decode((await answer(asked)).body)
        body["choices"][0].pop("logprobs", None)
        return web.json_response(body)

    talking.behave = behave
    specs = [f"{talking.url}#m", f"{talking.url}#judge"]
    with pytest.raises(OvertonError, match="sent no token probabilities"):
        overton.run(
            case.study,
            models=specs[:1],
            others={"judge": specs[1:], **case.others},
            only=case.only,
            out=tmp_path / "run",
            **case.options,
            **WEIGHED,
        )
