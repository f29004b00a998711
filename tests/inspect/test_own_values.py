"""A list of values of the user's own under Inspect: given as a file, kept in the log, and asked for again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai")

from inspect_ai.log import read_eval_log

import overton
from overton.inspect.log_format import KEY
from overton.runs.setup import set_up
from overton.studies.registry import study_named

AGENTS = ["simulated/deliberator/a", "simulated/deliberator/b"]


@pytest.fixture
def values(tmp_path: Path) -> Path:
    path = tmp_path / "values.csv"
    path.write_text("value,definition\nCandour,Saying openly what one thinks.\nTact,Sparing others.\n")
    return path


def test_an_exported_log_asks_again_with_the_list_itself(values: Path, tmp_path: Path) -> None:
    run = overton.run(
        "deliberation",
        models=AGENTS,
        values_judge="simulated/values-judge",
        values=values,
        only=["quarter-to-eight"],
        rounds=1,
        out=tmp_path / "run",
    )
    (done,) = overton.export_run(run.path, out=tmp_path / "logs")
    given = read_eval_log(done.path).eval.task_args
    assert given["values"] == [
        {"value": "Candour", "definition": "Saying openly what one thinks."},
        {"value": "Tact", "definition": "Sparing others."},
    ]
    others = {"values": ["simulated/values-judge"]}
    again = set_up(study_named("deliberation"), models=AGENTS, others=others, values=given["values"], rounds=1)
    assert again.experiment.options == run.options


def test_without_a_list_the_task_has_none(tmp_path: Path) -> None:
    run = overton.run(
        "deliberation",
        models=AGENTS,
        values_judge="simulated/values-judge",
        only=["quarter-to-eight"],
        rounds=1,
        out=tmp_path / "run",
    )
    (done,) = overton.export_run(run.path, out=tmp_path / "logs")
    assert "values" not in read_eval_log(done.path).eval.task_args


def test_an_eval_reads_the_file_and_its_log_keeps_the_list(talking: Any, evaluate: Any, tmp_path: Path) -> None:
    from inspect_ai.model import get_model

    path = tmp_path / "values.csv"
    path.write_text("value\nHonesty\nTact\n")
    roles = {
        role: get_model(f"openai-api/local/{name}", base_url=talking.url, memoize=False)
        for role, name in {"agent_2": "n", "values_judge": "values"}.items()
    }
    asked = {"values": str(path), "only": ["quarter-to-eight"], "agents": 2, "rounds": 1, "retest": 0.0, "anyway": True}
    log = evaluate("deliberation", model_roles=roles, task_args=asked)
    assert log.status == "success", log.error
    assert log.eval.metadata[KEY]["options"]["values"] == [
        {"value": "Honesty", "definition": ""},
        {"value": "Tact", "definition": ""},
    ]
    read = [
        call
        for call in talking.asked
        if call.model == "values" and "<values>\nHonesty\nTact\n</values>" in call.messages[0][1]
    ]
    records = [
        record for sample in log.samples for score in sample.scores.values() for record in score.metadata["records"]
    ]
    # The judge says 'Empathy' as well, which is in no list of this run.
    assert [(record["values"], record["values_dropped"]) for record in records] == [(["Honesty"], 1)] * len(read)
    assert len(read) == 2
