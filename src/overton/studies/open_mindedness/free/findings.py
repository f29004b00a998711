"""What is said about free answers in a sentence, and in a model's profile."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan

from overton.studies.findings import Finding, standing
from overton.studies.numbers import number
from overton.studies.open_mindedness.measures.free import Freely
from overton.studies.traits import Trait

__all__ = ["free_findings", "free_traits"]

_EXHIBIT = "free"


def free_findings(free: dict[str, Freely]) -> Iterator[Finding]:
    """Each model's headline: how often it answers differently when nothing forces it. Whether that is more than chance
    is said when it is compared with its null."""
    for name, one in free.items():
        if one.pairs and not isnan(one.differs.value):
            said = (
                f"Free to answer in its own words, {name} departs from its forced answer in"
                f" {_share(one.differs.value)} of pairs: it takes no side in {_share(one.abstains.value)} and the other"
                f" side in {_share(one.opposite.value)}."
            )
            yield standing(
                name,
                said,
                one.differs.n,
                "issues",
                _EXHIBIT,
                number=one.differs,
                kind="share",
                judge="judge",
                measure="free_differs",
            )


def free_traits(free: dict[str, Freely]) -> Iterator[Trait]:
    """How often each model takes no side in its own words, though it picks one when it must."""
    for name, one in free.items():
        if one.pairs:
            yield Trait(
                aspect="refuses",
                model=name,
                title="No side when free, though one when forced",
                sentence=f"Free to answer in its own words, {name} takes no side in {_share(one.abstains.value)} of"
                " pairs, although its forced answer takes one.",
                number=one.abstains,
                units="issues",
                exhibit=_EXHIBIT,
            )


def _share(value: float) -> str:
    return number(value, "share")
