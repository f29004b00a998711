"""Results of batches that lie: every call ends with the reply that a plain run gets."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.runs.batch_runs import CALLS, BatchRuns

from overton.runs.folder import read_manifest

pytestmark = pytest.mark.hostile

Lines = list[bytes]


def with_ids(change: Callable[[str], Any]) -> Callable[[Lines], Lines]:
    """Every line with another id."""
    return lambda lines: [json.dumps(json.loads(line) | {"custom_id": change(id_of(line))}).encode() for line in lines]


def id_of(line: bytes) -> str:
    return str(json.loads(line)["custom_id"])


def stripped(line: bytes, what: Any) -> bytes:
    """A line whose outcome, in either provider's format, is something else."""
    held = json.loads(line)
    return json.dumps(held | {key: what for key in ("result", "response") if key in held}).encode()


def ended(line: bytes, how: str) -> bytes:
    """A line that says that its call was not carried out."""
    held = json.loads(line)
    if "result" in held:
        return json.dumps({"custom_id": held["custom_id"], "result": {"type": how}}).encode()
    code = {"expired": "batch_expired", "canceled": "batch_cancelled"}[how]
    return json.dumps(held | {"response": None, "error": {"code": code, "message": "not in time"}}).encode()


HARMLESS: dict[str, Callable[[Lines], Lines]] = {
    "reversed": lambda lines: lines[::-1],
    "twice": lambda lines: [line for line in lines for _ in range(2)],
    "all twice": lambda lines: [*lines, *lines],
    "an error after each": lambda lines: [one for line in lines for one in (line, stripped(line, None))],
    "an error before each": lambda lines: [one for line in lines for one in (stripped(line, None), line)],
    "expired before each": lambda lines: [one for line in lines for one in (ended(line, "expired"), line)],
    "foreign calls": lambda lines: [*with_ids(lambda id_: f"other-{id_[6:]}")(lines), *lines],
    "ids of another batch": lambda lines: [*with_ids(lambda id_: f"{id_[:-8]}aaaaaaaa")(lines), *lines],
    "hostile ids": lambda lines: [*with_ids(lambda id_: "\u0000/../\ud800" * 99)(lines), *lines],
    "ids that are numbers": lambda lines: [*with_ids(lambda id_: 7)(lines), *lines],
    "blank and CRLF": lambda lines: [one for line in lines for one in (b"", b"  ", line + b"\r")],
    "words between": lambda lines: [one for line in lines for one in (b"null", b"[]", b"7", b'"x"', line)],
    "not UTF-8 between": lambda lines: [one for line in lines for one in (b'{"custom_id": "\xff\xfe"}', line)],
    "deep between": lambda lines: [b"[" * 200_000, b'{"custom_id":' * 100_000, *lines],
    "a quarter of a megabyte each": lambda lines: [line[:-1] + b', "x": "%b"}' % (b"a" * 2**18) for line in lines],
    "unknown keys": lambda lines: [line[:-1] + b', "x": [1, {"y": null}]}' for line in lines],
}
"""Changes after which each call's own reply is still there."""

EVERY_OTHER: dict[str, Callable[[bytes], bytes]] = {
    "half a line": lambda line: line[: len(line) // 2],
    "not UTF-8": lambda line: line.replace(b'"content": ', b'"content": "\xff" + '),
    "no outcome": lambda line: stripped(line, None),
    "a word": lambda line: stripped(line, "x"),
    "a list": lambda line: stripped(line, []),
    "an empty object": lambda line: stripped(line, {}),
    "canceled": lambda line: ended(line, "canceled"),
    "expired": lambda line: ended(line, "expired"),
    "NUL": lambda line: b"\0" * len(line),
    "deep": lambda line: line[:-1] + b', "result": ' + b"[" * 100_000,
}
"""Changes that lose the replies of every other call. Overton repeats these calls and no others."""


def change_results(asked: BatchRuns, change: Callable[[Lines], Lines]) -> None:
    """Change the results of the first batch, each time they are read."""
    provider = asked.served.provider
    read = {"openai": "_read", "anthropic": "_results"}[asked.kind]
    good = getattr(provider, read)

    def changed(id_: str) -> tuple[int, bytes]:
        status, body = good(id_)
        first = id_ in ("batch_1", "file-batch_1-out")
        return status, b"\n".join(change(body.splitlines())) if first and status == 200 else body

    setattr(provider, read, changed)


def check_finished(asked: BatchRuns, plain: Any) -> None:
    manifest = read_manifest(asked.folder / "run")
    assert (manifest.status, manifest.out, manifest.spent.failed) == ("finished", 0, 0)
    assert asked.records("run").equals(plain)


@pytest.mark.parametrize("change", HARMLESS.values(), ids=HARMLESS)
def test_replies_are_found_among_other_changes_to_the_results(
    asked: BatchRuns, change: Callable[[Lines], Lines]
) -> None:
    plain = asked.plain()
    change_results(asked, change)
    asked.start("run", batch=True)
    check_finished(asked, plain)
    assert (len(asked.served.provider.batches), asked.served.alone.total()) == (1, 0)
    assert asked.served.provider.paid.total() == CALLS


@pytest.mark.parametrize("change", EVERY_OTHER.values(), ids=EVERY_OTHER)
def test_only_calls_without_a_readable_result_are_asked_again(
    asked: BatchRuns, change: Callable[[bytes], bytes]
) -> None:
    plain = asked.plain()
    change_results(asked, lambda lines: [change(one) if place % 2 else one for place, one in enumerate(lines)])
    asked.start("run", batch=True)
    check_finished(asked, plain)
    batches = asked.served.provider.batches.values()
    again = sum(len(batch.calls) for batch in batches) - CALLS + asked.served.alone.total()
    assert again == CALLS // 2
    assert read_manifest(asked.folder / "run").spent.requests == CALLS + again
