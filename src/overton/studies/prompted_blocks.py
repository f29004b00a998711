"""Blocks of trials in a run with system prompts. An arm is an item in one condition under one system prompt.

The study's rule decides separately for each system prompt whether its records reach the target precision. A run
continues until the records of every system prompt reach it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from overton.studies.precision import Arm, Blocks, InterimResult, PrecisionLimit, PrecisionState

_WITH = " with "
_PROMPTED = re.compile(rf"(.*){_WITH}(system-[0-9]+)", re.DOTALL)


def by_system_prompt(blocks: Blocks) -> Blocks:
    """A study's blocks with a separate condition for each system prompt. Trials without a system prompt keep their
    conditions."""
    apart = _Apart(blocks)
    return replace(blocks, of=apart.of, first=apart.first, judge=apart.judge)


@dataclass(frozen=True)
class _Apart:
    blocks: Blocks

    def of(self, trial: Any) -> tuple[str, int]:
        name, number = self.blocks.of(trial)
        prompt = trial.system_prompt
        return (name if prompt is None else f"{name}{_WITH}{prompt.name}"), number

    def first(self, condition: str) -> int:
        return self.blocks.first(_parted(condition)[0])

    def judge(self, looked: InterimResult, measures: Mapping[str, float]) -> PrecisionState:
        prompts = list(dict.fromkeys(_parted(arm.name)[1] for arm in looked.records))
        if prompts == [""]:
            return self.blocks.judge(looked, measures)
        found = [_named(self.blocks.judge(_alone(looked, prompt), measures), prompt) for prompt in prompts]
        return PrecisionState(
            [limit for state in found for limit in state.limits],
            frozenset(arm for state in found for arm in state.wide),
            any(state.headline_wide for state in found),
            # If a headline has reached its target already, further blocks are not needed.
            {arm: variance for state in found if state.headline_wide for arm, variance in state.variance.items()},
        )


def _parted(condition: str) -> tuple[str, str]:
    """A condition's name in the study, and the name of its system prompt ('' without one)."""
    found = _PROMPTED.fullmatch(condition)
    return (found[1], found[2]) if found else (condition, "")


def _alone(looked: InterimResult, prompt: str) -> InterimResult:
    """The records under one system prompt. Their arms have the study's names, which do not contain the prompt."""

    def own(values: Mapping[Arm, Any]) -> dict[Arm, Any]:
        return {
            Arm(arm.item, _parted(arm.name)[0]): value
            for arm, value in values.items()
            if _parted(arm.name)[1] == prompt
        }

    return looked._replace(records=own(looked.records), sizes=own(looked.sizes))


def _named(state: PrecisionState, prompt: str) -> PrecisionState:
    """The precision under one system prompt. Its arms have the run's names, which contain the prompt."""
    if not prompt:
        return state

    def arm_of(arm: Arm) -> Arm:
        return Arm(arm.item, f"{arm.name}{_WITH}{prompt}")

    return PrecisionState(
        [_limit_under(limit, prompt) for limit in state.limits],
        frozenset(map(arm_of, state.wide)),
        state.headline_wide,
        {arm_of(arm): variance for arm, variance in state.variance.items()},
    )


def _limit_under(limit: PrecisionLimit, prompt: str) -> PrecisionLimit:
    arm = f"{limit.arm}{_WITH}{prompt}" if limit.arm else ""
    return msgspec.structs.replace(limit, title=f"{limit.title}, with {prompt}", arm=arm)
