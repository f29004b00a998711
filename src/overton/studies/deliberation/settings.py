"""How settings of deliberations are named for readers, and found among an analysis' rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from overton.studies.frame import Analysis, EstimateRow

if TYPE_CHECKING:
    from overton.studies.deliberation.deliberations import Setting


@dataclass(frozen=True)
class SettingNames:
    """The settings of an analysis, and those with their orders of speaking pooled, in the order of reports.

    `goals` says whether there are several goals, so that settings have to name theirs. `short` are models without their
    providers, if that leaves different models with different names: for settings, which name several in a row.
    """

    settings: Sequence[Setting]
    pooled: Sequence[Setting]
    goals: bool
    short: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, analysis: Analysis) -> SettingNames:
        """The names for an analysis."""
        from overton.studies.deliberation.deliberations import Setting

        settings: dict[str, list[Setting]] = {"setting": [], "pooled": []}
        for row in analysis.counts["settings"]:
            goal = row["goal"]
            agents = tuple(str(row["agents"]).split(" + "))
            made = Setting(str(row["format"]), None if goal is None else str(goal), agents)
            settings[str(row["facet"])].append(made)
        goals = {setting.goal for setting in settings["setting"]}
        return cls(settings["setting"], settings["pooled"], len(goals) > 1, _without_providers(analysis.models))

    def agents(self, setting: Setting, *, pooled: bool = False) -> str:
        """The models; with arrows if they speak in this order."""
        in_turn = setting.format == "round-robin" and not pooled
        return (" → " if in_turn else " + ").join(self.short.get(name, name) for name in setting.agents)

    def condition(self, setting: Setting) -> str:
        """Format and goal."""
        goal = f", {setting.goal}" if self.goals and setting.goal else ""
        return f"{'both formats' if setting.format == 'both' else setting.format}{goal}"

    def whole(self, setting: Setting, *, pooled: bool = False) -> str:
        """Models, format and goal."""
        return f"{self.agents(setting, pooled=pooled)} ({self.condition(setting)})"

    def goal(self, setting: Setting) -> str:
        """The goal, if there are several."""
        return (setting.goal or "") if self.goals else ""

    @property
    def formats(self) -> list[str]:
        """The different formats, in the order of the settings."""
        return list(dict.fromkeys(setting.format for setting in self.settings))


def _without_providers(models: Sequence[str]) -> dict[str, str]:
    short = {name: name.partition("#")[2] or name.partition("/")[2] or name for name in models}
    return short if len(set(short.values())) == len(short) else {}


def pairs_of_models(analysis: Analysis, measure: str, facet: str, setting: Setting) -> Iterator[EstimateRow]:
    """The differences of a measure between the models of a setting."""
    rows = analysis.rows_of(measure, facet, condition=setting.name)
    yield from (row for row in rows if row.against is not None)
