"""The opening of a report: what was asked, the cautions, the most important findings, one table and one chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from overton.studies.finding_order import MOST_FINDINGS, ShownFinding
from overton.studies.findings import DO_NOT_QUOTE, counted, evidence, shared_cautions
from overton.studies.sections import Section, Table


@dataclass(frozen=True)
class Opening:
    """The top of a report.

    heading   models, items, replies and cost
    void      the reason why nothing can be concluded, and what to do; otherwise ''
    cautions  sentences to read before any number, the most important first
    notes     further cautions, which are folded
    findings  all findings, the most important first
    table     a row for each model, None if there are no numbers
    sections  sections that belong to the opening, such as the paper's own tables
    """

    heading: str
    void: str = ""
    cautions: Sequence[str] = ()
    notes: Sequence[str] = ()
    findings: Sequence[ShownFinding] = ()
    table: Table | None = None
    sections: Sequence[Section] = ()

    @property
    def exhibits(self) -> list[str]:
        """The keys of the sections that show the findings, in the order of the findings. Effects come before all other
        findings."""
        by_kind = sorted(self.findings, key=lambda shown: shown.finding.what != "effect")
        return [*dict.fromkeys(shown.finding.exhibit for shown in by_kind)]


@dataclass(frozen=True)
class FindingView:
    """A finding as displayed. `link` is the key and the title of the section that shows the finding. It is None if the
    page has no such section."""

    sentence: str
    what: str
    count: str
    evidence: str
    link: tuple[str, str] | None
    cautions: Sequence[str]
    red: str


@dataclass(frozen=True)
class OpeningView:
    """The findings as displayed. `said` has the most important findings, which are always visible. If there are more
    findings, `models` has all of them by model. `shared` has the cautions that all findings share."""

    said: Sequence[FindingView]
    count: int
    models: Sequence[tuple[str, Sequence[FindingView]]]
    shared: Sequence[str]


def view_opening(opening: Opening, sections: Sequence[Section]) -> OpeningView:
    """The findings of an opening as displayed; they link to `sections`."""
    titles = {section.key: section.title for section in sections}
    shared = shared_cautions([shown.finding for shown in opening.findings]) if opening.findings else []
    told = {*shared, *opening.cautions} if not opening.void else {*shared}
    quotable = any(shown.finding.quotable for shown in opening.findings)
    views = [(shown.finding.model, _view_finding(shown, titles, told, red=quotable)) for shown in opening.findings]
    models = dict.fromkeys(model for model, _ in views)
    by_model = [(model, [view for name, view in views if name == model]) for model in models]
    said = [] if opening.void else [view for _, view in views[:MOST_FINDINGS]]
    return OpeningView(said, len(views), by_model if len(views) > len(said) else [], shared if said else [])


def _view_finding(shown: ShownFinding, titles: Mapping[str, str], told: set[str], *, red: bool) -> FindingView:
    """A finding as displayed, without the cautions in `told`, which the page gives elsewhere. With `red`, a finding
    that must not be quoted says so."""
    finding = shown.finding
    return FindingView(
        sentence=shown.sentence,
        what=finding.what,
        count=counted(finding.n, finding.units),
        evidence=evidence(finding),
        link=(finding.exhibit, titles[finding.exhibit]) if finding.exhibit in titles else None,
        cautions=[text for text in finding.cautions if text not in told],
        red="" if finding.quotable or not red else DO_NOT_QUOTE,
    )
