"""How long a plan's models that run on this machine would take."""

from __future__ import annotations

from typing import Any

import msgspec

from overton.planning.timing import timed
from overton.runs import answerers, dry_run
from overton.runs.setup import set_up
from overton.studies.registry import study_named


class TimeHere(msgspec.Struct, frozen=True):
    """A model in a role: how many of its calls were timed, what one took on average, and what the plan's would take."""

    model: str
    role: str
    timed: int
    seconds_each: float
    seconds: float


def time_here(study: str, planned: dry_run.Plan, **asked: Any) -> list[TimeHere]:
    """How long a plan's calls to models that run in this process would take; `asked` are the plan's arguments.

    A few calls of each are made and timed, for at most a minute each. Hosted and simulated models are never asked.

    Raises:
        InputError: anything wrong with the arguments.
    """
    found = study_named(study)
    seed = asked.pop("seed", None) or 0
    names = ("models", "others", "items", "only", "model_args", "source_args", "prices", "price_list")
    named = {name: asked.pop(name) for name in names if asked.get(name) is not None}
    ready = set_up(found, asked, **named)
    opened = answerers.open_models(found.with_tokens(ready.options), ready.items, ready.wanted, seed, need_keys=False)
    calls = {(row.model, row.role): row.calls for row in planned.models}
    return [
        TimeHere(one.model, one.role, one.calls, one.seconds, one.seconds * calls[one.model, one.role])
        for one in timed(found, ready.items, opened, ready.options, seed)
    ]
