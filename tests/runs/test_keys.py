"""A key is in no file, no error and no output, even where the endpoint echoes it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from aiohttp import web

CANARY = "sk-canary-4f9c2b7a1e8d6053-never-to-be-seen"


def echo(status: int) -> Any:
    async def behave(asked: Any) -> web.Response | None:
        header = asked.request.headers["Authorization"]
        assert CANARY in header
        if status == 200:
            message = {"role": "assistant", "content": f"position <<A>> as {header} says"}
            body = {"model": header, "choices": [{"finish_reason": "stop", "message": message}]}
            return web.json_response(body)
        if asked.attempt > 1 and status in (429, 500):
            return None
        error = {"error": {"message": f"Incorrect key {header}: {CANARY[:14]}***", "code": CANARY, "type": header}}
        return web.json_response(error, status=status, headers={"Retry-After": "0", "X-Echo": header})

    return behave


@pytest.mark.parametrize(
    ("status", "ends"),
    [
        (200, 0),
        (400, 4),
        (401, 1),
        (500, 0),
        *(pytest.param(*case, marks=pytest.mark.long) for case in [(403, 1), (404, 1), (429, 0)]),
    ],
)
def test_an_endpoint_that_echoes_the_key_puts_it_nowhere(runs: Any, endpoint: Any, status: int, ends: int) -> None:
    endpoint.behave = echo(status)
    child = runs.child(
        env={"OPENAI_API_KEY": CANARY, "PYTHONDEVMODE": "1"},
        models=["openai/gpt-4o-mini"],
        args=[["base_url", endpoint.url]],
        announce=True,
    )
    out, err = child.communicate(timeout=60)
    assert child.returncode == ends, err
    assert endpoint.asked
    found = {path: path.read_bytes() for path in (runs.folder / "run").rglob("*") if path.is_file()}
    found |= {"stdout": out.encode(), "stderr": err.encode()}
    assert len(found) >= 5
    for place, content in found.items():
        assert CANARY[:14].encode() not in content, place
    if status == 200:
        assert b"[hidden]" in msgspec.json.encode(runs.records()["answer"].to_list())
    if status == 400:
        assert b"[hidden]" in found[runs.folder / "run" / "journal.db"]
