"""The Ray cluster that replicas run on: the one in RAY_ADDRESS, otherwise this machine. Joined once per process."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from overton.errors import AccessError, MissingExtra
from overton.key_values import without_credentials

STORE = 128 * 2**20
"""Bytes of Ray's object store on this machine; by default Ray would take a third of its memory."""
_MAX_REASON_CHARS = 300
_PORT_COUNT = 2**16
_HEAD_TIMEOUT_S = 10.0
"""Seconds that a cluster's head may take to answer."""


@dataclass
class _Membership:
    """How many users Ray has in this process, and whether the first started it, so that the last stops it."""

    users: int = 0
    started: bool = False


_TOKEN = secrets.token_hex(32)
"""The token of this process's own cluster: one for all, since Ray reads it once per process."""
_lock = threading.Lock()
_membership = _Membership()


def address() -> str:
    """The cluster's address, '' if none is set."""
    return os.environ.get("RAY_ADDRESS", "")


def place() -> str:
    """Where replicas would run, in words."""
    return f"the Ray cluster at {without_credentials(address())}" if address() else "this machine, started by Ray"


def is_encrypted() -> bool:
    """Whether Ray encrypts its messages. No other way may then be used between nodes."""
    return os.environ.get("RAY_USE_TLS", "").lower() in ("1", "true")


def check_installed() -> None:
    """Raise `MissingExtra` if Ray is not installed."""
    if find_spec("ray") is None:
        raise MissingExtra("ray/... models", "ray")


def join() -> Any:
    """Join the cluster, or start a private one on this machine; returns the module `ray`. Takes seconds.

    Raises:
        AccessError: it cannot be joined.
    """
    with _lock:
        if not address():
            keep_to_ourselves()
        import ray

        if not _membership.users:
            _membership.started = not ray.is_initialized()
            if _membership.started:
                _start(ray)
        _membership.users += 1
        return ray


def leave() -> None:
    """Leave it; with the last user, what was started here stops."""
    with _lock:
        _membership.users -= 1
        if _membership.started and not _membership.users:
            import ray

            ray.shutdown()


def keep_to_ourselves() -> None:
    """Have a cluster on this machine listen on loopback only, require a token, and report to nobody.

    Ray reads these variables, and the processes that it starts inherit them.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # on other systems too: 127.0.0.1 is its address
    if not {"RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & os.environ.keys():
        os.environ["RAY_AUTH_MODE"], os.environ["RAY_AUTH_TOKEN"] = "token", _TOKEN


def _start(ray: Any) -> None:
    quiet = {"log_to_driver": False, "configure_logging": False, "include_dashboard": False}
    where = {"address": address()} if address() else {"address": "local", "object_store_memory": STORE}
    if address():
        del quiet["include_dashboard"]
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    try:
        _check_listening(address())
        ray.init(**where, **quiet, logging_level=logging.CRITICAL)
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        reason = " ".join(str(error).split())[:_MAX_REASON_CHARS]
        raise AccessError("no cluster", f"{place()} cannot be joined: {reason} (RAY_ADDRESS names it)") from None
    # Ray has no option against printing its nodes' messages about their ends over whatever is displayed.
    ray._private.worker.print_to_stdstream = _print_nothing


def _check_listening(where: str) -> None:
    """Raise `OSError` if nothing listens: Ray itself would wait for minutes and ignore Ctrl-C."""
    host, _, port = where.rpartition("//")[2].rpartition(":")
    if host and port.isdecimal() and int(port) < _PORT_COUNT:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_HEAD_TIMEOUT_S).close()


def _print_nothing(*_: object, **__: object) -> None:
    pass
