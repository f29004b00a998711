"""Decisions in discussions as arrays, and the design of the likelihood."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from overton.errors import InputError, Problem
from overton.statistics.arrays import Flags, Floats, Ints
from overton.studies.deliberation.options import Conformity

NONE = -1
"""The value of `Decisions.own_previous` if there is no own verdict to keep."""


@dataclass(frozen=True)
class Decisions:
    """N decisions between K verdicts, each with what equation 2 says it depends on. Invalid verdicts are not decisions.

    `model`, `dilemma` and `discussion` [N] are indices from 0; `choice` [N] is the verdict given, 0 to K - 1;
    `own_previous` [N] the deciding agent's verdict in the round before, or `NONE` (first round, or it was invalid).
    `n_prev` [N, K] counts the other agents' verdicts in all earlier rounds of the discussion, `n_within` [N, K]
    those already given in this round; the agent's own are in neither. `models` and `verdicts` name the indices.

    Raises `InputError` if the arrays do not fit together.
    """

    model: Ints
    dilemma: Ints
    discussion: Ints
    own_previous: Ints
    n_prev: Ints
    n_within: Ints
    choice: Ints
    models: tuple[str, ...]
    verdicts: tuple[str, ...]

    def __post_init__(self) -> None:
        if problems := _misshapen(self) or _out_of_range(self):
            raise InputError(problems)

    @property
    def dilemmas(self) -> int:
        """How many different dilemmas were decided on."""
        return len(np.unique(self.dilemma))

    def __len__(self) -> int:
        return len(self.choice)


def _misshapen(made: Decisions) -> list[Problem]:
    rows, verdicts = len(made.choice), len(made.verdicts)
    expected = dict.fromkeys(("model", "dilemma", "discussion", "own_previous", "choice"), (rows,)) | dict.fromkeys(
        ("n_prev", "n_within"), (rows, verdicts)
    )
    return [
        Problem("decisions", name, f"has shape {getattr(made, name).shape}, expected {shape}")
        for name, shape in expected.items()
        if getattr(made, name).shape != shape
    ]


def _out_of_range(made: Decisions) -> list[Problem]:
    verdicts = len(made.verdicts)
    limits = {
        "model": (0, len(made.models)),
        "dilemma": (0, None),
        "discussion": (0, None),
        "own_previous": (NONE, verdicts),
        "choice": (0, verdicts),
        "n_prev": (0, None),
        "n_within": (0, None),
    }
    return [
        Problem("decisions", name, f"contains a value outside {low} to {'...' if high is None else high - 1}")
        for name, (low, high) in limits.items()
        if (column := getattr(made, name)).size and (column.min() < low or (high is not None and column.max() >= high))
    ]


@dataclass(frozen=True)
class Situations:
    """What the likelihood needs from the decisions, without repetition.

    A pattern (of U) is a model, its own previous verdict and what it heard: `model`, `own` [U], `previous`, `within`
    [U, K], and `allowed` [U, K], the verdicts in its choice set. A row (of N) is a pattern met in a dilemma:
    `pattern`, `dilemma` [N], and `counts` [N, K], how often each verdict was chosen there.
    """

    model: Ints
    own: Ints
    previous: Ints
    within: Ints
    allowed: Flags
    pattern: Ints
    dilemma: Ints
    counts: Floats

    @property
    def dilemmas(self) -> int:
        """One more than the largest index of a dilemma."""
        return int(self.dilemma.max(initial=-1)) + 1

    @property
    def totals(self) -> Floats:
        """How often each pattern led to each verdict, [U, K]."""
        columns = range(self.counts.shape[1])
        sums = [np.bincount(self.pattern, self.counts[:, v], minlength=len(self.model)) for v in columns]
        return np.stack(sums, axis=1)

    def every(self, step: int) -> Situations:
        """Those of every `step`-th dilemma."""
        chosen = self.dilemma % step == 0
        dilemma = self.dilemma[chosen] // step
        return replace(self, pattern=self.pattern[chosen], dilemma=dilemma, counts=self.counts[chosen])

    def allow(self, allowed: Flags) -> Situations:
        """With smaller choice sets; if only one verdict is left nothing was chosen, and the counts say so."""
        chosen = np.where(allowed.sum(1)[self.pattern] > 1, 1.0, 0.0)
        return replace(self, allowed=allowed, counts=self.counts * chosen[:, None])


def count_situations(decisions: Decisions) -> Situations:
    """The decisions, counted; dilemmas are renumbered from 0 without gaps."""
    covariates = np.column_stack([decisions.model, decisions.own_previous, decisions.n_prev, decisions.n_within])
    pattern_of, first = _distinct(covariates)
    _, dilemma_of = np.unique(decisions.dilemma, return_inverse=True)
    row_of, row = _distinct(np.column_stack([dilemma_of, pattern_of]))
    verdicts = len(decisions.verdicts)
    cells = np.bincount(row_of * verdicts + decisions.choice, minlength=len(row) * verdicts)
    return Situations(
        model=decisions.model[first],
        own=decisions.own_previous[first],
        previous=decisions.n_prev[first],
        within=decisions.n_within[first],
        allowed=np.ones((len(first), verdicts), bool),
        pattern=pattern_of[row],
        dilemma=dilemma_of[row].astype(np.int64),
        counts=cells.reshape(len(row), verdicts).astype(float),
    )


def _distinct(table: Ints) -> tuple[Ints, Ints]:
    """The number of each row's class of equal rows, and one row of each class; classes in the order of their values."""
    codes = np.zeros(len(table), np.int64)
    size = 1
    for column in table.T:
        low, high = int(column.min(initial=0)), int(column.max(initial=0))
        width = high - low + 1
        if size > np.iinfo(np.int64).max // max(width, 1):
            codes = np.asarray(np.unique(codes, return_inverse=True)[1], np.int64)
            size = int(codes.max(initial=0)) + 1
        codes = codes * width + (column - low)
        size *= width
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    return np.asarray(inverse, np.int64), np.asarray(first, np.int64)


class DesignColumn(NamedTuple):
    """The meaning of a coefficient: `preference`, `inertia`, `previous` or `within`.

    `model` is the model's index, or None if all models share the coefficient.
    """

    kind: str
    model: int | None


@dataclass(frozen=True)
class ChoiceDesign:
    """`features` [U, K, P]: what one unit of each of the P `columns` adds to the logit of each verdict in each pattern.

    A model's preferences for verdicts sum to zero over the verdicts it uses: they are `bases[model]` [K, columns] times
    that model's coefficients. `basis` [K, J] does the same for the effects of dilemmas, over all verdicts in use.
    """

    features: Floats
    columns: tuple[DesignColumn, ...]
    bases: tuple[Floats, ...]
    basis: Floats

    def of(self, kind: str, model: int | None) -> list[int]:
        """The places of one model's coefficients of a kind."""
        return [place for place, column in enumerate(self.columns) if column == DesignColumn(kind, model)]

    def take(self, places: list[int]) -> Floats:
        """The features of some columns only."""
        return self.features[:, :, places]


def _contrasts(used: Flags) -> Floats:
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


def design(situations: Situations, used: Flags, conformity: Conformity) -> ChoiceDesign:
    """The design for `used` [M, K], the verdicts whose preference each of the M models has."""
    models = len(used)
    bases = tuple(_contrasts(row) for row in used)
    parts: list[tuple[DesignColumn, Floats]] = []
    for model, basis in enumerate(bases):
        of_model = (situations.model == model)[:, None]
        parts += [(DesignColumn("preference", model), of_model * basis[:, column]) for column in range(basis.shape[1])]
    verdicts = np.arange(used.shape[1])
    kept = (situations.own[:, None] == verdicts).astype(float)
    parts += [(DesignColumn("inertia", m), kept * (situations.model == m)[:, None]) for m in range(models)]
    for kind, heard in (("previous", situations.previous), ("within", situations.within)):
        shared = heard.astype(float)
        if conformity == "shared":
            parts.append((DesignColumn(kind, None), shared))
        else:
            parts += [(DesignColumn(kind, m), shared * (situations.model == m)[:, None]) for m in range(models)]
    return ChoiceDesign(
        features=np.stack([part for _, part in parts], axis=2),
        columns=tuple(column for column, _ in parts),
        bases=bases,
        basis=_contrasts(np.asarray(used.any(axis=0))),
    )


@dataclass(frozen=True)
class Block:
    """Some dilemmas (B) with about as many rows, padded to R each with rows without decisions.

    `features` [B, R, K, P], `allowed` [B, R, K], `counts` [B, R, K], `trials` [B, R] their sums, `basis` [K, J] of the
    dilemmas' effects. The rows fall into `models` groups of R / `models`, one after the other.
    """

    features: Floats
    allowed: Flags
    counts: Floats
    trials: Floats
    basis: Floats
    models: int

    @property
    def size(self) -> int:
        """How many dilemmas there are."""
        return len(self.counts)

    def groups(self) -> list[tuple[Block, Ints]]:
        """Each group's rows by themselves, with only those columns of the design that matter in them, and their places.

        A column matters if it is not zero in all of them.
        """
        rows = len(self.counts[0]) // self.models
        return [self._group(slice(group * rows, (group + 1) * rows)) for group in range(self.models)]

    def _group(self, mine: slice) -> tuple[Block, Ints]:
        features, trials = self.features[:, mine], self.trials[:, mine]
        columns = np.flatnonzero(features[trials > 0].any(axis=(0, 1)))
        alone = replace(
            self,
            features=features[..., columns],
            allowed=self.allowed[:, mine],
            counts=self.counts[:, mine],
            trials=trials,
            models=1,
        )
        return alone, columns


def blocks(situations: Situations, features: Floats, basis: Floats, size: int, *, models: int = 1) -> list[Block]:
    """Lay out all rows with a decision in blocks of about `size` rows (or one dilemma, if it has more).

    `features` [U, K, P] by pattern. With `models`, rows are grouped by model.
    """
    group = situations.model[situations.pattern] if models > 1 else np.zeros_like(situations.pattern)
    used = np.flatnonzero(situations.counts.sum(1) > 0)
    cell = situations.dilemma[used] * models + group[used]
    order = used[np.argsort(cell, kind="stable")]
    sizes = np.bincount(cell, minlength=situations.dilemmas * models)
    starts = (np.cumsum(sizes) - sizes).reshape(-1, models)
    sizes = sizes.reshape(-1, models)
    largest = sizes.max(1)
    by_size = np.argsort(largest, kind="stable")
    made = []
    for members in _runs(by_size[largest[by_size] > 0], largest * models, size):
        place = np.arange(int(largest[members].max()))
        real = (place < sizes[members][..., None]).reshape(len(members), -1)
        rows = np.where(real, (starts[members][..., None] + place).reshape(real.shape), 0)
        pattern = situations.pattern[order[rows]]
        counts = situations.counts[order[rows]] * real[:, :, None]
        allowed = situations.allowed[pattern]
        made.append(Block(features[pattern], allowed, counts, counts.sum(2), basis, models))
    return made


def _runs(members: Ints, rows: Ints, most: int) -> Iterator[Ints]:
    """Consecutive members, sorted by their number of rows, in runs of at most `most` rows once padded."""
    start = 0
    while start < len(members):
        stop = start + 1
        while stop < len(members) and (stop + 1 - start) * rows[members[stop]] <= most:
            stop += 1
        yield members[start:stop]
        start = stop
