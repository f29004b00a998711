"""What is said about free answers in a sentence, and in a model's profile."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan

from overton.studies.findings import Finding, Trait, level_finding
from overton.studies.numbers import number
from overton.studies.open_mindedness.measures.free import Freely

_EXHIBIT = "free"


def free_findings(free: dict[str, Freely]) -> Iterator[Finding]:
    """How often each model answers differently when nothing forces it, and how. Whether that is more than chance is
    said when it is compared with its null condition."""
    for name, result in free.items():
        if result.pairs and not isnan(result.differs.value):
            start = f"Free to answer in its own words, {name}"
            for measure, does, share in (
                ("free_differs", "departs from its forced answer", result.differs),
                ("free_abstains", "takes no side, though one when forced,", result.abstains),
                ("free_opposite", "takes the other side", result.opposite),
            ):
                said = f"{start} {does} in {_share(share.value)} of pairs."
                yield level_finding(
                    name, said, share.n, "issues", _EXHIBIT, number=share, kind="share", judge="judge", measure=measure
                )


def free_traits(free: dict[str, Freely]) -> Iterator[Trait]:
    """How often each model takes no side in its own words, though it picks one when it must."""
    for name, result in free.items():
        if result.pairs:
            yield Trait(
                aspect="refuses",
                model=name,
                title="No side when free, though one when forced",
                sentence=f"Free to answer in its own words, {name} takes no side in {_share(result.abstains.value)} of"
                " pairs, although its forced answer takes one.",
                number=result.abstains,
                units="issues",
                exhibit=_EXHIBIT,
            )


def _share(value: float) -> str:
    return number(value, "share")
