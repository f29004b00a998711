"""OpenAI's chat completions, and its batches.

A file of calls is uploaded (`POST /files`, with purpose 'batch' and the batch's name in the file's name). A batch is
created from this file (`POST /batches`, with the name in its metadata) and polled (`GET /batches/ID`). Its results are
read from two files, one for replies and one for errors. Files and batches are listed with their names (`GET /files`,
`GET /batches`). Limits as of 2026: 50,000 calls and 200 MB per batch, done within 24 hours
(platform.openai.com/docs/guides/batch).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from overton.calls import BatchStatus, Form, Reply, Request, Settings, Tokens, Usage
from overton.errors import AnswerError, Unreadable
from overton.models.arguments import settings_checked
from overton.models.batch_api import (
    MOST_PAGES,
    decode_result,
    expired,
    failed,
    garbled,
    keep_result,
    lines_of,
    most_result_bytes,
    safe_id,
)
from overton.models.endpoint import without_key
from overton.models.http_client import ApiClient, HttpClient, decode_body, encoded, malformed
from overton.models.http_errors import ErrorContext, error_for
from overton.models.logprobs import Sampler, TokenLogprobs, no_probabilities, reasoned, sampler_of, spots_of
from overton.models.providers import Provider
from overton.untrusted import decode_json

# For OpenAI's own models. `reasons_of` guesses for all providers, which may use older names.
_REFUSES_MAX_TOKENS = re.compile(r"(ft:)?(o[1-9]|gpt-([5-9]|[1-9][0-9]))")
_DEFAULT_SAMPLER = Sampler()
_encode = msgspec.json.Encoder().encode


class _ContentPart(msgspec.Struct, gc=False):
    text: str | None = None


class _Message(msgspec.Struct, gc=False):
    content: str | list[_ContentPart] | None = None
    refusal: str | None = None


class _TopLogprob(msgspec.Struct, gc=False):
    token: str
    logprob: float


class _Token(msgspec.Struct, gc=False):
    token: str
    logprob: float
    bytes: list[int] | None = None
    top_logprobs: list[_TopLogprob] = []


class _Logprobs(msgspec.Struct, gc=False):
    content: list[_Token] | None = None


class _LogprobsMessage(_Message, gc=False):
    reasoning_content: Any = None
    reasoning: Any = None


class _LogprobsChoice(msgspec.Struct, gc=False):
    message: _LogprobsMessage
    logprobs: _Logprobs | None = None


class _LogprobsCompletion(msgspec.Struct, gc=False):
    choices: list[_LogprobsChoice] = []


class _Error(msgspec.Struct, gc=False):
    code: Any = None


class _Choice(msgspec.Struct, gc=False):
    message: _Message
    finish_reason: str | None = None
    error: _Error | str | None = None


class _PromptDetails(msgspec.Struct, gc=False):
    cached_tokens: Any = None


class _Usage(msgspec.Struct, gc=False):
    prompt_tokens: Tokens | None = None
    completion_tokens: Tokens | None = None
    prompt_tokens_details: _PromptDetails | None = None


class _CompletionBody(msgspec.Struct, gc=False):
    choices: list[_Choice] = []
    model: str | None = None
    system_fingerprint: Any = None
    provider: Any = None
    error: _Error | str | None = None


class _Completion(_CompletionBody, gc=False):
    usage: _Usage | None = None


_decode = msgspec.json.Decoder(_Completion, strict=False).decode
_decode_without_usage = msgspec.json.Decoder(_CompletionBody, strict=False).decode
_decode_logprobs = msgspec.json.Decoder(_LogprobsCompletion, strict=False).decode
_decode_answer = msgspec.json.Decoder(dict[str, str]).decode


@dataclass(frozen=True)
class Dialect:
    """A provider's field names in the body of a request."""

    model: str
    max_tokens_field: str = "max_tokens"
    seed_field: str = "seed"
    names_choices: bool = False
    alternatives: int = 0
    sampler: Sampler = _DEFAULT_SAMPLER

    def weigh(self) -> bytes:
        """The fields that request token probabilities, as JSON with a leading comma."""
        return b',"logprobs":true,"top_logprobs":%d' % self.alternatives

    def head(self, settings: Settings) -> bytes:
        """The part of a body before the messages, which is the same for all requests with these settings."""
        body: dict[str, Any] = {
            "model": self.model,
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            self.max_tokens_field: settings.max_tokens,
            "reasoning_effort": settings.reasoning_effort,
        }
        body = {key: value for key, value in body.items() if value is not None} | settings.extra
        return _encode(body)[:-1] + b',"messages":'

    def form(self, form: Form) -> bytes:
        """The fields that make an answer keep the reply format, as JSON with a leading comma."""
        if form.choices and self.names_choices:
            return b',"structured_outputs":' + _encode({"choice": form.choices})
        if form.openings and self.names_choices:
            return b',"structured_outputs":' + _encode({"regex": _openings_regex(form.openings)})
        schema = _choices_schema(form.choices) if form.choices else form.schema
        if schema is None:
            return b""
        wanted = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}
        return b',"response_format":' + _encode(wanted)


def dialect_of(provider: Provider, model: str, *, processed: bool = False) -> Dialect:
    """The dialect of one model. OpenAI's reasoning models need `max_completion_tokens` and reject `max_tokens`. Other
    models only know `max_tokens`.

    `processed` says that token probabilities are computed after temperature and truncation.
    """
    successor = provider.name == "openai" and _REFUSES_MAX_TOKENS.match(model)
    max_tokens_field = "max_completion_tokens" if successor else "max_tokens"
    return Dialect(
        model,
        max_tokens_field,
        provider.seed_field,
        provider.names_choices,
        provider.alternatives,
        Sampler(processed=processed),
    )


def _openings_regex(openings: tuple[str, ...]) -> str:
    return f"({'|'.join(map(re.escape, openings))})[\\s\\S]*"


def _choices_schema(choices: tuple[str, ...]) -> dict[str, Any]:
    """A schema for choices. Its root must be an object, which `_unwrap_choice` removes from replies."""
    answer = {"type": "string", "enum": list(choices)}
    return {"type": "object", "properties": {"answer": answer}, "required": ["answer"], "additionalProperties": False}


class OpenAIModel:
    """A model behind chat completions. With `hold`, the endpoint gets the requested format and enforces it. Otherwise
    the format is not sent.

    A reply format is a JSON schema, a list of choices, or a list of openings (the texts with which a reply may begin).
    A schema is sent as `response_format`. For vLLM, choices and openings are sent as `structured_outputs`. Other
    endpoints get choices as a schema with the single field `answer`, whose value becomes the reply's text. They do not
    enforce openings.
    """

    def __init__(
        self, transport: HttpClient, dialect: Dialect, *, name: str, identity: str, hold: bool = False
    ) -> None:
        self.name = name
        self.identity = identity
        self.holds_form = hold
        self._transport = transport
        self._dialect = dialect
        self._settings: Settings | None = None
        self._head = b""
        self._seed_template = b',"%b":%%d' % dialect.seed_field.encode()

    def __repr__(self) -> str:
        return f"OpenAIModel({self.name!r})"

    async def answer(self, request: Request) -> Reply:
        """Answer once; raises as `overton.calls.Answerer` says."""
        return self.read(request, *await self._transport.post(self.body(request)))

    def read(self, request: Request, body: bytes, target: ErrorContext) -> Reply:
        """Read the reply to a request from a response body; raises as `answer` does."""
        reply = _read_reply(body, target)
        if request.form is not None and request.form.weigh:
            reply = self._add_spots(reply, request, request.form, body, target)
        if self.holds_form and request.form is not None and request.form.choices and not self._dialect.names_choices:
            return _unwrap_choice(reply)
        return reply

    @property
    def weighs(self) -> bool:
        """Whether its provider returns token probabilities."""
        return self._dialect.alternatives > 0

    def _add_spots(self, reply: Reply, request: Request, form: Form, body: bytes, target: ErrorContext) -> Reply:
        choice = decode_body(body, target, _decode_logprobs, _decode_logprobs).choices[0]
        if choice.message.reasoning_content or choice.message.reasoning:
            raise reasoned(self.name)
        content = choice.logprobs.content if choice.logprobs is not None else None
        if content is None and reply.text and not reply.refused:
            raise no_probabilities(self.name)
        tokens = [
            TokenLogprobs.of(
                token.token, token.bytes, token.logprob, [(top.token, top.logprob) for top in token.top_logprobs]
            )
            for token in content or ()
        ]
        sampler = sampler_of(request.settings, self._dialect.sampler)
        # If choices are enforced by a schema, the text is JSON and contains the choice.
        within = form if self._dialect.names_choices else msgspec.structs.replace(form, choices=())
        held = self.holds_form and bool(form.choices or form.schema)
        return msgspec.structs.replace(reply, spots=spots_of(tokens, reply.text, within, sampler, held=held))

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.close()

    def body(self, request: Request) -> bytes:
        """The body of a request."""
        if request.settings is not self._settings:  # nearly always the settings of the previous request
            self._head = self._dialect.head(settings_checked(request.settings))
            self._settings = request.settings
        parts = [self._head, encoded(request.messages)]
        if request.seed is not None:
            parts.append(self._seed_template % request.seed)
        if self.holds_form and request.form is not None:
            parts.append(self._dialect.form(request.form))
        if request.form is not None and request.form.weigh:
            parts.append(self._dialect.weigh())
        parts.append(b"}")
        return b"".join(parts)


def _read_reply(body: bytes, target: ErrorContext) -> Reply:
    completion: _CompletionBody = decode_body(body, target, _decode, _decode_without_usage)
    choice = completion.choices[0] if completion.choices else None
    failure = completion.error if choice is None else choice.error
    if failure is not None:  # routers report a provider's failure with status 200
        raise error_for(_error_status(failure), {}, body, target)
    if choice is None:
        raise malformed(target, "it contains no choices")
    usage = completion.usage if isinstance(completion, _Completion) else None
    return without_key(_reply_from_choice(choice, usage, completion), target.key)


def _reply_from_choice(choice: _Choice, usage: _Usage | None, completion: _CompletionBody) -> Reply:
    content, refusal, finish = choice.message.content, choice.message.refusal, choice.finish_reason or "stop"
    if isinstance(content, list):
        content = "".join(part.text or "" for part in content)
    return Reply(
        text=content or refusal or "",
        finish=finish,
        refused=bool(refusal) or finish == "content_filter",
        usage=Usage() if usage is None else _read_usage(usage),
        model=completion.model,
        fingerprint=_read_word(completion.system_fingerprint),
        served_by=_read_word(completion.provider),
    )


def _read_usage(usage: _Usage) -> Usage:
    if usage.prompt_tokens_details is None:
        return Usage(usage.prompt_tokens, usage.completion_tokens)
    return Usage.said(usage.prompt_tokens, usage.completion_tokens, usage.prompt_tokens_details.cached_tokens)


_MAX_FIELD_CHARS = 200


def _read_word(said: object) -> str | None:
    """A further field of a reply, None if it is not a word. A wrong type must not make the reply unreadable."""
    return said[:_MAX_FIELD_CHARS] if isinstance(said, str) and said else None


def _unwrap_choice(reply: Reply) -> Reply:
    """The reply with only the choice as its text. It is unchanged if the endpoint did not enforce the schema."""
    try:
        answer = decode_json(reply.text, _decode_answer).get("answer")
    except Unreadable:
        return reply
    if answer is None:
        return reply
    start = reply.text.find(answer)
    spots = tuple(
        msgspec.structs.replace(spot, at=spot.at - start)
        for spot in reply.spots
        if start >= 0 and 0 <= spot.at - start < len(answer)
    )
    return msgspec.structs.replace(reply, text=answer, spots=spots)


def _error_status(error: _Error | str) -> int:
    code = error.code if isinstance(error, _Error) else None
    return code if isinstance(code, int) and 400 <= code < 600 else 502


_NAME_KEY = "overton"
_OVER_STATUSES = {"completed", "failed", "expired", "cancelled"}
_NOT_BEGUN_CODES = {"batch_expired", "batch_cancelled"}
_NO_ROOM_CODE = "token_limit_exceeded"


class _CreatedObject(msgspec.Struct):
    id: str


class _Counts(msgspec.Struct):
    total: int = 0
    completed: int = 0
    failed: int = 0


class _BatchError(msgspec.Struct):
    code: Any = None
    message: Any = None


class _BatchErrors(msgspec.Struct):
    data: list[_BatchError] | None = None


class _Batch(msgspec.Struct):
    id: str
    status: str = ""
    created_at: float | None = None
    metadata: dict[str, Any] | None = None
    request_counts: _Counts | None = None
    errors: _BatchErrors | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None


class _Page(msgspec.Struct):
    data: list[_Batch] = []
    has_more: bool = False


class _UploadedFile(msgspec.Struct):
    id: str
    filename: str = ""
    created_at: float | None = None
    status: str | None = None


class _FilesPage(msgspec.Struct):
    data: list[_UploadedFile] = []
    has_more: bool = False


class _Response(msgspec.Struct):
    status_code: int = 0
    body: msgspec.Raw = msgspec.Raw()


class _Line(msgspec.Struct):
    custom_id: str
    response: _Response | None = None
    error: _BatchError | None = None


_decode_created = msgspec.json.Decoder(_CreatedObject).decode
_decode_batch = msgspec.json.Decoder(_Batch).decode
_decode_page = msgspec.json.Decoder(_Page).decode
_decode_files = msgspec.json.Decoder(_FilesPage).decode
_decode_line = msgspec.json.Decoder(_Line).decode


class OpenAIBatches:
    """The batches of one model behind chat completions."""

    most_calls = 50_000
    most_bytes = 200_000_000
    hours = 24.0
    named = True

    def __init__(self, service: ApiClient, model: OpenAIModel) -> None:
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
        return safe_id(
            decode_result(
                self._service, await self._service.exchange("POST", "/files", body, content=content), _decode_created
            ).id
        )

    async def find_uploads(self, name: str, since: float) -> list[str]:
        """See `BatchApi`."""
        found: list[str] = []
        after = ""
        for _ in range(MOST_PAGES):
            path = f"/files?purpose=batch&order=desc&limit=100{after}"
            page = decode_result(self._service, await self._service.exchange("GET", path), _decode_files)
            found += [file.id for file in page.data if file.filename == _file_name(name) and file.status != "error"]
            if _is_last_page(page, since):
                break
            after = f"&after={safe_id(page.data[-1].id)}"
        return list(dict.fromkeys(found))

    async def discard(self, upload: str) -> None:
        """See `BatchApi`."""
        await self._service.exchange("DELETE", f"/files/{safe_id(upload)}")

    async def create(self, name: str, upload: str, lines: Sequence[bytes]) -> str:
        """See `BatchApi`."""
        wanted = {
            "input_file_id": upload,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {_NAME_KEY: name},
        }
        return safe_id(
            decode_result(
                self._service, await self._service.exchange("POST", "/batches", _encode(wanted)), _decode_created
            ).id
        )

    async def find(self, name: str, calls: int, since: float) -> list[str]:
        """Find all batches with this name, on all pages; see `BatchApi`."""
        found: list[str] = []
        after = ""
        for _ in range(MOST_PAGES):
            page = decode_result(
                self._service, await self._service.exchange("GET", f"/batches?limit=100{after}"), _decode_page
            )
            found += [batch.id for batch in page.data if (batch.metadata or {}).get(_NAME_KEY) == name]
            if _is_last_page(page, since):
                break
            after = f"&after={safe_id(page.data[-1].id)}"
        return list(dict.fromkeys(found))

    async def look(self, id_: str) -> BatchStatus:
        """See `BatchApi`."""
        batch = decode_result(
            self._service, await self._service.exchange("GET", f"/batches/{safe_id(id_)}"), _decode_batch
        )
        counts = batch.request_counts or _Counts()
        files = tuple(safe_id(file_id) for file_id in (batch.output_file_id, batch.error_file_id) if file_id)
        status = batch.status.lower()
        return BatchStatus(
            over=status in _OVER_STATUSES,
            done=counts.completed + counts.failed,
            total=counts.total,
            refused=self._refusal(batch) if status == "failed" else "",
            full=any(error.code == _NO_ROOM_CODE for error in (batch.errors and batch.errors.data) or ()),
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
            for line in lines_of(self._service, body, _decode_line):
                keep_result(found, line.custom_id, self._result(line))
        return found

    async def cancel(self, id_: str) -> None:
        """See `BatchApi`."""
        await self._service.exchange("POST", f"/batches/{safe_id(id_)}/cancel", b"{}")

    def _result(self, line: _Line) -> bytes | AnswerError:
        name, response = self._service.target.name, line.response
        if response is not None and response.status_code == 200:
            return bytes(response.body) or garbled(name)
        code = str(line.error.code) if line.error else ""
        if code in _NOT_BEGUN_CODES:
            return expired(name)
        said = str((line.error and line.error.message) or code or (response and response.status_code) or "")
        return failed(name, self._service.target.key.hide(said[:200]))

    def _refusal(self, batch: _Batch) -> str:
        errors = (batch.errors and batch.errors.data) or [_BatchError()]
        said = str(errors[0].message or errors[0].code or "the provider does not say why")
        return self._service.target.key.hide(said[:500])


def _file_name(name: str) -> str:
    """The name of the file with a batch's calls. Overton finds the file by this name."""
    return f"overton-{name}.jsonl"


def _is_last_page(page: _Page | _FilesPage, since: float) -> bool:
    """Whether the rest of the list is not needed: there is no next page, or the list is sorted by age and only older
    entries follow. Some services list the oldest entries first."""
    times = [since if entry.created_at is None else entry.created_at for entry in page.data]
    return not page.has_more or not times or times[0] >= times[-1] < since
