"""The regression that equation 2 is, once the effects of dilemmas are set aside: named columns for every pattern."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from overton.statistics.choice.situations import Situations

__all__ = ["Column", "Conformity", "Design", "contrasts", "design"]

Array = NDArray[np.float64]
Conformity = Literal["shared", "by model"]


class Column(NamedTuple):
    """What a coefficient stands for: `preference`, `inertia`, `previous` or `within`.

    `model` is the model's index, or None where all models share the coefficient.
    """

    kind: str
    model: int | None


@dataclass(frozen=True)
class Design:
    """`features` [U, K, P]: what one unit of each of the P `columns` adds to the logit of each verdict in each pattern.

    A model's preferences for verdicts sum to zero over the verdicts it uses: they are `bases[model]` [K, columns] times
    that model's coefficients. `basis` [K, J] does the same for the effects of dilemmas, over all verdicts in use.
    """

    features: Array
    columns: tuple[Column, ...]
    bases: tuple[Array, ...]
    basis: Array

    def of(self, kind: str, model: int | None) -> list[int]:
        """The places of one model's coefficients of a kind."""
        return [place for place, column in enumerate(self.columns) if column == Column(kind, model)]

    def take(self, places: list[int]) -> Array:
        """The features of some columns only."""
        return self.features[:, :, places]


def contrasts(used: NDArray[np.bool_]) -> Array:
    """An orthonormal basis [K, used - 1] of the vectors that sum to zero over the used verdicts and are zero elsewhere.

    Orthonormal, so that a penalty or a variance means the same for every verdict (Helmert's contrasts, scaled).
    """
    count = int(used.sum())
    basis = np.zeros((len(used), max(count - 1, 0)))
    for column in range(count - 1):
        scale = np.sqrt((column + 1) * (column + 2))
        basis[np.flatnonzero(used)[: column + 1], column] = 1 / scale
        basis[np.flatnonzero(used)[column + 1], column] = -(column + 1) / scale
    return basis


def design(situations: Situations, used: NDArray[np.bool_], conformity: Conformity) -> Design:
    """The design for `used` [M, K], the verdicts whose preference each of the M models has."""
    models = len(used)
    bases = tuple(contrasts(row) for row in used)
    parts: list[tuple[Column, Array]] = []
    for model, basis in enumerate(bases):
        of_model = (situations.model == model)[:, None]
        parts += [(Column("preference", model), of_model * basis[:, column]) for column in range(basis.shape[1])]
    verdicts = np.arange(used.shape[1])
    held = (situations.own[:, None] == verdicts).astype(float)
    parts += [(Column("inertia", m), held * (situations.model == m)[:, None]) for m in range(models)]
    for kind, heard in (("previous", situations.previous), ("within", situations.within)):
        shared = heard.astype(float)
        if conformity == "shared":
            parts.append((Column(kind, None), shared))
        else:
            parts += [(Column(kind, m), shared * (situations.model == m)[:, None]) for m in range(models)]
    return Design(
        features=np.stack([part for _, part in parts], axis=2),
        columns=tuple(column for column, _ in parts),
        bases=bases,
        basis=contrasts(np.asarray(used.any(axis=0))),
    )
