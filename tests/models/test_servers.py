"""Lists of servers: files that change, names with several addresses."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from overton.errors import InputError, UnavailableError
from overton.models.servers import ServerAddress, listing_of


def as_it_is(url: str) -> str:
    return url


def written(file: Path, text: str, when: int) -> None:
    file.write_text(text)
    os.utime(file, ns=(when, when))


async def test_changed_server_file_is_read_again_and_an_invalid_one_raises(tmp_path: Path) -> None:
    file = tmp_path / "servers.txt"
    written(file, "# first\nhttp://a:1/v1/\n\nhttp://b:2/v1 # second\nhttp://a:1/v1\n", 1)
    listing = listing_of(str(file), as_it_is)
    assert await listing.places() == (ServerAddress("http://a:1/v1"), ServerAddress("http://b:2/v1"))
    written(file, "http://c:3/v1\n", 2)
    assert await listing.places() == (ServerAddress("http://c:3/v1"),)
    written(file, "htt", 3)
    with pytest.raises(UnavailableError, match="line 1: not a base URL"):
        await listing.places()
    file.unlink()
    with pytest.raises(UnavailableError, match="cannot be read"):
        await listing.places()


@pytest.mark.parametrize("text", [None, "localhost:8000\n", "http://key@host/v1\n", "\xff"])
def test_invalid_server_file_is_refused_before_any_call(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "servers.txt"
    if text is not None:
        file.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=r"servers\.txt"):
        listing_of(str(file), as_it_is)


async def test_a_name_stands_for_all_of_its_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    async def looked_up(*_: Any, **__: Any) -> list[Any]:
        return [(0, 0, 0, "", (address, 80)) for address in ("10.0.0.2", "10.0.0.1", "10.0.0.2")]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", looked_up)
    found = await listing_of("http://model.svc:8000", lambda url: f"{url}/v1").places()
    assert found == (
        ServerAddress("http://model.svc:8000/v1", "10.0.0.1"),
        ServerAddress("http://model.svc:8000/v1", "10.0.0.2"),
    )
