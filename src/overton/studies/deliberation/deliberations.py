"""Verdicts as arrays (deliberations by seat by round), made from a table. All measures are computed from these
arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from overton.errors import InputError, Problem
from overton.statistics.arrays import AnyInts, Flags, Floats
from overton.statistics.cluster_sums import ClusterSums
from overton.studies import table_frames
from overton.studies.arm_weights import weights_of
from overton.studies.deliberation.items import VERDICTS
from overton.studies.deliberation.record import DECISIONS
from overton.studies.grouping import Frame
from overton.studies.groups import number_groups
from overton.studies.units import Units

Masks = NDArray[np.uint64]

INVALID, ABSENT = -1, -2
"""Codes of verdicts.

INVALID is an unreadable verdict. ABSENT is a seat that does not exist or did not speak in a round.
"""


class Setting(NamedTuple):
    """Deliberations of one format and goal among the same models; `goal` is None if the table has no goals.

    `agents` are the models in the order of speaking; they are sorted if all speak at once, or if orders are pooled.
    """

    format: str
    goal: str | None
    agents: tuple[str, ...]

    @property
    def name(self) -> str:
        """The setting's name in the table of estimates."""
        return " / ".join(filter(None, (self.format, self.goal, " + ".join(self.agents))))

    @property
    def pooled(self) -> Setting:
        """The setting that pools all orders of speaking."""
        return self._replace(agents=tuple(sorted(self.agents)))


def place_of(setting: Setting) -> tuple[bool, bool, str, int, tuple[str, ...]]:
    """The sorting key of settings: synchronous first, then correctness, then fewer agents."""
    goal = setting.goal or ""
    return setting.format != "synchronous", goal != "correctness", goal, len(setting.agents), setting.agents


def in_order(goals: Iterable[str | None]) -> list[str | None]:
    """The different goals in order: correctness first, the others by name."""
    return sorted(set(goals), key=lambda goal: (goal != "correctness", goal or ""))


def pairs_of_formats(settings: Sequence[Setting]) -> Iterator[tuple[Setting, Setting, Setting]]:
    """Pairs of settings that differ only in format.

    Each result has three settings. The first stands for both compared settings, with the format 'both'. The two
    compared settings follow.
    """
    for setting in settings:
        other = setting._replace(format="round-robin")
        if setting.format == "synchronous" and other in settings:
            yield setting._replace(format="both"), setting, other


def pairs_of_goals(settings: Sequence[Setting]) -> Iterator[tuple[Setting, Setting, Setting]]:
    """Pairs of settings that differ only in goal: the first goal and each further goal.

    Each result has three settings. The first stands for both compared settings, and has no goal. The two compared
    settings follow.
    """
    found: dict[Setting, list[str | None]] = {}
    for setting in settings:
        found.setdefault(setting._replace(goal=None), []).append(setting.goal)
    for shared, goals in found.items():
        first, *others = in_order(goals)
        yield from ((shared, shared._replace(goal=first), shared._replace(goal=goal)) for goal in others)


@dataclass(frozen=True)
class Deliberations:
    """T deliberations, sorted by dilemma, with up to S agents, up to R rounds, and N messages in all.

    dilemmas, models, values   the names of the codes; `values` is None if no message has known values
    settings   format, goal and agents by seat. Agents are in the order of speaking in a round-robin deliberation,
               and sorted by name in a synchronous deliberation, which has no order
    dilemma, setting  [T] codes of each deliberation's dilemma and setting
    model      [T, S] the model in each seat, ABSENT if the seat does not exist
    message    [T, S, R] the number of the message, -1 if there is none
    verdict    [T, S, R] the message's verdict as an index of `VERDICTS`, INVALID or ABSENT
    masks      [N, W] each message's values as bits, 64 per word; None if no values are known
    known      [N] whether a message's values are known
    crowd      [dilemmas] the crowd's verdict, INVALID if unknown
    failed     the dilemmas of deliberations that are left out because a call failed permanently
    refused    [T] whether a deliberation has a reply that was flagged as a refusal
    dropped    the number of values outside the list that a judge named, None if not recorded
    weight     [T] the weight of each deliberation; None if all weights are equal
    """

    dilemmas: tuple[str, ...]
    models: tuple[str, ...]
    values: tuple[str, ...] | None
    settings: tuple[Setting, ...]
    dilemma: AnyInts
    setting: AnyInts
    model: AnyInts
    message: AnyInts
    verdict: AnyInts
    masks: Masks | None
    known: Flags
    crowd: AnyInts
    failed: tuple[str, ...]
    refused: Flags
    dropped: int | None
    weight: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.dilemma)

    @cached_property
    def dilemma_names(self) -> pl.Series:
        """The dilemmas' names as categories, by their codes."""
        return pl.Series(self.dilemmas, dtype=pl.Enum(self.dilemmas))

    @cached_property
    def seated(self) -> Flags:
        """Whether each seat exists [T, S]."""
        return self.model >= 0

    @cached_property
    def rounds(self) -> AnyInts:
        """The number of rounds of each deliberation [T]."""
        spoken: Flags = np.asarray((self.message >= 0).any(1))
        return np.asarray(spoken.shape[1] - np.argmax(spoken[:, ::-1], axis=1))

    @cached_property
    def agreement(self) -> AnyInts:
        """The first round in which all agents give the same valid verdict [T], 0 if there is none."""
        opening = self.verdict[:, :1]
        agreed = ((self.verdict == opening) | ~self.seated[:, :, None]).all(1) & (opening[:, 0] >= 0)
        return np.where(agreed.any(1), np.argmax(agreed, axis=1) + 1, 0)

    @cached_property
    def beyond(self) -> Flags:
        """Whether a deliberation had a second round because the first ended without consensus [T]."""
        return np.asarray((self.rounds > 1) & (self.agreement != 1))

    @cached_property
    def agreed_verdict(self) -> AnyInts:
        """The verdict of the first consensus [T], INVALID without consensus."""
        found = self.verdict[np.arange(len(self)), 0, np.maximum(self.agreement - 1, 0)]
        return np.where(self.agreement > 0, found, INVALID)

    @cached_property
    def majority(self) -> AnyInts:
        """The verdict that more than half of the last round's valid verdicts share [T], INVALID without such a
        majority."""
        counts = np.stack([(self.at_end == verdict).sum(1) for verdict in range(len(VERDICTS))], axis=1)
        return np.where(2 * counts.max(1) > counts.sum(1), counts.argmax(1), INVALID)

    @cached_property
    def first(self) -> AnyInts:
        """Each agent's first valid verdict [T, S], INVALID if it gave none."""
        return self._first(self.verdict)

    @cached_property
    def last(self) -> AnyInts:
        """Each agent's last valid verdict [T, S], INVALID if it gave none."""
        return self._first(self.verdict[:, :, ::-1])

    @staticmethod
    def _first(verdicts: AnyInts) -> AnyInts:
        found = verdicts[:, :, 0].copy()
        for place in range(1, verdicts.shape[2]):
            found = np.where(found >= 0, found, verdicts[:, :, place])
        return np.where(found >= 0, found, INVALID)

    @cached_property
    def moved(self) -> Flags:
        """Whether a message's verdict is valid and differs from the agent's first verdict [T, S, R]."""
        return np.asarray((self.verdict >= 0) & (self.verdict != self.first[..., None]))

    @cached_property
    def changed(self) -> Flags:
        """Whether any later verdict differs from the agent's first [T, S]."""
        return np.asarray(self.moved.any(2))

    @cached_property
    def varied(self) -> Flags:
        """Whether an agent gave two or more different verdicts [T, S]. An unreadable verdict differs from every
        readable verdict."""
        opening = self.verdict[:, :, :1]
        return np.asarray(((self.verdict != opening) & (self.verdict != ABSENT)).any(2))

    @cached_property
    def mute(self) -> tuple[str, ...]:
        """The models without any readable verdict."""
        heard = np.unique(self.model[self.first >= 0])
        return tuple(name for code, name in enumerate(self.models) if code not in heard)

    @cached_property
    def has_mutes(self) -> Flags:
        """Whether a deliberation has a model without any readable verdict [T]."""
        return np.asarray(np.isin(self.model, [self.models.index(name) for name in self.mute]).any(1))

    @cached_property
    def at_end(self) -> AnyInts:
        """Each agent's verdict in the last round [T, S]: INVALID if it was unreadable, ABSENT if there was none."""
        return self.verdict[np.arange(len(self)), :, self.rounds - 1]


_TALK = ("dilemma", "format", "goal", "deliberation")  # so that deliberations are sorted by dilemma
_TURN = (*_TALK, "agent", "round")
_MOST_AGENTS = 64
_WORD = 64
_LARGEST = 200_000_000


def talks_from(decisions: pl.DataFrame) -> Deliberations:
    """Convert decisions to arrays. Deliberations with a failed call are left out entirely and counted.

    Raises:
        InputError: columns are missing or have a value that is not allowed, or an agent speaks twice in a round.
    """
    kept, failed = kept_decisions(decisions)
    with ThreadPoolExecutor(2) as pool:
        valued = pool.submit(_masks, kept)
        columns = (*_TALK, "model", "agent")
        pairs = dict(zip(columns, pool.map(_coded, (kept[column] for column in columns)), strict=True))
        masks, known, values = valued.result()
    coded = {column: codes for column, (codes, _) in pairs.items()}
    names = {column: found for column, (_, found) in pairs.items()}
    talk, first = number_groups([coded[column] for column in _TALK])
    seats = _seats(kept, coded, talk)
    talks = len(first)
    shape = _shape(talks, seats, kept)
    places = (talk, seats.seat, kept["round"].to_numpy() - 1)
    message = np.full(shape, -1, np.int32)
    message[places] = np.arange(len(talk))
    if np.count_nonzero(message >= 0) < len(talk):
        raise _repeated_turn(kept)
    _two_agents_or_more(kept, talk, seats.model)
    verdict = np.full(shape, ABSENT, np.int8)
    verdict[places] = _codes(kept["verdict"], VERDICTS)
    settings, setting = _settings(names, {column: coded[column][first] for column in _TALK}, seats.model)
    return Deliberations(
        dilemmas=names["dilemma"],
        models=names["model"],
        values=values,
        settings=settings,
        dilemma=coded["dilemma"][first],
        setting=setting,
        model=seats.model,
        message=message,
        verdict=verdict,
        masks=masks,
        known=known,
        crowd=_crowd(kept, coded["dilemma"], names["dilemma"]),
        failed=failed,
        refused=_refused(decisions, kept["deliberation"][first]),
        dropped=_dropped(decisions),
        weight=weights_of(decisions, kept.select("deliberation")[first]),
    )


def kept_decisions(decisions: pl.DataFrame) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The messages to measure, in order, and the dilemmas of deliberations that are left out because a call failed."""
    return _without_failed(
        table_frames.check(DECISIONS, decisions).with_columns(pl.col("agent").fill_null(pl.col("model")))
    )


def _shape(talks: int, seats: _Seats, table: pl.DataFrame) -> tuple[int, int, int]:
    """The shape of the arrays: deliberations, agents, rounds.

    Raises InputError if the arrays would be too large and nearly empty.
    """
    agents, rounds = int(seats.seat.max()) + 1, int(table["round"].max())  # type: ignore[arg-type]
    if talks * agents * rounds > _LARGEST:
        reason = (
            f"{talks:,} deliberations with up to {agents} agents and {rounds} rounds are too many to measure together"
        )
        raise InputError([Problem("decisions", "", f"{reason}; split the table by the number of agents")])
    return talks, agents, rounds


def _repeated_turn(table: pl.DataFrame) -> InputError:
    """The error for a table in which an agent speaks twice in a round."""
    row = table.filter(table.select(_TURN).is_duplicated()).row(0, named=True)
    where = f"deliberation {row['deliberation']}, round {row['round']}"
    reason = (
        f"agent {row['agent']} speaks more than once; agents that share a model need a column 'agent', and each"
        " deliberation needs its own name"
    )
    return InputError([Problem("decisions", where, reason)])


def _without_failed(table: pl.DataFrame) -> tuple[pl.DataFrame, tuple[str, ...]]:
    if table["failure"].null_count() == table.height:
        return table, ()
    failed = table.filter(pl.col("failure").is_not_null()).select(_TALK).unique()
    kept = table.join(failed, on=_TALK, how="anti", nulls_equal=True)
    if kept.is_empty():
        raise InputError(
            [Problem("decisions", "failure", "every deliberation has a failed call, so there is nothing to measure")]
        )
    return kept, tuple(failed["dilemma"].cast(pl.String).sort())


def _codes(column: pl.Series, names: Sequence[str]) -> AnyInts:
    """Indices of texts in `names`, INVALID for null."""
    coded = column.cast(pl.Enum(list(names))).to_physical().cast(pl.Int64)
    return coded.fill_null(INVALID).to_numpy()


class _Seats(NamedTuple):
    """The seat of each row's agent [N], and the model in each seat of each deliberation [T, S]."""

    seat: AnyInts
    model: AnyInts


def _seats(table: pl.DataFrame, coded: dict[str, AnyInts], talk: AnyInts) -> _Seats:
    """Assign agents to seats: by model if all speak at once, otherwise in the order of speaking, if it is known."""
    agent, first = number_groups([talk, coded["agent"]])
    rounds, position = table["round"].to_numpy(), table["position"].fill_null(0).to_numpy()
    together = (table["format"] == "synchronous").to_numpy()
    when = np.where(together, coded["model"], rounds * (int(position.max()) + 1) + position)
    earliest = np.full(len(first), np.iinfo(np.int64).max)
    np.minimum.at(earliest, agent, when)
    order = np.lexsort((coded["agent"][first], earliest, talk[first]))
    of_talk = talk[first][order]
    begins = np.searchsorted(of_talk, np.arange(int(talk.max()) + 1))
    seat = np.empty(len(first), np.int64)
    seat[order] = np.arange(len(first)) - begins[of_talk]
    if seat.max() >= _MOST_AGENTS:
        raise InputError([Problem("decisions", "agent", f"a deliberation has more than {_MOST_AGENTS} agents")])
    models = np.full((int(talk.max()) + 1, int(seat.max()) + 1), ABSENT, np.int32)
    models[talk[first], seat] = coded["model"][first]
    _one_model_per_agent(table, coded["model"], models[talk, seat[agent]])
    return _Seats(seat[agent], models)


def _one_model_per_agent(table: pl.DataFrame, given: AnyInts, seated: AnyInts) -> None:
    wrong = np.flatnonzero(given != seated)
    if wrong.size:
        row = table.row(int(wrong[0]), named=True)
        reason = f"agent {row['agent']} has more than one model"
        raise InputError([Problem("decisions", f"deliberation {row['deliberation']}", reason)])


def _two_agents_or_more(table: pl.DataFrame, talk: AnyInts, models: AnyInts) -> None:
    alone = np.flatnonzero((models >= 0).sum(1) < 2)
    if alone.size:
        name = table["deliberation"][int(np.flatnonzero(talk == alone[0])[0])]
        raise InputError([Problem("decisions", f"deliberation {name}", "has only one agent; two or more are needed")])


def _settings(
    names: dict[str, tuple[str, ...]], talk: dict[str, AnyInts], models: AnyInts
) -> tuple[tuple[Setting, ...], AnyInts]:
    setting, first = number_groups([talk["format"], talk["goal"], *models.T])

    def named(column: str, code: int) -> str | None:
        return names[column][code] if code >= 0 else None

    made = tuple(
        Setting(
            format=names["format"][int(talk["format"][row])],
            goal=named("goal", int(talk["goal"][row])),
            agents=tuple(names["model"][code] for code in models[row] if code >= 0),
        )
        for row in first
    )
    return made, setting


def _masks(table: pl.DataFrame) -> tuple[NDArray[np.uint64] | None, NDArray[np.bool_], tuple[str, ...] | None]:
    """Each message's values as bits, whether they are known, and the values' names."""
    column = table["values"]
    known = column.is_not_null().to_numpy()
    if not known.any():
        return None, known, None
    lengths = column.list.len().fill_null(0).cast(pl.Int64).to_numpy()
    codes, values = _coded(column.filter(column.list.len() > 0).explode())
    filled = np.flatnonzero(lengths)
    begins = np.cumsum(lengths[filled]) - lengths[filled]
    masks = np.zeros((len(column), max(1, -(-len(values) // _WORD))), np.uint64)
    for word in range(masks.shape[1] if len(filled) else 0):
        bits = np.where(codes // _WORD == word, np.left_shift(np.uint64(1), (codes % _WORD).astype(np.uint64)), 0)
        masks[filled, word] = np.bitwise_or.reduceat(bits.astype(np.uint64), begins)
    return masks, known, values


def _coded(column: pl.Series) -> tuple[AnyInts, tuple[str, ...]]:
    """Convert texts to indices in the sorted distinct texts, INVALID for null.

    One pass suffices for millions of texts.
    """
    coded = column.cast(pl.Categorical)
    different = coded.unique().drop_nulls()
    names = different.cast(pl.String)
    place = np.full(int(different.to_physical().max() or 0) + 2, INVALID)  # type: ignore[arg-type]
    place[different.to_physical().to_numpy()] = names.rank("dense").cast(pl.Int64).to_numpy() - 1
    return place[coded.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()], tuple(names.sort().to_list())


def _refused(decisions: pl.DataFrame, talks: pl.Series) -> Flags:
    """Whether a deliberation [T] has a reply that was flagged as a refusal. In tables without the column, no reply was
    flagged."""
    if decisions.schema.get("refused") != pl.Boolean:
        return np.zeros(len(talks), bool)
    named = decisions.filter("refused")["deliberation"].cast(pl.String).unique()
    return talks.cast(pl.String).is_in(named.implode()).to_numpy()


def _dropped(decisions: pl.DataFrame) -> int | None:
    column = decisions["values_dropped"] if "values_dropped" in decisions.columns else None
    return None if column is None or column.null_count() == len(column) else int(column.sum())


def _crowd(table: pl.DataFrame, dilemma: AnyInts, names: Sequence[str]) -> AnyInts:
    """Each dilemma's crowd verdict."""
    said = _codes(table["crowd"], VERDICTS)
    crowd = np.full(len(names), INVALID)
    crowd[dilemma[said >= 0]] = said[said >= 0]
    wrong = np.flatnonzero((said >= 0) & (said != crowd[dilemma]))
    if wrong.size:
        reason = "the crowd's verdict differs between its rows"
        raise InputError([Problem("decisions", f"dilemma {names[dilemma[wrong[0]]]}", reason)])
    return crowd


def summed(
    cells: Sequence[NDArray[np.integer]], shape: tuple[int, ...], weights: NDArray[np.generic] | None = None
) -> Floats:
    """Count each combination of codes, or sum its weights, in an array of `shape`."""
    flat = cells[0].astype(np.int64)
    for cell, width in zip(cells[1:], shape[1:], strict=True):
        flat = flat * width + cell
    return np.bincount(flat, weights, minlength=int(np.prod(shape))).reshape(shape).astype(float, copy=False)


@dataclass(frozen=True)
class Part:
    """Deliberations that share a setting. `rows` are their indices in `talks`."""

    setting: Setting
    talks: Deliberations
    rows: AnyInts

    @cached_property
    def dilemma(self) -> AnyInts:
        """The dilemma of each deliberation."""
        return self.talks.dilemma[self.rows]

    @cached_property
    def models(self) -> list[str]:
        """The different models, sorted."""
        return sorted(set(self.setting.agents))

    @cached_property
    def seats(self) -> AnyInts:
        """The model in each seat [rows, seats]."""
        return self.talks.model[self.rows]

    @cached_property
    def heard(self) -> Flags:
        """Whether an agent gave a readable verdict [rows, seats]. Other agents have no verdict to change."""
        return np.asarray(self.talks.first[self.rows] >= 0)

    def seated(self, model: str) -> Flags:
        """Whether a seat belongs to this model [rows, seats]."""
        return np.asarray(self.seats == self.talks.models.index(model))

    def where(self, chosen: Flags) -> Part:
        """The part with the chosen deliberations only."""
        return Part(self.setting, self.talks, self.rows[chosen])

    @cached_property
    def beyond_round_1(self) -> Part:
        """The deliberations that had a second round because the first ended without consensus."""
        return self.where(self.talks.beyond[self.rows])

    @cached_property
    def unweighted(self) -> Part:
        """The same deliberations with equal weights."""
        return self if self.talks.weight is None else replace(self, talks=replace(self.talks, weight=None))

    def count_codes(self, codes: AnyInts, width: int, chosen: Flags) -> Floats:
        """Count the chosen agents [rows, seats] by dilemma and code, weighted by deliberation: [dilemmas, width]."""
        row, seat = np.nonzero(chosen)
        weight = None if self.talks.weight is None else self.talks.weight[self.rows[row]]
        return summed([self.dilemma[row], codes[row, seat]], (len(self.talks.dilemmas), width), weight)

    def share_codes(self, codes: AnyInts, width: int, chosen: Flags) -> ClusterSums:
        """The counts of `count_codes` as proportions of the chosen agents."""
        counts = self.count_codes(codes, width, chosen)
        weighted = self.talks.weight is not None
        return ClusterSums(
            counts, counts.sum(1), self.unweighted.count_codes(codes, width, chosen).sum(1) if weighted else None
        )

    def count_agents(self, flags: Flags) -> Floats:
        """For each dilemma, the number of agents [rows, seats] with a flag."""
        return self.count_codes(np.zeros(flags.shape, int), 1, flags)[:, 0]


def split(talks: Deliberations, *, pooled: bool = False) -> list[Part]:
    """Split deliberations by setting. If `pooled`, settings that differ only in the order of speaking form one part."""
    names = [setting.pooled if pooled else setting for setting in talks.settings]
    made = sorted(set(names), key=place_of)
    code = np.array([made.index(name) for name in names])[talks.setting]
    return [Part(setting, talks, np.flatnonzero(code == number)) for number, setting in enumerate(made)]


@dataclass(frozen=True)
class DeliberationUnits(Units):
    """The units 'deliberations', and the arrays behind these units. Other numbers use the arrays, too."""

    talks: Deliberations | None = None


def talks_of(frame: Frame) -> Deliberations:
    """The arrays from which a frame's units are made."""
    units = frame.units["deliberations"]
    assert isinstance(units, DeliberationUnits)
    assert units.talks is not None
    return units.talks
