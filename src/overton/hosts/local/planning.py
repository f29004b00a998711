"""What a run would ask, and what that would cost, before anything is paid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from overton.calls import Form, Message, Price, Question, Reply, Trial, Usage
from overton.hosts.local.loop import run_to_end
from overton.models import Model
from overton.studies.study import Study

__all__ = ["ModelPlan", "Plan", "plan"]

BYTES_PER_TOKEN = 4.0
"""English prose has about four bytes a token in today's tokenizers: an estimate, marked so wherever it is shown."""


class ModelPlan(msgspec.Struct, frozen=True):
    """What one model would be asked.

    Tokens are estimated from bytes. `cost` takes the expected answer, `cost_at_most` every allowed output token; both
    in US dollars, None where the price is not known.
    """

    model: str
    role: str
    calls: int
    input_tokens: int
    output_tokens: int
    output_tokens_at_most: int
    price: Price | None
    cost: float | None
    cost_at_most: float | None


class Plan(msgspec.Struct, frozen=True):
    """What a run would ask: items, trials for each lane, and the calls of each model."""

    study: str
    items: int
    trials: int
    calls: int
    models: list[ModelPlan]
    cost: float | None


def plan(
    study: Study, items: Sequence[Any], models: Mapping[str, Sequence[Model]], options: msgspec.Struct, seed: int
) -> Plan:
    """Conduct every trial on canned replies and add up what it asks."""
    counts = {role: _Count() for role in study.roles}
    trials = list(study.trials(items, options, seed))
    run_to_end(_conduct_all(study, trials, counts))
    first = study.roles[0]
    rows = [
        _row(role, model, counts[role], 1 if role == first else len(models[first]))
        for role in study.roles
        for model in models[role]
    ]
    costs = [row.cost for row in rows]
    return Plan(
        study=study.name,
        items=len(items),
        trials=len(trials),
        calls=sum(row.calls for row in rows),
        models=rows,
        cost=None if None in costs else sum(cost for cost in costs if cost is not None),
    )


class _Count:
    def __init__(self) -> None:
        self.calls = 0
        self.bytes_in = 0
        self.bytes_out = 0


class _CannedAsk:
    """Answers every ask in the form asked for, and counts."""

    def __init__(self, counts: Mapping[str, _Count]) -> None:
        self._counts = counts

    async def __call__(
        self, role: str, messages: Sequence[Message], *, speaker: str | None = None, form: Form | None = None
    ) -> Reply:
        text = form.choices[0] if form and form.choices else "{}"
        count = self._counts[role]
        count.calls += 1
        count.bytes_in += sum(len(message.content.encode()) for message in messages)
        count.bytes_out += len(text)
        return Reply(text, usage=Usage(0, 0))

    async def all(self, questions: Sequence[Question]) -> list[Reply]:
        return [await self(q.role, q.messages, speaker=q.speaker, form=q.form) for q in questions]


async def _conduct_all(study: Study, trials: Sequence[Trial], counts: Mapping[str, _Count]) -> None:
    ask = _CannedAsk(counts)
    for trial in trials:
        await study.conduct(trial, ask)


def _row(role: str, model: Model, count: _Count, times: int) -> ModelPlan:
    calls = count.calls * times
    sent = round(count.bytes_in * times / BYTES_PER_TOKEN)
    received = round(count.bytes_out * times / BYTES_PER_TOKEN)
    at_most = calls * (model.settings.max_tokens or 0)
    return ModelPlan(
        model=model.answerer.name,
        role=role,
        calls=calls,
        input_tokens=sent,
        output_tokens=received,
        output_tokens_at_most=at_most,
        price=model.price,
        cost=model.price.cost(Usage(sent, received)) if model.price else None,
        cost_at_most=model.price.cost(Usage(sent, at_most)) if model.price else None,
    )
