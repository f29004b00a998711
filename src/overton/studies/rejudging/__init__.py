"""Is the judge steady? A study made of another one's declaration: its judge, or a second one, asked again about what it
judged, as it was asked and with labels or materials in another order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from overton.calls import Answerer
from overton.errors import InputError, Problem
from overton.studies.items import Items
from overton.studies.rejudging.figures import MEASURING
from overton.studies.rejudging.protocol import conduct_of, trials
from overton.studies.rejudging.units import JudgedUnit, Reading
from overton.studies.sheet import JudgedAgain
from overton.studies.study import INTERFACE, AnyStudy, Simulated, Study

__all__ = ["again_of", "judged_again", "of_judge"]


def judged_again(study: AnyStudy) -> JudgedAgain:
    """How a study's judge is asked again.

    Raises:
        InputError: the study does not say.
    """
    found = study.sheet.again if study.sheet else None
    if found is None:
        reason = "does not declare how its judge is asked again (`Sheet.again`), if it has one"
        raise InputError([Problem("study", study.name, reason)])
    return found


def again_of(study: AnyStudy) -> AnyStudy:
    """The study of this study's judge.

    Raises:
        InputError: see `judged_again`.
    """
    return of_judge(
        study,
        judged_again(study),
        name=f"again-{study.name}",
        title=f"The judge of {study.title or study.name}, asked again",
        question="Does the judge say the same when it is asked again, in another order, and what does another say?",
        items=Items(
            JudgedUnit, "unit", "JSONL file of judged units, as a run of this study writes them", spelled=_spelled
        ),
        trials=trials,
        measuring=MEASURING,
    )


def of_judge(study: AnyStudy, judged: JudgedAgain, **own: Any) -> AnyStudy:
    """A study that asks this study's judge as `judged` says; `own` is what it asks about, and what the answers mean."""
    return Study(
        roles=(replace(study.role(judged.role), flag="judge", optional=False, judges=True),),
        record=Reading,
        row_key=("id", "row", "reading"),
        conduct=conduct_of(judged),
        prompts=study.prompts,
        simulated={name: _simulated_judge(judged, make) for name, make in study.simulated.items()},
        canned=study.canned,
        kind="labels",
        interface=INTERFACE,
        **own,
    )


def _spelled(unit: JudgedUnit) -> list[str]:
    return [f"{unit.run}: {unit.unit}"]


class _Holds(Protocol):
    """A unit, or a control."""

    @property
    def material(self) -> Mapping[str, Any]:
        """What is needed to ask about it."""


def _simulated_judge(judged: JudgedAgain, make: Simulated) -> Simulated:
    """A judge of the study's own, who knows the items that its units are of."""

    def made(units: Sequence[_Holds], name: str, arguments: Mapping[str, str]) -> Answerer:
        found = [judged.item(one.material) for one in units] if judged.item else []
        known: dict[Any, Any] = {one.id: one for one in found}
        return make(list(known.values()), name, arguments)

    return made
