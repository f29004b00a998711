"""A collection: pages that are searched and read without any network."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

import msgspec

__all__ = ["StoredPage", "collection_digest", "page_digest"]


class StoredPage(msgspec.Struct, frozen=True, omit_defaults=True):
    """One page of a collection. `url` is unique in it; `date` is YYYY-MM-DD or ''."""

    url: str
    text: str
    title: str = ""
    date: str = ""

    @property
    def body(self) -> bytes:
        """What stands for the bytes of a page that came over no wire: its text."""
        return self.text.encode("utf-8", "replace")


def page_digest(page: StoredPage) -> str:
    """The SHA-256 of all that a page is, in hexadecimal."""
    return sha256(msgspec.json.encode(page)).hexdigest()


def collection_digest(pages: Iterable[tuple[str, str]]) -> str:
    """The SHA-256 of a collection, in hexadecimal, whatever the order of its pages: of `(url, page_digest)` pairs."""
    whole = sha256()
    for url, digest in sorted(pages):
        whole.update(f"{digest} {url}\n".encode("utf-8", "replace"))
    return whole.hexdigest()
