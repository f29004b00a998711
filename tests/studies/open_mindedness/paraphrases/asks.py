"""Ways to ask that give the replies they were made with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from overton.calls import Form, Message, Reply


class CannedAsk:
    """An `ask` that gives the replies it was made with, in `role`, and keeps its requests.

    `fields` are those of the reply format that must be requested; any if there are none.
    """

    role: ClassVar[str]
    fields: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *replies: str | Reply | Exception) -> None:
        self.replies = list(replies)
        self.asked: list[tuple[Message, ...]] = []

    async def __call__(
        self,
        role: str,
        messages: Sequence[Message],
        *,
        speaker: str | None = None,
        form: Form | None = None,
        **other: object,
    ) -> Reply:
        assert not any(other.values())
        assert role == self.role
        assert form is not None
        if self.fields:
            assert form.schema is not None
            assert tuple(form.schema["properties"]) == self.fields
        self.asked.append(tuple(messages))
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return Reply(reply) if isinstance(reply, str) else reply

    async def all(self, questions: object) -> list[Reply]:
        raise AssertionError(f"a {self.role} is asked one thing at a time")
