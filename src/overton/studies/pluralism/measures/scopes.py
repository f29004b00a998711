"""Numbers added up: for each model in each community, and for all of them."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from overton.studies.pluralism.measures.units import Names, Where, summed

__all__ = ["Cells", "Scope"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
_Float = TypeVar("_Float", np.float32, np.float64)

Scope = tuple[str | None, str | None]
"""A model and a community, None for all."""


class Cells:
    """Where numbers belong: each to a model, a community (or to none that is known), and one of `kinds`.

    Scopes are every model in every community, all models, all communities, and both: `scopes` names them in the order
    of what `over` gives.
    """

    def __init__(self, names: Names, kinds: int) -> None:
        self._names = names
        self._known = len(names.communities)
        self.shape = (len(names.models), self._known + 1, kinds)
        self.scopes: list[Scope] = [
            (model, community) for model in (None, *names.models) for community in (None, *names.communities)
        ]

    @property
    def many(self) -> int:
        """How many cells there are."""
        return int(np.prod(self.shape))

    def number(self, where: Where) -> Ints:
        """The cell of each number."""
        community = self._names.community[where.thread]
        community = np.where(community < 0, self._known, community)
        return (where.model * self.shape[1] + community) * self.shape[2] + where.kind

    def over(self, sums: NDArray[_Float]) -> NDArray[_Float]:
        """Sums by cell [..., cells] as sums by scope and kind [..., scopes x kinds]."""
        wide = sums.reshape(*sums.shape[:-1], *self.shape)
        wide = np.concatenate([wide.sum(-2, keepdims=True), wide[..., : self._known, :]], axis=-2)
        wide = np.concatenate([wide.sum(-3, keepdims=True), wide], axis=-3)
        return wide.reshape(*sums.shape[:-1], -1)

    def threads(self, where: Where) -> Array:
        """How many different threads each scope and kind has; of each model a thread and kind stand once at most."""
        apart = self.over(self._threads(where)).reshape(1 + self.shape[0], -1)
        if self.shape[0] > 1:
            seen = np.zeros((len(self._names.threads), self.shape[2]), bool)
            seen[where.thread, where.kind] = True
            thread, kind = np.nonzero(seen)
            apart[0] = self.over(self._threads(Where(np.zeros_like(thread), thread, kind))).reshape(apart.shape)[0]
        return apart.reshape(-1)

    def _threads(self, where: Where) -> Array:
        return summed(self.number(where), self.many)
