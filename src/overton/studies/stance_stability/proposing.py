"""A domain's topics: asked for in lists, near-duplicates left out and counted (section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from overton.calls import Ask, Form, Message, assistant, user
from overton.errors import CallFailed
from overton.judging import parse_json, schema_of
from overton.studies.stance_stability import prompts
from overton.studies.stance_stability.likeness import alike

__all__ = ["MOST_AT_ONCE", "SAME_TOPIC", "Proposal", "Proposed", "propose"]

MOST_AT_ONCE = 25
"""Topics that are asked for in one list."""

SAME_TOPIC = 0.6
"""Two topics that share so much of their words are one (see `likeness`)."""

LONGEST = 300
"""Characters of a topic and of a proposition at most."""

_SPARE_LISTS = 3
"""Lists that are asked for beyond those that would do if no topic came twice."""


class Proposal(msgspec.Struct, frozen=True):
    """A topic, and the sentence that one can be for or against."""

    topic: str
    proposition: str


class Proposed(msgspec.Struct, frozen=True):
    """The topics that were found, in their order; those left out as near-duplicates; what went wrong, or ''."""

    topics: tuple[Proposal, ...]
    duplicates: tuple[Proposal, ...]
    problem: str = ""
    failed: bool = False


FORM = Form(schema=schema_of(list[Proposal]))


async def propose(ask: Ask, domain: str, count: int) -> Proposed:
    """Ask for lists of topics until there are `count` different ones, or lists bring too few new ones.

    Each list's request names the topics that there are. A list that cannot be read is asked for again with the reason,
    and counts as a list.
    """
    found: list[Proposal] = []
    duplicates: list[Proposal] = []
    problem = ""
    again: list[Message] = []
    for _ in range(-(-count // MOST_AT_ONCE) + _SPARE_LISTS):
        request = _request(domain, min(MOST_AT_ONCE, count - len(found)), found)
        try:
            reply = await ask("writer", [request, *again], form=FORM)
        except CallFailed as failed:
            return Proposed(tuple(found), tuple(duplicates), str(failed), failed=True)
        reading = parse_json(reply.text, list[Proposal])
        if reading.value is None:
            problem = f"a list of topics cannot be read: {reading.problem}"
            complaint = prompts.filled("topics", "topics_complaint", problem=reading.problem)
            again = [assistant(reply.text), user(complaint)]
            continue
        problem, again = "", []
        _sort(reading.value, count, found, duplicates)
        if len(found) == count:
            return Proposed(tuple(found), tuple(duplicates))
    few = f"{len(found)} of {count} different topics were proposed"
    return Proposed(tuple(found), tuple(duplicates), f"{few}; {problem}" if problem else few)


def _sort(listed: Sequence[Proposal], count: int, found: list[Proposal], duplicates: list[Proposal]) -> None:
    """Put what is new into `found` until there are `count`, and what is not into `duplicates`."""
    for one in listed:
        proposal = Proposal(" ".join(one.topic.split())[:LONGEST], " ".join(one.proposition.split())[:LONGEST])
        if len(found) == count or not proposal.topic or not proposal.proposition:
            continue
        same = any(alike(proposal.topic, known.topic) >= SAME_TOPIC for known in found)
        (duplicates if same else found).append(proposal)


def _request(domain: str, count: int, found: Sequence[Proposal]) -> Message:
    topics = "\n".join(f"- {one.topic}" for one in found)
    known = prompts.filled("topics", "known", topics=topics) + "\n\n" if found else ""
    return user(prompts.filled("topics", "topics", count=count, domain=domain, known=known))
