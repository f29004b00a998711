"""Conversations that search: nothing is paid for twice after a kill, and an archive allows a repeat run offline."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import msgspec
import polars as pl
import pytest
from aiohttp import web

import overton
from overton.calls import Reply
from overton.engine import RetryPolicy, entries
from overton.engine.identity import call_seed
from overton.errors import InputError, RunMismatch
from overton.retrieval.archive_search import contents_of
from overton.runs.answerers import open_models
from overton.runs.items import read_items
from overton.runs.progress import Progress
from overton.studies.stance_stability import STUDY
from overton.studies.stance_stability.items import TOPICS

SEED = 5
CONNECTIONS = 2
TURNS = 4
ONLY = ["nutrition-low-carbohydrate-first", "education-policy-school-phones"]
RUN = "import json, sys, overton; given = json.loads(sys.argv[1]); overton.run('stance-stability', **given)"
STANCES = ("supportive", "critical", "balanced")
CERTAINTY = ("clearly", "likely", "uncertain")


def said(asked: Any) -> str:
    """A judgement, a query or an answer, drawn from the request's own seed."""
    if asked.model == "judge":
        stance, sure = STANCES[int(asked.chance * 3)], CERTAINTY[int(asked.chance * 9) % 3]
        labels = {"rationale": "so", "stance": stance, "key_claims": [], "contradictions_acknowledged": True}
        return json.dumps(labels | {"certainty": sure})
    if asked.prompt.startswith("Write one short query"):
        return " ".join(asked.prompt.split("Question: ")[1].split()[:9])
    return f"It depends, as {asked.chance:.9f} says [1][{1 + int(asked.chance * 3)}]."


def completion(asked: Any) -> web.Response:
    message = {"role": "assistant", "content": said(asked)}
    body = {
        "model": asked.model,
        "choices": [{"finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 9},
    }
    return web.Response(body=msgspec.json.encode(body), content_type="application/json")


@pytest.fixture
def given(endpoint: Any, tmp_path: Path) -> Any:
    """The same run's arguments under different folders: two starter topics, two temperatures, four turns."""

    async def behave(asked: Any) -> web.Response:
        response = completion(asked)
        asked.replied = True
        endpoint.replied.append(asked)
        if endpoint.before_reply:
            endpoint.before_reply(asked)
        return response

    endpoint.behave = behave
    subject, judge = f"{endpoint.url}#m", f"{endpoint.url}#judge"

    def make(out: str, search: str = "starter") -> dict[str, Any]:
        return {
            "models": [subject],
            "others": {"judge": [judge], "search": [search]},
            "only": ONLY,
            "model_args": {name: {"seed": str(SEED), "connections": str(CONNECTIONS)} for name in (subject, judge)},
            "out": str(tmp_path / out),
            "temperatures": [0.0, 1.0],
            "turns": TURNS,
        }

    return make


def calls_of(journal: Path) -> Counter[str]:
    """Calls by trial; '' has those that trials share."""
    return Counter(entry.place.trial for entry in entries(journal))


def read_texts(journal: Path) -> dict[str, str]:
    """The replies of searches and pages, by the content of the request."""
    return {
        str(entry.identity.content.hex()): entry.outcome.text
        for entry in entries(journal)
        if entry.place.speaker in ("search", "pages") and isinstance(entry.outcome, Reply)
    }


def test_search_engines_and_page_readers_are_in_the_manifest(given: Any) -> None:
    run = overton.run("stance-stability", **given("run"), pages_per_turn=2, source_args={"pages": {"connections": "3"}})
    assert run.finished
    search, pages = (run.manifest.models[role][0] for role in ("search", "pages"))
    assert (search.spec, pages.spec) == ("starter", "starter")
    assert dict(search.arguments) == {"top": "2"}
    assert dict(pages.arguments) == {"connections": "3"}
    assert search.identity.startswith("starter/")
    assert run.records()["retrieved"].list.len().max() == 2


def test_three_pages_a_turn_of_the_starter_collection(given: Any) -> None:
    run = overton.run("stance-stability", **given("run"))
    assert run.manifest.options["pages_per_turn"] == 3
    assert set(run.records()["retrieved"].list.len()) == {3}


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL there")
@pytest.mark.parametrize(
    "replies", [17, pytest.param(5, marks=pytest.mark.long), pytest.param(31, marks=pytest.mark.long)]
)
def test_a_conversation_killed_in_its_middle_goes_on_where_it_was(endpoint: Any, given: Any, replies: int) -> None:
    whole = overton.run("stance-stability", **given("whole"))
    calls = calls_of(whole.path / "journal.db")
    endpoint.asked.clear()
    endpoint.replied.clear()

    def kill(asked: Any) -> None:
        if len(endpoint.replied) == replies:
            process.send_signal(signal.SIGKILL)

    endpoint.before_reply, endpoint.latency = kill, 0.02
    command = [sys.executable, "-c", RUN, json.dumps(given("killed"))]
    process = subprocess.Popen(command, env=os.environ, stderr=subprocess.PIPE)
    assert process.wait(60) == -signal.SIGKILL
    assert process.stderr is not None
    process.stderr.close()
    endpoint.before_reply, endpoint.latency = None, 0.0
    folder = Path(given("killed")["out"])
    held = set(contents_of(folder / "pages.warc.gz").hits)

    resumed = overton.resume(folder, patience=RetryPolicy(4, 0.002, 0.02))
    assert resumed.finished
    assert resumed.records().equals(whole.records())
    assert calls_of(folder / "journal.db") == calls
    kept = {call_seed(one.identity, SEED) for one in entries(folder / "journal.db") if one.place.speaker != "search"}
    again = Counter(endpoint.seeds())
    assert set(again) <= kept
    # Both models' calls in flight, and the replies of the last commit window, shorter than the time for two replies.
    assert sum(count - 1 for count in again.values()) <= 3 * 2 * CONNECTIONS
    contents = contents_of(folder / "pages.warc.gz")
    assert held <= set(contents.hits)
    assert set(contents.hits) == set(contents_of(whole.path / "pages.warc.gz").hits)
    assert {url for urls in resumed.records()["retrieved"] for url in urls} <= set(contents.pages)


def test_a_limit_between_two_turns_leaves_a_conversation_that_goes_on(endpoint: Any, given: Any) -> None:
    whole = overton.run("stance-stability", **given("whole"))
    calls, models = calls_of(whole.path / "journal.db"), len(endpoint.asked)
    endpoint.asked.clear()
    stopped = overton.run("stance-stability", **given("stopped"), max_calls=23)
    held = calls_of(stopped.path / "journal.db")
    assert stopped.manifest.status == "stopped"
    assert [trial for trial, count in held.items() if trial and 0 < count < calls[trial]]
    resumed = overton.resume(stopped.path, max_calls=1000)
    assert len(endpoint.asked) == models
    assert resumed.records().equals(whole.records())


def test_conversations_are_under_way_as_models_take_requests_not_as_pages_do(given: Any) -> None:
    """Otherwise a run that stops would have started all of its conversations and have none complete to report."""
    wanted = given("run")
    arguments = {name: one | {"connections": "1"} for name, one in wanted["model_args"].items()}
    stopped = overton.run("stance-stability", **wanted | {"model_args": arguments}, max_calls=30)
    begun = {trial.partition(" of ")[0] for trial in calls_of(stopped.path / "journal.db") if trial}
    assert len(begun) == 2  # of four: the first has finished, one is in progress


def test_progress_counts_the_models_requests_not_searches_and_pages(given: Any) -> None:
    seen: list[Progress] = []
    overton.run("stance-stability", **given("run"), watch=seen.append)
    assert seen[-1].admitted == 2 * CONNECTIONS  # of the model and the judge
    assert max(one.in_flight for one in seen) <= 2 * CONNECTIONS


def test_a_finished_run_is_replayed_without_network_or_archive(endpoint: Any, given: Any) -> None:
    run = overton.run("stance-stability", **given("run"))
    records = run.records()
    endpoint.stop()
    (run.path / "pages.warc.gz").unlink()
    (run.path / "records.parquet").unlink()
    again = overton.resume(run.path)
    assert again.finished
    assert again.records().equals(records)
    assert not (run.path / "pages.warc.gz").exists()


def test_another_model_reads_the_same_bytes_from_the_archive_of_the_first(given: Any) -> None:
    first = overton.run("stance-stability", **given("first"))
    second = overton.run("stance-stability", **given("second", f"archive/{first.path}"))
    assert second.finished
    assert [second.manifest.models[role][0].spec for role in ("search", "pages")] == [f"archive/{first.path}"] * 2
    assert second.failed == 0
    told, told_again = (read_texts(run.path / "journal.db") for run in (first, second))
    assert told
    assert told == told_again
    columns = ["conversation", "turn", "query", "retrieved", "skipped"]
    assert second.records().select(columns).equals(first.records().select(columns))
    # The second run's own archive is as good as the first one's.
    third = overton.run("stance-stability", **given("third", f"archive/{second.path}"))
    assert read_texts(third.path / "journal.db") == told


def test_a_query_that_the_archive_does_not_hold_ends_the_conversation_and_says_so(given: Any) -> None:
    first = overton.run("stance-stability", **given("first"))
    longer = given("longer", f"archive/{first.path}") | {"turns": TURNS + 1}
    run = overton.run("stance-stability", **longer)
    failures = run.records().filter(pl.col("failure").is_not_null())
    assert set(failures["turn"]) == {TURNS + 1}
    assert all("has no hits for the query" in failure for failure in failures["failure"])


def test_a_run_is_refused_where_the_archive_that_it_reads_was_changed(given: Any, tmp_path: Path) -> None:
    first = overton.run("stance-stability", **given("first"))
    other = overton.run("stance-stability", **given("other") | {"turns": 1})
    stopped = overton.run("stance-stability", **given("stopped", f"archive/{first.path}"), max_calls=20)
    assert stopped.manifest.status == "stopped"
    (first.path / "pages.warc.gz").write_bytes((other.path / "pages.warc.gz").read_bytes())
    with pytest.raises(RunMismatch, match="its identity is now"):
        overton.resume(stopped.path, max_calls=1000)


def test_queries_are_shared_where_a_model_is_named_for_them(endpoint: Any, given: Any) -> None:
    named = given("shared")
    named["others"] = named["others"] | {"queries": [f"{endpoint.url}#writer"]}
    run = overton.run("stance-stability", **named)
    assert run.manifest.options["queries"] == "shared"
    assert Counter(asked.model for asked in endpoint.asked)["writer"] == len(ONLY) * TURNS
    per_turn = run.records().group_by("topic", "turn").agg(pl.col("query").n_unique())
    assert set(per_turn["query"]) == {1}


@pytest.mark.parametrize(
    ("change", "said_of_it"),
    [
        ({"queries": "shared"}, "shared: write a model as provider/name"),
        ({"queries": "own", "others": {"queries": ["simulated/chameleon/q"]}}, "role queries: is given twice"),
        ({"others": {"search": ["starter", "serper"]}}, "name only one"),
        ({"others": {"search": ["stater"]}}, "did you mean 'starter'"),
        ({"source_args": {"search": {"tops": "3"}}}, "did you mean 'top'"),
        ({"source_args": {"judge": {"top": "3"}}}, "there is search, pages"),
        ({"temperatures": [3.0]}, "option temperatures: 3.0"),
        ({"only": ["nothing"]}, "option only: nothing"),
    ],
)
def test_an_impossible_run_is_refused_before_any_call(
    endpoint: Any, given: Any, change: dict[str, Any], said_of_it: str
) -> None:
    wanted = given("refused")
    wanted |= change | {"others": wanted["others"] | change.get("others", {})}
    with pytest.raises(InputError, match=said_of_it.replace("(", r"\(")):
        overton.run("stance-stability", **wanted)
    assert not Path(wanted["out"]).exists()
    assert endpoint.asked == []


def test_a_plan_needs_no_key_and_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "SERPER_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    others = {"judge": ["openai/gpt-4o-mini"], "search": ["serper"]}
    plan = overton.plan("stance-stability", models=["openai/gpt-4o"], others=others, only=ONLY, temperatures=[0.0])
    turns = len(ONLY) * len(read_items(STUDY)[0].questions)
    rows = {row.role: row for row in plan.models}
    assert (rows["search"].calls, rows["pages"].calls) == (turns, 20 * turns)
    assert (rows["pages"].model, rows["pages"].cost, rows["pages"].retrieves) == ("web", None, True)
    assert plan.cost is not None
    assert plan.cost > 0


def test_google_is_refused_for_a_new_run_and_its_plan(endpoint: Any, given: Any) -> None:
    wanted = given("new", search="google")
    for make in (overton.run, overton.plan):
        arguments = wanted if make is overton.run else {name: one for name, one in wanted.items() if name != "out"}
        with pytest.raises(InputError, match="ends on 1 January 2027: use 'serper'"):
            make("stance-stability", **arguments)
    assert not Path(wanted["out"]).exists()
    assert endpoint.asked == []


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Google's search API on this machine: a server that counts its searches, each with one hit that cannot be read."""
    searches: list[str] = []

    class Searching(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            searches.append(self.path)
            body = json.dumps({"items": [{"link": "http://127.0.0.1:9/", "title": "T", "snippet": "S"}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Searching)
    thread = Thread(target=server.serve_forever)
    thread.start()
    for name in ("GOOGLE_API_KEY", "GOOGLE_CSE_ID"):
        monkeypatch.setenv(name, "key-of-a-test")
    yield SimpleNamespace(url=f"http://127.0.0.1:{server.server_port}", searches=searches)
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_run_that_began_with_google_resumes_from_its_journal(
    endpoint: Any, given: Any, google: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = given("old", search="google") | {"source_args": {"search": {"base_url": google.url}}}

    def open_as_before(*given: Any, **more: Any) -> Any:
        return open_models(*given, **more | {"resumed": True})

    with monkeypatch.context() as before:
        before.setattr("overton.runs.preparation.open_models", open_as_before)
        assert not overton.run("stance-stability", **wanted, max_calls=40).finished
    sent = len(google.searches)
    assert sent > 0
    done = overton.resume(wanted["out"], max_calls=10_000)
    assert done.finished
    assert len(google.searches) > sent
    assert len(google.searches) == len(set(google.searches))
    records, asked, sent = done.records(), len(endpoint.asked), len(google.searches)
    for name in ("GOOGLE_API_KEY", "GOOGLE_CSE_ID"):
        monkeypatch.delenv(name)
    done.path.joinpath("records.parquet").unlink()
    assert overton.resume(done.path).records().equals(records)
    assert (len(endpoint.asked), len(google.searches)) == (asked, sent)


def test_a_run_with_a_cost_limit_needs_no_price_of_a_search(given: Any) -> None:
    wanted = given("priced")
    names = [*wanted["models"], *wanted["others"]["judge"]]
    run = overton.run("stance-stability", **wanted, prices=dict.fromkeys(names, (1.0, 1.0)), max_cost=10.0)
    assert run.finished


def test_more_turns_and_temperatures_are_added_to_a_run(endpoint: Any, given: Any) -> None:
    run = overton.run("stance-stability", **given("run") | {"turns": 2, "temperatures": [0.0]})
    asked = len(endpoint.asked)
    extended = overton.extend(run.path, turns=3, temperatures=[1.0])
    assert extended.records().height == len(ONLY) * 2 * 3
    assert len(endpoint.asked) - asked == len(ONLY) * (3 * 1 + 3 * 3)


def test_the_starter_topics_are_where_the_study_takes_them_from() -> None:
    assert TOPICS.starter
    assert TOPICS.starter().is_dir()
    assert {one.id for one in read_items(STUDY)} >= set(ONLY)
