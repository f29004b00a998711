"""What studies ask about: to read, check and make. `overton items NAME` is `overton.items.NAME(...)` here.

`check`, `list`, `new`, `read` and `write` work on the items of any study. Every study that makes or judges items is a
function of its own name (`rephrase`, `audit`, `topics`, `references`), called as `overton.run` is, and so is every
command that a study adds (`dilemmas`, `threads`, `fill_templates`, `compare_clusterings`, ...).
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from overton.api.kinds import Listing, check, new
from overton.api.kinds import list_items as list
from overton.runs.items import read_items as read
from overton.runs.items import write_items as write
from overton.runs.run import call_of
from overton.studies.registry import listed, own_commands

__all__ = ["Listing", "check", "list", "new", "read", "write"]


def __getattr__(name: str) -> Callable[..., Any]:
    """A study that makes items, or a command that a study adds."""
    makers = {one.name.replace("-", "_"): one for one in listed() if one.kind == "makes"}
    if name in makers:
        return call_of(makers[name])
    commands = {one.name.replace("-", "_"): one for one in own_commands()}
    if name in commands:
        return commands[name].function
    raise AttributeError(f"module 'overton.items' has no attribute {name!r}")


def __dir__() -> builtins.list[str]:
    makers = [one.name for one in listed() if one.kind == "makes"]
    return sorted([*__all__, *(name.replace("-", "_") for name in (*makers, *(one.name for one in own_commands())))])
