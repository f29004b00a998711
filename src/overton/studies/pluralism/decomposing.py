"""Comments into atomic opinions (section 4.1, `Extract` of eq. 1)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from overton.calls import Ask, Message, assistant
from overton.errors import CallFailed
from overton.judging import parse_json
from overton.studies.pluralism.clustering import Opinion, plain_text
from overton.studies.pluralism.clustering.asking import complaint
from overton.studies.pluralism.clustering.forms import list_form
from overton.studies.pluralism.items import Comment, Thread
from overton.studies.pluralism.prompts import reference as prompts
from overton.studies.together import side_by_side

__all__ = ["ATTEMPTS", "LONGEST", "MOST", "Decomposed", "Status", "decompose", "opinions_of"]

ATTEMPTS = 3
"""A list that cannot be read is asked for again twice."""

MOST = 20
"""Opinions of one comment at most."""

LONGEST = 400
"""Characters of an opinion at most."""

Status = Literal["read", "none", "unread", "refused", "failed"]


class Decomposed(msgspec.Struct, frozen=True):
    """What one comment gave.

    status    'read'; 'none' where it states no opinion; 'unread' where the last reply still was of the wrong form;
              'refused' where the endpoint flagged a refusal; 'failed' where a call failed for good
    repaired  whether the JSON had to be repaired to be read
    attempts  how often the list was asked for
    """

    comment: str
    status: Status
    opinions: tuple[str, ...] = ()
    attempts: int = 1
    repaired: bool = False


class _Reply(msgspec.Struct):
    opinions: list[str]


FORM = list_form("opinions", {"type": "string"}, 0, MOST)


async def decompose(ask: Ask, thread: Thread) -> list[Decomposed]:
    """Every comment's opinions, in the order of the comments, asked for side by side.

    Calls are shared: several clusterings of one thread in one run start from the same opinions, paid once.
    """
    return await side_by_side(_decompose(ask, thread, comment) for comment in thread.comments)


async def _decompose(ask: Ask, thread: Thread, comment: Comment) -> Decomposed:
    said: list[Message] = list(
        prompts.messages(
            "decompose",
            "ask",
            title=thread.title,
            text=thread.text,
            comment=comment.text,
            most=MOST,
            longest=LONGEST,
        )
    )
    for attempt in range(1, ATTEMPTS + 1):
        try:
            reply = await ask("writer", said, form=FORM, shared=True)
        except CallFailed:
            return Decomposed(comment.id, "failed", attempts=attempt)
        if reply.refused:
            return Decomposed(comment.id, "refused", attempts=attempt)
        reading = parse_json(reply.text, _Reply)
        found = _tidy(reading.value.opinions) if reading.value else []
        problem = _problem(found) if reading.value else f"it cannot be read ({reading.problem})"
        if not problem:
            status: Status = "read" if found else "none"
            return Decomposed(comment.id, status, tuple(found), attempt, reading.how == "repaired")
        said += [assistant(reply.text or "-"), complaint(problem)]
    return Decomposed(comment.id, "unread", attempts=ATTEMPTS)


def _tidy(texts: Iterable[str]) -> list[str]:
    """The opinions with their spaces evened out, each once."""
    return list({plain_text(text): " ".join(text.split()) for text in texts if plain_text(text)}.values())


def _problem(texts: list[str]) -> str:
    if len(texts) > MOST:
        return f"it lists {len(texts)} opinions; name the {MOST} that matter most"
    longest = max(map(len, texts), default=0)
    return f"one opinion has {longest} characters; {LONGEST} are the most" if longest > LONGEST else ""


def opinions_of(decomposed: Iterable[Decomposed]) -> list[Opinion]:
    """The thread's opinion units (eq. 1, a union): opinions in the same words are one, with all their comments."""
    texts: dict[str, str] = {}
    comments: dict[str, list[str]] = {}
    for one in decomposed:
        for text in one.opinions:
            key = plain_text(text)
            texts.setdefault(key, text)
            comments.setdefault(key, []).append(one.comment)
    return [Opinion(text, tuple(comments[key])) for key, text in texts.items()]
