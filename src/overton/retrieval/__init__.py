"""Search engines, page sources, and the archive of the pages that they read.

Importing this package is fast, because libraries of the optional part 'retrieval' are imported only when a source is
opened.
"""

from overton.retrieval.sources import open_pages, open_search, pages_for

__all__ = ["open_pages", "open_search", "pages_for"]
