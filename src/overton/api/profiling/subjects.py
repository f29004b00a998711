"""Items of several studies on one subject: what each study found about them, side by side."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from overton.analysis.results import measuring_of
from overton.api.profiling.results import OfSubject, Subject
from overton.errors import InputError, Problem
from overton.files.tables import open_table
from overton.runs.items import read_items
from overton.statistics.comparing import ratio
from overton.studies.numbers import number
from overton.studies.spelling import words_of

if TYPE_CHECKING:
    from overton.api.profiling.results import ProfiledRun
    from overton.studies.comparing import Contribution

__all__ = ["read_subjects", "shared"]

Given = Mapping[tuple[str, str], str]
"""The subject by study ('' for any) and item."""


def read_subjects(path: str | Path | None) -> Given:
    """A table of item and subject, and optionally study, as the user gives it; empty for None.

    Raises:
        InputError: it is not a table, lacks a column, has an empty cell, or contradicts itself about an item.
    """
    if path is None:
        return {}
    table = open_table(Path(path))
    if missing := [name for name in ("item", "subject") if name not in table.columns]:
        reason = f"has no column {' and '.join(missing)}; a table of subjects has item, subject and optionally study"
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
            raise InputError([Problem(str(path), table.place(row), f"{item} already has the subject {found[key]}")])
    return found


def shared(leading: Mapping[tuple[str, str], ProfiledRun], given: Given) -> list[Subject]:
    """Subjects of items of two or more studies, sorted, with what was found about each item."""
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


def _of_all(leading: Mapping[tuple[str, str], ProfiledRun], given: Given) -> Iterator[tuple[str, OfSubject]]:
    """What every leading run found about items that have a subject."""
    for profiled in {id(one): one for one in leading.values()}.values():
        if (about := _subjects(profiled, given)) and measuring_of(profiled.study).comparing is not None:
            models = [model for model in profiled.asked if leading[profiled.kind, model] is profiled]
            yield from _of_run(profiled, models, about)


def _of_run(profiled: ProfiledRun, models: Sequence[str], about: Mapping[str, str]) -> Iterator[tuple[str, OfSubject]]:
    measuring, results = measuring_of(profiled.study), profiled.outcome.results
    assert results is not None
    assert measuring.comparing is not None
    words = {name: one.text for name, one in words_of(profiled.study.items, results.items).items()}
    sides = measuring.comparing.records(results, profiled.outcome.how)
    measures = measuring.profile.by_item if measuring.profile else {}
    for model, measure in product(models, measures):
        one = next((one for one in sides.get(model, ()) if one.measure.name == measure), None)
        for item, said in _values(one):
            if item in about:
                text = words.get(item, item.replace("-", " "))
                yield (
                    about[item],
                    OfSubject(profiled.kind, profiled.title, item, text, measures[measure], {model: said}),
                )


def _values(one: Contribution | None) -> Iterator[tuple[str, str]]:
    """The value of a mean or ratio on each item, as displayed; other measures have no value for a single item."""
    if one is None or one.measure.of is not ratio:
        return
    for item, (above, below) in zip(one.items, one.parts, strict=True):
        if below > 0:
            yield item, number(float(above / below), one.measure.kind)


def _subjects(profiled: ProfiledRun, given: Given) -> dict[str, str]:
    """The subject of each item, by the study's unit of comparison: the user's, otherwise the starter item's own."""
    study, results = profiled.study, profiled.outcome.results
    own = study.items.subjects() if study.items.subjects else {}
    starter = {item.id: item for item in read_items(study)} if own and study.items.starter else {}
    found = {}
    for item in results.items if results else ():
        name = study.items.about(item)
        said = _given(profiled.kind, (name, item.id), given)
        if said is None and starter.get(item.id) == item:
            said = own.get(name)
        if said is not None:
            found[name] = said
    return found


def _given(study: str, names: Sequence[str], given: Given) -> str | None:
    """The subject that the user gives an item, for this study or any."""
    return next((given[key] for name in names for key in ((study, name), ("", name)) if key in given), None)
