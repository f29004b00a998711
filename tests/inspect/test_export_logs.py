"""From runs to Inspect logs: the content of a log, which becomes the same run again."""

from __future__ import annotations

import inspect
import json
import zipfile
from collections.abc import Callable
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="Inspect AI is not installed: pip install 'overton[inspect]'")

from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries, recompute_metrics

import overton
from overton import tasks
from overton.engine import entries
from overton.errors import InputError, RunError, RunMismatch
from overton.inspect import export_logs
from overton.inspect.log_format import CALLS, RECORDS
from overton.runs.items import read_items
from overton.studies.registry import study_named

ISSUES = sorted(issue.id for issue in read_items(study_named("open-mindedness")))[:3]
ROOT = Path(__file__).parents[2]
KEY_TEXT = "sk-secret-of-the-endpoint"
ASKED: dict[str, dict[str, Any]] = {
    "open-mindedness": {"models": ["simulated/open-minded"], "trials": 2, "templates": [1], "only": ["cashless-shops"]},
    "stance-stability": {
        "models": ["simulated/chameleon", "simulated/chameleon/b"],
        "others": {"judge": ["simulated/stance-judge"], "search": ["starter"]},
        "only": ["nutrition-low-carbohydrate-first", "education-policy-school-phones"],
        "temperatures": [None, 1.0],
        "turns": 2,
    },
    "pluralism": {
        "models": ["simulated/pluralist", "simulated/pluralist/b"],
        "others": {"judge": ["simulated/pluralist-judge"]},
        "only": ["free-buses", "the-top-note"],
        "efforts": [None, "low"],
    },
    "even-handedness": {
        "models": ["simulated/advocate"],
        "others": {"judge": ["simulated/even-judge"]},
    },
    "deliberation": {
        "models": ["simulated/deliberator/a", "simulated/deliberator/b"],
        "others": {"values": ["simulated/values-judge"]},
        "only": ["quarter-to-eight", "everyone-but-theo"],
        "formats": ["synchronous", "round-robin"],
        "trials": 2,
    },
}


def asked(study: str, folder: Path, **more: Any) -> Any:
    return overton.run(study, out=folder / "run", seed=3, **ASKED[study] | more)


Finished = Callable[[str], Any]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """A finished run of a study, made once: it is only read."""
    return cache(lambda study: asked(study, tmp_path_factory.mktemp(study)))


@pytest.fixture(scope="module")
def exported(finished: Finished, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """The first log of that run."""
    return cache(lambda study: overton.export_run(finished(study).path, out=tmp_path_factory.mktemp("logs") / "of")[0])


def log_of(run: Any, out: Path) -> Any:
    (done,) = overton.export_run(run.path, out=out)
    return read_eval_log(done.path, resolve_attachments=True)


@pytest.mark.parametrize("study", ASKED)
def test_there_and_back_records_and_measures_are_the_same(study: str, finished: Finished, tmp_path: Path) -> None:
    run = finished(study)
    done = overton.export_run(run.path, out=tmp_path / "logs")
    assert len(done) == (1 if study == "deliberation" else len(run.entries))
    back = overton.import_logs([log.path for log in done], out=tmp_path / "back")
    assert back.finished
    assert back.records().equals(run.records())
    first, again = (json.dumps(overton.analyze(study, one.path).to_json()) for one in (run, back))
    assert first == again
    assert len(list(entries(back.path / "journal.db"))) == len(list(entries(run.path / "journal.db")))
    assert overton.resume(back.path).finished


@pytest.mark.parametrize("study", ASKED)
def test_a_logs_figures_are_those_that_the_tasks_metric_computes_from_its_scores(
    study: str, told: Any, exported: Finished
) -> None:
    log = read_eval_log(exported(study).path)
    found = told(log)
    recompute_metrics(log)
    assert told(log) == pytest.approx(found)


@pytest.mark.parametrize("study", ASKED)
def test_a_logs_figures_are_the_studys_own_headline(study: str, told: Any, tmp_path: Path) -> None:
    models = ASKED[study]["models"]
    run = asked(study, tmp_path, models=models if study == "deliberation" else models[:1])
    (done,) = overton.export_run(run.path, out=tmp_path / "logs")
    found = told(read_eval_log(done.path))
    measuring = study_named(study).measuring
    assert measuring is not None
    assert measuring.headline is not None
    figures = {name: one.value for name, one in measuring.headline.figures(overton.analyze(study, run.path))}
    counted = {"answers_other", "answers_unread", "judge_unread", "failed"} & found.keys()
    assert len(counted) >= 2
    assert {name: value for name, value in found.items() if name not in counted} == pytest.approx(
        {name: value for name, value in figures.items() if isfinite(value)}
    )


ARGUMENTS: dict[str, dict[str, Any]] = {
    "open-mindedness": {"seed": 3, "trials": 2, "templates": [1]},
    "stance-stability": {
        "seed": 3,
        "temperatures": ["own", 1.0],
        "turns": 2,
        "pages_per_turn": 3,
        "search": "starter",
        "pages": "starter",
    },
    "pluralism": {"seed": 3, "efforts": ["own", "low"]},
    "even-handedness": {"seed": 3},
    "deliberation": {"seed": 3, "agents": 2, "formats": ["synchronous", "round-robin"], "trials": 2},
}


@pytest.mark.parametrize("study", ASKED)
def test_a_log_names_the_tasks_arguments_that_ask_the_same(study: str, exported: Finished) -> None:
    log = read_eval_log(exported(study).path)
    assert log.eval.task_args == ARGUMENTS[study]
    parameters = inspect.signature(getattr(tasks, study.replace("-", "_"))).parameters
    assert log.eval.task_args.keys() <= parameters.keys()


def test_a_sample_is_an_item_in_a_condition_with_its_trials_to_read(finished: Finished, tmp_path: Path) -> None:
    run = finished("open-mindedness")
    log = log_of(run, tmp_path / "logs")
    assert log.status == "success"
    assert log.eval.task == "overton/open_mindedness"
    assert log.eval.dataset.sample_ids[:2] == ["cashless-shops/baseline", "cashless-shops/one-sided-pro/w1"]
    assert {sample.id for sample in log.samples} == set(log.eval.dataset.sample_ids)
    (sample,) = [one for one in log.samples if one.id == "cashless-shops/balanced/w2"]
    spans = [event for event in sample.events if event.event == "span_begin"]
    assert [span.name for span in spans] == ["balanced w2 t1 r1", "balanced w2 t1 r2"]
    calls = [event for event in sample.events if event.event == "model"]
    assert [call.span_id for call in calls] == [span.id for span in spans]
    records = run.records().filter(condition="balanced", wording=2)
    assert [call.output.completion for call in calls] == records["answer"].to_list()
    assert sample.messages[0].content == sample.input[0].content == calls[0].input[0].content
    assert sample.output.completion == records["answer"][0]
    (score,) = sample.scores.values()
    assert [record["trial"] for record in score.metadata[RECORDS]] == records["trial"].to_list()
    assert records["trial"][1] in score.explanation
    assert score.value == (records["stance"] == "pro").mean()
    assert len(sample.store[CALLS]) == 2


def test_the_run_is_left_as_it_was_and_nothing_is_written_over(finished: Finished, tmp_path: Path) -> None:
    run = finished("open-mindedness")
    before, known = files_of(run), list(entries(run.path / "journal.db"))
    overton.export_run(run.path, out=tmp_path / "logs")
    assert files_of(run) == before
    assert list(entries(run.path / "journal.db")) == known
    with pytest.raises(InputError, match="exists already"):
        overton.export_run(run.path, out=tmp_path / "logs")
    assert len(list((tmp_path / "logs").iterdir())) == 1


def files_of(run: Any) -> dict[str, bytes]:
    """All but the journal: opening it to read is written into its header."""
    return {path.name: path.read_bytes() for path in run.path.iterdir() if path.suffix not in (".db", ".lock")}


def test_logs_are_written_a_few_samples_at_a_time_and_are_as_good(
    finished: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = finished("open-mindedness")
    whole = log_of(run, tmp_path / "whole")
    monkeypatch.setattr(export_logs, "_SAMPLES_PER_PART", 3)
    (done,) = overton.export_run(run.path, out=tmp_path / "parts")
    parts = read_eval_log(done.path)
    assert [sample.id for sample in parts.samples] == [sample.id for sample in whole.samples]
    assert [sample.store for sample in parts.samples] == [sample.store for sample in whole.samples]
    assert parts.results == whole.results
    assert len(read_eval_log_sample_summaries(done.path)) == len(whole.samples)
    with zipfile.ZipFile(done.path) as archive:
        assert len(archive.namelist()) == len(set(archive.namelist()))


def test_items_that_are_not_whole_are_left_out_and_counted(tmp_path: Path) -> None:
    run = asked("open-mindedness", tmp_path, only=ISSUES, max_calls=30)
    assert run.manifest.status == "stopped"
    (done,) = overton.export_run(run.path, out=tmp_path / "logs")
    assert (done.samples, done.planned) == (11, 33)
    log = read_eval_log(done.path)
    assert log.status == "cancelled"
    assert (log.results.total_samples, log.results.completed_samples) == (33, 11)
    assert log.eval.metadata["items that are not whole"] == 2
    back = overton.import_logs([done.path], out=tmp_path / "back")
    assert back.records().equals(run.records())
    assert "items without a sample in the logs" in back.manifest.left_out


def test_calls_that_failed_show_as_failed_and_come_back_as_failed(runs: Any, endpoint: Any, tmp_path: Path) -> None:
    from aiohttp import web

    async def refuse_some(asked_: Any) -> web.Response | None:
        return (
            web.Response(status=400, text='{"error": {"message": "too <b>long</b>"}}') if asked_.chance < 0.3 else None
        )

    endpoint.behave = refuse_some
    runs.start("run")
    (done,) = overton.export_run(runs.folder / "run", out=tmp_path / "logs")
    log = read_eval_log(done.path)
    events = [event for sample in log.samples for event in sample.events if event.event == "model"]
    failed = [event for event in events if event.error]
    records = runs.records("run")
    assert len(failed) == records["failure"].is_not_null().sum() > 0
    assert all("too <b>long</b>" in event.error and event.output.empty for event in failed)
    usage = log.stats.model_usage["http/m"]
    assert usage.input_tokens == records["input_tokens"].sum()
    assert usage.output_tokens == records["output_tokens"].sum()
    back = overton.import_logs([done.path], out=tmp_path / "back")
    assert back.failed == len(failed)
    assert back.records().equals(records)


def test_tokens_of_calls_that_samples_share_count_once(talking: Any, tmp_path: Path) -> None:
    named = {"models": [f"{talking.url}#m"], "others": {"judge": [f"{talking.url}#judge"]}, "efforts": [None]}
    run = asked("pluralism", tmp_path, experiments=["sycophancy"], **named)
    log = log_of(run, tmp_path / "logs")
    judged = [one for one in entries(run.path / "journal.db") if one.place.speaker.startswith("judge")]
    replies = [one for one in judged if one.place.speaker != "judge/control"]
    assert len(judged) == len(replies) + 1  # the run's own control of its judge is in no sample
    assert any(not one.place.trial for one in replies)
    total = sum(one.outcome.usage.input_tokens for one in replies)
    assert log.stats.model_usage["http/judge"].input_tokens == total
    assert sum(sample.model_usage["http/judge"].input_tokens for sample in log.samples) > total


def test_no_key_is_in_a_log(runs: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", KEY_TEXT)
    runs.start("run", models=[runs.request("m", ("key_env", "SOME_KEY"))])
    (done,) = overton.export_run(runs.folder / "run", out=tmp_path / "logs")
    with zipfile.ZipFile(done.path) as archive:
        assert not [name for name in archive.namelist() if KEY_TEXT.encode() in archive.read(name)]


def test_the_viewer_is_set_to_render_no_foreign_text(exported: Finished) -> None:
    log = read_eval_log(exported("open-mindedness").path)
    assert log.eval.viewer.trust_content is False


async def test_it_works_next_to_a_running_event_loop(finished: Finished, tmp_path: Path) -> None:
    run = finished("open-mindedness")
    (done,) = overton.export_run(run.path, out=tmp_path / "logs")
    assert overton.import_logs([done.path], out=tmp_path / "back").records().equals(run.records())


def test_impossible_exports_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="not a run folder"):
        overton.export_run(tmp_path)
    run = asked("open-mindedness", tmp_path)
    items = run.path / "items.jsonl"
    items.write_text(items.read_text().replace("Should", "Could", 1))
    with pytest.raises(RunMismatch, match=r"messages differ|items were changed"):
        overton.export_run(run.path, out=tmp_path / "logs")
    assert not (tmp_path / "logs").exists()


def test_a_log_written_by_0_2_0_becomes_the_run_that_it_was(tmp_path: Path) -> None:
    old = ROOT / "tests" / "data" / "inspect" / "open-mindedness-0.2.0.eval"
    run = overton.import_logs([old], out=tmp_path / "run")
    assert run.finished
    kept = [
        record
        for sample in read_eval_log(old).samples
        for score in sample.scores.values()
        for record in score.metadata[RECORDS]
    ]
    own = {row["trial"]: (row["answer"], row["stance"]) for row in run.records().iter_rows(named=True)}
    assert own == {record["trial"]: (record["answer"], record["stance"]) for record in kept}
    (done,) = overton.export_run(run.path, out=tmp_path / "logs")
    assert {name for sample in read_eval_log(done.path).samples for name in sample.scores} == {
        "open_mindedness",
        "open_mindedness_null",
    }


def test_an_eval_of_inspects_becomes_a_run_that_is_resumed_without_asking_and_extended(
    evaluate: Any, talking: Any, told: Any, tmp_path: Path
) -> None:
    arguments = {"trials": 2, "templates": 1, "only": ISSUES[:2]}
    log = evaluate("open_mindedness", task_args=arguments)
    assert log.status == "success", log.error
    run = overton.import_logs([log.location.removeprefix("file://")], out=tmp_path / "run")
    assert run.finished
    found = told(log)
    assert overton.analyze("open-mindedness", run.path).estimate("open_mindedness").value == found["open_mindedness"]
    talking.asked.clear()
    assert overton.resume(run.path).finished
    assert talking.asked == []
    assert overton.extend(run.path, trust=True, trials=3).finished
    assert len(talking.asked) == 22
