"""Extraction of atomic opinions from comments (section 4.1, `Extract` of eq. 1)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

import msgspec

from overton.calls import Ask, Form, Reply
from overton.judging import Reading, parse_json, schema_of, with_schema
from overton.studies.asking import ask_until_read, side_by_side
from overton.studies.pluralism.clustering.parts import Opinion, plain_text
from overton.studies.pluralism.items import Thread, ThreadComment
from overton.studies.pluralism.prompts import reference as prompts

_ATTEMPTS = 3
"""An unreadable list is retried twice."""

MOST = 20
"""The maximum number of opinions of one comment."""

LONGEST = 400
"""The maximum length of an opinion, in characters."""

Status = Literal["read", "none", "unread", "refused", "failed"]


class CommentOpinions(msgspec.Struct, frozen=True):
    """The opinions of one comment.

    status    'read', or 'none' if the comment states no opinion. 'unread' if the last reply still had the wrong format,
              'refused' if the endpoint flagged a refusal, 'failed' if a call failed permanently
    repaired  whether the JSON had to be repaired to be read
    attempts  how often the list was requested
    """

    comment: str
    status: Status
    opinions: tuple[str, ...] = ()
    attempts: int = 1
    repaired: bool = False


class _Reply(msgspec.Struct):
    opinions: Annotated[list[str], with_schema(minItems=0, maxItems=MOST)]


_FORM = Form(schema=schema_of(_Reply))


async def decompose(ask: Ask, thread: Thread) -> list[CommentOpinions]:
    """Every comment's opinions, in the order of the comments, requested side by side.

    Calls are shared within a run. So all clustering methods start from the same opinions of a thread, and the calls for
    these opinions are paid for once.
    """
    return await side_by_side(_decompose(ask, thread, comment) for comment in thread.comments)


async def _decompose(ask: Ask, thread: Thread, comment: ThreadComment) -> CommentOpinions:
    request = prompts.messages(
        "decompose",
        "ask",
        title=thread.title,
        text=thread.text,
        comment=comment.text,
        most=MOST,
        longest=LONGEST,
    )
    answered = await ask_until_read(
        ask, "writer", request, _read, attempts=_ATTEMPTS, complaint=prompts.complaint, form=_FORM, shared=True
    )
    found = answered.value
    status: Status = "failed" if answered.failure else "refused" if answered.refused else _status(found)
    return CommentOpinions(comment.id, status, found or (), answered.attempts, answered.repaired)


def _status(found: tuple[str, ...] | None) -> Status:
    return "unread" if found is None else "read" if found else "none"


def _read(reply: Reply) -> Reading[tuple[str, ...]]:
    """The opinions in a reply; a refusal is not retried."""
    if reply.refused:
        return Reading(None, "invalid")
    reading = parse_json(reply.text, _Reply)
    if reading.value is None:
        return Reading.invalid(f"it cannot be read ({reading.problem})")
    found = _tidy(reading.value.opinions)
    problem = _problem(found)
    return Reading.invalid(problem) if problem else Reading(tuple(found), reading.how)


def _tidy(texts: Iterable[str]) -> list[str]:
    """The distinct opinions, with white space collapsed."""
    return list({plain_text(text): " ".join(text.split()) for text in texts if plain_text(text)}.values())


def _problem(texts: list[str]) -> str:
    if len(texts) > MOST:
        return f"it lists {len(texts)} opinions; name the {MOST} that matter most"
    longest = max(map(len, texts), default=0)
    return f"one opinion has {longest} characters; {LONGEST} are the most" if longest > LONGEST else ""


def opinions_of(decomposed: Iterable[CommentOpinions]) -> list[Opinion]:
    """The thread's opinion units (eq. 1, a union). Opinions with the same words become one unit, with all comments that
    state this opinion."""
    texts: dict[str, str] = {}
    comments: dict[str, list[str]] = {}
    for comment_opinions in decomposed:
        for text in comment_opinions.opinions:
            key = plain_text(text)
            texts.setdefault(key, text)
            comments.setdefault(key, []).append(comment_opinions.comment)
    return [Opinion(text, tuple(comments[key])) for key, text in texts.items()]
