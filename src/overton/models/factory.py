"""The opening of models by spec and arguments, and the list of known models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overton.calls import Answerer, BatchApi, Reply, Request, ServerList, Settings, user, weighs
from overton.calls.model import Model
from overton.errors import InputError, Problem
from overton.key_values import path_of
from overton.models.arguments import Arguments, read_arguments
from overton.models.catalog import family_of, price_of, reasons_of, series_of
from overton.models.embedders import SentenceTransformersEmbedder, WordLlamaEmbedder
from overton.models.endpoint import Endpoint, locate
from overton.models.providers import ANTHROPIC, CHAT_PROVIDERS, EMBEDDERS, GGUF, RUN_HERE, SERVER, Provider
from overton.models.ray_cluster import check_installed
from overton.models.servers import listing_of
from overton.models.spec import Spec, parse_spec, public_model_spec
from overton.models.weights import ensure

if TYPE_CHECKING:
    from overton.models.http_client import ApiClient, HttpClient
    from overton.models.llama_cpp import EmbeddedModel
    from overton.models.servers import ServerMaker


Simulated = Callable[[str, dict[str, str]], Answerer]
"""A function that makes a simulated model from a name ('open-minded') and parameters. Each study has its own."""

_CONNECTIONS = dict.fromkeys((*RUN_HERE, *EMBEDDERS), 1) | {"simulated": 256}
_HTTP_CONNECTIONS = 64


def open_model(
    spec: str,
    args: Sequence[tuple[str, str]] = (),
    *,
    name: str = "",
    simulated: Simulated | None = None,
    default_settings: Settings | None = None,
    need_key: bool = True,
) -> Model:
    """Open the model that a spec names. No calls are made yet.

    `args` are the model's `--model-arg` pairs. `name` is the model's name in a run, by default its public spec. Under
    any other name, it counts as a separate model with calls of its own (see `NamedModel`). `simulated` is the function
    that makes simulated models. `default_settings` apply to settings that the arguments leave out. Without `need_key`,
    a missing API key is allowed. A plan uses this, because it makes no calls.

    Raises:
        InputError: the spec or arguments are wrong, or a key or a file is missing. The error lists all problems.
        MissingExtra: the model needs an optional part that is not installed.
    """
    parsed = replace(parse_spec(spec), text=name or public_model_spec(spec))
    arguments = read_arguments(parsed, args)
    answerer, batching, serving = _open_parts(parsed, arguments, simulated, need_key)
    own = getattr(answerer, "connections", None)  # an embedded model decides how many copies fit on this machine
    return Model(
        answerer=answerer if parsed.text == public_model_spec(spec) else NamedModel(answerer, parsed.text),
        settings=(default_settings or Settings()).but(arguments.settings),
        connections=arguments.connections or own or _CONNECTIONS.get(parsed.provider, _HTTP_CONNECTIONS),
        price=price_of(parsed),
        family=family_of(parsed),
        series=series_of(parsed),
        reasons=reasons_of(parsed),
        batching=batching,
        serving=serving,
    )


class NamedModel:
    """An answerer under a name of its own.

    The name is part of the model's identity. So one model under two names gets different calls, with different seeds.
    """

    def __init__(self, answerer: Answerer, name: str) -> None:
        self.name = name
        self._answerer = answerer

    @property
    def identity(self) -> str:
        """The name and the answerer's own identity, as 'careful=openai/gpt-4o'."""
        return f"{self.name}={self._answerer.identity}"

    @property
    def holds_form(self) -> bool:
        """See `Answerer`."""
        return self._answerer.holds_form

    @property
    def weighs(self) -> bool:
        """Whether it returns token probabilities; see `overton.calls.weighs`."""
        return weighs(self._answerer)

    async def answer(self, request: Request) -> Reply:
        """See `Answerer`."""
        return await self._answerer.answer(request)

    async def close(self) -> None:
        """See `Answerer`."""
        await self._answerer.close()


async def check_model(model: Model) -> Reply:
    """Send one tiny question, without retries. The model stays open.

    Raises:
        AnswerError: the endpoint's error, unchanged.
    """
    question = user("Reply with the single word: ready")
    return await model.answerer.answer(Request((question,), model.settings, seed=model.settings.seed))


_ModelParts = tuple[Answerer, BatchApi | None, ServerList | None]


def _open_parts(spec: Spec, arguments: Arguments, simulated: Simulated | None, need_key: bool) -> _ModelParts:
    if spec.provider == "simulated":
        return _open_simulated(spec, arguments, simulated), None, None
    if spec.on_ray:
        return _open_on_ray(spec, arguments)
    if spec.provider in ("embedded", "gguf"):
        return _open_embedded(spec, arguments), None, None
    if spec.provider in EMBEDDERS:
        return _open_embedder(spec), None, None
    if spec.provider == "inspect":
        return _open_inspect(spec, arguments), None, None
    if spec.provider == "anthropic":
        return _open_anthropic(spec, arguments, need_key)
    return _open_openai(spec, arguments, need_key)


def _open_openai(spec: Spec, arguments: Arguments, need_key: bool) -> _ModelParts:
    from overton.models.http_client import ApiClient
    from overton.models.openai import OpenAIBatches, OpenAIModel, dialect_of

    provider = CHAT_PROVIDERS.get(spec.provider, SERVER)
    endpoint = locate(spec, provider, arguments, need_key=need_key)
    dialect = dialect_of(provider, spec.name, processed=arguments.logprobs == "processed")

    def make_server(at: Endpoint) -> tuple[OpenAIModel, HttpClient, ApiClient]:
        transport = _make_transport(at, "/chat/completions", arguments)
        model = OpenAIModel(transport, dialect, name=spec.text, identity=spec.identity, hold=bool(arguments.hold))
        return model, transport, ApiClient(at, timeout=arguments.timeout)

    model, _, service = make_server(endpoint)
    batching = OpenAIBatches(service, model) if provider.batches and endpoint.base_url else None
    return _share_among_servers(endpoint, provider, arguments, model, batching, make_server)


def _open_anthropic(spec: Spec, arguments: Arguments, need_key: bool) -> _ModelParts:
    from overton.models.anthropic import HEADERS, AnthropicBatches, AnthropicModel
    from overton.models.http_client import ApiClient

    endpoint = locate(spec, ANTHROPIC, arguments, need_key=need_key)
    header: dict[str, Any] = {"key_header": ("x-api-key", ""), "headers": HEADERS}

    def make_server(at: Endpoint) -> tuple[AnthropicModel, HttpClient, ApiClient]:
        transport = _make_transport(at, "/messages", arguments, **header)
        model = AnthropicModel(
            transport, name=spec.text, identity=spec.identity, model=spec.name, cache=arguments.cache
        )
        return model, transport, ApiClient(at, timeout=arguments.timeout, **header)

    model, _, service = make_server(endpoint)
    batching = AnthropicBatches(service, model) if endpoint.base_url else None
    return _share_among_servers(endpoint, ANTHROPIC, arguments, model, batching, make_server)


def _share_among_servers(  # noqa: PLR0917
    endpoint: Endpoint,
    provider: Provider,
    arguments: Arguments,
    model: Answerer,
    batching: BatchApi | None,
    make_server: ServerMaker,
) -> _ModelParts:
    """The model as opened. If several servers are named or listed, they share its calls."""
    if len(arguments.base_urls) < 2 and not arguments.lists:
        return model, batching, None
    from overton.models.servers import HttpServers, RoundRobin

    fixed = [provider.versioned(url) for url in arguments.base_urls]
    lists = [listing_of(place, provider.versioned) for place in arguments.lists]
    several = HttpServers(endpoint, fixed, lists, make_server, strict=arguments.alike == "weights")
    return RoundRobin(model, several), batching, several


def _make_transport(endpoint: Endpoint, path: str, arguments: Arguments, **options: Any) -> HttpClient:
    from overton.models.http_client import HttpClient

    return HttpClient(endpoint, path, timeout=arguments.timeout, **options)


def _open_inspect(spec: Spec, arguments: Arguments) -> Answerer:
    from overton.models.inspect import InspectModel

    key = locate(spec, SERVER, arguments).key if arguments.key_env else None
    return InspectModel(
        spec.name,
        name=spec.text,
        base_url=arguments.base_urls[0] if arguments.base_urls else None,
        key=key,
        connections=arguments.connections or _HTTP_CONNECTIONS,
        timeout=arguments.timeout,
    )


def _open_on_ray(spec: Spec, arguments: Arguments) -> _ModelParts:
    """A model whose replicas run on a cluster. Its name and abilities are already known here, from its file."""
    check_installed()
    from overton.models.ray_replicas import Placement, Replicas, Up
    from overton.models.ray_worker import llama
    from overton.models.servers import RoundRobin

    asked = replace(arguments, threads=arguments.threads or max(1, int(arguments.cpus)))
    model = _open_embedded(spec, asked)
    placement = Placement(
        arguments.replicas,
        arguments.cpus,
        arguments.gpus,
        arguments.ray,
        at_once=arguments.connections
        or 2 * model.copies,  # so that each copy has its next call waiting when it has answered one
        patience=arguments.patience,
    )
    engine = partial(
        llama,
        name=spec.text,
        identity=model.identity,
        hold=model.holds_form,
        threads=asked.threads or 1,
        context=arguments.context,
    )
    replicas = Replicas(model.path, model.identity.removeprefix("sha256:"), engine, placement)
    return RoundRobin(model, Up(replicas), connections=placement.at_once), None, replicas


def _open_embedded(spec: Spec, arguments: Arguments) -> EmbeddedModel:
    path = _weights_file(spec)
    from overton.models.llama_cpp import EmbeddedModel

    hold = arguments.hold is not False
    return EmbeddedModel(path, name=spec.text, hold=hold, threads=arguments.threads, context=arguments.context)


def _open_embedder(spec: Spec) -> Answerer:
    if spec.provider == "wordllama":
        return WordLlamaEmbedder(spec.name, name=spec.text)
    return SentenceTransformersEmbedder(spec.name, name=spec.text)


def _weights_file(spec: Spec) -> Path:
    if spec.provider == "embedded":
        return ensure(spec.name)
    path = path_of(spec.name, "--model")
    if not path.is_file():
        raise InputError([Problem("--model", f"{GGUF}{spec.name}", "there is no such file")])
    return path


def _open_simulated(spec: Spec, arguments: Arguments, simulated: Simulated | None) -> Answerer:
    if simulated is None:
        raise InputError([Problem("--model", spec.text, "simulated models answer only within a study's run")])
    return simulated(spec.name, arguments.parameters)
