"""The query that a model wrote, as it goes to a search engine."""

from __future__ import annotations

import re

__all__ = ["LONGEST_QUERY", "clean_query"]

LONGEST_QUERY = 200
"""Characters of a query at most; it is cut between words."""

_LABEL = re.compile(
    r"(?:(?:web |search |google )*(?:quer(?:y|ies)|question)(?: \d+)?|search(?: for)?)\s*:\s*", re.IGNORECASE
)
_BULLET = re.compile(r"(?:[-*•]|\d{1,2}[.)])\s+")
_AROUND = " \t\"'`“”‘’«»„*"


def clean_query(text: str) -> str:
    """The query in a model's reply, '' where there is none.

    The first line that holds a letter or a digit, without a label ('Query:'), a list's bullet and quotation marks
    around it, spaces made single, at most `LONGEST_QUERY` characters.
    """
    for line in text.splitlines():
        query = _bare(line)
        if any(letter.isalnum() for letter in query):
            return query if len(query) <= LONGEST_QUERY else _cut(query)
    return ""


def _bare(line: str) -> str:
    bare = _BULLET.sub("", line.strip(), count=1) if _BULLET.match(line.strip()) else line
    bare = bare.strip(_AROUND)
    if label := _LABEL.match(bare):
        bare = bare[label.end() :]
    return " ".join(bare.strip(_AROUND).split())


def _cut(query: str) -> str:
    beginning = query[: LONGEST_QUERY + 1]
    end = beginning.rfind(" ")
    return beginning[: end if end > 0 else LONGEST_QUERY]
