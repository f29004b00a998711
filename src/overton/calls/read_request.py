"""A channel by which a study tells its execution backend whether it could read a reply.

A study may repeat a request until it can read the reply. All these calls then belong to one `ReadRequest`. The
execution backend gets this object from `read_request()`, and can register a function that receives the outcome. Without
a `ReadRequest`, every reply is accepted as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

from overton.calls.types import Reply

Heard = Callable[[Reply | None, str], None]
"""A function called with the last reply (None without a reply), and the problem with this reply ('' if it could be
read)."""


class ReadRequest:
    """One or several calls that ask for the same thing until a reply can be read."""

    __slots__ = ("heard",)

    def __init__(self) -> None:
        self.heard: Heard | None = None

    def end(self, reply: Reply | None, problem: str) -> None:
        """End the request. The execution backend receives this report once."""
        if (heard := self.heard) is not None:
            self.heard = None
            heard(reply, problem)


REQUEST: ContextVar[ReadRequest | None] = ContextVar("read_request", default=None)
"""The `ReadRequest` under which the current calls are made."""


def read_request() -> ReadRequest | None:
    """The `ReadRequest` to which the current call belongs, None if every reply is accepted as it is."""
    return REQUEST.get()
