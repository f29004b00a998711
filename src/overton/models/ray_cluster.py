"""The Ray cluster on which replicas run. It is the cluster that the variable RAY_ADDRESS names. Without this variable,
it is a private cluster on this machine. A process joins it once."""

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
"""The size in bytes of Ray's object store on this machine. By default, Ray would take a third of the machine's
memory."""
_MAX_REASON_CHARS = 300
_PORT_COUNT = 2**16
_HEAD_TIMEOUT_S = 10.0
"""Seconds that a cluster's head may take to answer."""


@dataclass
class _Membership:
    """The number of users of Ray in this process, and whether the first user started the cluster. If so, the last user
    stops it."""

    users: int = 0
    started: bool = False


_TOKEN = secrets.token_hex(32)
"""The token of this process's own cluster. There is only one, because Ray reads the token once per process."""
_lock = threading.Lock()
_membership = _Membership()


def address() -> str:
    """The cluster's address, '' if none is set."""
    return os.environ.get("RAY_ADDRESS", "")


def place() -> str:
    """The location of replicas, for messages."""
    return f"the Ray cluster at {without_credentials(address())}" if address() else "this machine, started by Ray"


def is_encrypted() -> bool:
    """Whether Ray encrypts its messages. If so, messages between nodes may only be sent through Ray."""
    return os.environ.get("RAY_USE_TLS", "").lower() in ("1", "true")


def check_installed() -> None:
    """Raise `MissingExtra` if Ray is not installed."""
    if find_spec("ray") is None:
        raise MissingExtra("ray/... models", "ray")


def join() -> Any:
    """Join the cluster, or start a private one on this machine. This takes seconds. Return the module `ray`.

    Raises:
        AccessError: the cluster cannot be joined.
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
    """Leave the cluster. If this process started it, the cluster stops when its last user has left."""
    with _lock:
        _membership.users -= 1
        if _membership.started and not _membership.users:
            import ray

            ray.shutdown()


def keep_to_ourselves() -> None:
    """Make a cluster on this machine listen on loopback only, require a token, and send no usage reports.

    This sets environment variables. Ray reads them, and the processes that Ray starts inherit them.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault(
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0"
    )  # on all systems, 127.0.0.1 is the cluster's address
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
    # Ray has no option to keep its messages about lost nodes off the display.
    ray._private.worker.print_to_stdstream = _print_nothing


def _check_listening(where: str) -> None:
    """Raise `OSError` if nothing listens at the address. Ray itself would wait for minutes and ignore Ctrl-C."""
    host, _, port = where.rpartition("//")[2].rpartition(":")
    if host and port.isdecimal() and int(port) < _PORT_COUNT:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_HEAD_TIMEOUT_S).close()


def _print_nothing(*_: object, **__: object) -> None:
    pass
