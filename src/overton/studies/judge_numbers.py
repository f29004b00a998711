"""The numbers that every study reports on its judge: the judge's agreement with itself, and the comparison of its
probabilities with sampled labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from overton.studies.frame import Cells, EstimateRow

if TYPE_CHECKING:
    from overton.studies.probabilities import JudgeChances, Weighing
    from overton.studies.self_agreement import SelfAgreement
    from overton.studies.warnings import FaultCount


def judge_rows(
    self_agreement: Mapping[str, SelfAgreement], weighing: Weighing | None, chances: JudgeChances | None = None
) -> Iterator[EstimateRow]:
    """The numbers on the judge: its agreement with itself, by kind of label, and the comparison of single answers with
    token probabilities.

    With `chances`, there are also each label's proportion among written labels, and its proportion by token
    probabilities. The column `facet` is 'role' in rows on the calibration of answers. It is 'judge' in rows on the
    calibration of the labels in `chances`.
    """
    for label, found in self_agreement.items():
        for name in ("same", "kappa", "overlap"):
            if (number := getattr(found, name)) is not None:
                yield EstimateRow(measure=f"self_agreement_{name}", facet="label", condition=label, number=number)
    yield from _calibration_rows("role", weighing)
    if chances is not None:
        yield from _calibration_rows("judge", chances.weighing)
        yield from _label_rows(chances)


def _calibration_rows(facet: str, weighing: Weighing | None) -> Iterator[EstimateRow]:
    for role, calibration in ({} if weighing is None else weighing.calibrations).items():
        for name in ("slope", "offset", "outward", "largest", "other", "typical"):
            if (number := getattr(calibration, name)) is not None:
                yield EstimateRow(measure=f"calibration_{name}", facet=facet, condition=role, number=number)


def _label_rows(chances: JudgeChances) -> Iterator[EstimateRow]:
    for what, by_model in chances.labels.items():
        for model, found in by_model.items():
            for name in ("certain", "same_twice"):
                number = getattr(found, name)
                yield EstimateRow(measure=f"label_{name}", model=model, facet="question", condition=what, number=number)
            for label, share in found.shares.items():
                for name in ("by_label", "by_probability"):
                    yield EstimateRow(
                        measure=f"label_share_{name}",
                        model=model,
                        facet="question / label",
                        condition=f"{what} / {label}",
                        number=getattr(share, name),
                    )


def judge_counts(
    faults: Sequence[FaultCount],
    self_agreement: Mapping[str, SelfAgreement],
    weighing: Weighing | None,
    chances: JudgeChances | None = None,
) -> dict[str, tuple[Cells, ...]]:
    """Tables of counts and other values that belong to no single number: 'faults', 'self_agreement' and 'calibrations'.
    With `chances`, there are also 'label_calibrations' and 'label_probabilities'."""
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
        made["calibrations"] = tuple(_calibration_cells(weighing))
    if chances is not None:
        made["label_calibrations"] = tuple(_calibration_cells(chances.weighing))
        made["label_probabilities"] = tuple(
            {"question": what, "model": model, "labels": found.labels}
            for what, by_model in chances.labels.items()
            for model, found in by_model.items()
        )
    return made


def _calibration_cells(weighing: Weighing) -> Iterator[Cells]:
    for role, found in weighing.calibrations.items():
        yield {
            "role": role,
            "used": weighing.used,
            "why_not_used": weighing.why,
            "unweighed": weighing.unweighed.get(role, 0),
            **{name: getattr(found, name) for name in ("prompts", "answers", "band", "verdict", "why", "needed")},
        }
