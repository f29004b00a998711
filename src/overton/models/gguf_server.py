"""llama.cpp's server, run in this process and out of everyone else's reach."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["available_cores", "open_server"]

_SOCKET_PATH_LIMIT = 90
"""Bytes that surely fit in a UNIX socket's address (macOS allows 103, Linux 107), less the file's own name."""
_PROMPT_STEP = 256
"""Prompt tokens computed at a time: measured the fastest of 128 to 2,048 for the embedded model."""


def available_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def open_server(path: Path, *, threads: int, context: int) -> Any:
    """An `xllamacpp.Server` that computes one request at a time, on `threads` cores.

    One at a time, with nothing kept from the request before, so that a reply depends on its request alone: what is
    computed together, or continued from a shared beginning, is rounded differently. `context` tokens hold prompt and
    answer (fewer where the model was trained on fewer).

    Loading holds the interpreter for some tenths of a second, for small models.

    Raises:
        RuntimeError: llama.cpp cannot load the file, or there is not enough memory. It does not say which.
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
    params.n_threads_http = 1  # of the server that nobody calls
    params.prefill_assistant = False
    params.verbosity = -1  # llama.cpp writes to the terminal past Python, through any live display
    with _out_of_reach(params):
        server = xllamacpp.Server(params)
    # One freed before its loop has begun would wait for that loop for ever; an answer shows that it has begun.
    server.handle_completions({"prompt": ".", "n_predict": 0})
    return server


@contextmanager
def _out_of_reach(params: Any) -> Iterator[None]:
    """See to it that nobody can call the HTTP server that `xllamacpp.Server` always starts beside the model.

    Unless told otherwise, it answers any web page that asks at a port of 127.0.0.1. It gets a UNIX socket instead, in
    a folder that only this user may enter and that is removed as soon as the server stands, so that no address leads
    to it; and a key that nobody knows, which is all there is on Windows.
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
