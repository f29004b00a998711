"""Answerers that search and fetch, and the archive of what was read.

Opening a source imports what it needs (the optional part 'retrieval'); importing this room does not.
"""

from overton.retrieval.sources import open_pages, open_search, pages_for

__all__ = ["open_pages", "open_search", "pages_for"]
