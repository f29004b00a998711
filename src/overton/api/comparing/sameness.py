"""What is not the same between two sources, by their own words: instrument, subject, or what costs precision only.

A changed instrument (prompts, items, options, conduct, judge) refuses a comparison, since a difference could be its
own. A changed subject is what one came to compare. Tables know none of these things.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from overton.api.comparing.sources import Side, Source
from overton.api.runs import Run
from overton.calls import Reply
from overton.engine import entries
from overton.hosts.local import ModelEntry
from overton.studies.options import fields_of
from overton.studies.study import AnyStudy

__all__ = ["Differing", "instruments", "subjects"]

Kind = Literal["instrument", "subject", "precision", "unknown"]


class Differing(NamedTuple):
    """One thing that is not the same: what kind of thing, between which two, and in words."""

    kind: Kind
    base: str
    candidate: str
    said: str


def instruments(base: Source, candidate: Source, study: AnyStudy) -> Iterator[Differing]:
    """What two sources were not asked in the same way."""
    tables = list(dict.fromkeys(one.label for one in (base, candidate) if one.run is None))
    if base.run is None or candidate.run is None:
        said = f"how {' and '.join(tables)} came about is not known: prompts, items, options and judge may differ"
        yield Differing("unknown", base.label, candidate.label, said)
        return
    if base.path.resolve() == candidate.path.resolve():
        return
    for kind, said in _between(base.run, candidate.run, study):
        yield Differing(kind, base.label, candidate.label, said)


def _between(one: Run, other: Run, study: AnyStudy) -> Iterator[tuple[Kind, str]]:
    yield from _prompts(one.manifest.prompts, other.manifest.prompts)
    yield from _items(one, other, study)
    yield from _options(one.manifest.options, other.manifest.options, study)
    for role in study.role_names:
        if role != study.first:
            yield from _answerers(role, one.manifest.models.get(role, []), other.manifest.models.get(role, []))
    if one.manifest.seed != other.manifest.seed:
        yield "precision", f"seeds differ ({one.manifest.seed} and {other.manifest.seed}): other draws, less precision"
    if one.manifest.overton != other.manifest.overton:
        versions = f"{one.manifest.overton} and {other.manifest.overton}"
        yield "unknown", f"they were asked by different versions of Overton ({versions}), whose conduct may differ"


def _prompts(one: Mapping[str, str], other: Mapping[str, str]) -> Iterator[tuple[Kind, str]]:
    if changed := sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name)):
        yield "instrument", f"prompts differ: {', '.join(changed)}"


def _items(one: Run, other: Run, study: AnyStudy) -> Iterator[tuple[Kind, str]]:
    if one.manifest.items == other.manifest.items:
        return
    first, second = ({item.id: item for item in run.items()} for run in (one, other))
    if changed := sorted(name for name in first.keys() & second.keys() if first[name] != second[name]):
        yield "instrument", f"{study.items.plural} of one name differ: {_listed(changed)}"
    if only := len(first.keys() ^ second.keys()):
        yield "precision", f"{only} {study.items.plural} were asked about in one of them only, and are left out"


def _options(one: Mapping[str, Any], other: Mapping[str, Any], study: AnyStudy) -> Iterator[tuple[Kind, str]]:
    harmless = study.measuring.comparing.harmless if study.measuring and study.measuring.comparing else ()
    for field in fields_of(study.options):
        mine, theirs = (_plain(held.get(field.name, field.default)) for held in (one, other))
        if mine != theirs and not field.option.follows:
            kind: Kind = "precision" if field.name in harmless else "instrument"
            yield kind, f"{field.flag} differs: {_worded(mine)} and {_worded(theirs)}"


def _plain(value: Any) -> Any:
    """A choice as a manifest holds it; several in any order are the same."""
    made = msgspec.to_builtins(value) if value is not msgspec.NODEFAULT else None
    return sorted(made, key=str) if isinstance(made, list | tuple) else made


def _worded(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _answerers(role: str, one: list[ModelEntry], other: list[ModelEntry]) -> Iterator[tuple[Kind, str]]:
    first, second = ([_entry(entry) for entry in side] for side in (one, other))
    if first != second:
        names = [", ".join(entry.name for entry in side) or "nobody" for side in (one, other)]
        how = f"{names[0]} and {names[1]}" if names[0] != names[1] else f"{names[0]} with other settings or weights"
        yield "instrument", f"who answers as {role} differs: {how}"


def _entry(entry: ModelEntry) -> tuple[Any, ...]:
    """What makes an answerer the same instrument: the seed of its draws is no part of it."""
    return entry.identity, msgspec.structs.replace(entry.settings, seed=None), entry.holds_form, entry.not_sent


def subjects(base: Side, candidate: Side, study: AnyStudy) -> Iterator[Differing]:
    """What is another about the models themselves, as far as runs tell: which model answered behind one name, too."""
    first, second = _of(base, study), _of(candidate, study)
    if first is None or second is None:
        return
    said = []
    if first.name == second.name and first.identity != second.identity:
        said.append(f"{first.name} is another model under one name ({first.spec} and {second.spec})")
    settings = [msgspec.structs.replace(entry.settings, seed=None) for entry in (first, second)]
    if settings[0] != settings[1]:
        shown = [_settings(one) for one in settings]
        said.append(f"settings differ ({shown[0]} and {shown[1]})")
    if first.holds_form != second.holds_form:
        said.append("a grammar held the answers of one to their form and not of the other")
    upstream = [_reported(side.source.run, entry) for side, entry in ((base, first), (candidate, second))]
    if upstream[0] != upstream[1] and all(upstream) and first.name == second.name:
        said.append(f"its endpoint names another model ({_listed(upstream[0])} and {_listed(upstream[1])})")
    for one in said:
        yield Differing("subject", base.name, candidate.name, one)


def _of(side: Side, study: AnyStudy) -> ModelEntry | None:
    run = side.source.run
    held = run.manifest.models.get(study.first, []) if run else []
    return next((entry for entry in held if entry.name == side.model), None)


def _settings(settings: Any) -> str:
    told = msgspec.to_builtins(settings)
    return ", ".join(f"{key}={value}" for key, value in told.items()) or "none"


def _reported(run: Run | None, entry: ModelEntry) -> list[str]:
    """The names of models that the endpoint gave with its replies, as the journal has them."""
    if run is None or not (run.path / "journal.db").is_file():
        return []
    found = {
        row.outcome.model
        for row in entries(run.path / "journal.db")
        if isinstance(row.outcome, Reply) and row.place.answerer == entry.identity and row.outcome.model
    }
    return sorted(found)


_MOST = 8


def _listed(names: list[str]) -> str:
    return f"{', '.join(names[:_MOST])}{' and more' if len(names) > _MOST else ''}"
