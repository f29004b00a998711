"""The numbers that every study has of its judge: agreement with itself, and probabilities against answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from overton.studies.frame import Cells, EstimateRow

if TYPE_CHECKING:
    from overton.studies.probabilities import Weighing
    from overton.studies.self_agreement import SelfAgreement
    from overton.studies.warnings import FaultCount


def judge_rows(self_agreement: Mapping[str, SelfAgreement], weighing: Weighing | None) -> Iterator[EstimateRow]:
    """The numbers that studies have of their judge: its agreement with itself by kind of label, and how its single
    answers compare with its token probabilities."""
    for label, found in self_agreement.items():
        for name in ("same", "kappa", "overlap"):
            if (number := getattr(found, name)) is not None:
                yield EstimateRow(measure=f"self_agreement_{name}", facet="label", condition=label, number=number)
    for role, calibration in ({} if weighing is None else weighing.calibrations).items():
        for name in ("slope", "offset", "outward", "largest", "other", "typical"):
            if (number := getattr(calibration, name)) is not None:
                yield EstimateRow(measure=f"calibration_{name}", facet="role", condition=role, number=number)


def judge_counts(
    faults: Sequence[FaultCount], self_agreement: Mapping[str, SelfAgreement], weighing: Weighing | None
) -> dict[str, tuple[Cells, ...]]:
    """The tables 'faults', 'self_agreement' and 'calibrations': counts, and what belongs to no single number."""
    made: dict[str, tuple[Cells, ...]] = {
        "faults": tuple(
            {
                "model": count.model,
                "condition": count.condition,
                "replies": count.replies,
                "faulty": count.faulty,
                **count.faults,
            }
            for count in faults
        ),
        "self_agreement": tuple(
            {"label": label, "repeated": found.repeated, "unread": found.unread}
            for label, found in self_agreement.items()
        ),
    }
    if weighing is not None:
        made["calibrations"] = tuple(
            {
                "role": role,
                "used": weighing.used,
                "why_not_used": weighing.why,
                "unweighed": weighing.unweighed.get(role, 0),
                **{name: getattr(found, name) for name in ("prompts", "answers", "band", "verdict", "why", "needed")},
            }
            for role, found in weighing.calibrations.items()
        )
    return made
