"""The readable text of a page, its title and its date."""

from __future__ import annotations

from typing import Literal

import msgspec

from overton.retrieval.decoding import decoded
from overton.retrieval.plaintext import clean, one_line

__all__ = ["Extract", "Job", "extract"]

_DATES = {"original_date": True, "extensive_search": False, "outputformat": "%Y-%m-%d"}


class Job(msgspec.Struct, frozen=True):
    """A body to be read: its bytes, the charset that its headers declare ('' for none), and what it is."""

    body: bytes
    charset: str = ""
    kind: Literal["html", "text"] = "html"


class Extract(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a page says; `text` is '' where it says nothing, `date` is YYYY-MM-DD or ''."""

    text: str = ""
    title: str = ""
    date: str = ""


def extract(job: Job) -> Extract:
    """The main text of an HTML page without what surrounds it (trafilatura), or a plain text as it is."""
    text = decoded(job.body, job.charset)
    return Extract(clean(text)) if job.kind == "text" else _from_html(text)


def _from_html(text: str) -> Extract:
    from trafilatura import bare_extraction

    document = bare_extraction(text, with_metadata=True, include_comments=False, date_extraction_params=_DATES)
    if document is None or isinstance(document, dict):
        return Extract()
    return Extract(clean(document.text or ""), one_line(document.title), one_line(document.date))
