"""Functions that turn a user's arguments into items, options and requests for models."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from overton.calls import Price
from overton.errors import InputError, Notice, Problem, Unreadable, suggestion
from overton.key_values import Given, pairs_of
from overton.models.prices import PriceList, read_price_list
from overton.models.spec import name_and_spec, parse_spec
from overton.runs import answerers
from overton.runs.answerers import ModelRequest, Requests
from overton.runs.experiment import Experiment
from overton.runs.folder import UNSELECTED
from overton.runs.items import items_of_run, opened_if_file, read_items, with_texts_of_files
from overton.runs.prompt_folder import GivenPrompts, read_prompts
from overton.studies.options import Demands, StudyOptions, fields_of, option_place, options_of
from overton.studies.paper import is_wanted
from overton.studies.study import AnyStudy
from overton.studies.text_replacement import with_texts
from overton.untrusted import converted

Arguments = Mapping[str, Given]
"""Model arguments by model name and key; a list of values repeats the key."""
SourceArguments = Mapping[str, Given]
"""Arguments by role and key, for the roles that search and read pages ('search' and 'pages')."""
Others = Mapping[str, Sequence[str]]
"""Models by role, as SPEC or NAME=SPEC, for all roles but a study's first."""
Prices = Mapping[str, tuple[float, float]]
"""Prices in US dollars per million input and output tokens, by model name."""


def requests_of(  # noqa: PLR0917
    study: AnyStudy,
    named: Mapping[str, Sequence[str]],
    arguments: Arguments | None = None,
    prices: Prices | None = None,
    source_args: SourceArguments | None = None,
    price_list: PriceList | None = None,
) -> answerers.Requests:
    """The requested models and services of a run of `study`, by role. The source of pages defaults to the search
    engine's own.

    Models are given as SPEC or NAME=SPEC. The keys of arguments and prices are these names, or the specs of models
    without a name. If no price is given, Overton looks in the `price_list`, and then in its own list.

    Raises:
        InputError: arguments or a price for something that is not in the run.
    """
    source_args = source_args or {}
    models = {role: specs for role, specs in named.items() if role not in study.retrieval}
    sources = {role: [ModelRequest(spec) for spec in named.get(role, ())] for role in study.retrieval}
    wanted = answerers.with_page_source(study, model_requests(models, arguments, prices, price_list) | sources)
    unknown = [role for role in source_args if role not in study.retrieval]
    if unknown:
        known = ", ".join(study.retrieval) or "none in this study"
        raise InputError([Problem("source_args", role, f"no such role; there is {known}") for role in unknown])
    return {role: _add_arguments(requests, source_args.get(role, {})) for role, requests in wanted.items()}


def _add_arguments(requests: Sequence[ModelRequest], arguments: Given) -> Sequence[ModelRequest]:
    return [replace(request, arguments=tuple(pairs_of(arguments))) for request in requests] if arguments else requests


def model_requests(
    named: Mapping[str, Sequence[str]],
    arguments: Arguments | None = None,
    prices: Prices | None = None,
    price_list: PriceList | None = None,
) -> dict[str, list[ModelRequest]]:
    """The requested models by role, each with its arguments and price.

    Raises:
        InputError: arguments or a price for a model that is not in the run.
    """
    arguments, prices = arguments or {}, prices or {}
    wanted = {
        role: [_parse_request(text, arguments, prices, price_list) for text in models] for role, models in named.items()
    }
    known = {request.name for requests in wanted.values() for request in requests}
    written = {text for models in named.values() for text in models}
    given = {"model_args": arguments, "prices": prices}
    if unknown := [(place, name) for place, names in given.items() for name in sorted(set(names) - known - written)]:
        reason = f"no such model in this run; its models are {', '.join(sorted(known))}"
        raise InputError(
            [Problem(option_place(place), name, f"{reason}{suggestion(name, known)}") for place, name in unknown]
        )
    return wanted


def names_of(study: AnyStudy, named: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The names of all models and services, by role. Names are the keys in records, and a study's options may depend on
    them."""
    return {
        role: [text if role in study.retrieval else name_and_spec(text)[0] for text in texts]
        for role, texts in named.items()
    }


def _parse_request(text: str, arguments: Arguments, prices: Prices, price_list: PriceList | None) -> ModelRequest:
    """A model given as SPEC or NAME=SPEC. If the public name of a spec differs from the user's text, both work as
    keys."""
    name, spec = name_and_spec(text)
    given, price = {**arguments.get(text, {}), **arguments.get(name, {})}, prices.get(name, prices.get(text))
    listed = None if price_list is None else price_list.of(parse_spec(spec))
    return ModelRequest(spec, tuple(pairs_of(given)), listed if price is None else Price(*price), name)


@dataclass(frozen=True)
class _RunArguments:
    """Arguments given by name, sorted into models by role (`named`), items, options for reading items, and options of
    the study."""

    named: Mapping[str, Sequence[str]]
    items: Any
    reading: Mapping[str, Any]
    options: Mapping[str, Any]


@dataclass(frozen=True)
class SetUp:
    """An experiment that is ready to run, with its requested models and services. `left_out` says how many of the items
    that were read are not used."""

    experiment: Experiment
    wanted: Requests
    left_out: str


def _sort_arguments(
    study: AnyStudy, models: Sequence[str], items: Any, given: Mapping[str, Any], others: Mapping[str, Sequence[str]]
) -> _RunArguments:
    """Sort the arguments given by name. A role's argument has the role's word as its name, and items have the study's
    word.

    Raises:
        InputError: models are for an unknown role, or models of a role or items are given twice.
    """
    rest = {name: value for name, value in given.items() if value is not None}
    unknown = [role for role in others if role not in study.role_names]
    if unknown:
        known = ", ".join(study.role_names[1:]) or "none besides its models"
        raise InputError([Problem(f"role {role}", "", f"no such role; there is {known}") for role in unknown])
    if twice := [role for role in study.roles if role.name in others and role.word in rest]:
        raise InputError([Problem(f"role {role.name}", "", "is given twice, under two names") for role in twice])
    first = several(models) or several(rest.pop(study.roles[0].word, None))
    named: dict[str, Sequence[str]] = {study.first: first} | {role: several(some) for role, some in others.items()}
    for role in study.roles[1:]:
        if role.word in rest:
            named[role.name] = several(rest.pop(role.word))
    usual = {role.name: [role.usual] for role in study.roles if role.usual}
    if study.published is not None and is_wanted(rest):
        usual |= {role: list(specs) for role, specs in study.published.roles.items()}
    named |= {role: specs for role, specs in usual.items() if not named.get(role)}
    under = study.items.plural
    if under in rest:
        if items is not None:
            raise InputError([Problem(option_place("items"), under, "are given twice, under two names")])
        items = rest.pop(under)
    readings = {field.name for field in fields_of(study.items.reading)}
    reading = {name: rest.pop(name) for name in list(rest) if name in readings}
    return _RunArguments(named, items, reading, rest)


def requests_in(study: AnyStudy, arguments: Mapping[str, Any]) -> Requests:
    """The models and services that the arguments of `overton.run` name, by role. Nothing is opened.

    Raises:
        InputError: a role is unknown or given twice, or arguments are for a model that is not named.
    """
    given = dict(arguments)
    others, models, items = given.pop("others", None), given.pop("models", ()), given.pop("items", None)
    model_args, source_args = given.pop("model_args", None), given.pop("source_args", None)
    named = _sort_arguments(study, models, items, given, others or {}).named
    return requests_of(study, named, model_args, None, source_args)


def set_up(
    study: AnyStudy,
    *,
    models: Sequence[str] = (),
    others: Mapping[str, Sequence[str]] | None = None,
    items: Any = None,
    only: Sequence[str] | None = None,
    seed: int = 0,
    model_args: Arguments | None = None,
    source_args: SourceArguments | None = None,
    prices: Prices | None = None,
    price_list: str | Path | None = None,
    prompts: GivenPrompts | None = None,
    **options: Any,
) -> SetUp:
    """Check the arguments of `overton.run`. The study's remarks on its options are issued as `Notice` warnings.

    The experiment's study has the texts of `prompts` in place of its own.

    Raises:
        InputError: something is wrong with the arguments.
    """
    study = _with_given_texts(study, prompts)
    asked = _sort_arguments(study, models, items, options, others or {})
    stored = items_of_run(study, asked.items, asked.reading)
    if stored is not None:
        asked = replace(asked, items=stored.items, reading=stored.reading)
    known = stored.options if stored is not None else {}
    chosen = chosen_options(study, asked.options, names_of(study, asked.named), asked.reading, known)
    demands = chosen.demands(asked.named)
    named = asked.named if demands.answering is None else demands.answering
    read = _read_given_items(study, asked)
    kept = _select_items(read, only)
    listed = None if price_list is None else read_price_list(Path(price_list))
    wanted = requests_of(study, named, model_args, prices, _complete_source_args(demands, source_args), listed)
    left_out = UNSELECTED.format(len(read) - len(kept), len(read)) if len(kept) < len(read) else ""
    for remark in chosen.remarks():
        warnings.warn(remark, Notice, stacklevel=3)
    return SetUp(Experiment(study, kept, chosen, seed), wanted, left_out)


def _with_given_texts(study: AnyStudy, given: GivenPrompts | None) -> AnyStudy:
    """The study with the texts that a user gives. Issue a notice if they are the same as the study's own.

    Raises:
        InputError: the texts cannot be read, or cannot replace the study's own.
    """
    texts = read_prompts(study, given)
    if given is not None and not texts:
        warnings.warn(f"the prompts given are those of {study.name}: no text is replaced", Notice, stacklevel=4)
    return with_texts(study, texts) if texts else study


def chosen_options(
    study: AnyStudy,
    given: Mapping[str, Any],
    named: Mapping[str, Sequence[str]],
    reading: Mapping[str, Any],
    stored: Mapping[str, Any] | None = None,
) -> StudyOptions:
    """Read the study's options. An option that is None counts as not given. Some options follow from the models, or
    from the options for reading items (`reading`). If the items come from a run, `stored` has the run's options for
    reading items. Values in `reading` take precedence over those in `stored`.

    Raises:
        InputError: options are unknown, or no trials can be made from them.
    """
    follows = {field.name: field for field in fields_of(study.options) if field.option.follows}
    if wrong := sorted(follows.keys() & set(given)):
        raise InputError(
            [Problem(option_place(name), "", "follows from the models, and cannot be given") for name in wrong]
        )
    read = {name: opened_if_file(follows[name], reading[name]) for name in follows if reading.get(name) is not None}
    asked = {**with_texts_of_files(fields_of(study.options), given), **(stored or {}), **read}
    options = options_of(study.options, study.options.complete(asked, named))
    check(options)
    return options


def check(options: StudyOptions) -> None:
    """Refuse options that are valid on their own but cannot be combined.

    Raises:
        InputError: everything that is wrong with the combination.
    """
    if problems := list(options.problems()):
        raise InputError(problems)


def several(given: Any) -> Sequence[str]:
    """The specs as a list. A string counts as a single spec."""
    if given is None:
        return []
    return [given] if isinstance(given, str) else list(given)


def _read_given_items(study: AnyStudy, asked: _RunArguments) -> Sequence[Any]:
    if study.items.named and asked.items is not None and not isinstance(asked.items, Path):
        return _items_from_words(study.items.named, study.items.plural, several(asked.items))
    if asked.items is None or isinstance(asked.items, str | Path):
        return read_items(study, asked.items, **asked.reading)
    options = {field.name for field in fields_of(study.options)}
    if unused := [name for name in asked.reading if name not in options]:
        raise InputError(
            [Problem(option_place(name), "", "applies only to items that are read from files") for name in unused]
        )
    return [_as_stored(study, item) for item in asked.items]


def _as_stored(study: AnyStudy, item: Any) -> Any:
    """An item in the form in which the run's folder will return it. For example, a whole number in a field of decimals
    is converted."""
    try:
        return converted(msgspec.to_builtins(item), study.items.kind)
    except Unreadable as error:
        raise InputError([Problem(study.items.plural, str(getattr(item, "id", item)), error.reason)]) from None


def _items_from_words(item_of: Callable[[str], Any], plural: str, given: Sequence[Any]) -> list[Any]:
    """Make items from words."""
    if not given:
        raise InputError([Problem(option_place(plural), "", "name at least one")])
    items = [item_of(item) if isinstance(item, str) else item for item in given]
    ids = [item.id for item in items]
    if twice := sorted({name for name in ids if ids.count(name) > 1}):
        raise InputError([Problem(option_place(plural), name, "is named twice") for name in twice])
    return items


def _select_items(items: Sequence[Any], ids: Sequence[str] | None) -> Sequence[Any]:
    """The items with these ids, in their original order."""
    if not ids:
        return items
    known = {item.id for item in items}
    if unknown := [name for name in ids if name not in known]:
        reason = f"there is no such item; there are {', '.join(sorted(known)[:20])}"
        raise InputError([Problem(option_place("only"), name, reason) for name in unknown])
    return [item for item in items if item.id in ids]


def _complete_source_args(demands: Demands, given: SourceArguments | None) -> SourceArguments:
    """The given arguments, completed by those that follow from the options."""
    follow = demands.arguments
    return {role: {**follow.get(role, {}), **(given or {}).get(role, {})} for role in {**follow, **(given or {})}}
