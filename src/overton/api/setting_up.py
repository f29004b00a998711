"""From what a user gives to what a host needs: the items asked about, the options, and who answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from overton.api.options import options_of
from overton.api.requests import Arguments, Prices, SourceArguments, names_of, requests_of
from overton.api.studies import Binding
from overton.errors import InputError, Problem
from overton.hosts.local import Wanted

__all__ = ["SetUp", "chosen_options", "set_up"]


@dataclass(frozen=True)
class SetUp:
    """A study as it is to be held; `left_out` says which of the items that were read are not asked about."""

    items: Sequence[Any]
    options: msgspec.Struct
    wanted: Wanted
    left_out: str


def set_up(
    binding: Binding,
    named: Mapping[str, Sequence[str]],
    *,
    items: str | Path | Sequence[Any] | None = None,
    only: Sequence[str] | None = None,
    options: Mapping[str, Any],
    model_args: Arguments | None = None,
    source_args: SourceArguments | None = None,
    prices: Prices | None = None,
) -> SetUp:
    """What `overton.run` is given, checked; `named` are all that answer, by role, as SPEC or NAME=SPEC.

    Raises:
        InputError: anything wrong with it.
    """
    read = _read(binding, items)
    asked = _only(read, only)
    chosen = chosen_options(binding, options, names_of(binding.study, named))
    wanted = requests_of(binding.study, named, model_args, prices, _source_args(binding, chosen, source_args))
    left_out = f"{len(read) - len(asked)} of {len(read)} items" if len(asked) < len(read) else ""
    return SetUp(asked, chosen, wanted, left_out)


def chosen_options(binding: Binding, given: Mapping[str, Any], named: Mapping[str, Sequence[str]]) -> msgspec.Struct:
    """The study's options; what is None is as if it were not given.

    Raises:
        InputError: options that there are not, or that no trial can be made of.
    """
    chosen = {key: value for key, value in given.items() if value is not None}
    options = options_of(binding.study.options, binding.complete(chosen, named))
    binding.check_options(options)
    return options


def _read(binding: Binding, items: str | Path | Sequence[Any] | None) -> Sequence[Any]:
    if items is None:
        return binding.starter()
    return binding.read(Path(items)) if isinstance(items, str | Path) else items


def _only(items: Sequence[Any], ids: Sequence[str] | None) -> Sequence[Any]:
    """The items with these ids, in the order of the items."""
    if not ids:
        return items
    known = {item.id for item in items}
    if unknown := [name for name in ids if name not in known]:
        reason = f"there is no such item; there are {', '.join(sorted(known)[:20])}"
        raise InputError([Problem("--only", name, reason) for name in unknown])
    return [item for item in items if item.id in ids]


def _source_args(binding: Binding, options: Any, given: SourceArguments | None) -> SourceArguments:
    """The arguments given, and those that follow from the options where they are not."""
    follow = binding.source_args(options)
    return {role: {**follow.get(role, {}), **(given or {}).get(role, {})} for role in {**follow, **(given or {})}}
