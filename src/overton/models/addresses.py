"""The addresses that share one model's load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import SplitResult, quote, urlsplit
from urllib.request import getproxies, proxy_bypass

from overton.errors import UnavailableError
from overton.models.connecting import proxy_credentials
from overton.models.endpoints import Endpoint
from overton.models.status import Target
from overton.models.wire import Wire

__all__ = ["Address", "addresses_of", "least_loaded"]

_LONGEST_REST = 60.0
_IN_PATHS = "/%:@!$&'()*+,;=~"


@dataclass(slots=True)
class Address:
    """Where requests are posted: its URL, whom its errors speak of, the proxy on the way, and how it has fared.

    `head` is a request's head up to the value of Content-Length, its last header; it holds the key. `idle` are open
    connections that carry nothing just now.
    """

    url: SplitResult
    target: Target
    proxy: SplitResult | None = field(repr=False)
    head: bytes = field(repr=False)
    idle: list[Wire] = field(default_factory=list, repr=False)
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


def addresses_of(endpoint: Endpoint, path: str, headers: Mapping[str, str]) -> list[Address]:
    """One address for each base URL."""
    return [_address(endpoint, base_url + path, headers) for base_url in endpoint.base_urls]


def least_loaded(addresses: Sequence[Address], now: float) -> Address:
    """The address with the fewest requests in flight, among those that do not rest unless all do.

    Without the rest, a dead replica would draw all the load: what fails at once never has much in flight.
    """
    return min(addresses, key=lambda address: (address.rests_until > now, address.in_flight))


def _address(endpoint: Endpoint, url: str, headers: Mapping[str, str]) -> Address:
    split = urlsplit(url)
    host = f"{split.hostname}:{split.port}" if split.port else str(split.hostname)
    target = Target(endpoint.name, endpoint.model, host, endpoint.key_env, endpoint.secret)
    proxy = _proxy_for(split)
    return Address(split, target, proxy, _head(split, proxy, headers))


def _head(url: SplitResult, proxy: SplitResult | None, headers: Mapping[str, str]) -> bytes:
    host = url.netloc.rpartition("@")[2].encode("idna").decode()
    target = quote(url.path, safe=_IN_PATHS) + (f"?{url.query}" if url.query else "")
    named = {"Host": host, "Accept": "*/*", "Accept-Encoding": "identity", **headers}
    if proxy is not None and url.scheme == "http":  # a proxy passes on what is not secure, and tunnels what is
        target = f"http://{host}{target}"
        if credentials := proxy_credentials(proxy):
            named["Proxy-Authorization"] = credentials
    lines = [f"POST {target} HTTP/1.1", *(f"{name}: {value}" for name, value in named.items()), "Content-Length: "]
    return "\r\n".join(lines).encode("latin-1")


def _proxy_for(url: SplitResult) -> SplitResult | None:
    """The proxy that the environment names for this URL."""
    proxy = getproxies().get(url.scheme)
    return None if proxy is None or proxy_bypass(url.hostname or "") else urlsplit(proxy)
