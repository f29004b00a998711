"""Decisions in discussions as arrays, and the design of the likelihood.

They come from a table of verdicts, with one row for each agent in each round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from overton.errors import InputError, Problem
from overton.statistics.arrays import Flags, Floats

Counts = NDArray[np.int64]

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

    model: Counts
    dilemma: Counts
    discussion: Counts
    own_previous: Counts
    n_prev: Counts
    n_within: Counts
    choice: Counts
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


Indices = NDArray[np.int64]

_SYNCHRONOUS = "synchronous"
"""The format in which nobody hears a verdict of the same round before giving their own, whatever `position` says."""


def decisions_from_columns(
    *,
    discussion: Sequence[Any],
    dilemma: Sequence[Any],
    format: Sequence[str],
    round: Sequence[int],
    position: Sequence[float | None],
    model: Sequence[str],
    verdict: Sequence[str | None],
    agent: Sequence[Any] | None = None,
    verdicts: Sequence[str] | None = None,
) -> Decisions:
    """The decisions in a table given as columns of equal length, in any order of rows.

    `position` orders the speakers of a round, and is None or NaN if all speak at once; `verdict` is None if it could
    not be read: that is no decision, nobody is counted as having heard it, and its agent has no own verdict to keep in
    the next round. `agent` distinguishes agents that share a model, by default it is the model. `verdicts` names the
    alternatives, by default those that occur, sorted.

    Raises `InputError` for columns of different lengths, a verdict that `verdicts` does not name, an agent that
    speaks twice in a round, and a speaker without position if not all speak at once.
    """
    speaker = model if agent is None else agent
    given: dict[str, Sequence[Any]] = {
        "discussion": discussion,
        "dilemma": dilemma,
        "format": format,
        "round": round,
        "position": position,
        "model": model,
        "verdict": verdict,
        "agent": speaker,
    }
    _same_length(given)
    names = tuple(verdicts) if verdicts is not None else tuple(sorted({v for v in verdict if v is not None}))
    spoken = _verdict_codes(verdict, names)
    dilemmas, models, formats = _codes(dilemma)[0], _codes(model), np.asarray(format, object)
    talks = _pair(_codes(discussion)[0], dilemmas)
    rounds, seats = _rounds(round), _seats(position, formats == _SYNCHRONOUS)
    agents = _pair(talks, _codes(speaker)[0])
    _one_verdict_a_round(agents, rounds, discussion, speaker)
    counts = _one_hot(spoken, len(names))
    before = _counted_before(talks, rounds, counts)
    own = _counted_before(agents, rounds, counts)
    within = np.where(np.isnan(seats)[:, None], 0, _counted_before(_pair(talks, rounds), seats, counts))
    made = spoken != NONE
    return Decisions(
        model=models[0][made],
        dilemma=dilemmas[made],
        discussion=talks[made],
        own_previous=_own_previous(agents, rounds, spoken)[made],
        n_prev=(before - own)[made],
        n_within=within[made],
        choice=spoken[made],
        models=models[1],
        verdicts=names,
    )


def _same_length(columns: dict[str, Sequence[Any]]) -> None:
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InputError([Problem("decisions", name, f"has {length} rows") for name, length in lengths.items()])


def _codes(column: Sequence[Any]) -> tuple[Indices, tuple[str, ...]]:
    """Whole numbers from 0 in the order of the values' text, so that row order does not matter; and that text."""
    texts = [str(value) for value in column]
    names = sorted(set(texts))
    code = {name: number for number, name in enumerate(names)}
    return np.fromiter((code[text] for text in texts), np.int64, len(texts)), tuple(names)


def _pair(first: Indices, second: NDArray[Any]) -> Indices:
    """One code for each pair that occurs."""
    _, compact = np.unique(second, return_inverse=True)
    width = int(compact.max(initial=0)) + 1
    return np.asarray(np.unique(first * width + compact, return_inverse=True)[1], np.int64)


def _verdict_codes(column: Sequence[str | None], names: tuple[str, ...]) -> Indices:
    code: dict[str | None, int] = {None: NONE, **{name: number for number, name in enumerate(names)}}
    unknown = sorted({str(value) for value in column if value not in code})
    if unknown:
        known = ", ".join(names)
        raise InputError([Problem("decisions", "verdict", f"{value!r} is none of {known}") for value in unknown])
    return np.fromiter((code[value] for value in column), np.int64, len(column))


def _rounds(column: Sequence[int]) -> Indices:
    try:
        return np.asarray(column, np.float64).astype(np.int64)
    except (TypeError, ValueError) as error:
        raise InputError([Problem("decisions", "round", f"must be a whole number in every row: {error}")]) from error


def _seats(column: Sequence[float | None], together: NDArray[np.bool_]) -> NDArray[np.float64]:
    seats = np.array([np.nan if value is None else value for value in column], np.float64)
    if missing := int((np.isnan(seats) & ~together).sum()):
        reason = f"is empty in {missing} rows whose format is not {_SYNCHRONOUS!r}: who spoke first is not known"
        raise InputError([Problem("decisions", "position", reason)])
    return np.where(together, np.nan, seats)


def _one_verdict_a_round(agents: Indices, rounds: Indices, talk: Sequence[Any], speaker: Sequence[Any]) -> None:
    turns = _pair(agents, rounds)
    repeated = np.flatnonzero(np.bincount(turns, minlength=1) > 1)
    if repeated.size:
        row = int(np.flatnonzero(turns == repeated[0])[0])
        where = f"discussion {talk[row]}, round {rounds[row]}"
        reason = f"{speaker[row]} speaks more than once; agents that share a model need an 'agent' column"
        raise InputError([Problem("decisions", where, reason)])


def _one_hot(codes: Indices, width: int) -> Indices:
    counts = np.zeros((len(codes), width), np.int64)
    said = np.flatnonzero(codes != NONE)
    counts[said, codes[said]] = 1
    return counts


def _counted_before(group: Indices, time: NDArray[Any], counts: Indices) -> Indices:
    """For each row, the counts of its group's rows at strictly earlier times."""
    order = np.lexsort((time, group))
    sums = np.concatenate([np.zeros((1, counts.shape[1]), np.int64), np.cumsum(counts[order], axis=0)])
    place = np.arange(len(order))
    new_group = np.r_[True, group[order][1:] != group[order][:-1]][: len(order)]
    new_time = new_group | np.r_[True, time[order][1:] != time[order][:-1]][: len(order)]
    start = np.maximum.accumulate(np.where(new_group, place, 0))
    now = np.maximum.accumulate(np.where(new_time, place, 0))
    earlier = np.empty_like(counts)
    earlier[order] = sums[now] - sums[start]
    return earlier


def _own_previous(agents: Indices, rounds: Indices, spoken: Indices) -> Indices:
    order = np.lexsort((rounds, agents))
    who, when, said = agents[order], rounds[order], spoken[order]
    follows = (who[1:] == who[:-1]) & (when[1:] == when[:-1] + 1)
    previous = np.full(len(order), NONE)
    previous[order[1:]] = np.where(follows, said[:-1], NONE)
    return previous


@dataclass(frozen=True)
class Situations:
    """What the likelihood needs from the decisions, without repetition.

    A pattern (of U) is a model, its own previous verdict and what it heard: `model`, `own` [U], `previous`, `within`
    [U, K], and `allowed` [U, K], the verdicts in its choice set. A row (of N) is a pattern met in a dilemma:
    `pattern`, `dilemma` [N], and `counts` [N, K], how often each verdict was chosen there.
    """

    model: Indices
    own: Indices
    previous: Indices
    within: Indices
    allowed: Flags
    pattern: Indices
    dilemma: Indices
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


def _distinct(table: Indices) -> tuple[Indices, Indices]:
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


Conformity = Literal["shared", "by model"]


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


def _contrasts(used: NDArray[np.bool_]) -> Floats:
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


def design(situations: Situations, used: NDArray[np.bool_], conformity: Conformity) -> ChoiceDesign:
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
    allowed: NDArray[np.bool_]
    counts: Floats
    trials: Floats
    basis: Floats
    models: int

    @property
    def size(self) -> int:
        """How many dilemmas there are."""
        return len(self.counts)

    def groups(self) -> list[tuple[Block, Indices]]:
        """Each group's rows by themselves, with only those columns of the design that matter in them, and their places.

        A column matters if it is not zero in all of them.
        """
        rows = len(self.counts[0]) // self.models
        return [self._group(slice(group * rows, (group + 1) * rows)) for group in range(self.models)]

    def _group(self, mine: slice) -> tuple[Block, Indices]:
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


def _runs(members: Indices, rows: Indices, most: int) -> Iterator[Indices]:
    """Consecutive members, sorted by their number of rows, in runs of at most `most` rows once padded."""
    start = 0
    while start < len(members):
        stop = start + 1
        while stop < len(members) and (stop + 1 - start) * rows[members[stop]] <= most:
            stop += 1
        yield members[start:stop]
        start = stop
