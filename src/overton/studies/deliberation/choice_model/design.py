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
"""The value of `Decisions.own_previous` if the agent has no verdict of its own to keep."""


@dataclass(frozen=True)
class Decisions:
    """N decisions between K verdicts, each with the variables of equation 2. Invalid verdicts are not decisions.

    `model`, `dilemma` and `discussion` [N] are indices from 0, and `choice` [N] is the verdict given, 0 to K - 1.
    `own_previous` [N] is the deciding agent's verdict in the round before. It is `NONE` in the first round, or if that
    verdict was invalid. `n_prev` [N, K] counts the other agents' verdicts in all earlier rounds of the discussion, and
    `n_within` [N, K] their verdicts so far in this round. `models` and `verdicts` are the names to which the indices
    refer.

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
        """The number of different dilemmas in the decisions."""
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
    """Counts of equal decisions, the data of the likelihood.

    Each of the U patterns consists of a model, the model's own previous verdict (`model`, `own` [U]), and the counts of
    verdicts received in earlier rounds and in this round (`previous`, `within` [U, K]). `allowed` [U, K] are the
    verdicts in the pattern's choice set. Each of the N rows is a pattern in one dilemma: `pattern`, `dilemma` [N].
    `counts` [N, K] says how often each verdict was chosen in each row.
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
        """The number of times that each pattern led to each verdict, [U, K]."""
        columns = range(self.counts.shape[1])
        sums = [np.bincount(self.pattern, self.counts[:, v], minlength=len(self.model)) for v in columns]
        return np.stack(sums, axis=1)

    def every(self, step: int) -> Situations:
        """The situations of every `step`-th dilemma."""
        chosen = self.dilemma % step == 0
        dilemma = self.dilemma[chosen] // step
        return replace(self, pattern=self.pattern[chosen], dilemma=dilemma, counts=self.counts[chosen])

    def allow(self, allowed: Flags) -> Situations:
        """The same situations with smaller choice sets.

        If a choice set has only one verdict left, its counts are set to zero, because there is no choice.
        """
        chosen = np.where(allowed.sum(1)[self.pattern] > 1, 1.0, 0.0)
        return replace(self, allowed=allowed, counts=self.counts * chosen[:, None])


def count_situations(decisions: Decisions) -> Situations:
    """Count equal decisions. Dilemmas are renumbered from 0 without gaps."""
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
    """Group equal rows: the group number of each row, and the index of one row of each group.

    Groups are sorted by value.
    """
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
    """The design of the likelihood.

    `features` [U, K, P] are the regressors in the logit of each verdict, by pattern and by the P `columns`.

    A model's preferences sum to zero over the verdicts that it uses: they are `bases[model]` [K, columns] times that
    model's coefficients. In the same way, `basis` [K, J] makes the effects of dilemmas sum to zero over all verdicts in
    use.
    """

    features: Floats
    columns: tuple[DesignColumn, ...]
    bases: tuple[Floats, ...]
    basis: Floats

    def of(self, kind: str, model: int | None) -> list[int]:
        """The indices of one model's coefficients of a kind."""
        return [place for place, column in enumerate(self.columns) if column == DesignColumn(kind, model)]

    def take(self, places: list[int]) -> Floats:
        """The features of some columns only."""
        return self.features[:, :, places]


def _contrasts(used: Flags) -> Floats:
    """An orthonormal basis [K, used - 1] of the vectors that sum to zero over the used verdicts and are zero elsewhere.

    These are scaled Helmert contrasts. Because they are orthonormal, a penalty or a variance means the same for every
    verdict.
    """
    count = int(used.sum())
    basis = np.zeros((len(used), max(count - 1, 0)))
    for column in range(count - 1):
        scale = np.sqrt((column + 1) * (column + 2))
        basis[np.flatnonzero(used)[: column + 1], column] = 1 / scale
        basis[np.flatnonzero(used)[column + 1], column] = -(column + 1) / scale
    return basis


def design(situations: Situations, used: Flags, conformity: Conformity) -> ChoiceDesign:
    """The design for `used` [M, K], the verdicts for which each of the M models has a preference."""
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
    """B dilemmas with similar numbers of rows. Each dilemma is padded to R rows with rows that have no decisions.

    `features` is [B, R, K, P], and `allowed` and `counts` are [B, R, K]. `trials` [B, R] are the sums of counts, and
    `basis` [K, J] is the basis of the dilemmas' effects. A dilemma's rows are sorted by model. Each
    of the M models (`models`) has R / M of them. If rows are not grouped by model, M is 1.
    """

    features: Floats
    allowed: Flags
    counts: Floats
    trials: Floats
    basis: Floats
    models: int

    @property
    def size(self) -> int:
        """The number of dilemmas."""
        return len(self.counts)

    def groups(self) -> list[tuple[Block, Ints]]:
        """Each group's rows as a block with only the columns that matter for the group, and the indices of these
        columns.

        A column matters if at least one of the group's rows with decisions has a value other than zero in it.
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
    """Arrange all rows that have decisions into blocks of about `size` rows. A dilemma with more rows is a block by
    itself.

    `features` [U, K, P] are by pattern. With `models`, rows are grouped by model.
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
    """Split `members`, which are sorted by number of rows, into runs of at most `most` rows, padding included."""
    start = 0
    while start < len(members):
        stop = start + 1
        while stop < len(members) and (stop + 1 - start) * rows[members[stop]] <= most:
            stop += 1
        yield members[start:stop]
        start = stop
