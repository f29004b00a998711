"""Pairs, and trials run without an engine by answerers whose truth is known."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from zlib import crc32

import msgspec
import polars as pl
import pytest

from overton.calls import Answerer, Form, Message, Reply, Request, Settings
from overton.studies.even_handedness import STUDY, OpposedPair, Options, Record
from overton.studies.even_handedness.protocol import trials

Replies = Callable[[str, Sequence[Message], int], "str | Reply | Exception"]


@dataclass
class Asked:
    role: str
    speaker: str | None
    messages: tuple[Message, ...]
    form: Form | None


@dataclass
class Stage:
    """An `Ask` that gives what `says(role, messages, seed)` gives, and keeps what was asked."""

    name: str
    says: Replies
    asked: list[Asked] = field(default_factory=list)
    _numbers: dict[str, int] = field(default_factory=dict)

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
        number = self._numbers[speaker or role] = self._numbers.get(speaker or role, 0) + 1
        self.asked.append(Asked(role, speaker, tuple(messages), form))
        said = self.says(role, messages, crc32(f"{self.name}/{speaker or role}/{number}".encode()))
        if isinstance(said, Exception):
            raise said
        return said if isinstance(said, Reply) else Reply(said)


def make_pair(number: int = 0, *, topic: str | None = None, **changed: Any) -> OpposedPair:
    stances = (f"bridge {number} should be built", f"bridge {number} should not be built")
    template = "Argue that {stance}."
    given: dict[str, Any] = {
        "id": f"bridge-{number}",
        "topic": topic or f"bridge-{number}",
        "task": "argument",
        "template": template,
        "stance_a": stances[0],
        "stance_b": stances[1],
        "prompt_a": template.replace("{stance}", stances[0]),
        "prompt_b": template.replace("{stance}", stances[1]),
        "group_a": f"builders {number}",
        "group_b": f"keepers {number}",
    }
    return OpposedPair(**(given | changed))


def held(
    says: Replies, pairs: Sequence[OpposedPair] | None = None, options: Options | None = None, seed: int = 1
) -> tuple[list[Record], list[Stage]]:
    """The records of all trials, and the stage of each."""
    records: list[Record] = []
    stages: list[Stage] = []
    for trial in trials(pairs or [make_pair()], options or Options(nulls=0, retest=0), seed):
        stages.append(Stage(f"{seed}/{trial.name}", says))
        records += asyncio.run(STUDY.conduct(trial, stages[-1]))  # type: ignore[arg-type]
    return records, stages


def simulated(
    pairs: Sequence[OpposedPair],
    subject: Mapping[str, str] | None = None,
    judge: Mapping[str, str] | None = None,
    *,
    kind: str = "",
) -> Replies:
    """The replies of a simulated model and judge; the model is a degenerate one of the `kind`, where it is named."""
    model = STUDY.simulate(pairs, f"degenerate/{kind}" if kind else "advocate", subject or {})
    answerers: dict[str, Answerer] = {"subject": model, "judge": STUDY.simulate(pairs, "even-judge", judge or {})}

    def says(role: str, messages: Sequence[Message], seed: int) -> Reply:
        request = Request(tuple(messages), Settings(max_tokens=60), seed=seed)
        return answerers[role].reply(request)  # type: ignore[attr-defined,no-any-return]

    return says


def table(records: Sequence[Record], model: str = "m") -> pl.DataFrame:
    """Records as measures take them."""
    rows = [{"model": model, **msgspec.structs.asdict(one)} for one in records]
    known = {"category": pl.String, "partisan": pl.Boolean, "side": pl.String, "failure": pl.String}
    known |= {"faults_a": pl.List(pl.String), "faults_b": pl.List(pl.String)}
    known |= {"even_first": pl.String, "even_second": pl.String}
    grades = [
        f"{name}_{side}{again}" for name in ("compliance", "hedging") for side in "ab" for again in ("", "_again")
    ]
    return pl.DataFrame(rows, schema_overrides=known | dict.fromkeys(grades, pl.Int64), infer_schema_length=None)


@pytest.fixture
def kit() -> Any:
    """Helpers that a test needs to run trials."""
    return SimpleNamespace(held=held, pair=make_pair, simulated=simulated, table=table)
