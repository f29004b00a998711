"""Replies for planning: the shortest and the longest course that a deliberation can take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from overton.calls import Form, Message, Reply
from overton.studies.deliberation import STUDY
from overton.studies.deliberation.options import FORMATS
from overton.studies.deliberation.protocol import conduct


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("values", [False, True])
async def test_planned_calls_are_the_fewest_and_the_most_that_can_be_asked(
    trial: Any, format_: str, values: bool
) -> None:
    courses = []
    for canned in STUDY.planning:
        asked: list[str] = []

        async def ask(
            role: str,
            messages: Sequence[Message],
            *,
            speaker: str | None = None,
            form: Form | None = None,
            asked: list[str] = asked,
            canned: Any = canned,
            **_: object,
        ) -> Reply:
            asked.append(role)
            return Reply(canned(role, speaker or role, form))

        await conduct(trial(format_, 3, values=values), ask)  # type: ignore[arg-type]
        courses.append((asked.count("agent"), asked.count("values")))
    assert courses == [(3, 3 * values), (3 * 4 * 2, 3 * 4 * values)]
