"""The description of a model or service: a language model, a search engine or a source of pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from overton.calls.protocols import BatchApi, ServerList
from overton.calls.types import Answerer, Price, Reply, Request, Settings
from overton.errors import RejectedError


@dataclass(frozen=True)
class Model:
    """A model or service and everything known about it: a language model, a search engine or a source of pages.

    `connections` is the maximum number of calls at a time. `price` is in US dollars per million tokens, None if
    unknown. `family`, `series` and `reasons` are guessed from a model's name (see `models.catalog`). `unsure` is True
    if the user did not set the temperature and the endpoint may refuse requests with a temperature: see
    `overton.runs.temperature_probe`. `batching` sends calls in batches, None if the provider has no batches. `serving`
    are the servers that share the calls, each with `connections` calls at a time; None if there is only one server.

    `keep_in` belongs to services that search and read pages. It is called with a run's folder before the first call.
    From then on, the service stores all hits and pages in the archive in this folder. `keep_in` is None for a language
    model.
    """

    answerer: Answerer
    settings: Settings
    connections: int
    price: Price | None
    family: str
    series: str
    reasons: bool
    unsure: bool = False
    batching: BatchApi | None = None
    serving: ServerList | None = None
    keep_in: Callable[[str], None] | None = None

    @property
    def retrieves(self) -> bool:
        """Whether the model or service searches or reads pages."""
        return self.keep_in is not None


@dataclass(frozen=True)
class AbsentAnswerer:
    """An `Answerer` that is known only by name and refuses every request. It is used if a run is replayed, or if
    another program calls the model."""

    name: str
    identity: str
    holds_form: bool = False

    async def answer(self, request: Request) -> Reply:
        """Refuse the request, because a replay makes no calls."""
        raise RejectedError("replay", f"{self.name} is only replayed here")

    async def close(self) -> None:
        """Nothing to release."""
