"""The one description of an answerer, for language models, search engines and sources of pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from overton.calls.protocols import BatchApi, ServerList
from overton.calls.types import Answerer, Price, Reply, Request, Settings
from overton.errors import RejectedError


@dataclass(frozen=True)
class Model:
    """An answerer and everything known about it: a language model, a search engine or a source of pages.

    `connections` is the most calls it takes at a time. `price` is in US dollars per million tokens, None if unknown.
    `family`, `series` and `reasons` are guessed from a model's name (see `models.catalog`). `unsure` says that the user
    did not set its temperature and that its endpoint may refuse one: see `overton.runs.temperature_probe`. `batching`
    sends its calls in batches, None if its provider takes none. `serving` are the servers that share its calls, None if
    there is only one; `connections` then go to each.

    `keep_in` belongs to what searches and reads pages: called with a run's folder before the first call, it stores
    everything found and read in the archive there. It is None for a language model.
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
        """Whether it searches or reads pages."""
        return self.keep_in is not None


@dataclass(frozen=True)
class AbsentAnswerer:
    """An answerer that is only known by name and refuses every request: a run is replayed, or another program calls
    the model."""

    name: str
    identity: str
    holds_form: bool = False

    async def answer(self, request: Request) -> Reply:
        """Raise: a replay makes no calls."""
        raise RejectedError("replay", f"{self.name} is only replayed here")

    async def close(self) -> None:
        """Nothing to release."""
