"""Batches as OpenAI and Anthropic have them, with what can go wrong: no network here, only requests and replies."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

__all__ = ["CUT", "DROPPED", "LINE_FAULTS", "STALLED", "STEPS", "Batched", "Provider", "key_of"]

LINE_FAULTS = ("errored", "malformed", "missing", "twice", "expired")
"""Faults of a call in a batch. Its line is an error, is not JSON or is missing, or the first of its two lines is an
error, or it was not started in time."""

STEPS = ("upload", "create", "list files", "list", "look", "read", "cancel", "discard", "call")
"""The kinds of requests; 'call' is a request outside batches."""

DROPPED, STALLED, CUT = 0, -1, -2
"""Replies that have no status: the connection is closed without one, no reply comes, or half of one does."""

_AFTERWARDS = {"drop": (DROPPED, b""), "stall": (STALLED, b""), "cut": (CUT, b""), "garbled": (200, b'{"id": "bat')}
_COMPLAINTS = {
    "quota": (429, "You exceeded your current quota", "insufficient_quota"),
    "400": (400, "The batch's endpoint is not supported for this model", "invalid_request_error"),
}

_BOUNDARY = re.compile(rb"boundary=([A-Za-z0-9-]+)")
_FILE_NAME = re.compile(rb'filename="([^"]+)"')


@dataclass
class Batched:
    """A batch that was created; `left` is for how many more checks it is still running."""

    id: str
    name: str
    calls: list[tuple[str, dict[str, Any]]]
    created: float
    left: int
    status: str = "in_progress"
    refused: str = ""
    code: str = ""
    lines: list[bytes] = field(default_factory=list)
    errors: list[bytes] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


@dataclass
class Provider:
    """Both providers' files and batches.

    `answer` turns a call's body into the status and the body of its reply. A call that is answered is paid, and counted
    in `paid` by its body. `faults` strike a call the first time, in the proportion `share`. `step` gets each step
    before its reply is written, and `log` has the kind of every request. The other switches:

    - `looks`: how often a batch is polled until it is over.
    - `refuses`: so many batches fail as a whole, with the code and the message of `refusal`.
    - `ends`: 'expired' or 'cancelled', how each batch ends, with every second call unanswered.
    - `trouble`: for each kind of request, what happens to the first ones instead of a good reply, in turn.
    - `always`: the same for all requests of a kind. '503', or any other status, refuses the request; 'quota' does with
      a message. 'done 500', 'done drop', 'done stall', 'done cut' and 'done garbled' carry it out first, then reply so.
    - `retry_after`: seconds in the header of such replies, None for no header.
    - `unlisted`: so many lists lack the newest file or batch.
    """

    answer: Callable[[dict[str, Any]], tuple[int, dict[str, Any]]]
    step: Callable[[str], None] = lambda step: None
    faults: tuple[str, ...] = ()
    share: float = 0.3
    looks: int = 1
    refuses: int = 0
    refusal: tuple[str, str] = ("token_limit_exceeded", "Enqueued token limit reached")
    ends: str = ""
    trouble: dict[str, list[str]] = field(default_factory=dict)
    always: dict[str, str] = field(default_factory=dict)
    retry_after: float | None = None
    unlisted: int = 0
    log: list[str] = field(default_factory=list)
    uploads: dict[str, str] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    batches: dict[str, Batched] = field(default_factory=dict)
    paid: Counter[str] = field(default_factory=Counter)
    begun: Counter[str] = field(default_factory=Counter)
    struck: Counter[str] = field(default_factory=Counter)

    def handle(self, method: str, target: str, content: str, body: bytes) -> tuple[int, bytes] | None:
        """The reply to a request; None if it is not about batches."""
        split = urlsplit(target)
        words = split.path.strip("/").split("/")[1:]  # without 'v1'
        anthropic = words[0] == "messages"
        shown, create = (_as_anthropic, self._create_anthropic) if anthropic else (_as_openai, self._create_openai)
        query = {key: values[0] for key, values in parse_qs(split.query).items()}
        after = query.get("after") or query.get("after_id")
        match (method, *words[anthropic:]):
            case ("POST", "files"):
                self.step("uploading")
                return self._told("upload", "uploaded", lambda: self._upload(content, body))
            case ("GET", "files"):
                return self._told("list files", "listed files", lambda: self._list_files(after))
            case ("DELETE", "files", id_):
                return self._told("discard", "discarded", lambda: self._discard(id_))
            case ("POST", "batches"):
                self.step("creating")
                return self._told("create", "created", lambda: create(json.loads(body)))
            case ("GET", "batches"):
                return self._told("list", "listed", lambda: self._list(after, shown))
            case ("GET", "batches", id_):
                return self._told("look", "looked", lambda: self._look(id_, shown))
            case ("POST", "batches", id_, "cancel"):
                return self._told("cancel", "cancelled", lambda: self._cancel(id_, shown))
            case ("GET", "files", id_, "content"):
                return self._told("read", "read", lambda: self._read(id_))
            case ("GET", "batches", id_, "results"):
                return self._told("read", "read", lambda: self._results(id_))
        return None

    def replied(self, kind: str, good: Callable[[], tuple[int, bytes]]) -> tuple[int, bytes]:
        """The reply to a request of a kind, good or not."""
        self.log.append(kind)
        fault = self.trouble[kind].pop(0) if self.trouble.get(kind) else self.always.get(kind, "")
        if not fault:
            return good()
        done, _, what = fault.rpartition(" ")
        if done:
            good()
        if what in _AFTERWARDS:
            return _AFTERWARDS[what]
        status, message, code = _COMPLAINTS.get(what) or (int(what), "Try again later", "unavailable")
        return status, json.dumps({"error": {"message": message, "code": code}}).encode()

    def finish_all(self) -> None:
        """Carry out every batch to its end without further polling, as a provider would, except cancelled ones."""
        for batch in self.batches.values():
            if batch.status == "in_progress" and not batch.refused:
                self._finish(batch)

    # The steps

    def _told(self, kind: str, step: str, good: Callable[[], tuple[int, bytes]]) -> tuple[int, bytes]:
        reply = self.replied(kind, good)
        self.step(step)
        return reply

    def _upload(self, content: str, body: bytes) -> tuple[int, bytes]:
        boundary = _BOUNDARY.search(content.encode())
        assert boundary is not None
        parts = body.split(b"--" + boundary[1])
        file = next(part for part in parts if b'name="file"' in part).split(b"\r\n\r\n", 1)[1].removesuffix(b"\r\n")
        name = _FILE_NAME.search(body)
        assert name is not None
        id_ = f"file-{len(self.uploads) + 1}"
        self.files[id_], self.uploads[id_] = file, name[1].decode()
        return _json({"id": id_, "object": "file", "purpose": "batch", "bytes": len(file)})

    def _create_openai(self, wanted: dict[str, Any]) -> tuple[int, bytes]:
        if wanted["input_file_id"] not in self.files:
            return 400, json.dumps({"error": {"message": "no such file", "code": "invalid_file"}}).encode()
        lines = [json.loads(line) for line in self.files[wanted["input_file_id"]].splitlines()]
        assert all((line["method"], line["url"]) == ("POST", "/v1/chat/completions") for line in lines)
        calls = [(line["custom_id"], line["body"]) for line in lines]
        return self._created(calls, (wanted.get("metadata") or {}).get("overton", ""), _as_openai)

    def _create_anthropic(self, wanted: dict[str, Any]) -> tuple[int, bytes]:
        calls = [(one["custom_id"], one["params"]) for one in wanted["requests"]]
        if not all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", id_) for id_, _ in calls):
            return 400, b'{"type": "error", "error": {"type": "invalid_request_error", "message": "custom_id"}}'
        return self._created(calls, "", _as_anthropic)

    def _created(self, calls: list[tuple[str, dict[str, Any]]], name: str, shown: Any) -> tuple[int, bytes]:
        assert len({id_ for id_, _ in calls}) == len(calls)
        batch = Batched(f"batch_{len(self.batches) + 1}", name, calls, time(), self.looks)
        self.batches[batch.id] = batch
        if self.refuses:
            self.refuses -= 1
            (batch.code, batch.refused), batch.left = self.refusal, 0
        return _json(shown(batch))

    def _list(self, after: str | None, shown: Any) -> tuple[int, bytes]:
        return self._page(list(self.batches), after, lambda id_: shown(self.batches[id_]))

    def _list_files(self, after: str | None) -> tuple[int, bytes]:
        return self._page(
            [id_ for id_ in self.uploads if id_ in self.files],
            after,
            lambda id_: {"id": id_, "object": "file", "purpose": "batch", "filename": self.uploads[id_]},
        )

    def _page(self, ids: list[str], after: str | None, shown: Callable[[str], Any]) -> tuple[int, bytes]:
        """Two per page, the newest first."""
        if self.unlisted and after is None:
            self.unlisted -= 1
            ids = ids[:-1]
        ids = ids[::-1]
        ids = ids[ids.index(after) + 1 :] if after in ids else ids
        return _json({"object": "list", "data": [shown(id_) for id_ in ids[:2]], "has_more": len(ids) > 2})

    def _discard(self, id_: str) -> tuple[int, bytes]:
        return _json({"id": id_, "deleted": True}) if self.files.pop(id_, None) is not None else _missing()

    def _read(self, id_: str) -> tuple[int, bytes]:
        return (200, self.files[id_]) if id_ in self.files else _missing()

    def _results(self, id_: str) -> tuple[int, bytes]:
        batch = self.batches.get(id_)
        return _missing() if batch is None else (200, b"\n".join(batch.lines + batch.errors))

    def _look(self, id_: str, shown: Any) -> tuple[int, bytes]:
        batch = self.batches.get(id_)
        if batch is None:
            return _missing()
        batch.left -= 1
        if batch.left < 0 and batch.status == "in_progress":
            self._finish(batch)
        elif batch.status == "cancelling":
            self._finish(batch, cancelled=True)
        return _json(shown(batch))

    def _cancel(self, id_: str, shown: Any) -> tuple[int, bytes]:
        batch = self.batches[id_]
        if batch.status == "in_progress":
            batch.status = "cancelling"
        return _json(shown(batch))

    # Results of a batch

    def _finish(self, batch: Batched, *, cancelled: bool = False) -> None:
        if batch.refused:
            batch.status = "failed"
            return
        for number, (id_, body) in enumerate(batch.calls):
            if (cancelled or self.ends) and number % 2:
                self._keep(batch, id_, "expired" if self.ends == "expired" else "canceled", None)
            else:
                self._answer(batch, id_, body)
        # In no order, with a line of an unknown call and one that cannot be read.
        batch.lines.sort(key=lambda line: hashlib.sha256(line).digest())
        batch.lines[1:1] = [_line("nobody", {"status_code": 200, "body": {}}, None), b"{", b""] if self.faults else []
        counts = batch.counts
        batch.status = "cancelled" if counts["canceled"] else "expired" if counts["expired"] else "completed"
        if batch.lines:
            self.files[f"file-{batch.id}-out"] = b"\n".join(batch.lines)
        if batch.errors:
            self.files[f"file-{batch.id}-err"] = b"\n".join(batch.errors)

    def _answer(self, batch: Batched, id_: str, body: dict[str, Any]) -> None:
        key = key_of(body)
        self.begun[key] += 1
        fault = self._fault(key)
        if fault in ("expired", "errored"):
            self._keep(batch, id_, fault, None)
            return
        status, answered = self.answer(body)
        if status != 200:
            self._keep(batch, id_, "errored", None)
            return
        self.paid[key] += 1
        if fault in ("malformed", "missing"):
            batch.counts["succeeded"] += 1
        if fault == "malformed":
            batch.lines.append(json.dumps({"custom_id": id_}).encode()[:-4])
        elif fault != "missing":
            if fault == "twice":
                self._keep(batch, id_, "errored", None)
            self._keep(batch, id_, "succeeded", answered)

    def _fault(self, key: str) -> str | None:
        """Faults hit a call when it is first in a batch; which one follows from the call."""
        digest = hashlib.sha256(f"fault {key}".encode()).digest()
        if not self.faults or self.begun[key] > 1 or digest[0] / 256 >= self.share:
            return None
        fault = self.faults[digest[1] % len(self.faults)]
        self.struck[fault] += 1
        return fault

    def _keep(self, batch: Batched, id_: str, what: str, body: dict[str, Any] | None) -> None:
        batch.counts[what] += 1
        if "max_tokens" in batch.calls[0][1] and not batch.name:  # Anthropic's batches have no name
            error = {"type": "error", "error": {"type": "api_error", "message": "it failed"}}
            result = {"type": what, **({"message": body} if body else {"error": error} if what == "errored" else {})}
            batch.lines.append(json.dumps({"custom_id": id_, "result": result}).encode())
        elif body is not None:
            batch.lines.append(_line(id_, {"status_code": 200, "request_id": "r", "body": body}, None))
        elif what == "errored":
            batch.errors.append(_line(id_, {"status_code": 500, "body": {"error": {"message": "it failed"}}}, None))
        else:
            code = {"expired": "batch_expired", "canceled": "batch_cancelled"}[what]
            batch.errors.append(_line(id_, None, {"code": code, "message": "not in time"}))


def key_of(body: dict[str, Any]) -> str:
    """The key of a call: its body as it was asked."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:16]


def _line(id_: str, response: dict[str, Any] | None, error: dict[str, Any] | None) -> bytes:
    return json.dumps({"id": "batch_req", "custom_id": id_, "response": response, "error": error}).encode()


def _as_openai(batch: Batched) -> dict[str, Any]:
    counts = batch.counts
    over = batch.status in ("completed", "expired", "cancelled")
    return {
        "id": batch.id,
        "object": "batch",
        "status": batch.status,
        "created_at": int(batch.created),
        "metadata": {"overton": batch.name} if batch.name else None,
        "request_counts": {
            "total": len(batch.calls),
            "completed": counts["succeeded"],
            "failed": counts["errored"] + counts["expired"] + counts["canceled"],
        },
        "errors": {"data": [{"code": batch.code, "message": batch.refused}]} if batch.refused else None,
        "output_file_id": f"file-{batch.id}-out" if over and batch.lines else None,
        "error_file_id": f"file-{batch.id}-err" if over and batch.errors else None,
    }


def _as_anthropic(batch: Batched) -> dict[str, Any]:
    names = ("succeeded", "errored", "canceled", "expired")
    counts = {name: batch.counts[name] for name in names}
    over = batch.status in ("completed", "expired", "cancelled")
    rest = len(batch.calls) - sum(counts.values())
    counts["succeeded"] += rest if over else 0
    return {
        "id": batch.id,
        "type": "message_batch",
        "processing_status": "ended" if over else "in_progress",
        "created_at": datetime.fromtimestamp(batch.created, UTC).isoformat(),
        "request_counts": counts | {"processing": 0 if over else rest},
        "results_url": "http://127.0.0.1:1/elsewhere" if over else None,
    }


def _json(content: Any) -> tuple[int, bytes]:
    return 200, json.dumps(content).encode()


def _missing() -> tuple[int, bytes]:
    return 404, b'{"error": {"message": "no such thing", "code": "not_found"}}'
