"""What studies ask about: read, checked, made. `overton items NAME` is `overton.items.NAME(...)` here.

`check` and `read` are for the items of any study. Every study that makes or judges items is a function of its own name
(`rephrase`, `audit`, `topics`, `references`), called as `overton.run` is, and so is every command that a study adds
(`dilemmas`, `threads`, `compare_clusterings`, `compare_references`, `preferences`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from overton.api.calling import call_of
from overton.api.items import check_items as check
from overton.api.items import read_items as read
from overton.api.items import write_items as write
from overton.studies.registry import listed, own_commands

__all__ = ["check", "read", "write"]


def __getattr__(name: str) -> Callable[..., Any]:
    """A study that makes items, or a command of a study's own."""
    makers = {one.name.replace("-", "_"): one for one in listed() if one.kind == "makes"}
    if name in makers:
        return call_of(makers[name])
    commands = {one.name.replace("-", "_"): one for one in own_commands()}
    if name in commands:
        return commands[name].function
    raise AttributeError(f"module 'overton.items' has no attribute {name!r}")


def __dir__() -> list[str]:
    makers = [one.name for one in listed() if one.kind == "makes"]
    return sorted([*__all__, *(name.replace("-", "_") for name in (*makers, *(one.name for one in own_commands())))])
