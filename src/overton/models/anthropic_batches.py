"""Anthropic's message batches.

A batch is made of its calls in one request (`POST /messages/batches`), polled (`GET /messages/batches/ID`), and its
results read (`GET /messages/batches/ID/results`). It has no name: among those listed, it is identified by the ids of
its calls.
Limits as of 2026: 100,000 calls or 256 MB per batch, done within 24 hours, results kept for 29 days
(platform.claude.com/docs/en/build-with-claude/batch-processing).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from overton.calls import BatchStatus, Reply, Request
from overton.errors import AnswerError
from overton.models.anthropic import AnthropicModel
from overton.models.batched import (
    MOST_PAGES,
    decoded,
    expired,
    failed,
    garbled,
    kept,
    lines_of,
    most_result_bytes,
    word,
)
from overton.models.http import Service

__all__ = ["AnthropicBatches"]

_PATH = "/messages/batches"
_encode = msgspec.json.Encoder().encode


class _Counts(msgspec.Struct):
    processing: int = 0
    succeeded: int = 0
    errored: int = 0
    canceled: int = 0
    expired: int = 0

    @property
    def total(self) -> int:
        return self.processing + self.succeeded + self.errored + self.canceled + self.expired


class _Batch(msgspec.Struct):
    id: str
    processing_status: str = ""
    created_at: str = ""
    request_counts: _Counts | None = None


class _Page(msgspec.Struct):
    data: list[_Batch] = []
    has_more: bool = False


class _Result(msgspec.Struct):
    type: str = ""
    message: msgspec.Raw = msgspec.Raw()
    error: Any = None


class _Line(msgspec.Struct):
    custom_id: str
    result: _Result | None = None


_batch = msgspec.json.Decoder(_Batch).decode
_page = msgspec.json.Decoder(_Page).decode
_line = msgspec.json.Decoder(_Line).decode


class AnthropicBatches:
    """The batches of one model behind the Messages API. The cache expires before they finish, so nothing is marked."""

    most_calls = 100_000
    most_bytes = 256_000_000
    hours = 24.0
    named = False

    def __init__(self, service: Service, model: AnthropicModel) -> None:
        self._service = service
        self._model = model

    def line(self, id_: str, request: Request) -> bytes:
        """See `BatchApi`."""
        return b'{"custom_id":%b,"params":%b}' % (_encode(id_), self._model.body(request, marked=False))

    def read(self, request: Request, body: bytes) -> Reply:
        """See `BatchApi`."""
        return self._model.read(request, body, self._service.target)

    async def upload(self, name: str, lines: Sequence[bytes]) -> str:
        """See `BatchApi`: the calls are sent with the batch."""
        return ""

    async def find_uploads(self, name: str, since: float) -> list[str]:
        """See `BatchApi`: nothing is uploaded."""
        return []

    async def discard(self, upload: str) -> None:
        """See `BatchApi`: nothing is uploaded."""

    async def create(self, name: str, upload: str, lines: Sequence[bytes]) -> str:
        """See `BatchApi`."""
        body = b'{"requests":[%b]}' % b",".join(lines)
        return word(decoded(self._service, await self._service.exchange("POST", _PATH, body), _batch).id)

    async def find(self, name: str, calls: int, since: float) -> list[str]:
        """See `BatchApi`: all batches with this many calls."""
        found: list[str] = []
        after = ""
        for _ in range(MOST_PAGES):
            page = decoded(self._service, await self._service.exchange("GET", f"{_PATH}?limit=100{after}"), _page)
            recent = [one for one in page.data if _time(one.created_at, since) >= since]
            found += [one.id for one in recent if one.request_counts and one.request_counts.total == calls]
            if not page.has_more or len(recent) < len(page.data) or not page.data:
                break
            after = f"&after_id={word(page.data[-1].id)}"
        return found

    async def look(self, id_: str) -> BatchStatus:
        """See `BatchApi`."""
        batch = decoded(self._service, await self._service.exchange("GET", f"{_PATH}/{word(id_)}"), _batch)
        counts = batch.request_counts or _Counts()
        return BatchStatus(
            over=batch.processing_status == "ended",
            done=counts.total - counts.processing,
            total=counts.total,
            cut=bool(counts.canceled or counts.expired),
            cancelled=bool(counts.canceled),
            files=(id_,),
        )

    async def results(self, looked: BatchStatus, calls: int) -> Mapping[str, bytes | AnswerError]:
        """See `BatchApi`. The address that the provider gives for them is not used: it could point anywhere."""
        found: dict[str, bytes | AnswerError] = {}
        path = f"{_PATH}/{word(looked.files[0])}/results"
        body = await self._service.exchange("GET", path, most=most_result_bytes(calls))
        for line in lines_of(self._service, body, _line):
            kept(found, line.custom_id, self._result(line.result or _Result()))
        return found

    async def cancel(self, id_: str) -> None:
        """See `BatchApi`."""
        await self._service.exchange("POST", f"{_PATH}/{word(id_)}/cancel", b"{}")

    def _result(self, result: _Result) -> bytes | AnswerError:
        name = self._service.target.name
        if result.type == "succeeded":
            return bytes(result.message) or garbled(name)
        if result.type in ("expired", "canceled"):
            return expired(name)
        return failed(name, self._service.target.secret.hide(_said(result.error)[:200]))


def _said(error: Any) -> str:
    """The message of an error, nested one or two levels deep."""
    while isinstance(error, dict) and isinstance(error.get("error"), dict):
        error = error["error"]
    return str(error.get("message", "")) if isinstance(error, dict) else ""


def _time(text: str, otherwise: float) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return otherwise
