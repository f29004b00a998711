"""What was found, as shown at the top of a page: model by model, with cautions common to all given once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from overton.studies.findings import DO_NOT_QUOTE, Finding, by_model, common, counted, evidence

if TYPE_CHECKING:
    from overton.studies.exhibits import Section

__all__ = ["Found", "Said", "found"]


@dataclass(frozen=True)
class Said:
    """A finding as displayed: `link` is the section that shows it and its title, None if the page has none."""

    sentence: str
    what: str
    count: str
    evidence: str
    link: tuple[str, str] | None
    cautions: Sequence[str]
    red: str


@dataclass(frozen=True)
class Found:
    """What was found: `cautions` common to all findings, and by model what holds and what was ruled out."""

    cautions: Sequence[str]
    red: str
    models: Sequence[tuple[str, Sequence[Said], Sequence[Said]]]


def found(findings: Sequence[Finding], sections: Sequence[Section]) -> Found | None:
    """What the top of a report says; None if no findings are declared.

    Effects that were ruled out are listed separately, unless no other effects are reported: then they are the findings.
    """
    if not findings:
        return None
    shared = common(findings)
    titles = {section.key: section.title for section in sections}
    models = []
    for model, own in by_model(findings):
        said = [(one.what, _said(one, titles, shared)) for one in own]
        moved = any(what == "effect" for what, _ in said)
        apart = [one for what, one in said if what == "bound" and moved]
        models.append((model, [one for _, one in said if one not in apart], apart))
    quotable = any(one.quotable for one in findings)
    return Found(shared, "" if quotable or not shared else DO_NOT_QUOTE, models)


def _said(one: Finding, titles: Mapping[str, str], shared: Sequence[str]) -> Said:
    return Said(
        sentence=one.sentence,
        what=one.what,
        count=counted(one.n, one.units),
        evidence=evidence(one),
        link=(one.exhibit, titles[one.exhibit]) if one.exhibit in titles else None,
        cautions=[text for text in one.cautions if text not in shared],
        red="" if one.quotable else DO_NOT_QUOTE,
    )
