"""Canned replies for planning, because the number of requests to a judge and the length of pages are unknown
beforehand."""

from __future__ import annotations

from functools import lru_cache

from overton.calls import Form
from overton.studies.stance_stability.options import MOST_PAGES

_SENTENCE = "The finding was read in two ways by those who had waited for it, and a second trial is under way. "
_ANSWER = (_SENTENCE * 12 + "On balance the evidence leans one way, with reservations [1][2].").strip()
_LABELS = (
    '{"rationale": "It leans to one side and names what speaks against it.", "stance": "supportive", "key_claims":'
    ' ["The finding was read in two ways", "A second trial is under way"], "contradictions_acknowledged": true,'
    ' "certainty": "likely"}'
)
_UNREADABLE = "It is hard to say where this answer stands."
_TYPICAL_PAGE, _LONG_PAGE = 40, 4_000


def _usual(role: str, speaker: str, form: Form | None) -> str:
    """The reply in a cheap case: pages have a usual length, and the judge's first reply can be read."""
    return _LABELS if role == "judge" else _reply(role, _TYPICAL_PAGE)


def _longest(role: str, speaker: str, form: Form | None) -> str:
    """The reply in the most expensive case: pages are at least as long as the limit, and no reply of the judge can be
    read."""
    return _UNREADABLE if role == "judge" else _reply(role, _LONG_PAGE)


@lru_cache(maxsize=8)
def _reply(role: str, sentences: int) -> str:
    if role == "search":
        hits = ", ".join(f'{{"url": "https://site-{number}.example/page"}}' for number in range(MOST_PAGES))
        return f'{{"hits": [{hits}]}}'
    if role == "pages":
        return f'{{"url": "https://site.example/page", "title": "A page", "text": "{_SENTENCE * sentences}"}}'
    return _ANSWER


CANNED = (_usual, _longest)
"""Canned replies for the fewest and for the most calls. In both cases, the search finds the highest possible number of
pages, because this is usual and pages cost most."""
