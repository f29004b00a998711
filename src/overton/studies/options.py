"""Options, each declared once, on the field of a struct. Commands, plans, tasks, calls, checks and tables of options
derive from the declaration."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from math import isfinite
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import msgspec

from overton.errors import InputError, Problem, suggestion

S = TypeVar("S", bound=msgspec.Struct)

_LARGEST = 2**63
"""The limit for whole numbers: larger ones are refused, because some programs could not read them back."""
OPTION = "option "
"""If a problem is about an option, its location starts with this text, which each interface replaces with its own word
for the option."""


@dataclass(frozen=True)
class Option:
    """The documentation of an option, and its allowed values.

    help         one sentence
    least        the smallest number allowed
    most         the largest number allowed
    above        numbers must be greater than this
    known        the allowed values; those of a `Literal` need not be repeated
    flag         the name on the command line for one of several values, such as '--condition' for `conditions`. Every
                 interface also accepts the field's own name
    extends      whether `overton extend` may change the option; if the option has several values, new ones are added
    none         the word that users write for None, such as 'own' for the endpoint's own value
    repeats      whether the same value may be given twice
    follows      whether Overton derives the option from the roles, so that users cannot set it
    file         whether the value is a path; the study receives an opened text or table
    argument     whether a command takes the option by position, without a flag
    beside       the name of a file that Overton uses if the user gives no path. Overton looks for it in the folder of
                 the input and in the parent folder
    every        a word for all known values, such as 'all'
    unmentioned  the option's value in a run whose manifest is older than the option; None if that value is the default
    removed      values that only stored runs may have, each with advice on what to use instead
    texts        whether the values are texts; '@FILE' then gives the text of the file
    """

    help: str
    least: float | None = None
    most: float | None = None
    above: float | None = None
    known: tuple[Any, ...] = ()
    flag: str = ""
    extends: bool = False
    none: str = ""
    repeats: bool = False
    follows: bool = False
    file: bool = False
    argument: bool = False
    beside: str = ""
    every: str = ""
    unmentioned: Any = None
    removed: tuple[tuple[str, str], ...] = ()
    texts: bool = False


class Demands(msgspec.Struct, frozen=True, kw_only=True):
    """Requirements of a study's options on its models and services, by role.

    answering      all models and services: those that the user named and those that the options add. None if the
                   options add none
    needed         the optional roles that these options require
    tokens         the smallest number of output tokens that a complete reply needs
    probabilities  the roles whose models must return token probabilities
    arguments      arguments for services that search or read pages; the user's own arguments take precedence
    """

    answering: Mapping[str, Sequence[str]] | None = None
    needed: tuple[str, ...] = ()
    tokens: Mapping[str, int] = {}
    probabilities: tuple[str, ...] = ()
    arguments: Mapping[str, Mapping[str, str]] = {}


class StudyOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options that determine a study's trials, each field with its `Option`. Every study derives its options from this
    class.

    Its methods derive further settings from the options.
    """

    def problems(self) -> Iterable[Problem]:
        """Problems with combinations of options that are each valid alone."""
        return ()

    def remarks(self) -> Iterable[str]:
        """Sentences for users about these options, shown before the first call. They do not stop the run."""
        return ()

    def demands(self, named: Mapping[str, Sequence[str]]) -> Demands:
        """The demands of these options on models and services.

        `named` has models and services by role. At first these are the ones that the user named. Once Overton prepares
        a run, they are all models and services of the run.
        """
        return Demands()

    @classmethod
    def complete(cls, given: dict[str, Any], named: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """The options `given` by name, together with options derived from the models and services `named` by role."""
        return given


OPTION_METHODS = ("problems", "remarks", "demands", "complete")
"""The methods of `StudyOptions`. No option can have one of these names."""


class NoOptions(StudyOptions, frozen=True, forbid_unknown_fields=True):
    """No options."""


@dataclass(frozen=True)
class Field:
    """An option of a struct: its name, its declaration, the kind of one value, and its default.

    `kind` is str, int, float, bool or tuple (of whole numbers, written '2-1-3'). `several` is True if the option is a
    tuple of such values, and `optional` if it may be None.
    """

    name: str
    option: Option
    kind: type
    several: bool
    optional: bool
    default: Any

    @property
    def flag(self) -> str:
        """The option's name on the command line."""
        return self.option.flag or f"--{self.name.replace('_', '-')}"

    @property
    def key(self) -> str:
        """The option's name in a configuration file: the name on the command line without its leading dashes."""
        return self.name if self.option.argument else self.flag.removeprefix("--")

    @property
    def needed(self) -> bool:
        """Whether users must give a value, because the option has no default."""
        return self.default is msgspec.NODEFAULT

    def shown_default(self) -> str:
        """The default in words; '' if it need not be shown."""
        if self.needed or self.default is None or self.default is False or self.default == ():
            return ""
        values = self.default if self.several else (self.default,)
        return ", ".join(
            f"{value:,}" if isinstance(value, int) and value >= 10_000 else self.word(value) for value in values
        )

    def word(self, value: Any) -> str:
        """One value as users write it."""
        if value is None:
            return self.option.none or "none"
        if isinstance(value, list | tuple):
            return "-".join(map(str, value))
        if isinstance(value, float):
            return short if float(short := f"{value:g}") == value else repr(value)
        return str(value).lower() if isinstance(value, bool) else str(value)

    def named(self) -> str:
        """The option's help, and the allowed values if the help does not list them."""
        help_ = self.option.help.rstrip(".")
        known = [self.word(value) for value in self.option.known]
        known += [self.option.every] if self.option.every else []
        return f"{help_}: {', '.join(known)}" if known and not any(word in help_ for word in known) else help_

    def meant(self) -> str:
        """The option's text in a table of options: its meaning and its limits."""
        limits = _range(self.option)
        return f"{self.named()} ({limits})" if limits else self.named()

    def described(self) -> str:
        """The option's text in one line: its help, allowed values and default."""
        help_ = self.named()
        default = self.shown_default()
        several = "; repeatable" if self.several else ""
        return f"{help_}{several}; {default} by default." if default else f"{help_}{several}."


def option_place(name: str) -> str:
    """The `place` of problems with the option `name`. Each interface replaces this place with its own name for the
    option."""
    return OPTION + name


def fields_of(kind: type[msgspec.Struct], without: Collection[str] = ()) -> tuple[Field, ...]:
    """The options that a struct declares, in order. Fields in `without` are left out.

    Raises:
        TypeError: a field has no `Option`, or a type that no interface can read.
    """
    hints = get_type_hints(kind, include_extras=True)
    declared = [field for field in msgspec.structs.fields(kind) if field.name not in without]
    return tuple(_field(field.name, hints[field.name], _default(field)) for field in declared)


def fields_of_call(function: Callable[..., Any]) -> tuple[Field, ...]:
    """The options that a function's parameters declare, in order; parameters without an `Option` are left out.

    Raises:
        TypeError: a parameter has a type that no interface can read.
    """
    hints = get_type_hints(function, include_extras=True)
    return tuple(
        _field(name, hints[name], msgspec.NODEFAULT if param.default is param.empty else param.default)
        for name, param in signature(function).parameters.items()
        if _option(hints.get(name)) is not None
    )


def _option(hint: Any) -> Option | None:
    extras = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return next((extra for extra in extras if isinstance(extra, Option)), None)


def _default(declared: Any) -> Any:
    if declared.default is msgspec.NODEFAULT and declared.default_factory is not msgspec.NODEFAULT:
        return declared.default_factory()
    return declared.default


def _field(name: str, hint: Any, default: Any) -> Field:
    option = _option(hint)
    if option is None:
        raise TypeError(f"the field {name!r} declares no Option")
    inner = get_args(hint)[0]
    value, optional = _without_none(inner)
    several = get_origin(value) in (tuple, Sequence)
    if several:
        value, _ = _without_none(get_args(value)[0])
    kind, known = _kind(name, value, option)
    if known and not option.known:
        removed = [word for word, _ in option.removed]
        option = replace(option, known=tuple(value for value in known if value not in removed))
    return Field(name, option, kind, several, optional, default)


def _without_none(hint: Any) -> tuple[Any, bool]:
    if get_origin(hint) in (Union, UnionType):
        kept = [part for part in get_args(hint) if part is not NoneType]
        if len(kept) == 1:
            return kept[0], True
    return hint, False


def _kind(name: str, hint: Any, option: Option) -> tuple[type, tuple[Any, ...]]:
    if option.file:
        return str, ()
    if get_origin(hint) is Literal:
        known = get_args(hint)
        return type(known[0]), known
    if get_origin(hint) is tuple:
        return tuple, ()
    if get_origin(hint) in (Union, UnionType) and str in get_args(hint):  # the word is for commands
        return str, ()
    if hint in (str, int, float, bool):
        return hint, ()
    raise TypeError(f"the field {name!r} has a type that cannot be given as an option: {hint}")


def changed(options: S, given: Mapping[str, Any]) -> S:
    """Return `options` with the values in `given`. An option with several values keeps its old values and gets the new
    ones in addition.

    Raises:
        InputError: as for `options_of`, or an option cannot be changed once a run has started.
    """
    known = {field.name: field for field in fields_of(type(options))}
    given = {name: value for name, value in given.items() if value is not None}
    fixed = [name for name in given if name in known and not known[name].option.extends]
    if fixed:
        grow = ", ".join(name for name, field in known.items() if field.option.extends) or "none"
        raise InputError([Problem(option_place(name), "", f"is fixed; {grow} can be extended") for name in fixed])
    new = values_of((replace(field, default=getattr(options, name)) for name, field in known.items()), given)
    grown = {name: _grown(getattr(options, name), value) for name, value in new.items()}
    return msgspec.structs.replace(options, **grown)


def _grown(old: Any, new: Any) -> Any:
    """The old and the new values without repetitions if the option has several values; otherwise the new value."""
    return (
        (*old, *(value for value in new if value not in old))
        if isinstance(old, tuple) and isinstance(new, tuple)
        else new
    )


def stored_options(kind: type[msgspec.Struct], stored: Mapping[str, Any]) -> dict[str, Any]:
    """Values of options as a run or log stored them. If the run or log lacks an option, its `unmentioned` value is
    added, if there is one."""
    newer = {field.name: field.option.unmentioned for field in fields_of(kind) if field.option.unmentioned is not None}
    return {**newer, **stored}


def check_stored(kind: type[msgspec.Struct], stored: Mapping[str, Any]) -> None:
    """Check options as `options_of` does, but accept `removed` values, so that stored runs and logs stay readable.

    Raises:
        InputError: as `options_of`.
    """
    values_of(map(_as_stored, fields_of(kind)), stored)


def _as_stored(field: Field) -> Field:
    removed = [word for word, _ in field.option.removed]
    return replace(field, option=replace(field.option, known=(*field.option.known, *removed), removed=()))


def options_of(kind: type[S], given: Mapping[str, Any]) -> S:
    """The options `given` by name, checked against their declarations. Values may be words as users write them. None
    means that an option is not given.

    Raises:
        InputError: an option does not exist, is missing, or has an invalid value; the error lists all such options.
    """
    return kind(**values_of(fields_of(kind), given))


def values_of(fields: Iterable[Field], given: Mapping[str, Any]) -> dict[str, Any]:
    """The values of options by name; options that were not given are left out.

    Raises:
        InputError: as `options_of`.
    """
    known = {field.name: field for field in fields}
    problems = [
        Problem(
            option_place(name), "", f"no such option; known are {', '.join(known) or 'none'}{suggestion(name, known)}"
        )
        for name in given
        if name not in known
    ]
    values: dict[str, Any] = {}
    for name, field in known.items():
        if given.get(name) is None:
            if field.needed:
                problems.append(Problem(option_place(name), "", "is needed"))
            continue
        value, wrong = _read(field, given[name])
        problems += wrong
        values[name] = value
    if problems:
        raise InputError(problems)
    return values


def _read(field: Field, given: Any) -> tuple[Any, list[Problem]]:
    if field.option.file:
        return given, []
    if not field.several:
        value, wrong = _one(field, given)
        return value, list(wrong)
    words = list(given) if isinstance(given, list | tuple) else [given]
    if field.option.every and field.option.every in words:
        return field.option.known, []
    if not words:
        return (), [Problem(option_place(field.name), "", "name at least one")]
    values: list[Any] = []
    problems: list[Problem] = []
    for word in words:
        value, wrong = _one(field, word)
        found = list(wrong)
        problems += found
        values += [] if found else [value]
    if not field.option.repeats:
        problems += [
            Problem(option_place(field.name), field.word(value), "is given twice")
            for value in dict.fromkeys(values)
            if values.count(value) > 1
        ]
    return tuple(values), problems


def _one(field: Field, given: Any) -> tuple[Any, Iterator[Problem]]:
    """One value, and the problems with it."""
    try:
        value = _converted(field, given)
    except ValueError as error:
        return None, iter([Problem(option_place(field.name), str(given), str(error))])
    return value, _out_of_range(field, value)


def _converted(field: Field, given: Any) -> Any:
    """Convert a value to the field's kind. Raises ValueError, with a message for users, if that is not possible."""
    none = field.option.none
    if none and (given is None or given == none):
        return None
    if field.kind is bool:
        return _flag(given)
    if field.kind is tuple:
        return _numbers(given)
    if field.kind in (int, float):
        return _number(field, given)
    if not isinstance(given, str | int | float) or isinstance(given, bool):
        raise ValueError("must be a word")
    return str(given)


def _number(field: Field, given: Any) -> int | float:
    what = "a whole number" if field.kind is int else "a number"
    or_none = f", or {field.option.none}" if field.option.none else ""
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        raise ValueError(f"must be {what}{or_none}")
    try:
        value = _whole(given) if field.kind is int else float(given)
    except (ValueError, OverflowError):
        raise ValueError(f"must be {what}{or_none}") from None
    if not isfinite(value):
        raise ValueError(f"must be {what}{or_none}")
    return value


def _whole(given: float | str) -> int:
    """Convert a value to a whole number. Raises ValueError or OverflowError if it is not whole, or too large for a
    manifest."""
    try:
        value = int(given) if isinstance(given, int | str) else given
    except ValueError:
        value = float(given)  # '3.0' and '1e3' are whole, too
    if value != int(value) or abs(value) >= _LARGEST:
        raise ValueError
    return int(value)


def _flag(given: Any) -> bool:
    if isinstance(given, bool):
        return given
    word = str(given).lower()
    if word not in ("true", "false", "yes", "no"):
        raise ValueError("must be true or false")
    return word in ("true", "yes")


def _numbers(given: Any) -> tuple[int, ...]:
    parts = given.split("-") if isinstance(given, str) else given
    if not isinstance(parts, Sequence) or not parts or not all(str(part).isdecimal() for part in parts):
        raise ValueError("must be numbers joined by '-', such as 2-1-3")
    return tuple(int(part) for part in parts)


def _out_of_range(field: Field, value: Any) -> Iterator[Problem]:
    option, place = field.option, option_place(field.name)
    if instead := dict(option.removed).get(value):
        yield Problem(place, str(value), f"was removed; {instead}")
        return
    if option.known and value is not None and value not in option.known:
        words = [field.word(value) for value in option.known]
        yield Problem(place, str(value), f"must be one of {', '.join(words)}{suggestion(str(value), words)}")
    if value is None or isinstance(value, bool | str | tuple):
        return
    if not _is_within(option, value):
        yield Problem(place, str(value), f"must be {_range(option)}")


def _is_within(option: Option, value: float) -> bool:
    return (
        (option.least is None or value >= option.least)
        and (option.most is None or value <= option.most)
        and (option.above is None or value > option.above)
    )


def _range(option: Option) -> str:
    if option.least is not None and option.most is not None:
        return f"between {option.least:,g} and {option.most:,g}"
    if option.least is not None:
        return f"{option.least:,g} or more"
    parts = [f"above {option.above:,g}"] if option.above is not None else []
    parts += [f"at most {option.most:,g}"] if option.most is not None else []
    return " and ".join(parts)


def with_fields(
    options: type[StudyOptions], fields: Sequence[tuple[str, Any, Any]], **functions: Any
) -> type[StudyOptions]:
    """The options of a study with further fields, each given as a name, an annotated type and a default.

    `functions` replace the class's functions of the same names. A class that already has all of the fields is returned
    unchanged.
    """
    missing = [field for field in fields if field[0] not in options.__struct_fields__]
    if not missing:
        return options
    made = msgspec.defstruct(
        options.__name__,
        missing,
        bases=(options,),
        module=options.__module__,
        frozen=True,
        forbid_unknown_fields=True,
        namespace={"__doc__": options.__doc__, **functions},
    )
    return cast("type[StudyOptions]", made)
