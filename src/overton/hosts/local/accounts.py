"""What a run has used so far: the manifest's word, and what a killed session left in the journal since."""

from __future__ import annotations

from itertools import islice

from overton.calls import Price, Reply
from overton.engine import entries
from overton.hosts.local.folder import RunFolder
from overton.hosts.local.manifest import Manifest, Spent

__all__ = ["spent_so_far"]


def spent_so_far(folder: RunFolder, manifest: Manifest) -> Spent:
    """What earlier sessions used: the manifest's word, and what a killed session left in the journal since."""
    prices = {entry.identity: entry.price for side in manifest.models.values() for entry in side}
    known = manifest.spent
    requests, cost, outcomes = known.requests, known.cost, known.outcomes
    for entry in islice(entries(folder.journal), known.outcomes, None):
        outcomes += 1
        if isinstance(entry.outcome, Reply):
            requests += 1
            cost += _cost(prices.get(entry.place.answerer), entry.outcome)
        else:
            requests += entry.outcome.attempts
    return Spent(requests, cost, known.failed, outcomes)


def _cost(price: Price | None, reply: Reply) -> float:
    return (price.cost(reply.usage) or 0.0) if price else 0.0
