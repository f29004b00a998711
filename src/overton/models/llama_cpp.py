"""Models that llama.cpp runs in this process, in one or more copies."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from overton.calls import Form, Reply, Request, Usage
from overton.errors import AccessError, AnswerError, MissingExtra, RejectedError, UnavailableError
from overton.models.arguments import settings_checked
from overton.models.gguf import check_gguf, sha256_of
from overton.models.logprobs import Sampler, TokenLogprobs, sampler_of, spots_of

T = TypeVar("T")


@dataclass
class _Copy:
    """The thread of a copy, the number of calls that are waiting or running in it, and the head of its last call."""

    thread: ThreadPoolExecutor
    waiting: int = 0
    last: str = ""


@dataclass
class CopyPool:
    """A pool with one thread per copy of a model. Each thread answers one call at a time, in order of arrival.

    A head is the beginning of a prompt that several calls share (see `Request`). A call goes to a copy whose last call
    had the same head. Otherwise it goes to the copy with the fewest waiting calls. If consecutive calls have the same
    head, the copy thus reads this head only once.
    """

    number: int
    name: str
    _copies: list[_Copy] = field(default_factory=list)

    async def run(self, head: str, work: Callable[..., T], *arguments: Any) -> T:
        """Run `work(*arguments)` in the thread of the copy that fits `head`, and return its result. `head` is '' for a
        call without a shared head."""
        copy = self._choose_copy(head)
        copy.waiting += 1
        copy.last = head
        try:
            return await asyncio.get_running_loop().run_in_executor(copy.thread, work, *arguments)
        finally:
            copy.waiting -= 1

    def shutdown(self) -> None:
        """Wait for running calls, then end the threads and free the memory of the model's copies."""
        for copy in self._copies:
            copy.thread.shutdown()

    def _choose_copy(self, head: str) -> _Copy:
        if not self._copies:
            threads = (ThreadPoolExecutor(1, f"overton {self.name}") for _ in range(self.number))
            self._copies = [_Copy(thread) for thread in threads]
        least = min(self._copies, key=lambda copy: copy.waiting)
        return next((copy for copy in self._copies if head and copy.last == head), least)


_DEFAULT_CONTEXT_TOKENS = 8192
_DEFAULT_MAX_TOKENS = 1024
_SMALL_BYTES = 1_000_000_000
"""The maximum size in bytes of the weights of a model that is loaded several times."""
_MAX_COPIES = 4
_MAX_THREADS = 16
_SAMPLER = Sampler(0.8, 0.95, 40, 0.05, cuts_first=True, tries_first=True)
"""llama.cpp's default sampling: the defaults of its server, with its samplers in their order."""
_ALTERNATIVES = 40
"""The number of alternatives requested per token. By default, `top_k` leaves no more than this, so no token that can be
sampled is missing."""
_SEED_MODULUS = 2**32 - 1
"""The number of valid seeds. llama.cpp's seeds are below 2**32, and the largest of these means 'any'."""


class EmbeddedModel:
    """A GGUF model, loaded at the first request.

    With `hold` (the default), a grammar constrains answers to the requested format, because small models seldom keep a
    format on their own. Such answers do not show whether the model would have kept the format without a grammar.

    On the same kind of processor, the same request with the same seed gets the same answer. Other requests and their
    order do not matter. Without `max_tokens`, an answer ends after 1,024 tokens. A `seed` is taken modulo 2**32 - 1.

    A small model (up to 1 GB) is loaded up to four times. Each copy answers one request at a time on its part of the
    `threads` (default: the available cores, at most 16). This is faster, because cores need not wait for one another. A
    larger model is loaded once. Callers should keep `connections` requests in progress, twice as many as there are
    copies. Then a request with a common head (see `Request`) can wait for the copy that has read the head, while other
    copies answer other requests.

    The head of a prompt is always read separately from the rest, even for a single request. The size of the chunks in
    which llama.cpp reads a prompt affects rounding. With the same chunks each time, a reply depends only on its own
    request (head included).

    A copy of the embedded SmolLM2 takes 23 KB of memory per token of `context` (default 8,192), and 40 MB more. The
    weights themselves are mapped from the file, once for all copies.

    A prompt is formatted by the chat template in the file. Special tokens in a message's text are not removed, so a
    text that contains `<|im_end|>` ends its turn.
    """

    def __init__(
        self,
        path: Path,
        *,
        name: str,
        identity: str | None = None,
        hold: bool = True,
        threads: int | None = None,
        context: int | None = None,
    ) -> None:
        """Check the file without loading it. `identity` defaults to a value with the file's hash.

        Raises:
            InputError: the file is missing, or not a complete GGUF file.
            MissingExtra: xllamacpp is not installed.
        """
        if find_spec("xllamacpp") is None:
            raise MissingExtra("embedded models", "embedded")
        check_gguf(path)
        cores = threads or min(_available_cores(), _MAX_THREADS)
        self.name = name
        self.holds_form = hold
        self.copies = min(cores, _MAX_COPIES) if path.stat().st_size <= _SMALL_BYTES else 1
        self.connections = 2 * self.copies if self.copies > 1 else 1
        self._path = path
        self._identity = identity
        self._threads = max(1, cores // self.copies)
        self._context = context or _DEFAULT_CONTEXT_TOKENS
        self._workers: CopyPool | None = None
        self._thread_state = threading.local()

    def __repr__(self) -> str:
        return f"EmbeddedModel({self.name!r})"

    @cached_property
    def identity(self) -> str:
        """The text `sha256:` and the file's hash, or the given identity. The first access reads the whole file."""
        return self._identity or f"sha256:{sha256_of(self._path)}"

    async def answer(self, request: Request) -> Reply:
        """Answer in a thread, once a copy of the model is free; raises as `overton.calls.Answerer` says."""
        body = self._body(request)
        if self._workers is None:
            self._workers = CopyPool(self.copies, self.name)
        return await self._workers.run(_shared_head(request), self._complete, body, request)

    @property
    def path(self) -> Path:
        """The file with the model's weights."""
        return self._path

    @property
    def weighs(self) -> bool:
        """Always True, because llama.cpp returns every token's probability."""
        return True

    async def close(self) -> None:
        """Wait for requests in progress, then free the memory. A later request loads the model again."""
        workers, self._workers = self._workers, None
        if workers is not None:
            await asyncio.to_thread(workers.shutdown)  # each copy belongs to its thread, and is freed with it

    def _body(self, request: Request) -> dict[str, Any]:
        settings = settings_checked(request.settings)
        body: dict[str, Any] = {
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "max_tokens": settings.max_tokens or _DEFAULT_MAX_TOKENS,
            "seed": None if request.seed is None else request.seed % _SEED_MODULUS,
        }
        if settings.reasoning_effort is not None:
            body["chat_template_kwargs"] = {"reasoning_effort": settings.reasoning_effort}
        form = _form_fields(request.form) if self.holds_form and request.form else {}
        if request.form is not None and request.form.weigh:
            form |= {"logprobs": True, "top_logprobs": max(_ALTERNATIVES, sampler_of(settings, _SAMPLER).top_k)}
        given = {key: value for key, value in body.items() if value is not None}
        return {**given, **settings.extra, **form, "messages": msgspec.to_builtins(request.messages)}

    def _complete(self, body: dict[str, Any], request: Request) -> Reply:
        server = self._server()
        try:
            body |= self._continue_from_head(server, body, request)
            completion = server.handle_chat_completions(body)
        except ValueError as error:
            raise RejectedError("rejected", f"{self.name}: {_shorten(error)}") from None
        except RuntimeError as error:
            raise UnavailableError("server error", f"{self.name}: {_shorten(error)}") from None
        if "error" in completion:
            raise _error_for(self.name, completion["error"])
        reply = _read_reply(completion)
        form = request.form
        if form is None or not form.weigh:
            return reply
        tokens = [_read_token(token) for token in (completion["choices"][0].get("logprobs") or {}).get("content") or ()]
        sampler, held = sampler_of(request.settings, _SAMPLER), self.holds_form and bool(_form_fields(form))
        return msgspec.structs.replace(reply, spots=spots_of(tokens, reply.text, form, sampler, held=held))

    def _continue_from_head(self, server: Any, body: dict[str, Any], request: Request) -> dict[str, Any]:
        """Read the request's head. Return the fields that make llama.cpp continue from it; they are empty without a
        head.

        The head is read separately, from its first token on. If the head was already read, requesting it again removes
        what the previous request had after the head. So the same tokens are always computed together, whether or not
        the head was kept. A reply therefore depends only on its own request, to the last bit.
        """
        head, kept = _shared_head(request), getattr(self._thread_state, "head", "")
        self._thread_state.head = ""
        if not head:
            return {}
        first = msgspec.to_builtins(request.messages[0])
        alone = {"messages": [first | {"content": head}], "max_tokens": 0, "cache_prompt": head == kept}
        reply = server.handle_chat_completions({**{key: body[key] for key in _TEMPLATE_FIELDS if key in body}, **alone})
        self._thread_state.head = "" if "error" in reply else head
        return {"cache_prompt": True}

    def _server(self) -> Any:
        """This thread's copy of the model."""
        if not hasattr(self._thread_state, "server"):
            try:
                self._thread_state.server = open_server(self._path, threads=self._threads, context=self._context)
            except RuntimeError:
                raise AccessError(
                    "unusable model",
                    f"{self.name}: llama.cpp cannot load {self._path}. The file may be damaged, xllamacpp may not "
                    f"support its kind, or memory may be too small for a context of {self._context} tokens "
                    "(context=N sets a smaller one)",
                ) from None
        return self._thread_state.server


_TEMPLATE_FIELDS = ("chat_template_kwargs",)
"""Fields of a request's body that affect the text of the prompt."""


def _shared_head(request: Request) -> str:
    return request.messages[0].content[: request.head] if request.head and request.messages else ""


def _form_fields(form: Form) -> dict[str, Any]:
    if form.choices:
        return {"grammar": f"root ::= {_grammar_alternatives(form.choices)}"}
    if form.openings:
        return {"grammar": f"root ::= ({_grammar_alternatives(form.openings)}) [^\\x00]*"}
    if form.schema is not None:
        return {"response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": form.schema}}}
    return {}


def _grammar_alternatives(texts: Sequence[str]) -> str:
    return " | ".join(map(_grammar_literal, texts))


def _grammar_literal(text: str) -> str:
    """A text as a literal in llama.cpp's grammars. All characters but plain letters, digits and spaces are written as
    code points."""
    plain = (c if c == " " or (c.isascii() and c.isalnum()) else f"\\U{ord(c):08X}" for c in text)
    return f'"{"".join(plain)}"'


def _error_for(name: str, error: dict[str, Any]) -> AnswerError:
    if error.get("type") == "exceed_context_size_error":
        tokens, context = error.get("n_prompt_tokens"), error.get("n_ctx")
        message = f"the prompt has {tokens} tokens, but the context only {context} (context=N sets it, up to what the"
        return RejectedError("too long", f"{name}: {message} model was trained on)")
    message = f"{name}: {_shorten(error.get('message', ''))}"
    if 400 <= int(error.get("code", 500)) < 500:
        return RejectedError("rejected", message)
    return UnavailableError("server error", message)


def _shorten(message: object) -> str:
    return " ".join(str(message).split())[:300]


def _read_reply(completion: dict[str, Any]) -> Reply:
    choice = completion["choices"][0]
    usage = completion.get("usage", {})
    return Reply(
        text=choice["message"].get("content") or "",
        finish=choice.get("finish_reason") or "stop",
        usage=Usage(usage.get("prompt_tokens"), usage.get("completion_tokens")),
        fingerprint=completion.get("system_fingerprint"),
        served_by=_package_version(),
    )


def _read_token(token: dict[str, Any]) -> TokenLogprobs:
    others = [(top["token"], top["logprob"]) for top in token["top_logprobs"]]
    return TokenLogprobs.of(token["token"], token.get("bytes"), token["logprob"], others)


@cache
def _package_version() -> str:
    """The name and version of the software. With another version, the same weights may answer differently."""
    import xllamacpp

    return f"xllamacpp {xllamacpp.__version__}"


_SOCKET_PATH_LIMIT = 90
"""The maximum number of bytes in the path of the folder of a UNIX socket. It leaves room for the file's name, because
macOS allows 103 bytes for the whole path (Linux 107)."""
_PROMPT_STEP = 256
"""The number of prompt tokens computed at a time. Of 128 to 2,048, this was the fastest for the embedded model."""


def _available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def open_server(path: Path, *, threads: int, context: int) -> Any:
    """An `xllamacpp.Server` that computes one request at a time, on `threads` cores.

    By default, the server keeps nothing from the previous request, so that a reply depends only on its own request.
    `context` is the maximum number of tokens for prompt and answer. It is lower if the model was trained on fewer
    tokens.

    Loading blocks the interpreter, for some tenths of a second with small models.

    Raises:
        RuntimeError: llama.cpp cannot load the file, or there is not enough memory.
    """
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = context
    params.n_parallel = 1
    params.n_ubatch = _PROMPT_STEP
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.cache_prompt = params.cache_idle_slots = False
    params.cache_ram_mib = params.n_ctx_checkpoints = 0
    params.warmup = False
    params.n_threads_http = 1  # limits the HTTP server, which nobody calls
    params.prefill_assistant = False
    params.verbosity = -1  # llama.cpp writes to the terminal directly, which would garble a live display
    with _shut_off_http(params):
        server = xllamacpp.Server(params)
    # A server that is freed before its loop has started would wait for the loop for ever. An answer shows that the loop
    # has started.
    server.handle_completions({"prompt": ".", "n_predict": 0})
    return server


@contextmanager
def _shut_off_http(params: Any) -> Iterator[None]:
    """Make the HTTP server that `xllamacpp.Server` always starts next to the model unreachable.

    By default it answers any web page that calls a port of 127.0.0.1. Overton gives it a UNIX socket instead, in a
    folder that only this user may enter. The folder is removed as soon as the server is up, so that no address leads to
    the server. The server also gets a random key that is stored nowhere. On Windows, this key is the only protection.
    """
    params.ui = params.endpoint_slots = False
    params.api_keys = [secrets.token_hex(32)]
    if sys.platform == "win32":
        yield
        return
    folder = tempfile.mkdtemp(prefix="overton-")
    if len(os.fsencode(folder)) > _SOCKET_PATH_LIMIT:
        os.rmdir(folder)
        folder = tempfile.mkdtemp(prefix="overton-", dir="/tmp")
    try:
        params.hostnames = [f"{folder}/llama.sock"]
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)
