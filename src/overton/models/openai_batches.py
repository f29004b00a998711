"""OpenAI's batches of chat completions, which other providers have too.

A file of calls is uploaded (`POST /files`, purpose 'batch', the name in its file name), a batch made of it
(`POST /batches`, with the name in its metadata), polled (`GET /batches/ID`), and its results read from two files, one
for replies and one for errors. Both files and batches are listed with their names (`GET /files`, `GET /batches`).
Limits as of 2026: 50,000 calls and 200 MB per batch, done within 24 hours (platform.openai.com/docs/guides/batch).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from overton.calls import BatchStatus, Reply, Request
from overton.errors import AnswerError
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
from overton.models.openai import OpenAIModel

__all__ = ["OpenAIBatches"]

_NAME = "overton"
_OVER = {"completed", "failed", "expired", "cancelled"}
_NOT_BEGUN = {"batch_expired", "batch_cancelled"}
_NO_ROOM = "token_limit_exceeded"
_encode = msgspec.json.Encoder().encode


class _Made(msgspec.Struct):
    id: str


class _Counts(msgspec.Struct):
    total: int = 0
    completed: int = 0
    failed: int = 0


class _Error(msgspec.Struct):
    code: Any = None
    message: Any = None


class _Errors(msgspec.Struct):
    data: list[_Error] | None = None


class _Batch(msgspec.Struct):
    id: str
    status: str = ""
    created_at: float | None = None
    metadata: dict[str, Any] | None = None
    request_counts: _Counts | None = None
    errors: _Errors | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None


class _Page(msgspec.Struct):
    data: list[_Batch] = []
    has_more: bool = False


class _File(msgspec.Struct):
    id: str
    filename: str = ""
    created_at: float | None = None
    status: str | None = None


class _Files(msgspec.Struct):
    data: list[_File] = []
    has_more: bool = False


class _Response(msgspec.Struct):
    status_code: int = 0
    body: msgspec.Raw = msgspec.Raw()


class _Line(msgspec.Struct):
    custom_id: str
    response: _Response | None = None
    error: _Error | None = None


_made = msgspec.json.Decoder(_Made).decode
_batch = msgspec.json.Decoder(_Batch).decode
_page = msgspec.json.Decoder(_Page).decode
_files = msgspec.json.Decoder(_Files).decode
_line = msgspec.json.Decoder(_Line).decode


class OpenAIBatches:
    """The batches of one model behind chat completions."""

    most_calls = 50_000
    most_bytes = 200_000_000
    hours = 24.0
    named = True

    def __init__(self, service: Service, model: OpenAIModel) -> None:
        self._service = service
        self._model = model

    def line(self, id_: str, request: Request) -> bytes:
        """See `BatchApi`."""
        head = b'{"custom_id":%b,"method":"POST","url":"/v1/chat/completions","body":' % _encode(id_)
        return head + self._model.body(request) + b"}"

    def read(self, request: Request, body: bytes) -> Reply:
        """See `BatchApi`."""
        return self._model.read(request, body, self._service.target)

    async def upload(self, name: str, lines: Sequence[bytes]) -> str:
        """See `BatchApi`."""
        edge = f"overton-{name}"
        purpose = f'--{edge}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
        file = f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="{_file_name(name)}"\r\n'
        head = f"{purpose}{file}Content-Type: application/jsonl\r\n\r\n".encode()
        body = b"".join([head, b"\n".join(lines), f"\r\n--{edge}--\r\n".encode()])
        content = f"multipart/form-data; boundary={edge}"
        return word(
            decoded(self._service, await self._service.exchange("POST", "/files", body, content=content), _made).id
        )

    async def find_uploads(self, name: str, since: float) -> list[str]:
        """See `BatchApi`."""
        found: list[str] = []
        after = ""
        for _ in range(MOST_PAGES):
            path = f"/files?purpose=batch&order=desc&limit=100{after}"
            page = decoded(self._service, await self._service.exchange("GET", path), _files)
            found += [one.id for one in page.data if one.filename == _file_name(name) and one.status != "error"]
            if _ends(page, since):
                break
            after = f"&after={word(page.data[-1].id)}"
        return list(dict.fromkeys(found))

    async def discard(self, upload: str) -> None:
        """See `BatchApi`."""
        await self._service.exchange("DELETE", f"/files/{word(upload)}")

    async def create(self, name: str, upload: str, lines: Sequence[bytes]) -> str:
        """See `BatchApi`."""
        wanted = {
            "input_file_id": upload,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {_NAME: name},
        }
        return word(decoded(self._service, await self._service.exchange("POST", "/batches", _encode(wanted)), _made).id)

    async def find(self, name: str, calls: int, since: float) -> list[str]:
        """See `BatchApi`: all batches with this name, on all pages."""
        found: list[str] = []
        after = ""
        for _ in range(MOST_PAGES):
            page = decoded(self._service, await self._service.exchange("GET", f"/batches?limit=100{after}"), _page)
            found += [one.id for one in page.data if (one.metadata or {}).get(_NAME) == name]
            if _ends(page, since):
                break
            after = f"&after={word(page.data[-1].id)}"
        return list(dict.fromkeys(found))

    async def look(self, id_: str) -> BatchStatus:
        """See `BatchApi`."""
        batch = decoded(self._service, await self._service.exchange("GET", f"/batches/{word(id_)}"), _batch)
        counts = batch.request_counts or _Counts()
        files = tuple(word(one) for one in (batch.output_file_id, batch.error_file_id) if one)
        status = batch.status.lower()
        return BatchStatus(
            over=status in _OVER,
            done=counts.completed + counts.failed,
            total=counts.total,
            refused=self._refusal(batch) if status == "failed" else "",
            full=any(one.code == _NO_ROOM for one in (batch.errors and batch.errors.data) or ()),
            cut=status in ("expired", "cancelled"),
            cancelled=status == "cancelled",
            begun=status != "validating",
            files=files,
        )

    async def results(self, looked: BatchStatus, calls: int) -> Mapping[str, bytes | AnswerError]:
        """See `BatchApi`."""
        found: dict[str, bytes | AnswerError] = {}
        for file in looked.files:
            body = await self._service.exchange("GET", f"/files/{file}/content", most=most_result_bytes(calls))
            for line in lines_of(self._service, body, _line):
                kept(found, line.custom_id, self._result(line))
        return found

    async def cancel(self, id_: str) -> None:
        """See `BatchApi`."""
        await self._service.exchange("POST", f"/batches/{word(id_)}/cancel", b"{}")

    def _result(self, line: _Line) -> bytes | AnswerError:
        name, response = self._service.target.name, line.response
        if response is not None and response.status_code == 200:
            return bytes(response.body) or garbled(name)
        code = str(line.error.code) if line.error else ""
        if code in _NOT_BEGUN:
            return expired(name)
        said = str((line.error and line.error.message) or code or (response and response.status_code) or "")
        return failed(name, self._service.target.secret.hide(said[:200]))

    def _refusal(self, batch: _Batch) -> str:
        errors = (batch.errors and batch.errors.data) or [_Error()]
        said = str(errors[0].message or errors[0].code or "the provider does not say why")
        return self._service.target.secret.hide(said[:500])


def _file_name(name: str) -> str:
    """The name of the file of a batch's calls, by which it is found."""
    return f"overton-{name}.jsonl"


def _ends(page: _Page | _Files, since: float) -> bool:
    """Whether the list's next page is not needed: there is none, or the list is sorted by age and only older ones
    follow. Some services list the oldest first."""
    times = [since if one.created_at is None else one.created_at for one in page.data]
    return not page.has_more or not times or times[0] >= times[-1] < since
