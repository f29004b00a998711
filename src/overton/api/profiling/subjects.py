"""Items of several studies on one subject: what each study found on them, side by side."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overton.api.items import read_items
from overton.api.profiling.results import OfSubject, Subject
from overton.api.results import measuring_of
from overton.corpora.tables import open_table
from overton.errors import InputError, Problem
from overton.statistics.comparing import ratio
from overton.studies.numbers import number
from overton.studies.spelling import words_of
from overton.studies.study import AnyStudy

if TYPE_CHECKING:
    from overton.api.profiling.making import Held
    from overton.studies.comparing import Contribution

__all__ = ["read_subjects", "shared"]

Given = Mapping[tuple[str, str], str]
"""The subject by study ('' for any) and item."""


def read_subjects(path: str | Path | None) -> Given:
    """A table of item and subject, and perhaps study, as a person gives it; None is an empty one.

    Raises:
        InputError: it is no table, lacks a column, has an empty cell, or says two things of one item.
    """
    if path is None:
        return {}
    table = open_table(Path(path))
    if missing := [name for name in ("item", "subject") if name not in table.columns]:
        reason = f"has no column {' and '.join(missing)}; a table of subjects has item, subject and perhaps study"
        raise InputError([Problem(str(path), "", reason)])
    frame = table.frame()
    studies = frame["study"].to_list() if "study" in frame.columns else [""] * frame.height
    found: dict[tuple[str, str], str] = {}
    for row, (study, item, subject) in enumerate(
        zip(studies, frame["item"].to_list(), frame["subject"].to_list(), strict=True)
    ):
        if not item or not subject:
            raise InputError([Problem(str(path), table.place(row), "has an empty cell")])
        key = (str(study or "").replace("_", "-"), str(item))
        if found.setdefault(key, str(subject)) != str(subject):
            raise InputError([Problem(str(path), table.place(row), f"{item} has the subject {found[key]} already")])
    return found


def shared(leading: Mapping[tuple[str, str], Held], given: Given) -> list[Subject]:
    """Subjects that items of two or more studies are about, sorted, with what was found on each item."""
    rows: dict[str, dict[tuple[str, str, str], OfSubject]] = defaultdict(dict)
    for subject, one in _of_all(leading, given):
        key = (one.study, one.item, one.measure)
        known = rows[subject].get(key)
        values = {**known.values, **one.values} if known else one.values
        rows[subject][key] = OfSubject(one.study, one.title, one.item, one.words, one.measure, values)
    return [
        Subject(name, list(found.values()))
        for name, found in sorted(rows.items())
        if len({one.study for one in found.values()}) > 1
    ]


def _of_all(leading: Mapping[tuple[str, str], Held], given: Given) -> Iterator[tuple[str, OfSubject]]:
    for held in {id(one): one for one in leading.values()}.values():
        measuring, results = measuring_of(held.study), held.outcome.results
        if measuring.profile is None or measuring.comparing is None or results is None:
            continue
        about = _subjects(held.study, held.kind, results.items, given)
        sides = measuring.comparing.records(results, held.outcome.how) if about else {}
        words = {name: one.text for name, one in words_of(held.study.items, results.items).items()}
        for model, contributions in sides.items():
            if model in held.asked and leading[held.kind, model] is held:
                given_by = {one.measure.name: one for one in contributions}
                for name, told in measuring.profile.by_item.items():
                    if name in given_by:
                        yield from _of_items(held, model, given_by[name], told, about, words)


def _subjects(study: AnyStudy, kind: str, items: Sequence[Any], given: Given) -> dict[str, str]:
    """The subject of each item, by what the study compares by: what the person says, else the starter item's own."""
    own = study.items.subjects() if study.items.subjects else {}
    starter = {item.id: item for item in read_items(study)} if own and study.items.starter else {}
    found = {}
    for item in items:
        name = study.items.about(item)
        said = given.get((kind, name), given.get(("", name), given.get((kind, item.id), given.get(("", item.id)))))
        if said is None and starter.get(item.id) == item:
            said = own.get(name)
        if said is not None:
            found[name] = said
    return found


def _of_items(
    held: Held, model: str, one: Contribution, told: str, about: Mapping[str, str], words: Mapping[str, str]
) -> Iterator[tuple[str, OfSubject]]:
    """What a mean or ratio is on each item that has a subject; other measures have no value for one item."""
    if one.measure.of is not ratio:
        return
    for item, (above, below) in zip(one.items, one.parts, strict=True):
        if item in about and below > 0:
            said = number(float(above / below), one.measure.kind)
            text = words.get(item, item.replace("-", " "))
            yield about[item], OfSubject(held.kind, held.title, item, text, told, {model: said})
