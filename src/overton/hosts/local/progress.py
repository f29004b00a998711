"""A run's progress, for display, and who is shown it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from overton.engine import Counters

__all__ = ["Progress", "Watch"]


@dataclass(frozen=True)
class Progress:
    """A run's progress, for display.

    `in_flight` are the models' requests in flight, `admitted` how many are currently allowed; neither includes searches
    and pages. `stopping` says why nothing more is sent, '' while the run continues. `answered` is how many calls models
    have answered in this session, `calls` how many it is expected to make in all, and `left` the seconds to its end at
    this pace, None while unknown. `fleets` says, for each model with several servers, how many are up and why others
    are not.
    """

    done: int
    total: int
    tally: Counters
    cost: float
    seconds: float
    in_flight: int
    admitted: int
    stopping: str = ""
    answered: int = 0
    calls: float = 0.0
    left: float | None = None
    fleets: Mapping[str, str] = field(default_factory=dict)


Watch = Callable[[Progress], None]
