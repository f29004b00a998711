"""Runs over several servers of one model: slow, dying and returning ones, and some that serve another model."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.runs.conftest import SEED, Asked, Endpoint, Runs

from overton.engine import PollIntervals, servers
from overton.errors import AccessError, Notice
from overton.runs.answerers import ModelRequest
from overton.runs.progress import Progress

pytestmark = pytest.mark.filterwarnings("ignore::overton.errors.Notice")


@pytest.fixture
def four() -> Iterator[list[Endpoint]]:
    servers = [Endpoint() for _ in range(4)]
    for one in servers:
        one.latency = 0.004
        one.start()
    yield servers
    for one in servers:
        one.stop()


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "USUAL", PollIntervals(tick=0.02, first=0.02, longest=0.1, silent=0.3, patience=0.5))


def request(servers: list[Endpoint], *more: tuple[str, str], listed: Path | None = None) -> ModelRequest:
    urls = [f"@{listed}"] if listed else [one.url for one in servers]
    args = (*(("base_url", url) for url in urls), ("seed", str(SEED)), ("connections", "4"), *more)
    return ModelRequest("vllm/m", args)


def whole(runs: Runs, servers: list[Endpoint], **more: Any) -> Any:
    """The records of a run over one server, which those of a fleet must equal."""
    runs.start("alone", models=[request(servers[:1])], **more)
    asked = len(servers[0].asked)
    for one in servers:
        one.asked.clear()
        one.replied.clear()
        one._attempts.clear()
    return runs.records("alone"), asked


def answered_once(servers: list[Endpoint], calls: int) -> bool:
    replies = Counter((one.seed, one.prompt) for server in servers for one in server.replied)
    return len(replies) == calls and set(replies.values()) == {1}


def test_servers_share_the_calls_and_the_records_are_those_of_one(runs: Runs, four: list[Endpoint]) -> None:
    records, calls = whole(runs, four)
    manifest = runs.start("fleet", models=[request(four)])
    assert manifest.status == "finished"
    assert runs.records("fleet").equals(records)
    assert answered_once(four, calls)
    assert all(one.asked for one in four)
    assert {one.looks for one in four} == {1}


def test_a_slow_server_is_asked_less(runs: Runs, four: list[Endpoint]) -> None:
    four[0].latency = 0.2
    runs.start("fleet", models=[request(four)], trials=2)
    assert max(4, 2 * len(four[0].asked)) < min(len(one.asked) for one in four[1:])


def dying(server: Endpoint, after: int) -> None:
    """Have a server drop its connections, including those with calls, once it has answered that many."""

    async def behave(asked: Asked) -> web.StreamResponse | None:
        if len(server.replied) < after:
            return None
        assert asked.request.transport is not None
        asked.request.transport.abort()
        return web.Response()

    server.behave = behave


def test_calls_of_a_dead_server_are_asked_of_others(runs: Runs, four: list[Endpoint]) -> None:
    records, calls = whole(runs, four)
    dying(four[1], after=3)
    seen: list[Progress] = []
    manifest = runs.start("fleet", models=[request(four)], watch=seen.append)
    assert (manifest.status, manifest.spent.failed) == ("finished", 0)
    assert runs.records("fleet").equals(records)
    assert answered_once(four, calls)
    lost = len(four[1].asked) - len(four[1].replied)
    assert lost > 0
    assert manifest.spent.requests == calls + lost


def test_a_server_that_comes_back_is_taken_back(runs: Runs, four: list[Endpoint]) -> None:
    down = True

    async def behave(asked: Asked) -> web.StreamResponse | None:
        nonlocal down
        if len(four[0].replied) > 20:
            down = False
        return web.Response(status=503) if down else None

    four[1].behave = behave
    manifest = runs.start("fleet", models=[request(four[:2])], trials=2)
    assert (manifest.status, manifest.spent.failed) == ("finished", 0)
    assert four[1].replied
    assert len(four[1].asked) - len(four[1].replied) < 40


@pytest.mark.parametrize("said", [{"model": "other-2026"}, {"system_fingerprint": "fp_b"}])
def test_a_server_of_another_model_is_left_out_and_nothing_of_it_kept(
    runs: Runs, four: list[Endpoint], said: dict[str, str]
) -> None:
    for one in four:
        one.reported = {"system_fingerprint": "fp_a"}
    records, calls = whole(runs, four)
    four[0].reported |= said
    with pytest.warns(Notice, match=rf"127\.0\.0\.1:{four[0].port}: serves another model: it reports"):
        manifest = runs.start("fleet", models=[request(four)])
    assert manifest.status == "finished"
    assert runs.records("fleet").equals(records)
    assert answered_once(four[1:], calls)
    assert len(four[0].asked) <= 4
    assert "127.0.0.1" not in str(manifest.notes)


def test_a_server_of_other_weights_is_asked_nothing(runs: Runs, four: list[Endpoint]) -> None:
    for number, one in enumerate(four):
        one.serves = [{"id": "m", "root": f"/scratch/{number}/llama-8b", "permission": []}]
    four[2].serves = [{"id": "m", "root": "/scratch/2/llama-70b"}]
    with pytest.warns(Notice, match="serves other weights: it reports weights 'llama-70b', the others 'llama-8b'"):
        runs.start("fleet", models=[request(four)])
    assert not four[2].asked
    assert all(one.asked for one in four if one is not four[2])


def test_where_as_many_serve_one_model_as_another_nothing_is_kept(runs: Runs, four: list[Endpoint]) -> None:
    four[0].reported = {"model": "left"}
    four[1].reported = {"model": "right"}
    with pytest.raises(
        AccessError, match=r"serve different models\. The same number of servers report model '(left|right)'"
    ):
        runs.start("fleet", models=[request(four[:2])])
    assert not runs.outcomes("fleet")


def test_servers_may_differ_in_all_but_the_model_if_the_user_allows_it(runs: Runs, four: list[Endpoint]) -> None:
    for number, one in enumerate(four):
        one.reported = {"system_fingerprint": f"fp_{number}"}
    assert runs.start("fleet", models=[request(four, ("alike", "model"))]).status == "finished"
    assert all(one.replied for one in four)


def test_a_server_that_knows_no_such_model_is_left_out(runs: Runs, four: list[Endpoint]) -> None:
    async def unknown(asked: Asked) -> web.StreamResponse:
        return web.json_response({"error": {"code": "model_not_found", "message": "no such model"}}, status=404)

    four[0].behave = unknown
    manifest = runs.start("fleet", models=[request(four)])
    assert (manifest.status, manifest.spent.failed) == ("finished", 0)
    for one in four:
        one.behave = unknown
    with pytest.raises(AccessError, match=r"does not know the model 'm'|no server is left"):
        runs.start("none", models=[request(four)])


def test_a_server_that_hangs_gives_its_calls_up(runs: Runs, four: list[Endpoint]) -> None:
    """It accepts calls, stays silent, and is down when polled, like a node that has lost power."""
    hung = False

    async def behave(asked: Asked) -> web.StreamResponse | None:
        nonlocal hung
        if len(four[0].replied) >= 2:
            hung = True
            await asyncio.sleep(30)
        return None

    handle = four[0].handle

    async def handled(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=502) if hung and request.method == "GET" else await handle(request)

    four[0].behave = behave
    four[0].handle = handled  # type: ignore[method-assign]
    restart(four[0])
    manifest = runs.start("fleet", models=[request(four)])
    assert (manifest.status, manifest.spent.failed) == ("finished", 0)


def restart(server: Endpoint) -> None:
    """Start it again on its port."""
    server.stop()
    server.start()


def test_a_list_is_read_again_while_the_run_goes_on(runs: Runs, four: list[Endpoint], tmp_path: Path) -> None:
    listed = tmp_path / "servers.txt"
    listed.write_text(f"# the first\n{four[0].url}  # comes down\n")
    told: list[str] = []

    def watch(seen: Progress) -> None:
        told.append(seen.fleets["vllm/m"])
        if seen.done > 20 and not four[1].asked:
            listed.write_text(f"{four[1].url}\n{four[2].url}\n")

    manifest = runs.start("fleet", models=[request(four, listed=listed)], trials=8, watch=watch)
    assert manifest.status == "finished"
    assert four[1].replied
    assert four[2].replied
    asked = len(four[0].asked)
    assert len(four[0].replied) == asked
    assert told[-1] == "2 of 2 servers up"


def test_with_no_server_up_the_run_stops_and_can_be_resumed(runs: Runs, four: list[Endpoint], tmp_path: Path) -> None:
    listed = tmp_path / "servers.txt"
    listed.write_text("")
    manifest = runs.start("fleet", models=[request(four, listed=listed)])
    assert (manifest.status, manifest.spent.requests) == ("stopped", 0)
    assert "no server has been up for" in manifest.stopped
    listed.write_text("\n".join(one.url for one in four))
    assert runs.resume("fleet").status == "finished"
    assert manifest.models["subject"][0].identity == "vllm/m"
