"""Commands and their options, from the tree of Click commands, and the options that studies declare."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec
from tests.unchanged.platform import internals

import overton

__all__ = ["every_command", "study_options"]

_EXTENDED = {
    "open-mindedness": {"models": ["simulated/open-minded"]},
    "stance-stability": {
        "models": ["simulated/chameleon"],
        "others": {"judge": ["simulated/stance-judge"], "search": ["starter"]},
    },
    "pluralism": {"models": ["simulated/pluralist"], "others": {"judge": ["simulated/pluralist-judge"]}},
    "deliberation": {
        "models": ["a=simulated/deliberator", "b=simulated/deliberator"],
        "others": {"values": ["simulated/values-judge"]},
    },
    "even-handedness": {"models": ["simulated/advocate"], "others": {"judge": ["simulated/even-judge"]}},
}
"""Runs to extend: `overton extend RUN` has the options of the run's study."""

_TYPES = {"text": "str", "integer": "int", "float": "float", "boolean": "bool", "choice": "str"}
_TYPES |= {"integer range": "int", "float range": "float", "filename": "path", "directory": "path", "file": "path"}


def every_command(scratch: Path) -> dict[str, Any]:
    """The parameters of every command; those of `overton extend` by study."""
    found = dict(_below(internals.root_command(), ()))
    for study, given in _EXTENDED.items():
        run = overton.run(study, out=scratch / study, max_calls=0, **given)
        group = _child(internals.root_command(), "extend")
        found[f"extend [a run of {study}]"] = _parameters(_child(group, str(run.path)))
    return found


def _below(group: Any, words: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    yield " ".join(words) or "overton", _parameters(group)
    for name in group.list_commands(internals.context_of(group)):
        command = _child(group, name)
        if hasattr(command, "list_commands"):
            yield from _below(command, (*words, name))
        else:
            yield " ".join((*words, name)), _parameters(command)


def _child(group: Any, name: str) -> Any:
    command = group.get_command(internals.context_of(group), name)
    assert command is not None, name
    return command


def _parameters(command: Any) -> dict[str, Any]:
    return {_title(param): _parameter(param) for param in command.params if param.name != "help"}


def _title(param: Any) -> str:
    return param.name if param.param_type_name == "argument" else max(param.opts, key=len)


def _parameter(param: Any) -> dict[str, Any]:
    argument = param.param_type_name == "argument"
    found = {"argument": argument, "required": bool(param.required), **_typed(param)}
    found["repeatable"] = (param.nargs == -1) if argument else bool(param.multiple)
    found["default"] = _plain(internals.default_of(param))
    if not argument:
        found |= {"names": sorted(param.opts), "off": sorted(param.secondary_opts), "flag": bool(param.is_flag)}
        found["hidden"] = bool(param.hidden)
    return found


def _typed(param: Any) -> dict[str, Any]:
    """Type, choices and limits, by Click's type."""
    kind = param.type
    choices = [str(one) for one in getattr(kind, "choices", ())]
    name = _TYPES.get(kind.name, kind.name)
    return {"type": name, "choices": choices, "least": getattr(kind, "min", None), "most": getattr(kind, "max", None)}


def _plain(value: Any) -> Any:
    """A default as JSON. Click has no value for 'no default' that is stable: None and unset are one here."""
    if value is None or type(value).__name__ == "Sentinel":
        return None
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else _scalar(value)


def _scalar(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value if isinstance(value, bool | int | float) else str(value)


def study_options(scratch: Path) -> dict[str, Any]:
    """The options of each study's runs and analyses as it declares them, with the values that they take."""
    return {
        study: {
            "run": {name: _declared(field) for name, field in internals.declared_options(study)},
            "analyze": {name: _declared(field) for name, field in internals.analysis_options(study)},
        }
        for study in internals.study_names()
    }


def _declared(field: Any) -> dict[str, Any]:
    limits = {name: getattr(field.option, name) for name in ("least", "most", "above", "none", "every")}
    return limits | {
        "flag": field.flag,
        "type": field.kind.__name__,
        "known": msgspec.to_builtins(list(field.option.known)),
        "several": field.several,
        "optional": field.optional,
        "needed": field.needed,
        "default": None if field.needed else msgspec.to_builtins(field.default),
        "extends": field.option.extends,
        "repeats": field.option.repeats,
        "by position": field.option.argument,
        "unmentioned": msgspec.to_builtins(field.option.unmentioned),
    }
