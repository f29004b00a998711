"""From what a user gives to what a host needs: the items asked about, the options, and who answers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from overton.api.items import read_items
from overton.api.requests import Arguments, Prices, SourceArguments, names_of, requests_of
from overton.errors import InputError, Notice, Problem
from overton.hosts.local import Wanted
from overton.models.prices import read_price_list
from overton.studies.options import fields_of, option_place, options_of
from overton.studies.study import AnyStudy

__all__ = ["SetUp", "check", "chosen_options", "set_up", "several"]


@dataclass(frozen=True)
class _Asked:
    """What a user gave by name, sorted: who answers in which role, items, how to read them, and options."""

    named: Mapping[str, Sequence[str]]
    items: Any
    reading: Mapping[str, Any]
    options: Mapping[str, Any]


@dataclass(frozen=True)
class SetUp:
    """A study ready to run; `left_out` says how many of the items that were read are not asked about."""

    items: Sequence[Any]
    options: msgspec.Struct
    wanted: Wanted
    left_out: str


def _sorted_out(
    study: AnyStudy, models: Sequence[str], items: Any, given: Mapping[str, Any], others: Mapping[str, Sequence[str]]
) -> _Asked:
    """What was given by name, in the order of `_Asked`; a role goes by its word, items by the study's word for them.

    Raises:
        InputError: models for an unknown role; models of a role, or items, given twice.
    """
    rest = {name: value for name, value in given.items() if value is not None}
    unknown = [role for role in others if role not in study.role_names]
    if unknown:
        known = ", ".join(study.role_names[1:]) or "none besides its models"
        raise InputError([Problem(f"role {role}", "", f"no such role; there is {known}") for role in unknown])
    if twice := [role for role in study.roles if role.name in others and role.word in rest]:
        raise InputError(
            [Problem(f"role {role.name}", "", "is given twice, by its word and in others") for role in twice]
        )
    first = several(models) or several(rest.pop(study.roles[0].word, None))
    named: dict[str, Sequence[str]] = {study.first: first} | {role: several(some) for role, some in others.items()}
    for role in study.roles[1:]:
        if role.word in rest:
            named[role.name] = several(rest.pop(role.word))
    named |= {role.name: [role.usual] for role in study.roles if role.usual and not named.get(role.name)}
    under = study.items.plural
    if under in rest:
        if items is not None:
            raise InputError([Problem(option_place("items"), under, "are given twice, under two names")])
        items = rest.pop(under)
    readings = {field.name for field in fields_of(study.items.reading)}
    reading = {name: rest.pop(name) for name in list(rest) if name in readings}
    return _Asked(named, items, reading, rest)


def set_up(
    study: AnyStudy,
    given: Mapping[str, Any],
    *,
    models: Sequence[str] = (),
    others: Mapping[str, Sequence[str]] | None = None,
    items: Any = None,
    only: Sequence[str] | None = None,
    model_args: Arguments | None = None,
    source_args: SourceArguments | None = None,
    prices: Prices | None = None,
    price_list: str | Path | None = None,
) -> SetUp:
    """The arguments of `overton.run`, checked; the study's remarks on its options are issued as `Notice` warnings.

    `given` are those that are not parameters there: options, options for reading items, who answers in a role by its
    word.

    Raises:
        InputError: anything wrong with them.
    """
    asked = _sorted_out(study, models, items, given, others or {})
    options = chosen_options(study, asked.options, names_of(study, asked.named))
    named = study.answering(options, asked.named)
    read = _read(study, asked)
    kept = _only(read, only)
    listed = None if price_list is None else read_price_list(Path(price_list))
    wanted = requests_of(study, named, model_args, prices, _source_args(study, options, source_args), listed)
    left_out = f"{len(read) - len(kept)} of {len(read)} items" if len(kept) < len(read) else ""
    for remark in study.remarks(options):
        warnings.warn(remark, Notice, stacklevel=3)
    return SetUp(kept, options, wanted, left_out)


def chosen_options(study: AnyStudy, given: Mapping[str, Any], named: Mapping[str, Sequence[str]]) -> msgspec.Struct:
    """The study's options; None counts as not given.

    Raises:
        InputError: unknown options, or options from which no trials can be made.
    """
    follows = {field.name for field in fields_of(study.options) if field.option.follows}
    if wrong := sorted(follows & set(given)):
        raise InputError(
            [Problem(option_place(name), "", "follows from who answers, and cannot be given") for name in wrong]
        )
    options = options_of(study.options, study.complete(dict(given), named))
    check(study, options)
    return options


def check(study: AnyStudy, options: msgspec.Struct) -> None:
    """Refuse options that are each valid but not together.

    Raises:
        InputError: everything that is wrong with the combination.
    """
    if problems := list(study.check(options)):
        raise InputError(problems)


def several(given: Any) -> Sequence[str]:
    """Specs as a list, also of a single one: a string is not a list of its letters."""
    if given is None:
        return []
    return [given] if isinstance(given, str) else list(given)


def _read(study: AnyStudy, asked: _Asked) -> Sequence[Any]:
    if study.items.named and asked.items is not None and not isinstance(asked.items, Path):
        return _named(study.items.named, study.items.plural, several(asked.items))
    if asked.items is None or isinstance(asked.items, str | Path):
        return read_items(study, asked.items, **asked.reading)
    if asked.reading:
        raise InputError(
            [
                Problem(option_place(name), "", "applies only to items that are read from files")
                for name in asked.reading
            ]
        )
    items: Sequence[Any] = asked.items
    return items


def _named(item_of: Callable[[str], Any], plural: str, given: Sequence[Any]) -> list[Any]:
    """Items given as words."""
    if not given:
        raise InputError([Problem(option_place(plural), "", "name at least one")])
    items = [item_of(one) if isinstance(one, str) else one for one in given]
    ids = [item.id for item in items]
    if twice := sorted({name for name in ids if ids.count(name) > 1}):
        raise InputError([Problem(option_place(plural), name, "is named twice") for name in twice])
    return items


def _only(items: Sequence[Any], ids: Sequence[str] | None) -> Sequence[Any]:
    """The items with these ids, in the order of the items."""
    if not ids:
        return items
    known = {item.id for item in items}
    if unknown := [name for name in ids if name not in known]:
        reason = f"there is no such item; there are {', '.join(sorted(known)[:20])}"
        raise InputError([Problem(option_place("only"), name, reason) for name in unknown])
    return [item for item in items if item.id in ids]


def _source_args(study: AnyStudy, options: Any, given: SourceArguments | None) -> SourceArguments:
    """The arguments given, and otherwise those that follow from the options."""
    follow = study.arguments(options)
    return {role: {**follow.get(role, {}), **(given or {}).get(role, {})} for role in {**follow, **(given or {})}}
