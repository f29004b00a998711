"""Texts as vectors: what is asked of an embedder, and how its reply is read."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import msgspec

from overton.calls import Ask, Form, Question, Reply, user
from overton.errors import CallFailed
from overton.judging import list_schema

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BATCH", "ROLE", "embed"]

ROLE = "embedder"
"""The role of the answerer that turns texts into vectors."""

BATCH = 256
"""Texts in one call."""

_ROWS = msgspec.json.Decoder(list[list[float]])


async def embed(ask: Ask, texts: Sequence[str]) -> NDArray[Any]:
    """The texts' vectors, `[text, dimension]`, each of length 1 (or 0 where the embedder has nothing to say of it).

    A call's one message is a JSON array of texts; its reply a JSON array of as many arrays of numbers.

    Raises:
        CallFailed: a call failed for good, or its reply is not of this form.
    """
    import numpy as np

    batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
    questions = [Question(ROLE, (user(_encoded(batch)),), form=_form(len(batch))) for batch in batches]
    replies = await ask.all(questions)
    rows = [row for reply, batch in zip(replies, batches, strict=True) for row in _rows(reply, len(batch))]
    if len({len(row) for row in rows}) != 1 or not rows[0]:
        raise CallFailed("malformed", "the embedder's vectors differ in length, or are empty")
    vectors = np.array(rows, float)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units: NDArray[Any] = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return units


def _encoded(texts: Sequence[str]) -> str:
    return msgspec.json.encode(list(texts)).decode()


def _form(count: int) -> Form:
    return Form(schema=list_schema(list_schema({"type": "number"}), count, count))


def _rows(reply: Reply, count: int) -> list[list[float]]:
    try:
        rows = _ROWS.decode(reply.text)
    except msgspec.DecodeError as error:
        raise CallFailed("malformed", f"the embedder's reply does not hold vectors: {error}") from error
    if len(rows) != count or not all(isfinite(value) for row in rows for value in row):
        raise CallFailed(
            "malformed", f"the embedder's reply holds {len(rows)} vectors for {count} texts, or infinities"
        )
    return rows
