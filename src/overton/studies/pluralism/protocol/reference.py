"""The reference opinion of a thread: the most voted viewpoint that enough others support, and enough oppose."""

from __future__ import annotations

from typing import NamedTuple

from overton.calls import Ask
from overton.studies.pluralism.items import ReferenceThread, Viewpoint
from overton.studies.pluralism.judging import failure_of, judged
from overton.studies.pluralism.labels import Stances, summaries_task
from overton.studies.pluralism.rankings import by_votes
from overton.studies.pluralism.record import SummaryStance

__all__ = ["ENOUGH", "Reference", "find_reference"]

ENOUGH = 2
"""So many other summaries support the reference opinion, and so many oppose it (section 6.1.1)."""


class Reference(NamedTuple):
    """What was found.

    `viewpoint` is the reference opinion, None where none qualifies; `stances` those of all the thread's viewpoints
    towards it, in their order, with 'reference' for itself and None where there is no usable label. `tried` counts the
    viewpoints that the judge was asked about, `unread` those of them for which labels are missing, `failure` is the
    first call about them that failed for good.
    """

    viewpoint: Viewpoint | None
    stances: tuple[SummaryStance | None, ...]
    tried: int
    unread: int
    failure: str | None


async def find_reference(ask: Ask, thread: ReferenceThread, most: int | None = None) -> Reference:
    """Try the viewpoints, the most voted first and at most so many, until one qualifies.

    The judge labels all others towards one of them in one call, made once in a run whichever trial or model comes
    first. Where a viewpoint's labels cannot be had, it does not qualify.
    """
    tried = unread = 0
    failure = None
    for viewpoint in by_votes(thread, most) if len(thread.viewpoints) > 2 * ENOUGH else []:
        place = thread.viewpoints.index(viewpoint) + 1
        (labelling,) = await judged(ask, [summaries_task(thread, place)], shared=True)
        labels = labelling.value or {}
        tried += 1
        unread += len(labels) < len(thread.viewpoints) - 1
        failure = failure or failure_of(labelling)
        if _qualifies(labels):
            return Reference(viewpoint, _stances(thread, place, labels), tried, unread, failure)
    return Reference(None, (), tried, unread, failure)


def _qualifies(labels: Stances) -> bool:
    given = list(labels.values())
    return given.count("supporting") >= ENOUGH and given.count("against") >= ENOUGH


def _stances(thread: ReferenceThread, reference: int, labels: Stances) -> tuple[SummaryStance | None, ...]:
    places = range(1, len(thread.viewpoints) + 1)
    return tuple("reference" if place == reference else labels.get(place) for place in places)
