"""Limits on calls and cost are never exceeded, and a stopped run has complete items only."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

import msgspec
import pytest
from aiohttp import web

from overton.calls import Price
from overton.engine import Limits
from overton.errors import InputError
from overton.runs.answerers import ModelRequest

PRICE = Price(input=10.0, output=100.0)


def priced(request: ModelRequest) -> ModelRequest:
    return ModelRequest(request.spec, (*request.arguments, ("max_tokens", "40")), PRICE)


def billed(asked: Any) -> float:
    return (len(asked.prompt) // 4 * PRICE.input + (len(asked.reply) // 4 + 1) * PRICE.output) / 1e6


def test_max_calls_is_never_passed_and_whole_issues_only_are_recorded(runs: Any, endpoint: Any) -> None:
    manifest = runs.start(limits=Limits(calls=100))
    assert len(endpoint.asked) == 100
    assert manifest.status == "stopped"
    assert "limit of 100 calls" in manifest.stopped
    assert manifest.missing == {runs.spec(): ["trams"]}
    assert manifest.spent.requests == 100
    assert msgspec.json.encode(runs.manifest()) == msgspec.json.encode(manifest)
    records = runs.records()
    assert records["issue"].unique().to_list() == ["night-buses"]
    assert records.height == 66

    assert runs.resume().status == "stopped"  # the limit counts over all sessions
    assert len(endpoint.asked) == 100
    assert runs.resume(limits=Limits(calls=132)).status == "finished"
    assert len(endpoint.asked) == 132 == len(set(endpoint.seeds()))
    runs.start("whole")
    assert runs.records().equals(runs.records("whole"))


async def fails_at_first(asked: Any) -> web.Response | None:
    return web.Response(status=500) if asked.attempt == 1 else None


def test_retries_count_towards_max_calls(runs: Any, endpoint: Any) -> None:
    endpoint.behave = fails_at_first
    manifest = runs.start(limits=Limits(calls=90))
    assert len(endpoint.asked) == 90 == manifest.spent.requests
    assert len(endpoint.replied) == len(runs.outcomes()) < 66
    assert runs.records().height == 0
    assert runs.resume(limits=Limits(calls=1000)).status == "finished"
    assert runs.manifest().spent.requests == len(endpoint.asked)
    assert runs.manifest().spent.failed == 0


def test_max_cost_is_never_passed_and_is_used_up_to_a_worst_case(runs: Any, endpoint: Any) -> None:
    manifest = runs.start(models=[priced(runs.request())], limits=Limits(cost=0.15))
    spent = sum(map(billed, endpoint.replied))
    assert manifest.status == "stopped"
    assert spent == pytest.approx(manifest.spent.cost)
    assert 0.15 - 0.05 < spent <= 0.15
    before = len(endpoint.asked)
    assert runs.resume().status == "stopped"
    assert sum(map(billed, endpoint.replied)) <= 0.15
    assert runs.resume(limits=Limits(cost=5.0)).status == "finished"
    assert len(endpoint.asked) == len(set(endpoint.seeds())) > before
    assert runs.manifest().spent.cost == pytest.approx(sum(map(billed, endpoint.replied)))
    runs.start("whole", models=[priced(runs.request())])
    assert runs.records().equals(runs.records("whole"))


def test_nothing_is_asked_where_the_first_call_could_pass_the_limit(runs: Any, endpoint: Any) -> None:
    manifest = runs.start(models=[priced(runs.request())], limits=Limits(cost=0.001))
    assert manifest.status == "stopped"
    assert endpoint.asked == []
    assert manifest.missing == {runs.spec(): ["night-buses", "trams"]}


def test_max_cost_without_a_known_price_is_refused_before_anything_is_made(runs: Any, endpoint: Any) -> None:
    with pytest.raises(InputError, match="price is unknown"):
        runs.start(limits=Limits(cost=1.0))
    assert endpoint.asked == []
    assert not (runs.folder / "run").exists()


def test_spending_of_a_killed_session_adds_to_that_of_earlier_ones(runs: Any, endpoint: Any) -> None:
    endpoint.behave = fails_at_first
    model = priced(runs.request())
    runs.start(models=[model], limits=Limits(calls=40))
    path = runs.folder / "run" / "manifest.json"
    left_by_a_kill = path.read_bytes()
    first, endpoint.behave = len(runs.outcomes()), None
    runs.resume(limits=Limits(calls=70))
    second = len(runs.outcomes()) - first
    assert second == 30
    path.write_bytes(left_by_a_kill)
    manifest = runs.resume(limits=Limits(calls=70))
    assert manifest.spent.requests == 70 == len(endpoint.asked)
    assert manifest.spent.cost == pytest.approx(sum(map(billed, endpoint.replied)))


def test_the_lanes_of_two_models_share_a_limit(runs: Any, endpoint: Any) -> None:
    manifest = runs.start(models=[runs.request("m"), runs.request("n")], limits=Limits(calls=150))
    assert len(endpoint.asked) == 150
    assert set(manifest.missing) == {runs.spec("m"), runs.spec("n")}
    whole = {
        (spec, issue)
        for spec, left in manifest.missing.items()
        for issue in ("night-buses", "trams")
        if issue not in left
    }
    assert set(runs.records().select("model", "issue").unique().iter_rows()) == whole
    assert runs.resume(limits=Limits(calls=264)).status == "finished"
    runs.start("whole", models=[runs.request("m"), runs.request("n")])
    assert runs.records().equals(runs.records("whole"))


def usage(output: int) -> dict[str, int]:
    return {"prompt_tokens": 10, "completion_tokens": output}


def bills(asked: Any, output: int) -> web.Response:
    asked.replied = True
    message = {"role": "assistant", "content": asked.reply}
    body = {"model": "m", "choices": [{"finish_reason": "stop", "message": message}], "usage": usage(output)}
    return web.json_response(body)


def test_bills_above_the_worst_case_raise_reservations_and_stop_the_run(runs: Any, endpoint: Any) -> None:
    async def behave(asked: Any) -> web.Response:
        return bills(asked, 400)  # ten times what it may take

    endpoint.behave = behave
    connections, each = 4, (10 * PRICE.input + 400 * PRICE.output) / 1e6
    model = priced(runs.request(connections=connections))
    manifest = runs.start(models=[model], limits=Limits(cost=0.5))
    assert (manifest.status, manifest.reached) == ("stopped", "cost")
    assert manifest.spent.cost == pytest.approx(len(endpoint.asked) * each)
    assert manifest.spent.cost <= 0.5 + connections * each
    assert [name for name, note in manifest.notes.items() if "times the worst-case cost of its calls" in note] == [
        runs.spec()
    ]
    before = len(endpoint.asked)
    assert runs.resume().status == "stopped"
    assert len(endpoint.asked) == before
    # The next session uses the higher bounds too, and spends nothing that does not fit in the rest of the limit.
    manifest = runs.resume(limits=Limits(cost=1.0))
    assert manifest.spent.cost <= 1.0
    assert len(endpoint.asked) > before


@pytest.mark.parametrize("limits", [Limits(cost=0.2), Limits()])
def test_bills_that_cannot_be_count_as_the_worst_case(runs: Any, endpoint: Any, limits: Limits) -> None:
    async def behave(asked: Any) -> web.Response:
        return bills(asked, -2_000_000)

    endpoint.behave = behave
    manifest = runs.start(models=[priced(runs.request())], limits=limits)
    assert manifest.spent.cost > 0
    if limits.cost is not None:
        assert (manifest.status, manifest.reached) == ("stopped", "cost")
        assert manifest.spent.cost <= limits.cost
        assert len(endpoint.asked) < 40


def test_the_limit_that_stopped_a_run_is_named_where_both_are_set(runs: Any, endpoint: Any) -> None:
    model = priced(runs.request())
    assert runs.start("calls", models=[model], limits=Limits(cost=99.0, calls=20)).reached == "calls"
    assert runs.start("cost", models=[model], limits=Limits(cost=0.1, calls=9_000)).reached == "cost"
    assert runs.resume("cost", limits=Limits(cost=99.0)).reached == ""


OUTPUT_PRICE = Price(input=0.0, output=100.0)
ALLOWED, USUAL, TOO_MANY = 40, 10, 3000
RESERVED, BILLED_FIRST, BILLED = (tokens * OUTPUT_PRICE.output / 1e6 for tokens in (ALLOWED, USUAL, TOO_MANY))


class Overbilling:
    """An endpoint that bills each model's first reply as allowed, and then many times that, for all requests that are
    in flight at once. It holds its replies until `held` of them are in flight, and keeps its bills."""

    def __init__(self, endpoint: Any, held: int, models: int = 1) -> None:
        self.endpoint, self.held, self.models = endpoint, held, models
        self.requests = 0
        self.billed = 0.0
        self.seen: set[str] = set()
        self.let_go = False
        self.at_once: Any = lambda: None
        endpoint.behave = self._behave

    async def _behave(self, asked: Any) -> web.Response:
        self.requests += 1
        if asked.model not in self.seen:
            self.seen.add(asked.model)
            self.billed += BILLED_FIRST
            return bills(asked, USUAL)
        self.billed += BILLED
        if self.requests - self.models == self.held:
            self.let_go = True
            self.at_once()
        for _ in range(400):
            if self.let_go:
                break
            await asyncio.sleep(0.005)
        return bills(asked, TOO_MANY)


def output_priced(runs: Any, name: str, connections: int) -> ModelRequest:
    """A model without a seed, so that nothing but the limit has its first call go alone."""
    arguments = (("connections", str(connections)), ("max_tokens", str(ALLOWED)))
    return ModelRequest(runs.spec(name), arguments, OUTPUT_PRICE)


@pytest.mark.parametrize("connections", [1, 8, 64])
@pytest.mark.parametrize("names", [("m",), ("m", "n")])
def test_a_limit_is_exceeded_only_by_excess_bills_of_calls_in_flight(
    runs: Any, endpoint: Any, connections: int, names: tuple[str, ...]
) -> None:
    in_flight = len(names) * connections
    server = Overbilling(endpoint, in_flight, len(names))
    limit = len(names) * BILLED_FIRST + in_flight * RESERVED + 1e-9
    models = [output_priced(runs, name, connections) for name in names]
    manifest = runs.start(models=models, limits=Limits(cost=limit), anyway=True)
    assert (manifest.status, manifest.reached) == ("stopped", "cost")
    assert server.requests == len(names) + in_flight
    assert server.billed == pytest.approx(limit + in_flight * (BILLED - RESERVED))
    assert manifest.spent.cost == pytest.approx(server.billed)
    assert runs.resume().status == "stopped"
    assert server.requests == len(names) + in_flight


@pytest.mark.parametrize("connections", [1, 8, 64])
@pytest.mark.parametrize("names", [("m",), ("m", "n")])
def test_a_model_that_always_bills_too_much_is_found_out_by_its_first_call(
    runs: Any, endpoint: Any, connections: int, names: tuple[str, ...]
) -> None:
    """64 calls of $0.30 used to be in flight before the first was known to cost more than $0.004."""
    server = Overbilling(endpoint, 1, 0)
    server.seen.update(names)
    limit = 20 * BILLED + 1e-9
    models = [output_priced(runs, name, connections) for name in names]
    manifest = runs.start(models=models, limits=Limits(cost=limit), anyway=True)
    assert (manifest.status, manifest.reached) == ("stopped", "cost")
    assert server.requests == 20
    assert server.billed == pytest.approx(manifest.spent.cost)
    assert server.billed <= limit


@pytest.mark.parametrize("connections", [1, 8, 64])
def test_an_excess_bill_raises_the_reservations_of_calls_in_flight(runs: Any, endpoint: Any, connections: int) -> None:
    """One reply costs more; the others are held back, and nothing is sent that would not fit if they cost as much."""
    server = Overbilling(endpoint, connections)
    limit = BILLED_FIRST + connections * BILLED + 1e-9
    sent_by_then: list[int] = []
    bill = server._behave

    async def behave(asked: Any) -> web.Response:
        reply = await bill(asked)
        if server.requests > 2 and connections > 1 and not sent_by_then:
            sent_by_then.append(server.requests)
            return reply  # the first of those in flight
        await asyncio.sleep(0.3)
        return reply

    endpoint.behave = behave
    manifest = runs.start(models=[output_priced(runs, "m", connections)], limits=Limits(cost=limit), anyway=True)
    assert (manifest.status, manifest.reached) == ("stopped", "cost")
    assert server.requests == 1 + connections
    assert server.billed <= limit
    assert manifest.spent.cost == pytest.approx(server.billed)


@pytest.mark.parametrize("connections", [1, 8, 64])
@pytest.mark.parametrize("names", [("m",), ("m", "n")])
def test_a_kill_adds_at_most_the_excess_bills_of_its_calls_in_flight(
    runs: Any, endpoint: Any, connections: int, names: tuple[str, ...]
) -> None:
    """Killed before any reply shows what calls cost: that they were sent is known, and what they were allowed."""
    in_flight = len(names) * connections
    server = Overbilling(endpoint, in_flight, len(names))
    limit = len(names) * BILLED_FIRST + 2 * in_flight * RESERVED + 1e-9
    child = runs.child(
        models=[runs.spec(name) for name in names],
        args=[["max_tokens", str(ALLOWED)]],
        connections=connections,
        price=[OUTPUT_PRICE.input, OUTPUT_PRICE.output],
        max_cost=limit,
        anyway=True,
    )
    server.at_once = lambda: os.kill(child.pid, signal.SIGKILL)
    child.communicate(timeout=60)
    assert child.returncode == -signal.SIGKILL
    killed_with = server.requests
    assert killed_with == len(names) + in_flight
    manifest = runs.resume()
    assert (manifest.status, manifest.reached) == ("stopped", "cost")
    # Those in flight at the kill, and the first call to each model, were allowed less than they cost.
    excess = BILLED - RESERVED
    assert server.billed <= limit + (in_flight + len(names)) * excess
    assert server.requests - killed_with <= len(names)
    before = server.requests
    assert runs.resume().status == "stopped"
    assert server.requests == before
