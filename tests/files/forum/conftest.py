from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

# Fields in dumps and API responses that nothing here uses.
IGNORED = {
    "all_awardings": [],
    "approved_at_utc": None,
    "author_flair_richtext": [{"e": "text", "t": 'Asshole "Aficionado" [10]'}],
    "author_fullname": "t2_abc",
    "edited": 1735700000.0,
    "gildings": {"gid_1": 2},
    "permalink": "/r/AmItheAsshole/comments/p1/",
    "secure_media_embed": {},
}


def packed_for_long(data: bytes) -> bytes:
    """As archives pack their dumps: with a window of 2 GiB, which zstandard unpacks only on request."""
    packer = zstandard.ZstdCompressor().compressobj()
    packed = bytearray(packer.compress(data) + packer.flush())
    packed[5] = (31 - 10) << 3  # the frame's window descriptor: an exponent, counted from 10
    return bytes(packed)


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "zstandard": zstandard.ZstdCompressor().compress,
    "gzip": gzip.compress,
}


@pytest.fixture
def post() -> Callable[..., dict[str, Any]]:
    """A post as in a dump, with changes."""

    def make(**changes: Any) -> dict[str, Any]:
        made = {"id": "p1", "title": "AITA?", "selftext": "A story.", "author": "teller", "created_utc": 1735689600}
        return {**IGNORED, **made, "score": 5, "subreddit": "AmItheAsshole", "link_flair_text": None, **changes}

    return make


@pytest.fixture
def comment() -> Callable[..., dict[str, Any]]:
    """A comment as in a dump, with changes."""

    def make(**changes: Any) -> dict[str, Any]:
        made = {"id": "c1", "link_id": "t3_p1", "parent_id": "t3_p1", "body": "NTA", "author": "reader", "score": 2}
        return {**IGNORED, **made, "created_utc": 1735689700, "subreddit": "AmItheAsshole", **changes}

    return make


@pytest.fixture(params=PACKERS)
def dump(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Path]:
    """Writes objects, or raw lines, one per line: plain, zstandard and gzip."""

    def make(lines: list[dict[str, Any] | bytes], name: str = "dump") -> Path:
        path = tmp_path / name
        encoded = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
        path.write_bytes(PACKERS[request.param](b"\n".join(encoded) + b"\n"))
        return path

    return make


@pytest.fixture
def plain_dump(tmp_path: Path) -> Callable[..., Path]:
    """Writes bytes as they are."""

    def make(data: bytes, name: str = "dump") -> Path:
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return make


@pytest.fixture
def long_window() -> Callable[[bytes], bytes]:
    """Packs with a window of 2 GiB."""
    return packed_for_long
