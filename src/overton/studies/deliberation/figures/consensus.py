"""How deliberations end and who changes their verdict (figure 2)."""

from __future__ import annotations

from functools import partial

from overton.studies.charts import Axis, Dot, Series, dots, series_of
from overton.studies.deliberation.figures.names import Names, contrast_table, formats, ordinal
from overton.studies.deliberation.measures.analysis import Analysis
from overton.studies.exhibits import Callout, Cell, Chart, Column, Drawing, Exhibit, Method, Section, Table

__all__ = ["changes", "consensus"]

_SHARE = Axis("Share of deliberations (%)", 0, 1, "share")


def consensus(analysis: Analysis, names: Names) -> Section:
    """Rounds to consensus, and how often there is none."""
    exhibits: list[Exhibit] = []
    if analysis.notes:
        exhibits.append(Callout("\n".join(analysis.notes), "warning", summary=True))
    settings = [setting for setting, _ in analysis.consensus.settings]
    exhibits += [_endings(analysis, names, format_) for format_ in formats(settings)]
    exhibits.append(_table(analysis, names))
    if analysis.consensus.formats:
        rows = [((names.whole(setting, pooled=True),), one) for setting, one in analysis.consensus.formats]
        title = "Consensus in either format"
        exhibits.append(
            contrast_table(
                title, ["Models"], rows, sides=("Synchronous", "Round-robin"), source="section 4.3", note=_POOLED
            )
        )
    return Section("consensus", "Consensus", [*exhibits, Method(_METHOD)])


_POOLED = "Orders of speaking are pooled."
_METHOD = (
    "A deliberation reaches consensus in the first whole round in which all agents give the same verdict; verdicts "
    "that could not be read agree with nothing. Shares are of all deliberations, the mean number of rounds is of "
    "those that reach consensus. Intervals resample dilemmas."
)


def _endings(analysis: Analysis, names: Names, format_: str) -> Chart:
    found = [(setting, one) for setting, one in analysis.consensus.settings if setting.format == format_]
    rounds = len(found[0][1].by_round)
    series = series_of([*(f"Round {number}" for number in range(1, rounds + 1)), "No consensus"])
    points = [
        Dot(names.agents(setting), place, estimate, panel=names.goal(setting))
        for setting, one in found
        for place, estimate in enumerate([*one.by_round.values(), one.without])
    ]
    about = "For each set of models, the share of deliberations that reach consensus in each round, and in none."
    title = f"Rounds to consensus, {format_}"
    return Chart(f"consensus-{format_}", title, about, _drawn(points, series), source="figure 2, a and c")


def _drawn(points: list[Dot], series: list[Series]) -> Drawing:
    """A row for each set of models, a panel for each goal where there are several."""
    rows, panels = (list(dict.fromkeys(names)) for names in zip(*((p.row, p.panel) for p in points), strict=True))
    return partial(dots, points, rows, series, _SHARE, panels=panels if any(panels) else [], wrap=True)


def _table(analysis: Analysis, names: Names) -> Table:
    columns = [Column("Models"), Column("Format"), Column("Deliberations", "count"), Column("Consensus", "share")]
    columns += [Column("In round 1", "share"), Column("No consensus", "share"), Column("Rounds to consensus", "value")]
    rows: list[list[Cell]] = [
        [
            names.agents(setting),
            names.condition(setting),
            one.deliberations,
            one.reached,
            one.by_round.get(1),
            one.without,
            one.rounds,
        ]
        for setting, one in analysis.consensus.settings
    ]
    goals = {setting.goal for setting, _ in analysis.consensus.settings if setting.goal}
    note = f"The goal is {', '.join(goals)}." if len(goals) == 1 else ""
    return Table("Consensus by models and format", columns, rows, note=note, source="section 4.1", summary=True)


def changes(analysis: Analysis, names: Names) -> Section:
    """Change-of-verdict rates."""
    exhibits: list[Exhibit] = [_by_model(analysis)]
    exhibits += [
        _rates(analysis, names, one) for one in formats(change.setting for change in analysis.changes.settings)
    ]
    exhibits.append(_rate_table(analysis, names))
    if analysis.changes.contrasts:
        rows = [
            ((names.whole(setting), one.first_name, one.second_name), one)
            for setting, one in analysis.changes.contrasts
        ]
        title = "Models that deliberate together, compared"
        exhibits.append(contrast_table(title, ["Deliberation", "First model", "Second model"], rows))
    return Section("changes", "Changes of verdict", [*exhibits, Method(_CHANGES)])


_CHANGES = (
    "The rate counts deliberations in which any later verdict of the agent differs from its first, over all its "
    "deliberations: also those that end in round 1, where nobody has occasion to change. Verdicts that could not be "
    "read are passed over."
)


def _by_model(analysis: Analysis) -> Table:
    rows: list[list[Cell]] = [[model, rate] for model, rate in analysis.changes.by_model.items()]
    title = "Changes of verdict, all deliberations together"
    return Table(title, [Column("Model"), Column("Changed its verdict", "share")], rows, summary=True)


def _rates(analysis: Analysis, names: Names, format_: str) -> Chart:
    points = [
        Dot(
            names.agents(one.setting),
            analysis.models.index(one.model),
            one.rate,
            panel=names.goal(one.setting),
            more=ordinal(one.position),
        )
        for one in analysis.changes.settings
        if one.setting.format == format_
    ]
    about = "For each set of models, the share of deliberations in which each changes its verdict."
    title = f"Change-of-verdict rates, {format_}"
    spec = _drawn(points, series_of(analysis.models))
    return Chart(f"changes-{format_}", title, about, spec, source="figure 2, b and d")


def _rate_table(analysis: Analysis, names: Names) -> Table:
    columns = [Column("Models"), Column("Format"), Column("Model"), Column("Place"), Column("Changed", "share")]
    rows: list[list[Cell]] = [
        [names.agents(one.setting), names.condition(one.setting), one.model, ordinal(one.position), one.rate]
        for one in analysis.changes.settings
    ]
    return Table("Change-of-verdict rates", columns, rows, source="figure 2, b and d")
