"""A run can only be resumed unchanged, needs no models for what it has, and says what differs."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from overton.calls import Failure, user
from overton.engine import Limits, entries
from overton.errors import AccessError, InputError, JournalError, RunError, RunExists, RunLocked, RunMismatch, Stopped
from overton.runs.answerers import ModelRequest
from overton.runs.experiment import Experiment
from overton.studies.open_mindedness import STUDY, Options


def files(run: Path) -> dict[str, Any]:
    """A run folder's content; for the journal its entries, since opening it changes its file."""
    return {
        path.name: list(entries(path)) if path.suffix == ".db" else path.read_bytes()
        for path in run.iterdir()
        if path.suffix != ".lock"
    }


def rewritten(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def edit_items(run: Path) -> dict[str, Any]:
    rewritten(run / "items.jsonl", "Reason 1 for trams", "Reason one for trams")
    return {}


def edit_settings(run: Path) -> dict[str, Any]:
    rewritten(run / "manifest.json", '"max_tokens": 1024', '"max_tokens": 999')
    return {}


def edit_arguments(run: Path) -> dict[str, Any]:
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["models"]["subject"][0]["arguments"].append(["temperature", "0.5"])
    (run / "manifest.json").write_text(json.dumps(manifest))
    return {}


def edit_model(run: Path) -> dict[str, Any]:
    rewritten(run / "manifest.json", '#m"', '#another"')
    return {}


def edit_seed(run: Path) -> dict[str, Any]:
    rewritten(run / "manifest.json", '"seed": 0', '"seed": 1')
    return {}


def edit_prompts(run: Path) -> dict[str, Any]:
    changed = STUDY.prompts() | {sorted(STUDY.prompts())[0]: "Other words."}
    return {"study": replace(STUDY, prompts=lambda: changed)}


def edit_code(run: Path) -> dict[str, Any]:
    async def conduct(trial: Any, ask: Any) -> list[Any]:
        async def other(role: str, messages: Any, **more: Any) -> Any:
            return await ask(role, (user(messages[0].content + " "),), **more)

        return list(await STUDY.conduct(trial, other))

    return {"study": replace(STUDY, conduct=conduct)}


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (edit_items, r"items\.jsonl: items were changed after this run started"),
        (edit_settings, "this call's settings differ"),
        (edit_arguments, r"its settings is now Settings\(temperature=0\.5"),
        (edit_model, "its identity is now 'http/another', but was 'http/m' when the run started"),
        (edit_seed, "this call's messages"),
        (edit_prompts, "prompt .*: differs from the one this run used"),
        (edit_code, r"trial night-buses/baseline/w0/t1/r1, ask 0 of subject: this call's messages differ"),
    ],
)
def test_resuming_as_something_else_is_refused_and_asks_nothing(runs: Any, endpoint: Any, edit: Any, said: str) -> None:
    runs.start(limits=Limits(calls=50))
    before = len(endpoint.asked)
    more = edit(runs.folder / "run")
    found = files(runs.folder / "run")
    with pytest.raises(RunMismatch, match=said) as refused:
        runs.resume(**more)
    assert isinstance(refused.value, InputError)  # the command line's exit code 2
    assert len(endpoint.asked) == before
    assert files(runs.folder / "run") == found


@pytest.mark.parametrize("status", ["finished", "killed"])
def test_a_finished_run_replays_without_network_or_key(
    runs: Any, endpoint: Any, monkeypatch: pytest.MonkeyPatch, status: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
    request = ModelRequest("openai/gpt-4o-mini", (("base_url", endpoint.url), ("seed", "5")))
    runs.start(models=[request])
    records, manifest = runs.records(), runs.manifest()
    endpoint.stop()
    monkeypatch.delenv("OPENAI_API_KEY")
    (runs.folder / "run" / "records.parquet").unlink()
    if status == "killed":
        rewritten(runs.folder / "run" / "manifest.json", '"status": "finished"', '"status": "running"')
    again = runs.resume()
    assert again.status == "finished"
    assert runs.records().equals(records)
    assert again.spent == manifest.spent


def test_an_unfinished_run_without_its_key_is_refused_before_anything_changes(
    runs: Any, endpoint: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
    runs.start(models=[ModelRequest("openai/gpt-4o-mini", (("base_url", endpoint.url),))], limits=Limits(calls=9))
    monkeypatch.delenv("OPENAI_API_KEY")
    found = files(runs.folder / "run")
    with pytest.raises(InputError, match="OPENAI_API_KEY"):
        runs.resume(limits=Limits(calls=999))
    assert files(runs.folder / "run") == found


def test_a_permanently_failed_call_is_one_failed_record_until_it_is_retried(runs: Any, endpoint: Any) -> None:
    runs.start("whole")
    bad = endpoint.seeds()[40]

    async def behave(asked: Any) -> web.Response | None:
        return web.Response(status=500, text="always") if asked.seed == bad else None

    endpoint.behave = behave
    manifest = runs.start()
    assert (manifest.status, manifest.spent.failed) == ("finished", 1)
    failed = runs.records().filter(runs.records()["failure"].is_not_null())
    assert failed.height == 1
    assert failed["failure"][0].startswith("server error: ")
    assert failed["stance"].to_list() == ["other"]
    assert isinstance(runs.outcomes()[bad], Failure)
    assert runs.outcomes()[bad].attempts == 6

    before, endpoint.behave = len(endpoint.asked), None
    assert runs.resume().spent.failed == 1
    assert len(endpoint.asked) == before
    retried = runs.resume(retry_failed=True)
    assert endpoint.seeds(before) == [bad]
    assert (retried.status, retried.spent.failed) == ("finished", 0)
    assert runs.records().equals(runs.records("whole"))
    assert runs.resume(retry_failed=True).spent.failed == 0
    assert len(endpoint.asked) == before + 1


def test_a_run_that_another_process_works_on_is_left_alone(runs: Any, endpoint: Any) -> None:
    opened = threading.Event()

    async def behave(asked: Any) -> None:
        while not opened.is_set():  # noqa: ASYNC110 (another thread sets it)
            await asyncio.sleep(0.002)

    endpoint.behave = behave
    child = runs.child(connections=4)
    try:
        while not endpoint.asked:
            assert child.poll() is None
        with pytest.raises(RunLocked, match="another process"):
            runs.resume()
        assert len(endpoint.asked) <= 4
    finally:
        opened.set()
    _, said = child.communicate(timeout=60)
    assert child.returncode == 0, said
    assert len(endpoint.asked) == 132


def test_a_refused_key_stops_at_once_and_names_its_variable(
    runs: Any, endpoint: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-0123456789abcdef")

    async def behave(asked: Any) -> web.Response | None:
        wrong = "wrong" in asked.request.headers["Authorization"]
        return web.json_response({"error": {"message": "no"}}, status=401) if wrong else None

    endpoint.behave = behave
    request = ModelRequest("openai/gpt-4o-mini", (("base_url", endpoint.url), ("connections", "4"), ("seed", "5")))
    with pytest.raises(AccessError, match="OPENAI_API_KEY"):
        runs.start(models=[request], trials=30)
    assert len(endpoint.asked) <= 4
    assert runs.manifest().status == "stopped"
    assert "OPENAI_API_KEY" in runs.manifest().stopped
    assert runs.records().height == 0
    monkeypatch.setenv("OPENAI_API_KEY", "sk-right-0123456789abcdef")
    endpoint.asked.clear()
    assert runs.resume(limits=Limits(calls=50)).spent.requests == 50


def test_an_unknown_model_stops_at_once_and_is_named(runs: Any, endpoint: Any) -> None:
    async def behave(asked: Any) -> web.Response:
        return web.json_response({"error": {"message": "The model does not exist"}}, status=404)

    endpoint.behave = behave
    with pytest.raises(AccessError, match="'typo'"):
        runs.start(models=[runs.request("typo", connections=4)])
    assert len(endpoint.asked) <= 4


def test_a_server_that_is_down_is_given_up_and_the_run_goes_on_later(runs: Any, endpoint: Any) -> None:
    endpoint.stop()
    manifest = runs.start()
    assert manifest.status == "stopped"
    assert "probably down" in manifest.stopped
    endpoint.start()
    assert runs.resume(retry_failed=True).status == "finished"
    assert runs.manifest().spent.failed == 0
    runs.start("whole")
    assert runs.records().equals(runs.records("whole"))


def test_a_full_disk_is_reported_and_the_run_goes_on_once_space_is_free(
    runs: Any, endpoint: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A user's confirmations are kept in one file, and the machine's may have grown beyond the limit of this test.
    monkeypatch.setenv("XDG_CONFIG_HOME", str(runs.folder / "config"))
    endpoint.latency = 0.005
    child = runs.child(file_limit=40_000, connections=4)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 1, said
    assert said.startswith("DiskError: "), said
    assert "Free some space" in said
    kept, before = set(runs.outcomes()), len(endpoint.asked)
    assert runs.resume().status == "finished"
    assert kept.isdisjoint(endpoint.seeds(before))
    runs.start("whole")
    assert runs.records().equals(runs.records("whole"))


def test_a_damaged_journal_is_reported_before_any_call(runs: Any, endpoint: Any) -> None:
    runs.start(limits=Limits(calls=50))
    (runs.folder / "run" / "journal.db").write_bytes(b"not a journal at all, but of some length" * 99)
    with pytest.raises(JournalError, match=r"journal\.db"):
        runs.resume(limits=Limits(calls=99))
    assert len(endpoint.asked) == 50


@pytest.mark.parametrize("status", ["stopped", pytest.param("killed", marks=pytest.mark.long)])
@pytest.mark.parametrize("damage", ["emptied", "gone", "replaced", "put back from before"])
def test_a_journal_that_lacks_known_rows_is_refused_before_any_call(
    runs: Any, endpoint: Any, damage: str, status: str
) -> None:
    journal, manifest = (runs.folder / "run" / name for name in ("journal.db", "manifest.json"))
    runs.start(limits=Limits(calls=30))
    earlier = journal.read_bytes()
    runs.start("other", models=[runs.request("other")], limits=Limits(calls=60))
    runs.resume(limits=Limits(calls=60))
    before = len(endpoint.asked)
    if status == "killed":
        rewritten(manifest, '"status": "stopped"', '"status": "running"')
    if damage == "gone":
        journal.unlink()
    else:
        other = (runs.folder / "other" / "journal.db").read_bytes()
        journal.write_bytes({"emptied": b"", "replaced": other, "put back from before": earlier}[damage])
    for again in (
        lambda: runs.resume(limits=Limits(calls=999)),
        lambda: runs.extend(limits=Limits(calls=999), options=Options(trials=2)),
    ):
        with pytest.raises(JournalError, match=r"journal\.db .*, but the run had journaled 60 outcomes"):
            again()
    assert len(endpoint.asked) == before
    assert journal.exists() == (damage != "gone")


def test_a_journal_emptied_after_the_first_session_was_killed_is_refused(runs: Any, endpoint: Any) -> None:
    runs.start(limits=Limits(calls=30))
    manifest = runs.folder / "run" / "manifest.json"
    killed = json.loads(manifest.read_text()) | {"status": "running", "spent": {}}
    manifest.write_text(json.dumps(killed))
    (runs.folder / "run" / "journal.db").write_bytes(b"")
    with pytest.raises(JournalError, match="is missing or empty"):
        runs.resume(limits=Limits(calls=999))
    assert len(endpoint.asked) == 30


@pytest.mark.parametrize("writes", ["write_records", "write_manifest"])
def test_a_run_stays_locked_until_the_last_of_its_files_is_written(
    runs: Any, monkeypatch: pytest.MonkeyPatch, writes: str
) -> None:
    from overton.runs import session

    write, refused = getattr(session, writes), list[str]()

    def meanwhile(*given: Any) -> None:
        with pytest.raises(RunLocked) as locked:
            runs.resume()
        refused.append(str(locked.value))
        write(*given)

    monkeypatch.setattr(session, writes, meanwhile)
    assert runs.start(trials=1).status == "finished"
    # The manifest is written as a session begins, and once everything else is.
    assert len(refused) == (1 if writes == "write_records" else 2)
    monkeypatch.undo()
    assert runs.resume().status == "finished"


def test_a_session_that_began_with_a_manifest_that_another_one_replaced_is_refused(
    runs: Any, endpoint: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from overton.runs import start

    runs.start(limits=Limits(calls=30))
    hold = start.run_session

    def late(*given: Any, **more: Any) -> Any:
        monkeypatch.undo()
        assert runs.resume(limits=Limits(calls=60)).spent.requests == 60  # while the other one checks its models
        return hold(*given, **more)

    monkeypatch.setattr(start, "run_session", late)
    with pytest.raises(RunLocked, match="was just changed by another process"):
        runs.resume(limits=Limits(calls=90))
    assert runs.manifest().spent.requests == 60 == len(endpoint.asked)


def test_an_existing_folder_is_never_overwritten(runs: Any, endpoint: Any) -> None:
    (runs.folder / "run").mkdir()
    (runs.folder / "run" / "thesis.tex").write_text("years of work")
    with pytest.raises(RunExists, match="exists already"):
        runs.start()
    assert files(runs.folder / "run") == {"thesis.tex": b"years of work"}
    assert endpoint.asked == []


@pytest.mark.parametrize("missing", ["manifest.json", "items.jsonl"])
def test_a_missing_part_of_a_folder_is_reported(runs: Any, missing: str) -> None:
    runs.start(limits=Limits(calls=5))
    (runs.folder / "run" / missing).unlink()
    with pytest.raises(RunError, match=missing):
        runs.resume()


@pytest.mark.parametrize("version", [1, 7])
def test_a_manifest_of_another_version_is_refused(runs: Any, version: int) -> None:
    runs.start(limits=Limits(calls=5))
    manifest = runs.folder / "run" / "manifest.json"
    rewritten(manifest, '"format": 2', f'"format": {version}')
    rewritten(manifest, '"name": ', '"called": ')  # another version's content need not be readable here
    with pytest.raises(
        RunError, match=rf"has format {version}, of another version of Overton .*; this version reads format 2"
    ):
        runs.resume()


def test_a_defect_in_a_study_loses_no_reply(runs: Any, endpoint: Any) -> None:
    async def conduct(trial: Any, ask: Any) -> list[Any]:
        records = await STUDY.conduct(trial, ask)
        if trial.name.startswith("trams/balanced"):
            raise ZeroDivisionError("a defect")
        return list(records)

    from tests.runs.starting import start_run

    broken = Experiment(replace(STUDY, conduct=conduct), runs.issues, STUDY.options())
    with pytest.raises(ZeroDivisionError):
        start_run(broken, {"subject": [runs.request()]}, runs.folder / "run")
    assert set(runs.outcomes()) == set(endpoint.seeds())
    assert not isinstance(ZeroDivisionError, Stopped)


def test_whoever_watches_sees_the_run_from_its_beginning_to_its_end(runs: Any, endpoint: Any) -> None:
    seen: list[Any] = []
    runs.start(watch=seen.append)
    assert (seen[0].done, seen[0].total) == (0, 132)
    assert (seen[-1].done, seen[-1].total, seen[-1].in_flight) == (132, 132, 0)
    assert seen[-1].tally.asked == 132
    assert seen[-1].stopping == ""
    assert [one.done for one in seen] == sorted(one.done for one in seen)
