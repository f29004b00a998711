"""Which addresses are asked at all, before any name is looked up."""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address

from yarl import URL

from overton.retrieval.limits import Limits, Unread

__all__ = ["host_of", "joined", "vetted"]

_LONGEST = 4_096
_PORTS = {80, 443}
_NUMERIC = re.compile(r"(0x[0-9a-f]*|[0-9]+)", re.IGNORECASE)


def vetted(address: str, limits: Limits) -> URL:
    """The address as it will be asked, without its fragment.

    Raises:
        Unread: it is not one of HTTP, holds credentials, names no host or one in numbers that is no plain IPv4
            address, or its port is neither 80 nor 443 while its host is not allowed by name.
    """
    if len(address) > _LONGEST:
        raise Unread("address too long")
    try:
        url = URL(address.strip()).with_fragment(None)
        host, port = url.host, url.port
    except (ValueError, UnicodeError):
        raise Unread("invalid address") from None
    if url.scheme not in {"http", "https"}:
        raise Unread("not http")
    if url.raw_user is not None or url.raw_password is not None or "@" in url.raw_authority:
        raise Unread("credentials in the address")
    if not host or _is_odd_literal(host):
        raise Unread("invalid address")
    if port not in _PORTS and not limits.allows(host):
        raise Unread(f"port {port}")
    return url


def host_of(url: URL) -> str:
    """The host in lower case without a trailing dot, as manners and permissions know it."""
    return (url.host or "").lower().rstrip(".")


def joined(base: URL, target: str) -> str:
    """Where a redirect from `base` leads.

    Raises:
        Unread: its target is no address.
    """
    try:
        return str(base.join(URL(target)))
    except ValueError:
        raise Unread("invalid address") from None


def _is_odd_literal(host: str) -> bool:
    """Whether a system library might read the host as an IPv4 address although it is not written as one.

    `2130706433`, `0x7f.1` and `017700000001` are 127.0.0.1 to most; no name of the public internet ends in a number.
    """
    last = host.rstrip(".").rpartition(".")[2]
    if ":" in host or not _NUMERIC.fullmatch(last):
        return False
    try:
        IPv4Address(host)
    except AddressValueError:
        return True
    return False
