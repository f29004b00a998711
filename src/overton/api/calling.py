"""Studies that make or label something as functions, for the modules that list such functions."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any

from overton.api.runs import Run, run
from overton.studies.registry import Listed

__all__ = ["call_of"]


def call_of(listed: Listed) -> Callable[..., Run]:
    """`overton.run` with this study, named by the study's word, as on the command line."""

    def call(items: Any = None, **given: Any) -> Run:
        return run(listed.name, items=items, **given)

    own = signature(run)
    others = [one for one in own.parameters.values() if one.name not in ("study", "items")]
    items = own.parameters["items"].replace(kind=Parameter.POSITIONAL_OR_KEYWORD)
    call.__name__ = call.__qualname__ = listed.word.replace("-", "_")
    call.__doc__ = f"{listed.question}\n\nArguments and errors are those of `overton.run`, items first."
    call.__signature__ = own.replace(parameters=[items, *others])  # type: ignore[attr-defined]
    return call
