"""A study's declaration as parameters of a command: roles, items, options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any

import typer

from overton.cli.known import RENAMED
from overton.cli.options import source_arguments
from overton.errors import InputError
from overton.studies.items import Items
from overton.studies.options import Field, fields_of, option_place
from overton.studies.study import AnyStudy, Role

Param = inspect.Parameter

_WIDEST_METAVAR = 40
"""Characters of the longest list of values shown as an option's metavar; a longer one appears only in its help."""


def command(body: Callable[..., Any], params: Iterable[Param], flags: Mapping[str, str], help_: str) -> Any:
    """A function that Typer turns into a command: `body` takes what `params` declare, by name.

    Errors name command-line flags: `flags` has the flag for each place of a problem.
    """

    def call(**given: Any) -> None:
        try:
            body(**given)
        except InputError as error:
            raise as_flags(error, flags) from error.__cause__

    call.__signature__ = inspect.Signature(list(params))  # type: ignore[attr-defined]
    call.__doc__ = help_
    return call


def as_flags(error: InputError, flags: Mapping[str, str]) -> InputError:
    """`error` with the places of its problems replaced by their command-line flags."""
    return error.placed(lambda place: flags.get(place, _flag_of_place(place)))


def _flag_of_place(place: str) -> str:
    """The command-line name of an option that no study declares."""
    kind, _, name = place.partition(" ")
    return f"--{name.replace('_', '-')}" if kind in ("option", "role") and name else place


def words_of(study: AnyStudy, *kinds: type[Any]) -> dict[str, str]:
    """The command line's names for a study's roles and for the options of structs."""
    flags = {option_place(field.name): field.flag for kind in kinds for field in fields_of(kind)}
    return flags | {f"role {role.name}": _role_flag(role) for role in study.roles}


def field_params(fields: Iterable[Field], *, growing: bool = False) -> Iterator[Param]:
    """Options as parameters. Values stay strings here: the code that declares the options reads and checks them.

    `growing` ones enlarge an existing run: each says whether it adds to what the run has, or is the new total.
    """
    for field in fields:
        said = _growing_help(field) if growing else field.described()
        if field.option.argument:
            kind, default = list[str] if field.several else str, Param.empty if field.needed else None
            argument = typer.Argument(metavar=field.name.upper(), help=said)
            yield _keyword_param(field.name, kind, argument, default)
            continue
        flags = [field.flag, f"--{field.name.replace('_', '-')}"]
        names = list(dict.fromkeys(name for name in flags if RENAMED.get(name) != field.flag))
        if field.kind is bool:
            off = [f"{names[0]}/--no-{field.name.replace('_', '-')}"] if field.default is True else names
            yield _keyword_param(field.name, bool | None, typer.Option(*off, help=said, show_default=False), None)
            continue
        shown = typer.Option(*names, metavar=_metavar(field), help=said, show_default=False)
        kind = list[str] if field.several else str
        if field.needed:
            yield _keyword_param(field.name, kind, shown, Param.empty)
        else:
            yield _keyword_param(field.name, kind | None, shown, None)


def _growing_help(field: Field) -> str:
    meaning = field.meant()
    return f"{meaning}; added to those the run has." if field.several else f"{meaning}; in total, including the run's."


def role_params(study: AnyStudy, *, needed: bool = True) -> Iterator[Param]:
    """Who answers: the models of the first role, one answerer per other role, and arguments of roles that retrieve."""
    first, *others = study.roles
    names = [_role_flag(first), *([f"-{first.word[0]}"] if first.word in ("model", "agent") else [])]
    more = typer.Option(
        *names, metavar="MODEL", help=f"{first.help}, as provider/name or NAME=provider/name; repeatable."
    )
    yield (
        _keyword_param(first.name, list[str], more, Param.empty)
        if needed
        else _keyword_param(first.name, list[str] | None, more, None)
    )
    for role in others:
        metavar = "SPEC" if role.retrieves else "MODEL"
        help_ = f"{role.help}; {role.usual} by default." if role.usual else f"{role.help}."
        if role.several:
            help_ = f"{help_.removesuffix('.')}; repeatable, the first one leads."
        option = typer.Option(_role_flag(role), metavar=metavar, help=help_)
        kind = list[str] if role.several else str
        if role.optional or role.usual or not needed or role.retrieves == "pages":
            yield _keyword_param(role.name, kind | None, option, None)
        else:
            yield _keyword_param(role.name, kind, option, Param.empty)
    for role in others:
        if role.retrieves:
            option = typer.Option(
                f"--{role.word}-arg", metavar="KEY=VALUE", help=f"A setting of the {role.word}; repeatable."
            )
            yield _keyword_param(f"{role.name}_arg", list[str] | None, option, None)


def items_params(items: Items[Any], *, argument: bool) -> Iterator[Param]:
    """Where items come from, and how they are read."""
    layouts = f"{items.noun} by its name" if items.named else items.layouts
    help_ = f"{layouts[:1].upper()}{layouts[1:]}"
    if argument and items.starter is None:
        yield _keyword_param("items", str, typer.Argument(metavar=items.plural.upper(), help=f"{help_}."), Param.empty)
    else:
        starter = f"; the starter {items.plural} by default" if items.starter else ""
        kind, metavar, repeat = (list[str], "WORD", "; repeatable") if items.named else (str, "PATH", "")
        option = typer.Option(
            *(f"--{name}" for name in items.words), metavar=metavar, help=f"{help_}{repeat}{starter}."
        )
        yield _keyword_param("items", kind | None, option, None)
    yield from field_params(fields_of(items.reading))


def source_args_of(study: AnyStudy, given: Mapping[str, Any]) -> dict[str, dict[str, list[str]]]:
    """Arguments of the roles that search and read pages, from the parameters that `role_params` made."""
    return source_arguments(**{role: given.get(f"{role}_arg") for role in study.retrieval})


def _role_flag(role: Role) -> str:
    return f"--{role.word.replace('_', '-')}"


def _keyword_param(name: str, kind: Any, option: Any, default: Any) -> Param:
    return Param(name, Param.KEYWORD_ONLY, annotation=Annotated[kind, option], default=default)


def _metavar(field: Field) -> str:
    if field.option.file:
        return "FILE"
    if field.option.known:
        words = "|".join(field.word(value) for value in field.option.known)
        return words if len(words) <= _WIDEST_METAVAR else "WORD"
    return {int: "N", float: "X", tuple: "N-N-N"}.get(field.kind, "WORD")
