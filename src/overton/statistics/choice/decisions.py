"""Decisions in discussions as arrays: who decided, what they had said themselves, and what they had heard.

They come from a table of verdicts, with one row for each agent in each round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overton.errors import InputError, Problem

__all__ = ["NONE", "Decisions", "decisions_from_columns"]

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
