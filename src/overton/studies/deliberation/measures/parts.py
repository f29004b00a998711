"""Deliberations by setting, and with the orders of speaking pooled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from overton.statistics.arrays import AnyInts, Flags, Floats
from overton.statistics.cluster_sums import ClusterSums
from overton.studies.deliberation.measures.results import Setting
from overton.studies.deliberation.measures.talks import Deliberations


def summed(
    cells: Sequence[NDArray[np.integer]], shape: tuple[int, ...], weights: NDArray[np.generic] | None = None
) -> NDArray[np.float64]:
    """How often each combination of codes occurs, or the sum of its weights, as an array of `shape`."""
    flat = cells[0].astype(np.int64)
    for cell, width in zip(cells[1:], shape[1:], strict=True):
        flat = flat * width + cell
    return np.bincount(flat, weights, minlength=int(np.prod(shape))).reshape(shape).astype(float, copy=False)


class Speaker(NamedTuple):
    """Who is measured together in a setting: seats that share a model and, if they take turns, the position."""

    model: str
    position: int | None
    seats: tuple[int, ...]


@dataclass(frozen=True)
class SettingRows:
    """The deliberations `rows` of `talks`, which share a setting."""

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
    def speakers(self) -> list[Speaker]:
        """The speakers in their order. If orders are pooled there are none: see `seated`."""
        agents = self.setting.agents
        if self.setting.format == "round-robin":
            return [Speaker(model, seat + 1, (seat,)) for seat, model in enumerate(agents)]
        return [
            Speaker(model, None, tuple(seat for seat, name in enumerate(agents) if name == model))
            for model in self.models
        ]

    @cached_property
    def seats(self) -> AnyInts:
        """The model in each seat [rows, seats]."""
        return self.talks.model[self.rows]

    @cached_property
    def changed(self) -> Flags:
        """Which agents change their verdict [rows, seats]."""
        return self.talks.changed[self.rows]

    @cached_property
    def agreement(self) -> AnyInts:
        """The round of consensus, 0 for none."""
        return self.talks.agreement[self.rows]

    @cached_property
    def heard(self) -> Flags:
        """Which agents gave a readable verdict [rows, seats]: others have none to change."""
        return np.asarray(self.talks.first[self.rows] >= 0)

    @cached_property
    def without_mutes(self) -> SettingRows:
        """The deliberations without models that never gave a readable verdict: with these, nobody can agree."""
        mutes = [self.talks.models.index(name) for name in self.talks.mute]
        return self.where(np.asarray(~np.isin(self.seats, mutes).any(axis=1))) if mutes else self

    def seated(self, model: str) -> Flags:
        """Where a model sits [rows, seats]."""
        return np.asarray(self.seats == self.talks.models.index(model))

    def where(self, chosen: Flags) -> SettingRows:
        """Some of the deliberations."""
        return SettingRows(self.setting, self.talks, self.rows[chosen])

    @cached_property
    def beyond_round_1(self) -> SettingRows:
        """The deliberations that had a second round because the first brought no consensus."""
        return self.where((self.talks.rounds[self.rows] > 1) & (self.agreement != 1))

    @cached_property
    def weight(self) -> Floats | None:
        """What each deliberation counts; None if all count alike."""
        return None if self.talks.weight is None else self.talks.weight[self.rows]

    @cached_property
    def unweighted(self) -> SettingRows:
        """The same with all deliberations counting alike."""
        return self if self.weight is None else SettingRows(self.setting, replace(self.talks, weight=None), self.rows)

    def count(self, flags: Flags | None = None) -> Floats:
        """For each dilemma, how many deliberations there are, or how many have a flag; each by its weight."""
        weights = flags if self.weight is None else self.weight if flags is None else flags * self.weight
        return summed([self.dilemma], (len(self.talks.dilemmas),), weights)

    def count_agents(self, flags: Flags) -> Floats:
        """For each dilemma, how many agents [rows, seats] have a flag; each by its deliberation's weight."""
        many = flags.sum(1)
        return summed([self.dilemma], (len(self.talks.dilemmas),), many if self.weight is None else many * self.weight)

    def share(self, flags: Flags | Sequence[Flags], of: Flags | None = None) -> ClusterSums:
        """How many deliberations have a flag (or each of several), out of how many there are, or have the flag `of`."""
        above = (
            self.count(flags) if isinstance(flags, np.ndarray) else np.stack([self.count(flag) for flag in flags], 1)
        )
        return ClusterSums(above, self.count(of), None if self.weight is None else self.unweighted.count(of))

    def share_of_agents(self, flags: Flags, of: Flags) -> ClusterSums:
        """How many agents [rows, seats] have a flag, out of how many have the flag `of`."""
        many = None if self.weight is None else self.unweighted.count_agents(of)
        return ClusterSums(self.count_agents(flags), self.count_agents(of), many)

    def changes(self, model: str) -> ClusterSums:
        """How many of a model's agents change their verdict, out of how many that gave one."""
        seated = self.seated(model) & self.heard
        return self.share_of_agents(seated & self.changed, seated)

    @cached_property
    def reached(self) -> ClusterSums:
        """How many deliberations reach consensus, out of how many that could."""
        part = self.without_mutes
        return part.share(part.agreement > 0)


class SettingParts:
    """All deliberations, split into parts."""

    def __init__(self, talks: Deliberations) -> None:
        self.talks = talks

    @cached_property
    def by_setting(self) -> list[SettingRows]:
        """The deliberations of each setting."""
        return self._split(list(self.talks.settings))

    @cached_property
    def pooled(self) -> list[SettingRows]:
        """The same with all orders of speaking pooled; settings with their agents sorted."""
        return self._split(
            [Setting(setting.format, setting.goal, tuple(sorted(setting.agents))) for setting in self.talks.settings]
        )

    @cached_property
    def everything(self) -> SettingRows:
        """All deliberations; its setting has every model once."""
        return SettingRows(Setting("all", None, self.talks.models), self.talks, np.arange(len(self.talks)))

    def _split(self, names: list[Setting]) -> list[SettingRows]:
        made = sorted(set(names), key=_place)
        code = np.array([made.index(name) for name in names])[self.talks.setting]
        return [SettingRows(setting, self.talks, np.flatnonzero(code == number)) for number, setting in enumerate(made)]


def _place(setting: Setting) -> tuple[bool, bool, str, int, tuple[str, ...]]:
    """Synchronous first, then correctness, then fewer agents."""
    goal = setting.goal or ""
    return setting.format != "synchronous", goal != "correctness", goal, len(setting.agents), setting.agents


def in_order(goals: Iterable[str | None]) -> list[str | None]:
    """Different goals, correctness first, then by name."""
    return sorted(set(goals), key=lambda goal: (goal != "correctness", goal or ""))
