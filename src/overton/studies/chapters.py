"""The chapters of a report: its sections, grouped by the question that they answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TypeAlias

from overton.studies.sections import Section


@dataclass(frozen=True)
class Chapter:
    """The sections that answer one question."""

    question: str
    sections: Sequence[Section]

    @property
    def key(self) -> str:
        """The chapter's name in links."""
        return f"chapter-{self.sections[0].key}"


Chapters: TypeAlias = Mapping[str, tuple[str, ...]]
"""The keys of the sections that answer each question. The questions are in the order of the report. A key may be a
pattern, such as 'precision*'."""

_BETWEEN_MODELS: Chapters = {"How do the models differ?": ("compared", "agreement")}
"""The chapter before a study's own chapters."""

_OF_EVERY_STUDY: Chapters = {
    "How large are the numbers without the cause under study?": ("nulls",),
    "How good are the judge's labels?": ("labels", "judges", "judge", "judge-probabilities", "controls"),
    "Which replies are missing or malformed?": ("warnings", "faults", "refusals", "readings"),
    "How exact are the numbers?": ("probabilities", "precision*"),
}
"""The chapters after a study's own chapters."""

_OTHER = "What else was measured?"


def chapters_of(sections: Sequence[Section], declared: Chapters) -> list[Chapter]:
    """Group sections by the question that they answer. If a study declares no chapters, each section is a chapter under
    its own title."""
    questions = {**_BETWEEN_MODELS, **declared, **_OF_EVERY_STUDY}
    found: dict[str, list[Section]] = {}
    for section in sections:
        question = next((name for name, keys in questions.items() if _matches(section, keys)), None)
        found.setdefault(question or (_OTHER if declared else section.title), []).append(section)
    further = [name for name in found if name not in questions]
    order = dict.fromkeys([*_BETWEEN_MODELS, *declared, *further, *_OF_EVERY_STUDY])
    return [Chapter(name, found[name]) for name in order if name in found]


def _matches(section: Section, keys: Sequence[str]) -> bool:
    return any(fnmatchcase(section.key, key) for key in keys)
