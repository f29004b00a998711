"""Pluralism over HTTP: no call is paid for twice after a kill, and commands make viewpoints from a dump and use
them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
import zstandard
from aiohttp import web

import overton
from overton.commands.pluralism import show_threads, threads
from overton.engine import RetryPolicy, entries
from overton.engine.identity import call_seed
from overton.errors import InputError
from overton.runs.items import read_items
from overton.studies.pluralism import STUDY

SEED = 5
CONNECTIONS = 4
ONLY = ["free-buses", "the-top-note"]
RUN = "import json, sys, overton; given = json.loads(sys.argv[1]); overton.run('pluralism', **given)"
STANCES = ("supporting", "against", "neutral")
OPINION = re.compile(r"^(\d+)\. ", re.MULTILINE)
WORD = re.compile(r"#\w+")


def judged(prompt: str, chance: float) -> str:
    """Odd- and even-numbered opinions oppose each other; the judge's other answers follow from the request."""
    opinions = prompt.partition("<opinions>")[2].partition("</opinions>")[0]
    if "Label all" in prompt:
        return json.dumps({number: STANCES[int(number) % 2] for number in OPINION.findall(opinions)})
    if "<opinions>" in prompt:
        return json.dumps({"entailed": [1 + int(chance * len(OPINION.findall(opinions)))]})
    if "<response>" in prompt:
        return json.dumps({"stance": STANCES[int(chance * 3)]})
    return json.dumps({"belief": f"I think that it is so, as {chance:.6f} says."})


def answered(prompt: str, chance: float) -> str:
    """Three responses, a ranking, or one of a pair."""
    if prompt.endswith("Your ranking:"):
        numbers = list(range(1, 6))
        turn = int(chance * 5)
        return ", ".join(map(str, numbers[turn:] + numbers[:turn]))
    if "'1' or '2'" in prompt:
        return "12"[int(chance * 2)]
    return "\n\n".join(f"{number}. Response {chance:.6f}." for number in (1, 2, 3))


def written(system: str, prompt: str) -> str:
    """A writer of viewpoints that knows opinions with the same '#word' as paraphrases."""
    if system.startswith("Cluster"):
        said = json.loads(prompt)
        words = dict.fromkeys(WORD.findall(prompt))
        return json.dumps([[one for one in said if WORD.findall(one) == [word]] for word in words])
    if system.startswith("Summarize"):
        return f"They say {WORD.findall(prompt)[0]}."
    inner = prompt.split("<comment>" if "<comment>" in prompt else "<opinion>")[1].split("</", maxsplit=1)[0]
    if "<comment>" in prompt:
        return json.dumps({"opinions": [one.strip() for one in inner.split(".") if "#" in one]})
    lines = prompt.split("<viewpoints>\n")[1].split("\n</viewpoints>", maxsplit=1)[0].splitlines()
    word = WORD.findall(inner)[0]
    return json.dumps({"cluster": next((k for k, line in enumerate(lines, 1) if word in line), 0)})


@pytest.fixture
def served(endpoint: Any) -> Any:
    """The endpoint as a subject 'm', a judge and a writer."""

    async def behave(asked: Any) -> web.Response:
        body = msgspec.json.decode(await asked.request.read())
        said = {
            "m": lambda: answered(asked.prompt, asked.chance),
            "judge": lambda: judged(asked.prompt, asked.chance),
            "writer": lambda: written(body["messages"][0]["content"], asked.prompt),
        }[asked.model]()
        choice = {"finish_reason": "stop", "message": {"role": "assistant", "content": said}}
        usage = {"prompt_tokens": 9, "completion_tokens": 9}
        response = web.Response(
            body=msgspec.json.encode({"model": asked.model, "choices": [choice], "usage": usage}),
            content_type="application/json",
        )
        asked.replied = True
        endpoint.replied.append(asked)
        if endpoint.before_reply:
            endpoint.before_reply(asked)
        return response

    endpoint.behave = behave
    return endpoint


@pytest.fixture
def given(served: Any, tmp_path: Path) -> Callable[[str], dict[str, Any]]:
    """The same run's arguments under different folders: two starter threads, all experiments."""
    subject, judge = f"{served.url}#m", f"{served.url}#judge"

    def make(out: str) -> dict[str, Any]:
        return {
            "models": [subject],
            "others": {"judge": [judge]},
            "only": ONLY,
            "model_args": {name: {"seed": str(SEED), "connections": str(CONNECTIONS)} for name in (subject, judge)},
            "out": str(tmp_path / out),
            "responses": 3,
            "ranked": 5,
        }

    return make


def calls_of(journal: Path) -> Counter[str]:
    """Calls by trial; '' has those that trials share."""
    return Counter(entry.place.trial for entry in entries(journal))


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL there")
@pytest.mark.parametrize(
    "replies", [19, pytest.param(3, marks=pytest.mark.long), pytest.param(47, marks=pytest.mark.long)]
)
def test_paid_calls_are_not_repeated_after_a_kill(served: Any, given: Any, replies: int) -> None:
    whole = overton.run("pluralism", **given("whole"))
    assert set(whole.records()["status"]) == {"done"}
    calls = calls_of(whole.path / "journal.db")
    served.asked.clear()
    served.replied.clear()

    def kill(asked: Any) -> None:
        if len(served.replied) == replies:
            process.send_signal(signal.SIGKILL)

    served.before_reply, served.latency = kill, 0.02
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, json.dumps(given("killed"))], env=os.environ, stderr=subprocess.PIPE
    )
    assert process.wait(60) == -signal.SIGKILL
    assert process.stderr is not None
    process.stderr.close()
    served.before_reply, served.latency = None, 0.0
    asked_before = len(served.asked)

    folder = Path(given("killed")["out"])
    resumed = overton.resume(folder, patience=RetryPolicy(4, 0.002, 0.02))
    assert resumed.manifest.status == "finished"
    assert resumed.records().equals(whole.records())
    kept = {call_seed(entry.identity, SEED) for entry in list(entries(folder / "journal.db"))}
    again = Counter(served.seeds())
    assert set(again) == kept
    twice = sum(count - 1 for count in again.values())
    # Calls in flight, and the replies of the last commit window, shorter than the time for two replies.
    assert twice <= 3 * 2 * CONNECTIONS
    assert len(served.asked) - asked_before == calls.total() - (asked_before - twice)
    assert calls_of(folder / "journal.db") == calls


def test_a_run_at_its_limit_goes_on_and_reports_whole_threads_only(served: Any, given: Any) -> None:
    whole = overton.run("pluralism", **given("whole"))
    calls = calls_of(whole.path / "journal.db").total()
    served.asked.clear()
    stopped = overton.run("pluralism", **given("stopped"), max_calls=calls - 9)
    assert stopped.manifest.status == "stopped"
    assert stopped.records()["thread"].n_unique() < 2
    resumed = overton.resume(stopped.path, max_calls=calls)
    assert len(served.asked) == calls
    assert resumed.records().equals(whole.records())


def test_experiments_and_arms_are_added_to_a_run_on_purpose(served: Any, given: Any) -> None:
    run = overton.run("pluralism", **given("run"), experiments=["sycophancy"], arms=["neutral", "toward"])
    before = len(served.asked)
    more = overton.extend(run.path, experiments=["ranking"], arms=["biased"])
    records = more.records()
    assert dict(records["experiment"].value_counts().rows()) == {"sycophancy": 4, "ranking": 4}
    assert set(records["arm"]) == {"neutral", "toward", "biased"}
    assert len(served.asked) - before == 2 + 2 + 2  # two rankings without a belief, two with one, and the beliefs
    with pytest.raises(InputError, match="nothing to add"):
        overton.extend(run.path)


def dumped(folder: Path) -> tuple[Path, Path]:
    """A month of posts and of comments in the layout of the archives, one of them compressed."""
    post = {
        "author": "asker_9",
        "created_utc": 1562000000,
        "is_self": True,
        "num_comments": 9,
        "score": 12,
        "selftext": "I ask since /u/other_1 said so.",
        "subreddit": "AskEconomics",
    }
    said = {"created_utc": 1562000100, "controversiality": 0, "stickied": False, "subreddit": "AskEconomics"}
    posts = [post | {"id": f"p{k}", "title": f"Why are buses not free in town {k}?"} for k in range(3)]
    posts.append(post | {"id": "old", "title": "Of another year", "created_utc": 1500000000})
    comments = [
        said
        | {
            "id": f"c{name}{k}",
            "link_id": f"t3_{name}",
            "parent_id": f"t3_{name}",
            "author": f"reader_{k}",
            "score": 10 * k - 5,
            "body": f"Point {k} is #{'abcdef'[k % 6]}. Besides, #{'abc'[k % 3]} in case {k}.",
        }
        for name in ("p0", "p1", "old")
        for k in range(9)
    ]
    submissions, replies = folder / "RS_2019-07.zst", folder / "RC_2019-07.ndjson"
    lines = [b"".join(json.dumps(one).encode() + b"\n" for one in ones) for ones in (posts, comments)]
    submissions.write_bytes(zstandard.ZstdCompressor().compress(lines[0]))
    replies.write_bytes(lines[1])
    return submissions, replies


@pytest.mark.parametrize(
    ("given", "years", "kept"), [({}, True, 4), ({"as_published": True}, False, 3), ({"year": 2017}, False, 1)]
)
def test_a_sample_says_if_its_posts_are_of_any_year(given: Any, years: bool, kept: int, tmp_path: Path) -> None:
    submissions, comments = dumped(tmp_path)
    sampled = threads([submissions], [comments], tmp_path / "t.jsonl", community="AskEconomics", **given)
    assert any("from any year" in line for line in show_threads(sampled).lines) is years
    assert sampled.steps[0].kept == kept


def test_viewpoints_are_made_from_a_dump_and_asked_about_by_the_command_line(
    served: Any, command_line: Any, tmp_path: Path
) -> None:
    def command(*words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done: subprocess.CompletedProcess[str] = command_line(*words, folder=tmp_path)
        assert done.returncode == code, done.stderr
        return done

    submissions, replies = dumped(tmp_path)
    sampling = ["--submissions", str(submissions), "--comments", str(replies), "--community", "AskEconomics"]
    sampled = command("items", "threads", *sampling, "--year", "2019", "--sample", "2")
    assert sampled.stdout.strip() == "threads.jsonl"
    assert "1. posts of the year: 3." in sampled.stderr
    assert "5. threads drawn: 2." in sampled.stderr
    assert "comments: 27 read of 27 lines" in sampled.stderr
    command("items", "check", "references", "threads.jsonl")

    writer, judge, subject = (f"{served.url}#{name}" for name in ("writer", "judge", "m"))
    planned = command("plan", "references", "threads.jsonl", "--model", writer)
    assert "references: 2 items" in planned.stdout
    assert not served.asked
    made = command("items", "references", "threads.jsonl", "--model", writer, "--out", "made")
    assert "algorithm-1: 2 threads built, 18 comments, 36 opinions, 12 viewpoints" in made.stderr
    references = read_items(STUDY, tmp_path / "made")
    assert {view.summary for view in references[0].viewpoints} == {f"They say #{word}." for word in "abcdef"}
    by_summary = {view.summary: view for view in references[0].viewpoints}
    assert by_summary["They say #f."].votes == 45
    assert by_summary["They say #c."].votes == 15 + 45 + 75
    command("items", "check", "pluralism", "made")

    models = ["--model", subject, "--judge", judge]
    command("run", "pluralism", *models, "--threads", "made", "--responses", "3", "--ranked", "5", "--out", "asked")
    records = pl.read_parquet(tmp_path / "asked" / "records.parquet")
    assert set(records["status"]) == {"done"}
    assert records["thread"].n_unique() == 2
    told = json.loads(command("analyze", "pluralism", "asked", "--json").stdout)
    assert told["schema"] == 2
    assert {row["model"] for row in told["rows"] if row["measure"] == "ranking_spearman"} == {None, subject}
    assert told["tables"]["ranking"]
    assert (tmp_path / "asked" / "report.html").stat().st_size > 10_000


def test_two_clusterings_are_compared_and_preferred_by_the_command_line(
    served: Any, command_line: Any, tmp_path: Path
) -> None:
    def command(*words: str) -> Any:
        return command_line(*words, folder=tmp_path)

    submissions, replies = dumped(tmp_path)
    command("items", "threads", "--submissions", str(submissions), "--comments", str(replies), "--min-comments", "5")
    two = ["items", "references", "threads.jsonl", "--method", "single-shot", "--method", "algorithm-1"]
    made = command(*two, "--model", f"{served.url}#writer", "--out", "two")
    assert made.returncode == 0, made.stderr
    assert "single-shot: 3 threads built" in made.stderr
    done = command("items", "compare-clusterings", "two", "--sheet", "sheet.csv")
    assert done.returncode == 0, done.stderr
    assert "Adjusted Rand index" in done.stdout
    assert "single-shot: 3 threads built" in done.stderr
    again = command("items", "compare-clusterings", "two", "--json")
    told = json.loads(again.stdout)
    assert (told["study"], told["schema"]) == ("references", 1)
    assert "level" not in told, "three threads have no intervals"
    assert told["adjusted_rand"]["plain"]["estimate"] == 1.0
    lines = (tmp_path / "sheet.csv").read_text("utf-8-sig").replace("\r\n", "\n")
    (tmp_path / "filled.csv").write_text(re.sub(r',"",(?="\w+"\n)', ",left,", lines), "utf-8-sig")
    preferred = command("items", "preferences", "filled.csv", "--key", "sheet.key.json", "--json")
    assert json.loads(preferred.stdout)["left"]["plain"]["estimate"] == 1.0
    one = command("items", "references", "threads.jsonl", "--model", f"{served.url}#writer", "--out", "one")
    assert one.returncode == 0, one.stderr
    for words, reason in (
        (["compare-clusterings"], "Missing argument 'RUN'"),
        (["compare-clusterings", "one"], "is not a run of two clusterings"),
        (["compare-clusterings", "threads.jsonl"], "threads.jsonl/manifest.json: cannot be read"),
        (["references", "threads.jsonl", "--method", "goalex"], "Missing option '--model'"),
        (["preferences"], "Missing argument 'SHEETS"),
    ):
        refused = command("items", *words)
        assert refused.returncode in (1, 2)
        assert reason in refused.stderr
