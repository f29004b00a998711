"""Commands of a study's own, besides those that every study has: a function, and what to show of its result."""

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
    """What a command has to show: `lines` of text, `exhibits` to print, `data` for JSON, the `path` of what it made.

    `run` is a run that it carried out or continued, whose state is the command's exit code.
    """

    lines: Sequence[str] = ()
    exhibits: Sequence[Exhibit] = ()
    data: Any = None
    path: str = ""
    run: Any = None


@dataclass(frozen=True)
class Command:
    """A command of a study's own: `overton items NAME`, and `overton.items.NAME(...)` in Python.

    `call` is 'MODULE:FUNCTION', imported when it is called. Each of the function's parameters carries an `Option`
    (those that all commands share go by their names: seed, model_args, max_cost, max_calls, watch);
    `show_FUNCTION(result)`, in the same module, gives what there is to show.
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
        """What there is to show of the function's result."""
        module, _, name = self.call.partition(":")
        done: Done = getattr(import_module(module), f"show_{name}")(result)
        return done
