"""What a fetch may cost, whom it may reach, and under which name it asks."""

from __future__ import annotations

from dataclasses import dataclass

from overton import __version__

__all__ = ["AGENT", "Limits", "Unread"]

AGENT = f"OvertonBot/{__version__} (Overton, a study of language models)"
"""The one name under which pages are asked for; robots.txt files know it as OvertonBot."""


@dataclass(frozen=True)
class Limits:
    """How pages are fetched.

    `allow` holds the hosts (names or IP literals, in lower case) that may be private and have any port; `max_bytes`
    bounds a page's body as it comes and again once decompressed; `timeout` is in seconds for all requests of one
    attempt, waiting for a host's turn not counted; `per_host` connections at most go to a host at a time, and their
    beginnings are at least `delay` seconds apart.
    """

    allow: frozenset[str] = frozenset()
    max_bytes: int = 5_000_000
    timeout: float = 20.0
    per_host: int = 2
    delay: float = 0.5
    agent: str = AGENT
    connections: int = 32
    redirects: int = 5

    def allows(self, host: str) -> bool:
        """Whether the user let this host through by name."""
        return host.lower().rstrip(".") in self.allow


class Unread(Exception):
    """A page cannot be read: `reason` in a word or two.

    `again` says that another try may end otherwise, `wait` after how many seconds the host wants it; `network` that
    nobody answered, which may be the fault of our own network.
    """

    def __init__(self, reason: str, *, again: bool = False, wait: float | None = None, network: bool = False) -> None:
        self.reason = reason
        self.again = again
        self.wait = wait
        self.network = network
        super().__init__(reason)
