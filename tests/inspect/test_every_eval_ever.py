"""Exported logs as other tools read them: the log itself, and Every Eval Ever's converter if it is installed.

The converter needs Python 3.12 or newer. It is found as the command `every_eval_ever`, which may be that of another
environment.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from shutil import which
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="Inspect AI is not installed: pip install 'overton[inspect]'")

from inspect_ai.log import read_eval_log

import overton
from overton.runs.items import read_items
from overton.studies.registry import study_named

SEED = 5
ASKED: dict[str, dict[str, Any]] = {
    "open-mindedness": {
        "trials": 1,
        "templates": [1, 4],
        "nulls": ["irrelevant"],
        "only": [issue.id for issue in read_items(study_named("open-mindedness"))[:6]],
    },
    "stance-stability": {
        "others": {"judge": ["openai/judge"], "search": ["starter"]},
        "only": [topic.id for topic in read_items(study_named("stance-stability"))[:6]],
        "temperatures": [0.5],
        "turns": 3,
    },
}
HUB = re.compile(r"[A-Za-z0-9._-]+/[A-Za-z0-9._-]+")
"""Locations that Every Eval Ever takes for a dataset of the Hugging Face hub, as it does an empty one."""


@pytest.fixture(params=ASKED)
def study(request: Any) -> str:
    return str(request.param)


@pytest.fixture
def exported(study: str, talking: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Path]:
    """A run of a model whose developer is known, since nothing else can be published, and its log."""
    monkeypatch.setenv("OPENAI_BASE_URL", talking.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-no-key")
    run = overton.run(study, models=["openai/m"], out=tmp_path / "run", seed=SEED, **ASKED[study])
    assert run.finished
    (done,) = overton.export_run(run.path, out=tmp_path / "logs")
    return run, done.path


def figures_of(study: str, run: Any) -> dict[str, Any]:
    """The study's own figures, with their intervals."""
    measuring = study_named(study).measuring
    assert measuring is not None
    assert measuring.headline is not None
    return dict(measuring.headline.figures(overton.analyze(study, run.path)))


def test_each_figure_has_its_own_standard_error_sample_size_and_judge(study: str, exported: tuple[Any, Path]) -> None:
    run, path = exported
    log, own = read_eval_log(path), figures_of(study, run)
    judged = {"chameleon", "confidence", "stance_changes", "answers_other", "judge_unread"}
    names = []
    for score in log.results.scores:
        (name,) = score.metrics.keys() - {"stderr"}
        judge = score.params.get("grader_model")
        assert judge == ({"model": "openai/judge"} if study == "stance-stability" and name in judged else None)
        assert bool(score.params.get("grader_template")) is bool(judge)
        if name not in own or score.scorer.endswith("_null"):
            continue
        names.append(name)
        assert score.metrics[name].value == own[name].value
        assert score.scored_samples == own[name].n
        error = score.metrics["stderr"].value if "stderr" in score.metrics else None
        assert error == own[name].error
    assert names
    assert len(names) == len(set(names))
    assert log.results.total_samples == len(log.samples) >= max(own[name].n for name in names)
    assert log.eval.dataset.location
    assert not HUB.fullmatch(log.eval.dataset.location)


def test_a_samples_answer_is_the_models_reply_and_null_conditions_have_their_own_scorer(
    study: str, exported: tuple[Any, Path]
) -> None:
    run, path = exported
    replies = set(run.records()["answer"])
    name = study.replace("-", "_")
    for sample in read_eval_log(path).samples:
        ((scorer, score),) = sample.scores.items()
        assert score.answer in replies
        assert score.answer == sample.output.completion
        assert scorer == (f"{name}_null" if "/irrelevant/" in sample.id else name)
        assert score.metadata["condition"] == sample.id.partition("/")[2]
        assert sample.output.model == "m-2026"  # as reported, without the provider


def test_answers_that_cannot_be_used_have_a_metric(talking: Any, tmp_path: Path) -> None:
    asked = {"only": ASKED["open-mindedness"]["only"][:2], "trials": 1, "templates": [1]}
    model = "simulated/degenerate/silent"
    run = overton.run("open-mindedness", models=[model], out=tmp_path / "run", **asked)
    (done,) = overton.export_run(run.path, out=tmp_path / "logs")
    log = read_eval_log(done.path)
    found = {name: metric.value for score in log.results.scores for name, metric in score.metrics.items()}
    assert found["answers_other"] == 1
    assert found["pro_baseline"] == 0
    for sample in log.samples:  # without an answer, tools would take the explanation for one
        (score,) = sample.scores.values()
        assert (score.answer, score.explanation) == (None, None)
        assert "share of answers that take the pro side" in score.metadata["shown"]


@pytest.mark.skipif(
    which("every_eval_ever") is None, reason="every_eval_ever is not installed: pip install every_eval_ever"
)
def test_every_eval_ever_publishes_the_numbers_their_uncertainty_and_sample_sizes(
    study: str, exported: tuple[Any, Path], tmp_path: Path
) -> None:
    run, path = exported
    data, own = tmp_path / "data", figures_of(study, run)
    converter = str(which("every_eval_ever"))
    options = ["--output_dir", "data", "--source_organization_name", "Example", "--evaluator_relationship", "other"]
    subprocess.run([converter, "convert", "inspect", "--log_path", path, *options], cwd=tmp_path, check=True)
    files = [str(file.relative_to(tmp_path)) for file in data.rglob("*.json*")]
    subprocess.run([converter, "validate", *files], cwd=tmp_path, check=True)
    (aggregate,) = data.rglob("*.json")
    published = json.loads(aggregate.read_text("utf-8"))
    assert published["model_info"]["id"] == "openai/m-2026"
    names = []
    for result in published["evaluation_results"]:
        assert result["source_data"]["source_type"] == "other"
        score, name = result["score_details"], result["metric_config"]["metric_name"]
        assert name != "stderr"
        if "_under_" in result["evaluation_result_id"] or name not in own:
            continue
        names.append(name)
        assert score["score"] == own[name].value
        uncertainty = score["uncertainty"]
        assert uncertainty["num_samples"] == own[name].n
        assert (uncertainty.get("standard_error") or {"value": None})["value"] == own[name].error
    assert len(names) == len(set(names)) > 2
    (instances,) = data.rglob("*.jsonl")
    rows = [json.loads(line) for line in instances.read_text("utf-8").splitlines()]
    assert len(rows) == len(read_eval_log(path, header_only=True).eval.dataset.sample_ids)
    replies = set(run.records()["answer"])
    raw = [text for row in rows if row["output"] for text in row["output"]["raw"]]
    assert set(raw) <= replies
    assert bool(raw) is (study == "open-mindedness")  # a conversation is published as its messages
