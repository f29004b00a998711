"""How long local models would take: a few of a plan's own calls, timed. No endpoint is ever called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

from overton.calls import Form, Message, Question, Reply, Request, Trial, Usage
from overton.models import Model
from overton.runs.answerers import Opened
from overton.runs.event_loop import run_to_end
from overton.studies.study import AnyStudy, Canned

_CALLS = 4
_SECONDS = 60.0
"""Calls timed per model, the first of which loads it and is not counted, and how many seconds they may take."""
_TRIALS = 4


@dataclass(frozen=True)
class Timed:
    """What a few calls of a model in a role took, in seconds each."""

    model: str
    role: str
    calls: int
    seconds: float


class _Asked:
    """Answers with canned replies and records the prompts, by role."""

    def __init__(self, canned: Canned) -> None:
        self.kept: dict[str, list[tuple[tuple[Message, ...], Form | None]]] = {}
        self._canned = canned

    async def __call__(
        self,
        role: str,
        messages: Sequence[Message],
        *,
        speaker: str | None = None,
        form: Form | None = None,
        **_: Any,
    ) -> Reply:
        self.kept.setdefault(role, []).append((tuple(messages), form))
        return Reply(self._canned(role, speaker or role, form), usage=Usage(0, 0))

    async def all(self, questions: Sequence[Question]) -> list[Reply]:
        return [await self(q.role, q.messages, speaker=q.speaker, form=q.form) for q in questions]


def timed(
    study: AnyStudy, items: Sequence[Any], models: Mapping[str, Sequence[Opened]], options: Any, seed: int
) -> list[Timed]:
    """Make and time some of the planned calls to each model whose weights run in this process.

    Hosted and simulated models are left out: the former would cost money, the latter take no time.
    """
    trials = list(study.trials(items, options, seed))
    some = trials[:: max(1, len(trials) // _TRIALS)][:_TRIALS]
    return run_to_end(_timed(study, some, models))


async def _timed(study: AnyStudy, trials: Sequence[Trial], models: Mapping[str, Sequence[Opened]]) -> list[Timed]:
    asked = _Asked((study.replies() or (_first_choice,))[0])
    for trial in trials:
        await study.conduct(trial, asked)
    found: list[Timed] = []
    for role, side in models.items():
        kept = asked.kept.get(role, [])
        some = kept[:: max(1, len(kept) // _CALLS)][:_CALLS]
        for model in side:
            if isinstance(model, Model) and _runs_here(model) and some:
                found.append(await _one(model, role, some))
    for model in {id(one): one for side in models.values() for one in side}.values():
        await model.answerer.close()
    return found


async def _one(model: Model, role: str, some: Sequence[tuple[tuple[Message, ...], Form | None]]) -> Timed:
    until, taken = monotonic() + _SECONDS, list[float]()
    for messages, form in some:
        began = monotonic()
        await model.answerer.answer(Request(messages, model.settings, form, model.settings.seed))
        taken.append(monotonic() - began)
        if monotonic() > until:
            break
    counted = taken[1:] or taken
    return Timed(model.answerer.name, role, len(counted), sum(counted) / len(counted))


def _runs_here(model: Model) -> bool:
    from overton.models.llama_cpp import EmbeddedModel

    return isinstance(model.answerer, EmbeddedModel)


def _first_choice(role: str, speaker: str, form: Form | None) -> str:
    return form.choices[0] if form and form.choices else "{}"
