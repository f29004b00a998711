"""An endpoint that misbehaves in every named way costs time but no reply; it gets the load that it can bear."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web
from msgspec import structs
from tests.runs.starting import resume_run, start_run

from overton.reports.opening import warnings_of
from overton.runs.experiment import Experiment
from overton.runs.run import open_run
from overton.studies.open_mindedness import STUDY, Options

CONNECTIONS = 16


async def rate_limited(asked: Any) -> web.StreamResponse:
    return web.json_response({"error": {"message": "slow down"}}, status=429, headers={"Retry-After": "0"})


async def rate_limited_for_a_moment(asked: Any) -> web.StreamResponse:
    return web.json_response({"error": {}}, status=429, headers={"Retry-After-Ms": "30", "Retry-After": "0.03"})


async def broken(asked: Any) -> web.StreamResponse:
    return web.Response(status=500, text="Traceback (most recent call last)")


async def unavailable(asked: Any) -> web.StreamResponse:
    return web.Response(status=503, body=b"")


async def dropped(asked: Any) -> web.StreamResponse:
    asked.request.transport.abort()
    return web.Response()


async def truncated(asked: Any) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Length": "500", "Content-Type": "application/json"})
    await response.prepare(asked.request)
    await response.write(b'{"choices": [{"message": {"content": "position <<A')
    asked.request.transport.close()
    return response


async def malformed(asked: Any) -> web.StreamResponse:
    return web.Response(body=b'{"choices": [{"message": {"content": "position <<A')


async def html(asked: Any) -> web.StreamResponse:
    return web.Response(body=b"<html>Please log in</html>", content_type="text/html")


async def empty(asked: Any) -> web.StreamResponse:
    return web.json_response({"choices": []})


FAULTS = [rate_limited, rate_limited_for_a_moment, broken, unavailable, dropped, truncated, malformed, html, empty]


def misbehaving(faults: list[Callable[..., Any]], share: float) -> Callable[[Any], Any]:
    """Each attempt fails with probability `share`, in a way and at a moment that follow from the call."""

    async def behave(asked: Any) -> web.StreamResponse | None:
        digest = hashlib.sha256(f"{asked.seed}/{asked.attempt}".encode()).digest()
        if digest[0] / 256 >= share or asked.attempt > 4:
            return None
        response: web.StreamResponse = await faults[digest[1] % len(faults)](asked)
        return response

    return behave


def test_a_fifth_of_all_requests_fails_in_every_way_and_no_record_shows_it(runs: Any, endpoint: Any) -> None:
    endpoint.behave = misbehaving(FAULTS, 0.2)
    manifest = runs.start(trials=2)
    assert (manifest.status, manifest.spent.failed) == ("finished", 0)
    assert manifest.spent.requests >= len(endpoint.asked) > 264 + 30
    endpoint.behave = None
    runs.start("whole", trials=2)
    assert runs.records().equals(runs.records("whole"))
    assert runs.records()["failure"].is_null().all()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_every_call_fails_once_in_one_way(runs: Any, endpoint: Any, fault: Any) -> None:
    async def behave(asked: Any) -> web.StreamResponse | None:
        return await fault(asked) if asked.attempt == 1 else None

    endpoint.behave = behave
    manifest = runs.start(issues=runs.issues[:1])
    assert (manifest.status, manifest.spent.failed) == ("finished", 0)
    assert len(endpoint.replied) == 66 == len(set(endpoint.seeds()))
    assert runs.records()["failure"].is_null().all()


def test_a_slow_reply_is_given_up_and_asked_again(runs: Any, endpoint: Any) -> None:
    async def behave(asked: Any) -> None:
        if asked.attempt == 1 and asked.chance < 0.1:
            await asyncio.sleep(30)

    endpoint.behave = behave
    manifest = runs.start(models=[runs.request("m", ("timeout", "1"))], issues=runs.issues[:1])
    assert (manifest.status, manifest.spent.failed) == ("finished", 0)
    assert runs.records().height == 66


def test_concurrency_falls_to_the_endpoints_capacity_and_rises_again(runs: Any, endpoint: Any) -> None:
    bears, under_way = 3, list[int]()

    async def behave(asked: Any) -> web.StreamResponse | None:
        under_way.append(endpoint.under_way)
        too_many = len(under_way) < 200 and endpoint.under_way > bears
        await asyncio.sleep(0.004)
        return await rate_limited(asked) if too_many else None

    endpoint.behave = behave
    runs.patience = type(runs.patience)(12, 0.002, 0.05)
    manifest = runs.start(trials=5, models=[runs.request(connections=CONNECTIONS)])
    assert (manifest.status, manifest.spent.failed) == ("finished", 0)
    assert max(under_way[:CONNECTIONS]) > 2 * bears
    assert max(under_way[100:195]) <= 2 * bears
    assert max(under_way[-200:]) > 4 * bears


def test_no_more_connections_than_asked_for_are_ever_used(runs: Any, endpoint: Any) -> None:
    endpoint.latency = 0.003
    runs.start(models=[runs.request(connections=5)])
    assert endpoint.most_under_way == 5


def test_rejected_requests_are_failed_records_with_their_reason(runs: Any, endpoint: Any) -> None:
    async def behave(asked: Any) -> web.StreamResponse | None:
        if "trams" not in asked.prompt:
            return None
        error = {"code": "context_length_exceeded", "message": "maximum context length is 10 tokens"}
        return web.json_response({"error": error}, status=400)

    endpoint.behave = behave
    manifest = runs.start()
    assert (manifest.status, manifest.spent.failed, manifest.missing) == ("finished", 66, {runs.spec(): []})
    assert len(endpoint.asked) == 132
    failed = runs.records().filter(runs.records()["failure"].is_not_null())
    assert set(failed["issue"]) == {"trams"}
    assert all(reason.startswith("too long: ") for reason in failed["failure"])


def test_a_trial_whose_record_cannot_be_made_is_counted_and_named_and_the_run_ends(runs: Any, endpoint: Any) -> None:
    """It used to be journaled, and then neither this session nor any later one could write the records."""

    async def conduct(trial: Any, ask: Any) -> list[Any]:
        (record,) = await STUDY.conduct(trial, ask)
        odd = record.issue == "trams" and record.template == 3
        return [structs.replace(record, wording=2**63)] if odd else [record]

    study = replace(STUDY, conduct=conduct)
    options = Options(trials=1)
    first = start_run(Experiment(study, runs.issues, options), {"subject": [runs.request()]}, runs.folder / "run")
    again = resume_run(study, runs.folder / "run")
    for manifest in (first, again, runs.manifest()):
        assert (manifest.status, manifest.missing) == ("finished", {runs.spec(): ["trams"]})
        (unwritable,) = manifest.unmade.values()
        assert unwritable.count == len(unwritable.trials) > 0
        assert all(line.startswith("trams/") and ": column wording: " in line for line in unwritable.trials)
    assert runs.records()["issue"].unique().to_list() == ["night-buses"]
    assert len(endpoint.replied) == 132
    warnings = list(warnings_of([open_run(runs.folder / "run")]))
    said = f"{unwritable.count} trials of {runs.spec()} could not be stored as table rows"
    assert any(said in one for one in warnings)
