"""Models, search engines and page sources, opened from the specs and arguments that a user gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import msgspec

from overton.calls import Answerer, Price, Settings, weighs
from overton.calls.model import AbsentAnswerer, Model
from overton.errors import InputError, Problem
from overton.models import open_model, parse_spec
from overton.models.prices import built_in
from overton.models.spec import public_model_spec
from overton.retrieval import open_pages, open_search, pages_for
from overton.retrieval.sources import public_source_spec
from overton.runs.folder import Manifest, ModelEntry
from overton.studies.study import AnyStudy, Role
from overton.studies.system_prompts import prompted_answerer

MAX_TOKENS = 1024
"""The default limit on output tokens. An answer takes a line, and a refusal a paragraph."""
REASONING_MAX_TOKENS = 16_384
"""The default limit for models that reason before they answer. Reasoning tokens count as output."""

_MODEL_CONNECTIONS = 64

SEARCH, PAGES = "search", "pages"
"""The roles of search engines and page sources, which the package `retrieval` opens."""


@dataclass(frozen=True)
class ModelRequest:
    """The user's request for a model, search engine or source of pages: its spec, its KEY=VALUE pairs, and its price if
    the user gives a price. `name` is the name in the run, by default the `public_spec`."""

    spec: str
    arguments: tuple[tuple[str, str], ...] = ()
    price: Price | None = None
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or public_spec(self.spec))


Requests = Mapping[str, Sequence[ModelRequest]]
"""The requested models and services, by role."""


def public_spec(spec: str) -> str:
    """The spec for records, reports and exported logs. A file or folder on this machine is given by its name alone."""
    return public_source_spec(public_model_spec(spec))


def with_page_source(study: AnyStudy, wanted: Requests) -> Requests:
    """Add the search engine's own source of pages to the requests if they name no source of pages.

    Raises:
        InputError: there is no such search engine.
    """
    if PAGES not in study.retrieval or wanted.get(PAGES) or not wanted.get(SEARCH):
        return wanted
    return {**wanted, PAGES: [ModelRequest(pages_for(wanted[SEARCH][0].spec))]}


def open_models(
    study: AnyStudy, items: Sequence[Any], wanted: Requests, seed: int, *, need_keys: bool = True, resumed: bool = False
) -> dict[str, list[Model]]:
    """Open every requested model and service, by role. Without `need_keys` a missing key is allowed, as for a plan. A
    `resumed` run may use a search engine that new runs may not use.

    Raises:
        InputError: all problems with their names, arguments and keys.
    """
    problems: list[Problem] = []
    opened: dict[str, list[Model]] = {role: [] for role in study.role_names}
    for role in study.role_names:
        requests = wanted.get(role, ())
        if not requests and role not in study.optional:
            advice = f"name one as {role}" if role in study.retrieval else f"name at least one model as {role}"
            problems.append(Problem(f"--{study.role(role).key}", "", advice))
        if len(requests) > 1 and role not in (study.first, study.several):
            named = ", ".join(request.name for request in requests)
            problems.append(Problem(f"--{study.role(role).key}", named, "one serves the whole run; name only one"))
        once: dict[ModelRequest, Model] = {}
        for request in requests:
            try:
                if request not in once:
                    once[request] = _open_answerer(study, role, items, request, seed, need_keys, resumed)
                opened[role].append(once[request])
            except InputError as error:
                problems += error.problems
        problems += _find_repeated_names(f"--{study.role(role).key}", requests, together=study.together)
        if not study.together:
            problems += _find_repeated_models(f"--{study.role(role).key}", opened[role])
    problems = problems or list(_find_ambiguous_names(study, wanted))
    if problems:
        raise InputError(problems)
    return opened


def entries_of(
    wanted: Requests, models: Mapping[str, Sequence[Model]], *, batched: bool = False
) -> dict[str, list[ModelEntry]]:
    """Make the manifest's entries of models and services. With `batched`, all models that take batches are called in
    batches."""
    return {
        role: [
            entry_of(request, model, batched=batched)
            for request, model in zip(wanted.get(role, ()), opened, strict=True)
        ]
        for role, opened in models.items()
    }


def entry_of(request: ModelRequest, model: Model, *, batched: bool = False) -> ModelEntry:
    """A model or service as a manifest entry."""
    return ModelEntry(
        name=request.name,
        spec=request.spec,
        identity=model.answerer.identity,
        settings=model.settings,
        arguments=request.arguments,
        holds_form=model.answerer.holds_form,
        price=model.price,
        family=model.series or model.family,
        unsure=model.unsure,
        batched=batched and model.batching is not None,
    )


def recorded_model(entry: ModelEntry, answerer: Answerer | None = None) -> Model:
    """Make a model from its manifest entry. Without an `answerer`, as in replays, the model cannot answer."""
    return Model(
        answerer=answerer or AbsentAnswerer(entry.name, entry.identity, entry.holds_form),
        settings=entry.settings,
        connections=_MODEL_CONNECTIONS,
        price=entry.price,
        family=entry.family,
        series="",
        reasons=False,
        unsure=entry.unsure,
    )


def is_simulated(model: Model) -> bool:
    """Whether a model's replies are computed here and cost nothing."""
    return model.family.partition(" ")[0] == "simulated"


def distinct_answerers(models: Mapping[str, Sequence[Model]] | None) -> list[Model]:
    """All models and services of any role, each once."""
    return list({id(model): model for side in (models or {}).values() for model in side}.values())


def specs_of(wanted: Requests) -> dict[str, list[str]]:
    """The specs of the requested models and services, by role."""
    return {role: [request.spec for request in requests] for role, requests in wanted.items()}


def requests_of_run(manifest: Manifest) -> dict[str, Sequence[ModelRequest]]:
    """The models and services with which a run was started."""
    return {
        role: [ModelRequest(entry.spec, entry.arguments, entry.price, entry.name) for entry in entries]
        for role, entries in manifest.models.items()
    }


def _find_repeated_names(place: str, requests: Sequence[ModelRequest], *, together: bool) -> list[Problem]:
    """Find names that were given to several models of one role. If models interact, a model may occur several times
    without a name."""
    given = [request.name for request in requests if request.name != public_spec(request.spec)]
    unnamed = {(request.name, request.arguments) for request in requests if request.name == public_spec(request.spec)}
    named = Counter(given if together else [*given, *(name for name, _ in unnamed)])
    return [
        Problem(place, name, "is the name of several models; give each its own name, as NAME=PROVIDER/NAME")
        for name, count in named.items()
        if count > 1
    ]


def _find_ambiguous_names(study: AnyStudy, wanted: Requests) -> Iterator[Problem]:
    """Find names that are used for different models. Search engines and page sources are ignored, because they have
    roles of their own."""
    specs: dict[str, str] = {}
    for request in chain.from_iterable(some for role, some in wanted.items() if role not in study.retrieval):
        if specs.setdefault(request.name, request.spec) != request.spec:
            reason = f"names two models, {specs[request.name]} and {request.spec}; give each its own name, as"
            yield Problem("models", request.name, f"{reason} first={specs[request.name]} and second={request.spec}")


def _find_repeated_models(place: str, models: Sequence[Model]) -> list[Problem]:
    """Find models of one role that a run could not distinguish."""
    return [
        Problem(
            place,
            model.answerer.name,
            f"is the same model as {earlier.answerer.name}; name it once, or give it its own name, as"
            f" NAME={model.answerer.name}, which makes it a separate model",
        )
        for number, model in enumerate(models)
        for earlier in models[:number]
        if earlier.answerer.identity == model.answerer.identity
    ]


def _open_answerer(  # noqa: PLR0917
    study: AnyStudy, role: str, items: Sequence[Any], request: ModelRequest, seed: int, need_key: bool, resumed: bool
) -> Model:
    if role not in study.retrieval:
        return _open_model(study, items, request, seed, need_key, study.role(role))
    if role == PAGES:
        return open_pages(request.spec, request.arguments)
    return open_search(request.spec, request.arguments, need_key=need_key, resumed=resumed)


def _open_model(  # noqa: PLR0917
    study: AnyStudy, items: Sequence[Any], request: ModelRequest, seed: int, need_key: bool, role: Role
) -> Model:
    def simulated(name: str, arguments: dict[str, str]) -> Any:
        return prompted_answerer(partial(study.simulate, items, name), arguments, role.systems)

    model = open_model(request.spec, request.arguments, name=request.name, simulated=simulated, need_key=need_key)
    if role.weighed and (
        why := why_no_probabilities(model.reasons or _uses_reasoning(model.settings), weighs(model.answerer))
    ):
        raise InputError([Problem(f"--{role.key}", request.name, why)])
    settings = with_defaults(model.settings, request.spec, role, seed, reasons=model.reasons, most=role.max_tokens)
    unsure = model.settings.temperature != settings.temperature and not parse_spec(request.spec).runs_here
    price = (
        _add_batch_share(request.price or model.price, request.spec) if model.batching else request.price or model.price
    )
    return replace(model, settings=settings, price=price, unsure=unsure)


def _add_batch_share(price: Price | None, spec: str) -> Price | None:
    """The price with the provider's batch discount, if the discount is known and the user gave none."""
    share = built_in().batches.get(parse_spec(spec).provider)
    return price if price is None or price.batch is not None else msgspec.structs.replace(price, batch=share)


def _uses_reasoning(settings: Settings) -> bool:
    return settings.reasoning_effort not in (None, "none")


def why_no_probabilities(reasons: bool, has_any: bool) -> str:
    """The reason why token probabilities cannot be requested from a model, '' if they can be. `reasons` says whether
    the model reasons first, and `has_any` whether its endpoint returns probabilities."""
    if reasons:
        return (
            "reasons before it answers, so a letter's probability would follow from a single chain of thought and not"
            " be the share of its answers; use shares=sampled"
        )
    return (
        "" if has_any else ("has no token probabilities, because its endpoint does not return them; use shares=sampled")
    )


def with_defaults(settings: Settings, spec: str, role: Role, seed: int, *, reasons: bool, most: int) -> Settings:
    """Add default settings. They limit the output, make local models reproducible and fix the temperature of judges.

    `most` is the study's limit on output tokens, 0 for none. It applies to models that run elsewhere and do not reason.
    Every limit is at least the role's `least_tokens`, which a complete reply needs. Judges have temperature 0.
    Simulated models get neither `least_tokens` nor a temperature.
    """
    parsed = parse_spec(spec)
    runs_here, simulated = parsed.runs_here, parsed.provider == "simulated"
    if role.judges and settings.temperature is None and not simulated:
        settings = msgspec.structs.replace(settings, temperature=0.0)
    if settings.max_tokens is None:
        roomy = reasons or settings.reasoning_effort is not None
        plain = MAX_TOKENS if runs_here or not most else most
        needed = max(REASONING_MAX_TOKENS if roomy else plain, 0 if simulated else role.least_tokens)
        settings = msgspec.structs.replace(settings, max_tokens=needed)
    if settings.seed is None and runs_here:
        settings = msgspec.structs.replace(settings, seed=seed)
    return settings
