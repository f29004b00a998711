"""The tasks that `inspect eval overton/NAME` finds."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any

import msgspec

from overton.inspect.compat import check_inspect, prerequisite

check_inspect()  # before importing what an older Inspect AI lacks

from inspect_ai import Task, task  # noqa: E402
from inspect_ai.model import ModelAPI, modelapi  # noqa: E402

from overton.errors import InputError, OvertonError, Problem  # noqa: E402
from overton.inspect.scorers import figures  # noqa: E402
from overton.key_values import by_key  # noqa: E402
from overton.studies.options import Field, Option, fields_of, option_place, options_of  # noqa: E402
from overton.studies.registry import asking_names, study_named  # noqa: E402
from overton.studies.study import AnyStudy  # noqa: E402
from overton.untrusted import visible  # noqa: E402

__all__ = [
    "figures",
    "overton",
]


@modelapi(name="overton")
def overton() -> type[ModelAPI]:
    """Overton's models; see `overton models`."""
    from overton.inspect.provider import OvertonAPI

    return OvertonAPI


_MODULE = "overton.tasks"


class _TaskParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters that every task has."""

    seed: Annotated[int, Option("Seed of all random choices")] = 0
    trials_at_once: Annotated[int, Option("Trials of one sample that run concurrently", least=1)] = 10
    cache: Annotated[bool, Option("Whether answers are cached, so that a killed eval does not pay again")] = True
    anyway: Annotated[bool, Option("Whether to continue even if few of a model's first replies can be read")] = False


class _InteractionParameters(_TaskParameters, frozen=True, forbid_unknown_fields=True):
    """Further parameters of a task in which models interact."""

    agents: Annotated[int, Option("Models that interact", least=1)] = 3


def task_of(study: AnyStudy) -> Callable[..., Task]:
    """The study as an Inspect AI task, with the study's name in underscores.

    Raises:
        ValueError: the study has an option with the name of a parameter of every task.
    """
    # Inspect only warns of an unknown parameter, so accept any parameter here and refuse unknown ones below.
    anything = inspect.Parameter("unknown", inspect.Parameter.VAR_KEYWORD, annotation=Any)
    signature = inspect.Signature([*_make_parameters(study), anything])
    known = {name: param for name, param in signature.parameters.items() if param is not anything}

    def made(**given: Any) -> Task:
        try:
            check_inspect()
            if unknown := [name for name in given if name not in known]:
                reason = f"no such parameter; known are {', '.join(known)}"
                raise InputError([Problem(f"-T {name}", "", reason) for name in unknown])
            return _make_task(study, {name: given.get(name, param.default) for name, param in known.items()})
        except InputError as error:
            raise prerequisite(error.placed(lambda place: _user_word(study, place))) from error
        except OvertonError as error:
            raise prerequisite(error) from error

    made.__signature__ = signature  # type: ignore[attr-defined]
    made.__name__ = made.__qualname__ = study.name.replace("-", "_")
    made.__module__, made.__doc__ = _MODULE, "\n".join(_docstring_lines(study))
    found: Callable[..., Task] = task(made)
    return found


def _make_task(study: AnyStudy, given: Mapping[str, Any]) -> Task:
    _check_hosted(study)
    # Imported here so that `overton.tasks`, which Inspect imports to find a task, imports quickly.
    from overton.inspect.scorers import scorers_of
    from overton.inspect.scores import make

    rest = {name: value for name, value in given.items() if value is not None}
    asking = options_of(_parameter_type(study), {name: rest.pop(name, None) for name in _parameter_names(study)})
    for name in ("items", study.items.plural):
        if name in rest and study.items.named is None:
            rest[name] = _rejoin_path(rest[name])
    for field in fields_of(study.options):
        if field.option.texts and field.name in rest:
            rest[field.name] = _rejoin_texts(rest[field.name])
    sources = {role: [_rejoin_path(rest.pop(role))] for role in study.retrieval if role in rest}
    arguments = {role: _values_by_key(f"{role}_args", rest.pop(f"{role}_args", ())) for role in study.retrieval}
    only, prompts = rest.pop("only", None), rest.pop("prompts", None)
    return make(
        study.name,
        scorers_of,
        only=None if only is None else [str(item) for item in _as_list(only)],
        prompts=prompts if isinstance(prompts, Mapping) else _rejoin_path(prompts),
        sources=sources,
        source_args={role: values for role, values in arguments.items() if values},
        **msgspec.structs.asdict(asking),
        **rest,
    )


def _check_hosted(study: AnyStudy) -> None:
    """Refuse a study that does not say how samples are scored and what a log's summary shows.

    Raises:
        InputError: the study does not declare one of these.
    """
    if study.measuring is None or study.measuring.headline is None:
        reason = "is not declared, but an Inspect AI task needs it"
        raise InputError([Problem(f"study {study.name}", "headline", reason)])


def _parameter_type(study: AnyStudy) -> type[_TaskParameters]:
    return _InteractionParameters if study.together else _TaskParameters


def _parameter_names(study: AnyStudy) -> list[str]:
    return [field.name for field in fields_of(_parameter_type(study))]


def _make_parameters(study: AnyStudy) -> Iterator[inspect.Parameter]:
    for name, default, _ in _describe_parameters(study):
        yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Any)


def _docstring_lines(study: AnyStudy) -> Iterator[str]:
    yield study.question
    yield ""
    for role in study.roles[1:]:
        if not role.retrieves:
            yield f"Model role `{role.word}`{'' if role.optional else ' (needed)'}: {role.help}."
    yield ""
    yield "Args:"
    for name, _, help_ in _describe_parameters(study):
        yield f"    {name}: {help_}"


def _describe_parameters(study: AnyStudy) -> Iterator[tuple[str, Any, str]]:
    """Name, default and help of every parameter."""
    for role in study.roles:
        if role.retrieves:
            default = f"; {role.usual} by default" if role.usual else ""
            yield role.name, role.usual or None, f"{role.help}{default}."
            yield f"{role.name}_args", None, f"Settings of the {role.name}, each as KEY=VALUE."
    items = study.items
    yield "items", None, f"{items.layouts[:1].upper()}{items.layouts[1:]}; the starter {items.plural} by default."
    yield items.plural, None, "The same."
    for field in (*fields_of(items.reading), *_given_fields(study)):
        yield field.name, None, field.described()
    yield "only", None, f"Ask about these {items.plural} only, by id."
    yield (
        "prompts",
        None,
        "Folder with texts that replace the study's own texts, or a prompts.toml that lists such texts.",
    )
    for field in fields_of(_parameter_type(study)):
        yield field.name, field.default, field.described()


def _given_fields(study: AnyStudy) -> list[Field]:
    return [field for field in fields_of(study.options) if not field.option.follows]


def _user_word(study: AnyStudy, place: str) -> str:
    """The argument of `inspect eval` with which the user gave the value of a problem."""
    kind, _, name = place.partition(" ")
    if place == option_place(name):
        return f"-T {name}"
    if kind != "role" or name not in study.role_names:
        return place
    if name == study.first:
        return "--model"
    return f"-T {name}" if name in study.retrieval else f"--model-role {study.role(name).word}"


def _values_by_key(name: str, given: Any) -> dict[str, list[str]]:
    return by_key([str(word) for word in _as_list(given)], option_place(name))


def _rejoin_path(given: Any) -> Any:
    """A path as it was written: Inspect splits it at commas."""
    parts = _as_list(given)
    return ",".join(map(str, parts)) if all(isinstance(part, str | int | float) for part in parts) else given


def _rejoin_texts(given: Any) -> Any:
    """Texts as they were written. Inspect splits them at commas, so a part that begins with a space continues the part
    before it."""
    found: list[Any] = []
    for part in _as_list(given):
        if found and isinstance(part, str) and part[:1].isspace():
            found[-1] = f"{found[-1]},{part}"
        else:
            found.append(part)
    return found


def _as_list(given: Any) -> list[Any]:
    return list(given) if isinstance(given, list | tuple) else [given]


def _make_tasks() -> Iterator[Callable[..., Any]]:
    """A task for each study. A broken study is reported and left out. It affects neither other studies nor Inspect."""
    for name in dict.fromkeys(asking_names()):
        try:
            study = study_named(name)
            if study.kind == "asks":
                yield task_of(study)
        except InputError as error:
            sys.stderr.write(visible(f"overton: {error}\n"))
        except Exception as error:  # noqa: BLE001 - a study of another package may declare anything
            said = f"overton: study {name}: no task can be made of it: {type(error).__name__}: {error}\n"
            sys.stderr.write(visible(said))


for _task in _make_tasks():
    if _task.__name__ not in globals():  # Inspect finds it by its name anyway
        globals()[_task.__name__] = _task
        __all__ += [_task.__name__]  # noqa: PLE0604
