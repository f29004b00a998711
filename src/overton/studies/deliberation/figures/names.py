"""How settings, parameters and tests are named for readers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan

from overton.statistics import Estimate
from overton.studies.charts import Axis
from overton.studies.deliberation.measures.analysis import Analysis
from overton.studies.deliberation.measures.results import Contrast, Setting, Significance
from overton.studies.numbers import Kind
from overton.studies.sections import Callout, Cell, Column, Table

_BOTH = "both"

SHARE = Axis("Share of deliberations (%)", 0, 1, "share")


@dataclass(frozen=True)
class SettingNames:
    """`goals` says whether there are several goals, so that settings have to name theirs.

    `short` are models without their providers, if that leaves different models with different names: for settings,
    which name several in a row.
    """

    goals: bool
    short: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, analysis: Analysis) -> SettingNames:
        """The names for an analysis."""
        return cls(
            len({setting.goal for setting, _ in analysis.consensus.settings}) > 1, _without_providers(analysis.models)
        )

    def agents(self, setting: Setting, *, pooled: bool = False) -> str:
        """The models; with arrows if they speak in this order."""
        in_turn = setting.format == "round-robin" and not pooled
        return (" → " if in_turn else " + ").join(self.short.get(name, name) for name in setting.agents)

    def condition(self, setting: Setting) -> str:
        """Format and goal."""
        goal = f", {setting.goal}" if self.goals and setting.goal else ""
        return f"{setting.format if setting.format != _BOTH else 'both formats'}{goal}"

    def whole(self, setting: Setting, *, pooled: bool = False) -> str:
        """Models, format and goal."""
        return f"{self.agents(setting, pooled=pooled)} ({self.condition(setting)})"

    def goal(self, setting: Setting) -> str:
        """The goal, if there are several."""
        return (setting.goal or "") if self.goals else ""


def _without_providers(models: Sequence[str]) -> dict[str, str]:
    short = {name: name.partition("#")[2] or name.partition("/")[2] or name for name in models}
    return short if len(set(short.values())) == len(short) else {}


def formats(settings: Iterable[Setting]) -> list[str]:
    """The different formats, in the order of the settings."""
    return list(dict.fromkeys(setting.format for setting in settings))


def twice(share: Estimate | None) -> bool:
    """Whether a share is of two cases or more: one alone says next to nothing."""
    return share is not None and share.value * share.n > 1.5


def ordinal(position: int | None) -> str:
    """'speaks first', ... or nothing if all speak at once."""
    if position is None:
        return ""
    names = {1: "first", 2: "second", 3: "third"}
    return f"speaks {names.get(position, f'in place {position}')}"


def p_value(test: Significance) -> str:
    """The p value corrected for the comparisons made together, and the uncorrected one where it differs."""
    if isnan(test.p):
        return "–"
    own = _p(test.p)
    return own if test.of < 2 else f"{_p(test.adjusted)} ({own})"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def contrast_table(
    title: str,
    heads: Sequence[str],
    rows: Sequence[tuple[Sequence[str], Contrast]],
    *,
    sides: tuple[str, str] = ("First", "Second"),
    kind: Kind = "share",
    note: str = "",
    source: str = "",
) -> Table:
    """Contrasts with both tests; `heads` name the leading cells, `sides` the two numbers compared."""
    tests = (rows[0][1].unpaired, rows[0][1].paired) if rows else None
    named = [f"p, {test.name}" for test in tests] if tests else ["p", "p, paired"]
    columns = [*map(Column, heads), Column(sides[0], kind), Column(sides[1], kind)]
    columns += [Column("Difference", "points" if kind == "share" else "value"), *map(Column, named)]
    cells: list[list[Cell]] = [
        [
            *head,
            contrast.first,
            contrast.second,
            contrast.difference,
            p_value(contrast.unpaired),
            p_value(contrast.paired),
        ]
        for head, contrast in rows
    ]
    of = max((contrast.paired.of for _, contrast in rows), default=0)
    corrected = f"P values are corrected for {of} comparisons (Holm), uncorrected in brackets. " if of > 1 else ""
    return Table(title, columns, cells, note=f"{note} {corrected}{_TESTS}".strip(), source=source)


_TESTS = (
    "The first test is the paper's and treats all observations as independent; the second compares within dilemmas."
)


def absent(analysis: Analysis, key: str, what: str) -> Callout:
    """A note that says why something is not shown."""
    return Callout(f"{what} not computed: {analysis.not_computed.get(key, 'the data do not determine it')}.")
