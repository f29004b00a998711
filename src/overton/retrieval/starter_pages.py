"""The pages that come with Overton, as a collection: a JSONL file a domain of the starter topics.

All of them were written for Overton; institutes, figures and addresses are invented.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

import msgspec

from overton.errors import InputError
from overton.retrieval.collection import StoredPage, collection_digest, page_digest
from overton.retrieval.index import CollectionIndex, index_in_memory

__all__ = ["starter_digest", "starter_index"]

_line = msgspec.json.Decoder(StoredPage)


@lru_cache(maxsize=1)
def _pages() -> tuple[StoredPage, ...]:
    folder = files("overton.retrieval") / "starter"
    found = sorted(file.name for file in folder.iterdir() if file.name.endswith(".jsonl")) if folder.is_dir() else []
    if not found:
        raise InputError("this installation of Overton lacks its starter pages: install it again")
    return tuple(page for name in found for page in _line.decode_lines((folder / name).read_bytes()))


def starter_digest() -> str:
    """The digest of the starter pages, without an index of them."""
    return collection_digest((page.url, page_digest(page)) for page in _pages())


@lru_cache(maxsize=1)
def starter_index() -> CollectionIndex:
    """The starter pages, indexed in memory: a fraction of a second, once in a process."""
    return index_in_memory(_pages())
