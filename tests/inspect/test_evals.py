"""Evals that fail, stop, or are misconfigured: their payments, records and reports."""

from __future__ import annotations

import contextvars
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

import overton
from overton.inspect.log_format import CALLS, KEY, CallData, SampleData
from overton.inspect.scores import figures_of_records
from overton.runs.items import read_items
from overton.studies.registry import asking_names, study_named

SIX = [issue.id for issue in read_items(study_named("open-mindedness"))[:6]]
ISSUES = SIX[:2]
SMALL = {"trials": 1, "templates": [1, 4], "conditions": ["baseline", "balanced"], "only": ISSUES}
"""Two issues, three samples each, two trials per sample."""


def replying(status: int, message: str = "no") -> web.Response:
    return web.Response(status=status, text=json.dumps({"error": {"message": message, "type": "x", "code": "x"}}))


def calls_of(sample: Any) -> list[CallData]:
    return msgspec.convert(sample.store[CALLS], list[CallData])


def records_in(sample: Any) -> list[dict[str, Any]]:
    return [record for score in sample.scores.values() for record in score.metadata["records"]]


def test_a_sample_is_an_item_in_a_condition_with_its_calls_and_records(talking: Any, evaluate: Any, told: Any) -> None:
    log = evaluate("open_mindedness", task_args=SMALL)
    assert log.eval.dataset.sample_ids == [
        f"{issue}/{condition}" for issue in ISSUES for condition in ("baseline", "balanced/w1", "balanced/w2")
    ]
    for sample in log.samples:
        data = msgspec.convert(sample.metadata[KEY], SampleData)
        assert [record["trial"] for record in records_in(sample)] == data.trials
        assert sorted(call.trial for call in calls_of(sample)) == sorted(data.trials)
        assert sample.messages[0].text == sample.input[0].text
        assert sample.messages[-1].text == records_in(sample)[0]["answer"]
        spans = [event.name for event in sample.events if event.event == "span_begin" and event.type == "trial"]
        assert len(spans) == len(set(spans)) == len(data.trials)
        score = sample.scores["open_mindedness"]
        stances = [record["stance"] for record in records_in(sample)]
        assert score.value == pytest.approx(stances.count("pro") / len(stances))
        assert data.trials[0].split("/")[-1] in score.explanation
        assert score.answer == sample.output.completion == records_in(sample)[0]["answer"]
        assert score.metadata["condition"] == data.condition
    assert log.eval.task_version == __import__("overton").__version__
    found = told(log)
    assert "open_mindedness" not in found  # needs all conditions
    assert "pro_baseline" in found
    assert log.eval.dataset.location.startswith("overton:issues/")


@pytest.mark.parametrize("task", [name.replace("-", "_") for name in asking_names()])
def test_a_task_is_refused_under_trio_before_anything_is_asked(
    task: str, talking: Any, evaluate: Any, monkeypatch: Any
) -> None:
    pytest.importorskip("trio", reason="trio is not installed")
    monkeypatch.setenv("INSPECT_ASYNC_BACKEND", "trio")
    monkeypatch.setenv("LOCAL_BASE_URL", talking.url)
    said = f"trio: {task.replace('_', '-')} runs on asyncio only: leave INSPECT_ASYNC_BACKEND unset"
    with pytest.raises(Exception, match=said):
        evaluate(task, model_roles={"judge": "openai-api/local/judge"})
    assert not talking.asked


def test_a_second_eval_pays_nothing(talking: Any, evaluate: Any) -> None:
    first = evaluate("open_mindedness", task_args=SMALL)
    paid = len(talking.asked)
    second = evaluate("open_mindedness", task_args=SMALL)
    assert (paid, len(talking.asked)) == (12, 12)
    assert [records_in(one) for one in first.samples] == [records_in(one) for one in second.samples]
    evaluate("open_mindedness", task_args=SMALL | {"cache": False})
    assert len(talking.asked) == 24


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL there")
def test_a_killed_eval_does_not_pay_again(talking: Any, evaluate: Any, tmp_path: Path) -> None:
    def kill(asked: Any) -> None:
        if len(talking.replied) == 40:
            process.send_signal(signal.SIGKILL)

    talking.before_reply, talking.latency = kill, 0.02
    arguments = {"trials": 4, "templates": "1,2,3", "conditions": "baseline,balanced", "only": ",".join(ISSUES)}
    command = [sys.executable, "-m", "inspect_ai", "eval", "overton/open_mindedness", "--model", "openai-api/local/m"]
    command += ["--model-base-url", talking.url, "--display", "plain", "--seed", "5", "--max-connections", "4"]
    command += [word for name, value in arguments.items() for word in ("-T", f"{name}={value}")]
    process = subprocess.Popen(command, env=os.environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert process.wait(90) == -signal.SIGKILL
    talking.before_reply, talking.latency = None, 0.0
    log = evaluate(
        "open_mindedness",
        task_args={"trials": 4, "templates": [1, 2, 3], **{k: SMALL[k] for k in ("conditions", "only")}},
    )
    assert log.status == "success"
    again = Counter(talking.seeds())
    assert len(again) == 2 * 3 * 12
    assert sum(count - 1 for count in again.values()) <= 4 + 1  # those in flight, and the reply being written


def test_calls_of_one_rejected_request_fail_permanently_and_are_recorded(talking: Any, evaluate: Any) -> None:
    usual = talking.behave

    async def behave(asked: Any) -> web.StreamResponse:
        return replying(400, "too long") if asked.chance < 0.3 else await usual(asked)

    talking.behave = behave
    log = evaluate("open_mindedness", task_args=SMALL | {"templates": [1, 2, 3, 4, 5, 6]})
    assert log.status == "success", log.error
    records = [record for sample in log.samples for record in records_in(sample)]
    calls = [call for sample in log.samples for call in calls_of(sample)]
    failed = [record for record in records if record["failure"]]
    assert 0 < len(failed) < len(records) == 36
    assert len([call for call in calls if call.failure]) == len(failed)
    assert all("too long" in record["failure"] for record in failed)


def test_trouble_that_passes_is_not_recorded(talking: Any, evaluate: Any) -> None:
    usual = talking.behave

    async def behave(asked: Any) -> web.StreamResponse:
        return replying(429) if asked.attempt == 1 and asked.chance < 0.3 else await usual(asked)

    talking.behave = behave
    log = evaluate("open_mindedness", task_args=SMALL)
    assert log.status == "success", log.error
    assert not any(record["failure"] for sample in log.samples for record in records_in(sample))


@pytest.mark.parametrize(
    ("status", "said"), [(401, "no permission|wrong key"), (404, "wrong key"), (400, "misconfigured")]
)
def test_denied_access_is_a_sample_error_that_names_the_model(
    status: int, said: str, talking: Any, evaluate: Any
) -> None:
    import re

    async def behave(asked: Any) -> web.StreamResponse:
        return replying(status, "wrong key")

    talking.behave = behave
    log = evaluate("open_mindedness", task_args=SMALL | {"templates": [1, 2, 3, 4, 5, 6], "trials": 3})
    assert log.status == "error"
    assert "openai-api/local/m" in log.error.message
    assert re.search(said, log.error.message)


def test_an_endpoint_that_gives_up_is_named(talking: Any, evaluate: Any) -> None:
    async def behave(asked: Any) -> web.StreamResponse:
        return replying(503, "resting")

    talking.behave = behave
    log = evaluate("open_mindedness", task_args=SMALL, max_retries=0, limit=1)
    assert log.status == "error"
    assert "subject: inspect/openai-api/local/m: " in log.error.message


@pytest.mark.parametrize(
    ("task", "arguments", "said"),
    [
        ("open_mindedness", {"conditions": "nonsense"}, "-T conditions: nonsense: must be one of baseline, "),
        ("open_mindedness", {"trials": "many"}, "-T trials: many: must be a whole number"),
        ("open_mindedness", {"only": "nowhere"}, "there is no such item"),
        ("open_mindedness", {"issues": "/nowhere/at/all"}, "nowhere"),
        ("open_mindedness", {"items": ["/nowhere", " else"]}, "/nowhere, else"),
        ("open_mindedness", {"items": "a", "issues": "b"}, "-T items: issues: are given twice"),
        ("open_mindedness", {"trials_at_once": 0}, "-T trials_at_once: 0: must be 1 or more"),
        ("stance_stability", {}, "--model-role judge=PROVIDER/NAME"),
        ("pluralism", {}, "--model-role judge=PROVIDER/NAME"),
        ("deliberation", {"agents": 1}, "name two agents or more"),
        ("deliberation", {"agents": "two"}, "-T agents: two: must be a whole number"),
        (
            "deliberation",
            {"named_orders": "first"},
            "-T named_orders: first: must be numbers joined by '-', such as 2-1-3",
        ),
        ("deliberation", {"order": "2-1"}, "-T order: no such parameter; known are items, dilemmas, "),
        ("open_mindedness", {"cache": "perhaps"}, "-T cache: perhaps: must be true or false"),
        ("pluralism", {"judge": "m"}, "-T judge: no such parameter"),
    ],
)
def test_wrong_arguments_give_one_message_before_any_call(
    task: str, arguments: dict[str, Any], said: str, talking: Any, evaluate: Any
) -> None:
    from inspect_ai._util.error import PrerequisiteError

    with pytest.raises(PrerequisiteError) as raised:
        evaluate(task, task_args=arguments)
    assert said in str(raised.value.message).replace("\\[", "[")
    assert not talking.asked


@pytest.mark.parametrize("flag", [{"system_message": "Agree."}, {"num_choices": 2}])
def test_settings_that_would_change_the_study_are_refused(flag: dict[str, Any], talking: Any, evaluate: Any) -> None:
    from inspect_ai._util.error import PrerequisiteError

    with pytest.raises(PrerequisiteError):
        evaluate("open_mindedness", task_args=SMALL, **flag)
    assert not talking.asked


def test_metadata_has_the_settings_as_sent(talking: Any, evaluate: Any) -> None:
    log = evaluate("open_mindedness", task_args=SMALL, limit=1, temperature=0.5, top_p=0.9, max_tokens=77, top_k=3)
    entry = log.eval.metadata[KEY]["models"]["subject"][0]
    assert entry["settings"] == {
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 77,
        "seed": 5,
        "extra": {"top_k": 3},
    }
    assert ["temperature", "0.5"] in entry["arguments"]
    assert ["base_url", talking.url] in entry["arguments"]


def test_an_eval_that_failed_is_retried_and_asks_the_rest(talking: Any, evaluate: Any) -> None:
    from inspect_ai import eval_retry

    usual, shut = talking.behave, [True]

    async def behave(asked: Any) -> web.StreamResponse:
        return replying(401) if shut[0] and asked.chance < 0.4 else await usual(asked)

    talking.behave = behave
    failed = evaluate("open_mindedness", task_args=SMALL)
    assert failed.status == "error"
    shut[0], before = False, {one.seed for one in talking.replied}
    talking.asked.clear()
    (log,) = eval_retry(failed, display="none")
    assert log.status == "success", log.error
    assert len(log.samples) == 6
    assert not before & set(talking.seeds())
    assert log.eval.metadata == failed.eval.metadata


def test_a_task_made_before_its_model_is_known_says_how_to_name_it(talking: Any) -> None:
    from inspect_ai._util.error import PrerequisiteError

    from overton.tasks import open_mindedness

    with pytest.raises(PrerequisiteError) as raised:
        contextvars.Context().run(open_mindedness, trials=1)  # in ours, an earlier eval's model is known
    assert "give the task's name" in str(raised.value.message)


def test_a_limit_ends_a_sample_and_keeps_its_calls(talking: Any, evaluate: Any) -> None:
    log = evaluate("open_mindedness", task_args=SMALL | {"trials_at_once": 1}, limit=1, token_limit=20)
    (sample,) = log.samples
    assert sample.limit.type == "token"
    assert len(calls_of(sample)) == len(records_in(sample)) == 1


def test_epochs_are_refused(talking: Any, evaluate: Any) -> None:
    log = evaluate("open_mindedness", task_args=SMALL, epochs=2, limit=1)
    assert log.status == "error"
    assert "trials=N" in log.error.message


@pytest.mark.parametrize("study", asking_names())
def test_no_records_give_no_figures(study: str) -> None:
    assert figures_of_records(study, [], ["inspect/m"]) == {}


def test_scoring_a_log_again_is_refused_and_names_the_remedy(talking: Any, evaluate: Any) -> None:
    from inspect_ai import score

    from overton.inspect.scorers import scorers_of

    log = evaluate("open_mindedness", task_args=SMALL, limit=1)
    (scorer,) = scorers_of("open-mindedness", [], with_nulls=False, prompted=False)
    with pytest.raises(Exception, match="overton import"):
        score(log, scorer, action="overwrite", display="none")


def test_each_figure_has_its_own_standard_error_and_sample_size(talking: Any, evaluate: Any, tmp_path: Path) -> None:
    from inspect_ai.log import read_eval_log

    arguments = {"templates": 1, "trials": 1, "nulls": "irrelevant", "only": SIX}
    log = evaluate("open_mindedness", task_args=arguments)
    assert log.status == "success", log.error
    run = overton.import_logs([log.location], out=tmp_path / "run")
    score = overton.analyze("open-mindedness", run.path).estimate("open_mindedness")
    for one in (log, read_eval_log(log.location)):
        scores = {score.name: score for score in one.results.scores}
        own = scores["open_mindedness_overall"]
        assert own.metrics.keys() == {"open_mindedness", "stderr"}
        assert own.metrics["open_mindedness"].value == score.value
        assert own.metrics["stderr"].value == score.error
        assert own.scored_samples == score.n
        assert scores["open_mindedness_under_irrelevant"].scorer == "open_mindedness_null"
        assert 0 < scores["answers_other"].metrics["answers_other"].value < 1
    for sample in log.samples:
        null = "/irrelevant/" in sample.id
        assert list(sample.scores) == ["open_mindedness_null" if null else "open_mindedness"]


def test_no_key_is_in_the_log(talking: Any, evaluate: Any) -> None:
    log = evaluate("open_mindedness", task_args=SMALL, limit=1)
    assert os.environ["LOCAL_API_KEY"] not in log.model_dump_json()


def test_the_command_finds_all_five_tasks(talking: Any, monkeypatch: Any, tmp_path: Path) -> None:
    """By the entry point, in one command, with one sample of each."""
    from inspect_ai.log import list_eval_logs, read_eval_log

    tasks = [name.replace("-", "_") for name in asking_names()]
    command = [sys.executable, "-m", "inspect_ai", "eval", *[f"overton/{task}" for task in tasks]]
    command += ["--model", "openai-api/local/m", "--model-role", "judge=openai-api/local/judge", "--limit", "1"]
    command += ["-T", "anyway=true"]  # agents here give no verdict in the form that is asked for
    env = os.environ | {"LOCAL_BASE_URL": talking.url}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=170, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    logs = [read_eval_log(info) for info in list_eval_logs(str(tmp_path / "logs"))]
    assert sorted(log.eval.task for log in logs) == sorted(f"overton/{task}" for task in tasks)
    for log in logs:
        assert log.status == "success"
        assert records_in(log.samples[0])


def test_a_bad_parameter_is_reported_by_the_command_in_one_line(talking: Any) -> None:
    command = [
        sys.executable,
        "-m",
        "inspect_ai",
        "eval",
        "overton/open_mindedness",
        "-T",
        "draws=99",
        "--display",
        "plain",
    ]
    command += ["--model", "openai-api/local/m", "--model-base-url", talking.url]
    done = subprocess.run(command, env=os.environ, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode != 0
    assert "is more than the number of trials (15)" in " ".join((done.stdout + done.stderr).split())
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.embedded
def test_a_model_of_ours_is_named_as_anywhere_and_held_to_the_form(evaluate: Any, told: Any) -> None:
    arguments = SMALL | {"templates": [1], "conditions": ["baseline"]}
    log = evaluate("open_mindedness", model="overton/embedded/smollm2-135m", model_base_url=None, task_args=arguments)
    assert log.status == "success", log.error
    assert all(record["letter"] for sample in log.samples for record in records_in(sample))
    entry = log.eval.metadata[KEY]["models"]["subject"][0]
    assert (entry["spec"], entry["holds_form"]) == ("embedded/smollm2-135m", True)
    assert entry["identity"].startswith("sha256:")
    assert "pro_baseline" in told(log)
    assert log.eval.scorers[0].metrics[0].options["held"] is True
