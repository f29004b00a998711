"""Commands that list the options they have when given an unknown one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from typer.core import TyperCommand

from overton.errors import InputError, Problem

RENAMED = {"--nulls": "--null-share"}
"""Options that had another name, and their names today: the command that has the new one refuses the old one."""


class StrictCommand(TyperCommand):
    """A command that refuses all unknown options at once, and lists those that it has."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command's words.

        Raises:
            InputError: there are unknown options.
        """
        if not ctx.resilient_parsing and (unknown := [*self._unknown_options(args)]):
            known = ", ".join(name for names in self._option_names() for name in names[:1]) or "none"
            raise InputError(
                [
                    Problem(name, "", self._new_name_hint(name) or f"no such option; known are {known}")
                    for name in unknown
                ]
            )
        return super().parse_args(ctx, args)

    def _new_name_hint(self, name: str) -> str:
        """The present name of an option, '' if this command never had it."""
        today = RENAMED.get(name, "")
        return f"is now {today}" if any(today in names for names in self._option_names()) else ""

    def _option_names(self) -> Iterator[list[str]]:
        """The names of each option, the preferred one first."""
        for param in self.params:
            if param.param_type_name == "option" and not getattr(param, "hidden", False):
                yield [name for name in param.opts if name.startswith("--")]

    def _unknown_options(self, args: list[str]) -> Iterator[str]:
        """Words in the position of an option that are not one; the values of options are skipped."""
        takes_value = {"--help": False}
        for param in self.params:
            if param.param_type_name == "option":
                takes_value |= dict.fromkeys((*param.opts, *param.secondary_opts), not getattr(param, "is_flag", False))
        words = iter(args)
        for word in words:
            if word == "--":
                return
            name, value, _ = word.partition("=")
            if name.startswith("--") and name not in takes_value:
                yield name
            elif takes_value.get(name) and not value:
                next(words, None)
