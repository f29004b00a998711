"""No way leads to an address that is not public: none of these tests lets the local site see a request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from yarl import URL

from overton.calls import Page
from overton.retrieval.address_guard import GuardedConnector, refusal
from overton.retrieval.http import GuardedHttp
from overton.retrieval.limits import FetchLimits, PageSkipped
from overton.retrieval.web import WebPages

Read = Callable[..., Awaitable[Page]]

QUICK = FetchLimits(delay=0, timeout=5)


async def skipped(url: str, limits: FetchLimits = QUICK, resolver: Any = None) -> str:
    source = WebPages(limits, resolver)
    try:
        return (await source.read(url, None)).skipped
    finally:
        await source.close()


LITERALS = ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "0.0.0.0", "[::]", "169.254.169.254"]
EMBEDDED = ["[64:ff9b::7f00:1]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "[fe80::1%25lo]", "[2001::7f00:1]"]
ODD = ["0x7f.1", "2130706433", "017700000001", "127.1", "0177.0.0.1", "0x7f000001", "127.0.0.1."]


@pytest.mark.parametrize("host", [*LITERALS, *EMBEDDED])
@pytest.mark.usefixtures("any_port")
async def test_a_literal_private_address_is_not_connected_to(host: str, site: Any) -> None:
    assert await skipped(f"http://{host}:{site.port}/") == "private address"
    assert not site.seen


@pytest.mark.parametrize("host", ODD)
@pytest.mark.usefixtures("any_port")
async def test_numbers_that_a_system_reads_as_an_address_are_not_looked_up(host: str, site: Any) -> None:
    assert await skipped(f"http://{host}:{site.port}/") in {"invalid address", "private address"}
    assert not site.seen


@pytest.mark.parametrize("host", ["localhost", "localhost.", "LOCALHOST"])
@pytest.mark.usefixtures("any_port")
async def test_a_name_of_this_machine_is_not_connected_to(host: str, site: Any) -> None:
    unknown = {"no such host"} if host.endswith(".") else set()  # not every system knows it with a dot
    assert await skipped(f"http://{host}:{site.port}/") in {"private address"} | unknown
    assert not site.seen


@pytest.mark.usefixtures("any_port")
async def test_a_trailing_dot_hides_nothing(site: Any, names: Any) -> None:
    resolver = names(**{"localhost_": ["127.0.0.1"]})
    assert await skipped(f"http://localhost.:{site.port}/", resolver=resolver) == "private address"
    assert not site.seen


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "10.1.2.3", "169.254.169.254", "64:ff9b::7f00:1", "fd00::1"])
@pytest.mark.usefixtures("any_port")
async def test_a_name_that_resolves_to_a_private_address_is_not_connected_to(
    address: str, site: Any, names: Any
) -> None:
    assert await skipped(f"http://inner.test:{site.port}/", resolver=names(inner_test=[address])) == "private address"
    assert not site.seen


async def test_a_redirect_to_a_private_address_is_not_followed(site: Any, other_site: Any, pages: Any) -> None:
    other_site.paths["/"] = pages.answers(status=302, Location=f"http://127.0.0.1:{site.port}/secret")
    allowed = FetchLimits(allow=frozenset({"127.0.0.2"}), delay=0, timeout=5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("overton.retrieval.address_guard._PORTS", {80, 443, site.port})
        assert await skipped(f"{other_site.url}/", allowed) == "private address"
    assert other_site.seen["/"] == 1
    assert not site.seen


@pytest.mark.usefixtures("any_port")
async def test_a_robots_file_that_redirects_to_a_private_address_is_not_followed(
    site: Any, other_site: Any, pages: Any
) -> None:
    other_site.paths["/robots.txt"] = pages.answers(status=301, Location=f"http://127.0.0.1:{site.port}/secret")
    other_site.paths["/"] = pages.answers(pages.article())
    allowed = FetchLimits(allow=frozenset({"127.0.0.2"}), delay=0, timeout=5)
    assert await skipped(f"{other_site.url}/", allowed) == "private address"
    assert other_site.seen == {"/robots.txt": 1}
    assert not site.seen


@pytest.mark.usefixtures("any_port")
async def test_a_name_that_changes_its_answer_gains_nothing(
    site: Any, other_site: Any, names: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """127.0.0.2 represents a public address here. The name leads there first, and to 127.0.0.1 from then on."""
    from overton.retrieval.address_guard import refusal

    monkeypatch.setattr(
        "overton.retrieval.address_guard.refusal", lambda address: None if address == "127.0.0.2" else refusal(address)
    )
    resolver = names(rebinding_test=["127.0.0.2", "127.0.0.1"])
    wire = GuardedHttp(QUICK, resolver)
    url = URL(f"http://rebinding.test:{site.port}/page")
    assert (await wire.get(url, seconds=5, most=100)).status == 404
    await wire.close()  # the kept connection would be reused; the attacker waits for a new one
    with pytest.raises(PageSkipped, match="private address"):
        await wire.get(url, seconds=5, most=100)
    await wire.close()
    assert resolver.asked["rebinding.test"] == 2
    assert other_site.seen == {"/page": 1}
    assert not site.seen


async def test_the_other_end_is_looked_at_even_if_the_socket_was_not_checked(
    site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import socket

    monkeypatch.setattr(
        "overton.retrieval.address_guard._guarded_socket", lambda info: socket.socket(info[0], info[1], info[2])
    )
    wire = GuardedHttp(QUICK)
    with pytest.raises(PageSkipped, match="private address"):
        await wire.get(URL(f"{site.url}/page"), seconds=5, most=100)
    await wire.close()
    assert not site.seen


async def test_the_guard_itself_lets_a_connection_through_where_the_address_is_public(
    site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("overton.retrieval.address_guard.refusal", lambda address: None)
    wire = GuardedHttp(QUICK)
    assert (await wire.get(URL(f"{site.url}/page"), seconds=5, most=100)).status == 404
    await wire.close()
    assert site.seen == {"/page": 1}


async def test_a_host_allowed_by_name_is_reached(site: Any, read: Read, pages: Any) -> None:
    site.paths["/"] = pages.answers(pages.article())
    assert (await read(f"{site.url}/")).skipped == ""
    assert (await read(f"http://localhost:{site.port}/", ("allow", "localhost"))).skipped == ""


async def test_allowing_one_host_allows_no_other(site: Any, read: Read) -> None:
    assert (await read(f"http://localhost:{site.port}/")).skipped == f"port {site.port}"
    assert (await read("http://localhost/")).skipped == "private address"
    assert not site.seen


@pytest.mark.usefixtures("any_port")
async def test_proxies_of_the_environment_are_not_used(site: Any, monkeypatch: pytest.MonkeyPatch, names: Any) -> None:
    monkeypatch.setenv("http_proxy", site.url)
    monkeypatch.setenv("HTTP_PROXY", site.url)
    assert await skipped("http://inner.test/", resolver=names(inner_test=["10.0.0.1"])) == "private address"
    assert not site.seen


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("ftp://example.org/", "not http"),
        ("file:///etc/passwd", "not http"),
        ("javascript:alert(1)", "not http"),
        ("example.org", "not http"),
        ("http://user:secret@example.org/", "credentials in the address"),
        ("http://user@example.org/", "credentials in the address"),
        ("http://example.org:22/", "port 22"),
        ("https://example.org:8443/", "port 8443"),
        ("http://", "invalid address"),
        ("http://[::1", "invalid address"),
        ("http://example.org:99999/", "invalid address"),
        ("http://example.org/" + "a" * 5000, "address too long"),
    ],
)
async def test_addresses_that_are_not_asked_at_all(address: str, reason: str, read: Read) -> None:
    assert (await read(address)).skipped == reason


def test_the_connector_keeps_no_names() -> None:
    """A cached answer would be one more thing to check."""

    async def made() -> bool:
        connector = GuardedConnector(connections=1)
        cached = connector.use_dns_cache
        await connector.close()
        return cached

    import asyncio

    assert asyncio.run(made()) is False


PRIVATE = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.0.192",
    "192.0.2.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:a9fe:a9fe",
    "::ffff:0:7f00:1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::7f00:1",
    "64:ff9b:1::5db8:d822",
    "100::1",
    "2001::7f00:1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:2::1",
    "2001:10::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::1",
    "2002:c0a8:101::1",
    "2606:4700::5efe:7f00:1",
    "2606:4700::200:5efe:7f00:1",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "::1%lo",
    "fec0::1",
    "ff02::1",
    "4000::1",
    "1::1",
    "localhost",
    "",
    "0x7f.1",
    "2130706433",
    "127.1",
]

PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "93.184.216.34",
    "100.63.255.255",
    "100.128.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.1",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2606:2800:220:1:248:1893:25c8:1946",
    "2a00:1450:4001:80b::200e",
    "::ffff:93.184.216.34",
    "64:ff9b::5db8:d822",
    "2002:5db8:d822::1",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_addresses_outside_the_public_internet_are_refused(address: str) -> None:
    assert refusal(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_pass(address: str) -> None:
    assert refusal(address) is None


def test_refusal_names_the_range_and_its_source() -> None:
    assert refusal("127.0.0.1") == "loopback (RFC 1122)"
    assert refusal("169.254.169.254") == "metadata (cloud instances)"
    assert refusal("64:ff9b::7f00:1") == "carries loopback (RFC 1122)"
