"""The addresses that share one model's load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.request import getproxies, proxy_bypass

from yarl import URL

from overton.errors import UnavailableError
from overton.models.endpoints import Endpoint
from overton.models.status import Target

__all__ = ["Address", "addresses_of", "least_loaded"]

_LONGEST_REST = 60.0


@dataclass(slots=True)
class Address:
    """Where requests are posted: its URL, whom its errors speak of, the proxy on the way, and how it has fared."""

    url: URL
    target: Target
    proxy: str | None = field(repr=False)
    in_flight: int = 0
    faults: int = 0
    rests_until: float = 0.0

    def note(self, outcome: object, now: float) -> None:
        """Remember how a request ended. An address that fails rests for 2 seconds, then 4, ... a minute at most."""
        if not isinstance(outcome, UnavailableError):
            self.faults = 0
            return
        self.faults += 1
        self.rests_until = now + min(2.0 ** min(self.faults, 10), _LONGEST_REST)


def addresses_of(endpoint: Endpoint, path: str) -> list[Address]:
    """One address for each base URL."""
    return [_address(endpoint, base_url + path) for base_url in endpoint.base_urls]


def least_loaded(addresses: Sequence[Address], now: float) -> Address:
    """The address with the fewest requests in flight, among those that do not rest unless all do.

    Without the rest, a dead replica would draw all the load: what fails at once never has much in flight.
    """
    return min(addresses, key=lambda address: (address.rests_until > now, address.in_flight))


def _address(endpoint: Endpoint, url: str) -> Address:
    parsed = URL(url)
    host = f"{parsed.host}:{parsed.explicit_port}" if parsed.explicit_port else str(parsed.host)
    target = Target(endpoint.name, endpoint.model, host, endpoint.key_env, endpoint.secret)
    return Address(parsed, target, _proxy_for(parsed))


def _proxy_for(url: URL) -> str | None:
    """The proxy that the environment names for this URL. Looked up once: aiohttp would do so for each request, and
    would look for other credentials in ~/.netrc."""
    proxy = getproxies().get(url.scheme)
    return None if proxy is None or proxy_bypass(url.host or "") else proxy
