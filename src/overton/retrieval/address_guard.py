"""A guard that allows only public addresses. It checks an address before the host's name is looked up, and again on the
connection itself.

Overton has its own table of public addresses. The standard library's `is_global` counts `64:ff9b::7f00:1` (NAT64 of
127.0.0.1) as global. Older versions of Python also count `192.0.0.8` and `2002:7f00:1::` (6to4 of 127.0.0.1) as global.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Sequence
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from overton.retrieval.limits import FetchLimits, PageSkipped

if TYPE_CHECKING:
    from aiohttp.client import ClientTimeout
    from aiohttp.client_reqrep import ClientRequest
    from aiohttp.connector import AddrInfoType, Connection
    from aiohttp.tracing import Trace


_MAX_ADDRESS_CHARS = 4_096
_PORTS = {80, 443}
_NUMERIC = re.compile(r"(0x[0-9a-f]*|[0-9]+)", re.IGNORECASE)


def check_address(address: str, limits: FetchLimits) -> URL:
    """The address as it will be requested, without its fragment.

    Raises:
        PageSkipped: the address is not HTTP, contains credentials, has no host, or has a numeric host that is not a
            plain IPv4 address. Or its port is neither 80 nor 443, and the user has not allowed its host by name.
    """
    url = parsed_address(address)
    host, port = url.host, url.port
    if url.scheme not in {"http", "https"}:
        raise PageSkipped("not http")
    if url.raw_user is not None or url.raw_password is not None or "@" in url.raw_authority:
        raise PageSkipped("credentials in the address")
    if not host or _is_odd_literal(host):
        raise PageSkipped("invalid address")
    if port not in _PORTS and not limits.allows(host):
        raise PageSkipped(f"port {port}")
    return url


def parsed_address(address: str, base: URL | None = None) -> URL:
    """Parse an untrusted address, and drop its fragment. With a `base`, the address is a link on that page.

    Untrusted addresses are parsed only here. The result stays the same if it is written and parsed again.

    Raises:
        PageSkipped: the text is not an address.
    """
    if len(address) > _MAX_ADDRESS_CHARS:
        raise PageSkipped("address too long")
    try:
        url = URL(address.strip()).with_fragment(None)
        url = url if base is None else base.join(url)
        sound = URL(str(url)) == url and url.port != 0 and _is_sound_host(url.host)
    except (ValueError, IndexError, TypeError):  # the URL parser accepts any text in brackets
        sound = False
    if not sound:
        raise PageSkipped("invalid address")
    return url


def _is_sound_host(host: str | None) -> bool:
    """Whether a host with colons is an IPv6 address."""
    if host is None or ":" not in host:
        return True
    IPv6Address(host.partition("%")[0])
    return True


def host_of(url: URL) -> str:
    """The host in lower case without a trailing dot, which is the key of delays, robots.txt files and permissions."""
    return (url.host or "").lower().rstrip(".")


def join_address(base: URL, target: str) -> str:
    """The address to which a redirect from `base` leads.

    Raises:
        PageSkipped: its target is not an address.
    """
    return str(parsed_address(target, base))


def _is_odd_literal(host: str) -> bool:
    """Whether a system library might read the host as an IPv4 address although it is not written as one.

    Most libraries read `2130706433`, `0x7f.1` and `017700000001` as 127.0.0.1. No name on the public internet ends in a
    number.
    """
    last = host.rstrip(".").rpartition(".")[2]
    if ":" in host or not _NUMERIC.fullmatch(last):
        return False
    try:
        IPv4Address(host)
    except AddressValueError:
        return True
    return False


class PrivateAddressError(OSError):
    """Raised instead of a connection to an address outside the public internet."""

    def __init__(self) -> None:
        # The text is always the same. If connections to several addresses fail, the type of the errors is kept only if
        # their texts are equal.
        super().__init__("private address")


class GuardedConnector(aiohttp.TCPConnector):
    """Opens connections only to public addresses.

    A name is looked up once per new connection, and the connection uses exactly the address that was checked. So a name
    that resolves differently the next time cannot evade the check. The check takes place when the socket is made. It
    therefore covers URLs with an IP address, which need no lookup. Before each use of a connection, including one that
    was kept alive, its remote address is checked once more.
    """

    def __init__(self, *, connections: int, resolver: AbstractResolver | None = None) -> None:
        super().__init__(limit=connections, resolver=resolver, use_dns_cache=False, socket_factory=_guarded_socket)

    async def connect(
        self,
        req: ClientRequest,
        traces: Sequence[Trace],
        timeout: ClientTimeout,  # noqa: ASYNC109 (the signature of what it overrides)
    ) -> Connection:
        """Return a connection to a public address.

        Raises:
            PrivateAddressError: the remote address is not public; nothing was sent.
        """
        connection = await super().connect(req, list(traces), timeout)
        peer = connection.transport.get_extra_info("peername") if connection.transport else None
        if not peer or refusal(str(peer[0])):
            connection.close()
            raise PrivateAddressError
        return connection


def _guarded_socket(info: AddrInfoType) -> socket.socket:
    family, kind, protocol, _, address = info
    if refusal(str(address[0])):
        raise PrivateAddressError
    return socket.socket(family=family, type=kind, proto=protocol)


_V4_BLOCKS = tuple(
    (IPv4Network(block), why)
    for block, why in (
        ("0.0.0.0/8", "this network (RFC 791)"),
        ("10.0.0.0/8", "private (RFC 1918)"),
        ("100.64.0.0/10", "carrier-grade NAT (RFC 6598)"),
        ("127.0.0.0/8", "loopback (RFC 1122)"),
        ("168.63.129.16/32", "metadata (Azure's platform address)"),
        ("169.254.169.254/32", "metadata (cloud instances)"),
        ("169.254.0.0/16", "link-local (RFC 3927)"),
        ("172.16.0.0/12", "private (RFC 1918)"),
        ("192.0.0.0/24", "protocol assignments (RFC 6890)"),
        ("192.0.2.0/24", "documentation (RFC 5737)"),
        ("192.31.196.0/24", "AS112 (RFC 7535)"),
        ("192.52.193.0/24", "AMT (RFC 7450)"),
        ("192.88.99.0/24", "6to4 relays (RFC 7526)"),
        ("192.168.0.0/16", "private (RFC 1918)"),
        ("192.175.48.0/24", "AS112 (RFC 7534)"),
        ("198.18.0.0/15", "benchmarking (RFC 2544)"),
        ("198.51.100.0/24", "documentation (RFC 5737)"),
        ("203.0.113.0/24", "documentation (RFC 5737)"),
        ("224.0.0.0/4", "multicast (RFC 5771)"),
        ("255.255.255.255/32", "broadcast (RFC 919)"),
        ("240.0.0.0/4", "reserved (RFC 1112)"),
    )
)
"""The IANA registry of special-purpose addresses, and other non-public addresses in public ranges. The first match
gives the reason."""

_V6_BLOCKS = tuple(
    (IPv6Network(block), why)
    for block, why in (
        ("::/128", "unspecified (RFC 4291)"),
        ("::1/128", "loopback (RFC 4291)"),
        ("::/96", "IPv4-compatible (RFC 4291)"),
        ("::ffff:0:0:0/96", "IPv4-translated (RFC 2765)"),
        ("64:ff9b:1::/48", "local NAT64 (RFC 8215)"),
        ("100::/16", "discarded (RFC 6666)"),
        ("2001::/32", "Teredo (RFC 4380)"),
        ("2001:2::/48", "benchmarking (RFC 5180)"),
        ("2001::/23", "protocol assignments (RFC 2928)"),
        ("2001:db8::/32", "documentation (RFC 3849)"),
        ("3fff::/20", "documentation (RFC 9637)"),
        ("5f00::/16", "segment routing (RFC 9602)"),
        ("fc00::/7", "private (RFC 4193)"),
        ("fe80::/10", "link-local (RFC 4291)"),
        ("fec0::/10", "site-local (RFC 3879)"),
        ("ff00::/8", "multicast (RFC 4291)"),
    )
)

_UNICAST = IPv6Network("2000::/3")
_MAPPED = IPv6Network("::ffff:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")
_6TO4 = IPv6Network("2002::/16")
_ISATAP = {0x0000_5EFE, 0x0200_5EFE}


def refusal(address: str) -> str | None:
    """The reason why a connection to this address is refused ('loopback (RFC 1122)'); None if it is public.

    `address` is an IP address as given to a socket, possibly with a zone id (`%eth0`). If an IPv6 address embeds the
    IPv4 address to which it leads (mapped, NAT64, 6to4, ISATAP), the IPv4 address must be public, too. Any text that is
    not an IP address is refused.
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return "not an IP address"
    return _refusal_v4(parsed) if isinstance(parsed, IPv4Address) else _refusal_v6(parsed)


def _refusal_v4(address: IPv4Address) -> str | None:
    return next((why for block, why in _V4_BLOCKS if address in block), None)


def _refusal_v6(address: IPv6Address) -> str | None:
    for block, why in _V6_BLOCKS:
        if address in block:
            return why
    carried = _embedded_v4(address)
    if carried is not None and (why_not := _refusal_v4(carried)):
        return f"carries {why_not}"
    if address in _UNICAST or address in _MAPPED or address in _NAT64:
        return None
    return "not global unicast (RFC 4291)"


def _embedded_v4(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address to which packets for this IPv6 address are finally delivered."""
    bits = int(address)
    if address in _MAPPED or address in _NAT64 or (bits >> 32) & 0xFFFF_FFFF in _ISATAP:
        return IPv4Address(bits & 0xFFFF_FFFF)
    if address in _6TO4:
        return IPv4Address((bits >> 80) & 0xFFFF_FFFF)
    return None
