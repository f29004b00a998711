"""What the system knows of a connection: whether it ended unnoticed, and whether what was sent arrived."""

from __future__ import annotations

import select
import struct
import sys
from collections.abc import Callable
from typing import Protocol

if sys.platform == "linux":
    import fcntl
    import termios

__all__ = ["Socket", "unacknowledged", "watched"]


class Socket(Protocol):
    """A connection's socket, as event loops expose it."""

    def fileno(self) -> int:
        """Its descriptor, -1 once it is closed."""
        ...


def watched(sock: Socket | None) -> Callable[[], bool]:
    """Whether anything arrived on an idle connection that the event loop has not read yet: its end, or unsolicited
    data. Always False on Windows, which has no cheap way to ask, and for loops that expose no socket."""
    if sock is None or not hasattr(select, "poll"):
        return lambda: False
    poll = select.poll()
    poll.register(sock.fileno(), select.POLLIN)
    return lambda: bool(poll.poll(0))


def unacknowledged(sock: Socket | None) -> int:
    """Bytes written that the other side's system has not acknowledged; 0 if this system does not say."""
    if sock is None or sys.platform != "linux" or sock.fileno() < 0:
        return 0
    try:
        (count,) = struct.unpack("i", fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, bytes(4)))
    except OSError:
        return 0
    return int(count)
