"""A walk through a study's declaration. It copies the declaration and replaces all functions in it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, cast

import msgspec

from overton.studies.guards import GuardedCall
from overton.studies.options import OPTION_METHODS, StudyOptions
from overton.studies.study import Study

_OVERTON = "overton"
AnyOf = TypeVar("AnyOf", bound=Study[Any, Any, Any, Any])


class DeclarationWalk(ABC):
    """A walk that replaces each function that it finds, at any depth, by the result of `function`."""

    @abstractmethod
    def function(self, function: Callable[..., Any], place: str) -> Any:
        """The replacement of a function. `place` is the class and field of the declaration that contains the
        function."""

    def fill(self, made: AnyOf, study: Study[Any, Any, Any, Any]) -> AnyOf:
        """Fill `made`, an empty study, with a copy of every field of `study` in which functions are replaced."""
        for field in fields(Study):
            object.__setattr__(made, field.name, self.walked(getattr(study, field.name), f"Study.{field.name}"))
        return made

    def walked(self, value: Any, place: str) -> Any:
        """Copy a value from the declaration, or a value that the declaration's functions returned. All functions in it
        are replaced."""
        if isinstance(value, type) and issubclass(value, StudyOptions):
            return self._options(value)
        if isinstance(value, type | str | bytes):
            return value
        if isinstance(value, Mapping):
            return {key: self.walked(inner, place) for key, inner in value.items()}
        if isinstance(value, tuple | list) and not hasattr(value, "_fields"):
            return type(value)(self.walked(inner, place) for inner in value)
        if isinstance(value, GuardedCall):
            return self.function(value, place)
        if is_dataclass(value) and type(value).__module__.partition(".")[0] == _OVERTON:
            return self._inside(value)
        return self.function(value, place) if callable(value) else value

    def _inside(self, value: Any) -> Any:
        made = copy(value)
        for field in fields(value):
            inner = getattr(value, field.name)
            object.__setattr__(made, field.name, self.walked(inner, f"{type(value).__name__}.{field.name}"))
        return made

    def _options(self, options: type[StudyOptions]) -> type[StudyOptions]:
        """Copy the options class with its methods replaced."""
        methods = {name: self._method(getattr(options, name), f"StudyOptions.{name}") for name in OPTION_METHODS}
        made = msgspec.defstruct(
            options.__name__,
            [],
            bases=(options,),
            module=options.__module__,
            namespace={"__doc__": options.__doc__, **methods, "complete": staticmethod(methods["complete"])},
        )
        return cast("type[StudyOptions]", made)

    def _method(self, method: Callable[..., Any], place: str) -> Callable[..., Any]:
        called = self.function(method, place)

        def replaced_method(*given: Any) -> Any:
            return called(*given)

        return replaced_method
