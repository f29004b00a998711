"""A dozen faults of the hostile endpoint, alone and mixed: runs end, and their records are those of a good endpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fuzz.hostile.faults import FAULTS
from fuzz.hostile.server import DOORS, KEY, Hostile, hostile

import overton
from overton.calls import Failure
from overton.engine import RetryPolicy, entries

SOME = (
    "resets_after_reading",
    "closes_in_the_status_line",
    "resets_in_the_body",
    "keeps_and_closes_in_silence",
    "two_lengths",
    "chunk_size_wrong",
    "status_101_with_its_upgrade",
    "status_503",
    "retry_after_9",
    "ten_thousand_headers",
    "http_2_preface",
    "gzip_broken",
    "utf8_invalid_in_the_text",
    "deep_in_an_error",
    "usage_of_2_to_the_63",
    "choices_null",
    "a_second_reply_at_once",
)


@pytest.fixture(scope="module")
def server() -> Iterator[Hostile]:
    with hostile() as served:
        yield served


@pytest.fixture
def asked(server: Hostile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("SSL_CERT_FILE", str(server.authority))

    def run(out: str, **more: Any) -> Any:
        name = f"m={server.url()}#m"
        arguments = {"seed": "5", "connections": "8", "timeout": "2", "key_env": "OPENAI_API_KEY"}
        how = {"trials": 1, "templates": [1], "conditions": ["balanced"], "patience": RetryPolicy(6, 0.002, 0.02)}
        return overton.run(
            "open-mindedness", models=[name], out=tmp_path / out, model_args={"m": arguments}, **how, **more
        )

    return run


def answers(records: Any) -> Any:
    """All but what an endpoint says of its own bill, which some faults make nonsense: it then counts as not said."""
    return records.drop("input_tokens", "output_tokens")


@pytest.fixture
def whole(asked: Callable[..., Any], server: Hostile) -> Any:
    server.behave()
    run = asked("whole")
    assert run.records()["failure"].is_null().all(), run.records()["failure"][0]
    return run.records()


@pytest.mark.parametrize("fault", SOME)
def test_every_call_meets_one_fault_at_first(
    fault: str, asked: Callable[..., Any], server: Hostile, whole: Any, caplog: pytest.LogCaptureFixture
) -> None:
    server.misbehave(fault)
    run = asked("run")
    report = server.report()
    assert report["committed"][fault] == whole.height
    assert run.manifest.spent.requests >= report["requests"]
    assert (run.manifest.status, run.manifest.spent.failed) == ("finished", 0)
    assert answers(run.records()).equals(answers(whole))
    assert not caplog.records, "what a loop logs is a traceback on a user's terminal"


def test_failures_are_counted_when_a_third_of_all_requests_meets_a_fault(
    asked: Callable[..., Any], server: Hostile, whole: Any
) -> None:
    server.misbehave(*SOME, share=0.4, attempts=9, seed=2)
    run = asked("run", max_calls=len(whole) * 6)
    report = server.report()
    assert len(report["committed"]) > 4
    assert report["requests"] <= run.manifest.spent.requests <= len(whole) * 6
    failures = [one for one in entries(run.path / "journal.db") if isinstance(one.outcome, Failure)]
    assert len(failures) == run.manifest.spent.failed
    told = answers(run.records().filter(run.records()["failure"].is_null()))
    assert told.equals(
        answers(whole).join(
            told.select("issue", "template", "condition"), on=["issue", "template", "condition"], how="semi"
        )
    )
    server.behave()
    again = overton.resume(run.path, retry_failed=True, max_calls=10_000).records()
    assert answers(again).equals(answers(whole))


def test_a_limit_holds_as_the_endpoint_counts_while_it_misbehaves(
    asked: Callable[..., Any], server: Hostile, whole: Any
) -> None:
    server.misbehave("status_503", "resets_in_the_body", share=0.5, attempts=5)
    run = asked("run", max_calls=9)
    assert run.manifest.status == "stopped"
    assert server.report()["requests"] <= 9
    server.behave()
    assert overton.resume(run.path, max_calls=1000).records().equals(whole)


def test_faults_and_doors_are_as_many_as_promised() -> None:
    assert len(FAULTS) > 200
    assert set(SOME) <= set(FAULTS)
    assert len(DOORS) == 16
