"""Commands of a study's own, beside those that every study has: a function, told what to show of what it gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from overton.studies.exhibits import Exhibit

__all__ = ["Command", "Done"]


@dataclass(frozen=True)
class Done:
    """What a command has to show: `lines` to say, `exhibits` to print, `data` for JSON, the `path` of what it made.

    `run` is a run that it held or went on with, whose state is the command's exit code.
    """

    lines: Sequence[str] = ()
    exhibits: Sequence[Exhibit] = ()
    data: Any = None
    path: str = ""
    run: Any = None


@dataclass(frozen=True)
class Command:
    """A command of a study's own: `overton items NAME`, and `overton.items.NAME(...)` in Python.

    `call` is 'MODULE:FUNCTION', imported when it is called. The function's parameters carry an `Option` each (those
    that every command shares go by their names: seed, model_args, max_cost, max_calls, watch); `show(result)`, beside
    it in the module as 'show_FUNCTION', says what there is to show.
    """

    name: str
    help: str
    call: str

    @property
    def function(self) -> Callable[..., Any]:
        """The function itself."""
        module, _, name = self.call.partition(":")
        found: Callable[..., Any] = getattr(import_module(module), name)
        return found

    def shown(self, result: Any) -> Done:
        """What there is to show of what the function gave."""
        module, _, name = self.call.partition(":")
        done: Done = getattr(import_module(module), f"show_{name}")(result)
        return done
