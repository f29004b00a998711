"""What else moves verdicts: who speaks first (section 4.3), the goal (figure 6); and how far they are the crowd's."""

from __future__ import annotations

from functools import partial

from overton.studies.charts import Axis, Dot, Series, dots, series_of
from overton.studies.deliberation.figures.names import Names, absent, contrast_table
from overton.studies.deliberation.measures.analysis import Analysis, OrderEffects, Steering
from overton.studies.exhibits import SERIES, Cell, Chart, Column, Exhibit, Method, Section, Table

__all__ = ["crowd", "order", "steering"]

_SHARE = Axis("Share of deliberations (%)", 0, 1, "share")
_VERDICTS = Axis("Share of verdicts that are the crowd's (%)", 0, 1, "share")
_SPEAKER = (
    Series("Consensus in round 1", SERIES[2], "circle"),
    Series("Consensus on the first speaker's verdict", SERIES[0], "square"),
    Series("Consensus on another verdict", SERIES[1], "diamond"),
)
_ROUNDS = (Series("Round 1", SERIES[1], "circle"), Series("Last round", SERIES[0], "diamond"))
_CONSENSUS = "consensus of all"


def order(analysis: Analysis, names: Names) -> Section:
    """First-speaker effects."""
    found = analysis.order
    if found is None:
        return Section("order", "Who speaks first", [absent(analysis, "order", "Effects of order are")])
    exhibits: list[Exhibit] = [_order_chart(found, names), _order_table(found, names)]
    if found.at_once:
        rows = [((names.whole(s, pooled=True), one.first_name, one.second_name), one) for s, one in found.at_once]
        heads = ["Deliberation", "First model", "Second model"]
        exhibits.append(contrast_table("Consensus in round 1 by who speaks first", heads, rows, source="section 4.3"))
    if found.changes:
        changes = [((names.whole(setting, pooled=True), model), one) for setting, model, one in found.changes]
        sides = ("Speaks first", "Speaks later")
        title = "Change-of-verdict rate by place in the order"
        exhibits.append(contrast_table(title, ["Deliberation", "Model"], changes, sides=sides, source="section 4.3"))
    return Section("order", "Who speaks first", [*exhibits, Method(_ORDER)])


_ORDER = (
    "Round-robin deliberations, by the model that speaks first; the orders of those after it are pooled. The first "
    "speaker prevails where consensus is on the verdict that it gave first."
)


def _order_chart(found: OrderEffects, names: Names) -> Chart:
    points = [
        Dot(f"{one.model} first", place, estimate, panel=names.whole(one.setting, pooled=True))
        for one in found.speakers
        for place, estimate in enumerate((one.at_once, one.prevails, one.yields))
    ]
    rows = list(dict.fromkeys(point.row for point in points))
    panels = list(dict.fromkeys(point.panel for point in points))
    about = "How round-robin deliberations end, by the model that speaks first."
    return Chart("order", "First speakers", about, partial(dots, points, rows, _SPEAKER, _SHARE, panels=panels))


def _order_table(found: OrderEffects, names: Names) -> Table:
    columns = [Column("Deliberation"), Column("Speaks first"), Column("Consensus in round 1", "share")]
    columns += [Column("Consensus", "share"), Column("On its verdict", "share"), Column("On another", "share")]
    rows: list[list[Cell]] = [
        [names.whole(one.setting, pooled=True), one.model, one.at_once, one.reached, one.prevails, one.yields]
        for one in found.speakers
    ]
    return Table("First speakers", columns, rows, source="section 4.3")


def steering(analysis: Analysis, names: Names) -> Section:
    """Change-of-verdict rates and consensus under each goal (figure 6)."""
    title = "What the goal changes"
    if not analysis.steering:
        return Section("steering", title, [absent(analysis, "steering", "Steering is")])
    first = analysis.steering[0].contrast.first_name
    goals = list(dict.fromkeys([first, *(one.contrast.second_name for one in analysis.steering)]))
    points = [
        Dot(_who(one), goals.index(goal), estimate, panel=names.whole(one.setting, pooled=True))
        for one in analysis.steering
        for goal, estimate in (
            (one.contrast.first_name, one.contrast.first),
            (one.contrast.second_name, one.contrast.second),
        )
    ]
    panels = list(dict.fromkeys(point.panel for point in points))
    rows = [*(model for model in analysis.models if any(point.row == model for point in points)), _CONSENSUS]
    about = "The share of deliberations in which each model changes its verdict, and that reach consensus, by goal."
    spec = partial(dots, points, rows, series_of(goals), _SHARE, panels=panels)
    chart = Chart("steering", "Steering by the goal in the system prompt", about, spec, source="figure 6")
    contrasts = [
        ((names.whole(one.setting, pooled=True), _who(one), one.contrast.second_name), one.contrast)
        for one in analysis.steering
    ]
    heads = ["Deliberation", "Changes of verdict by", "Goal"]
    sides = (first, "This goal")
    table = contrast_table("Steering", heads, contrasts, sides=sides, source="figure 6", note="Orders are pooled.")
    return Section("steering", title, [chart, table])


def _who(one: Steering) -> str:
    return one.model or _CONSENSUS


def crowd(analysis: Analysis, names: Names) -> Section:
    """Agreement with the crowd."""
    found = analysis.crowd
    title = "Agreement with the crowd"
    if found is None:
        return Section("crowd", title, [absent(analysis, "crowd", "Agreement with the crowd is")])
    points = [
        Dot(one.model, place, estimate, panel=one.goal or "")
        for one in found.models
        for place, estimate in enumerate((one.contrast.first, one.contrast.second))
    ]
    panels = list(dict.fromkeys(point.panel for point in points)) if names.goals else []
    about = "The share of each model's verdicts that are the crowd's most common one, before and after deliberation."
    spec = partial(dots, points, list(analysis.models), _ROUNDS, _VERDICTS, panels=panels)
    contrasts = [((one.model, one.goal or ""), one.contrast) for one in found.models]
    columns = [Column("Models"), Column("Format"), Column("Consensus verdicts that are the crowd's", "share")]
    rows: list[list[Cell]] = [
        [names.agents(setting), names.condition(setting), estimate] for setting, estimate in found.settings
    ]
    return Section(
        "crowd",
        title,
        [
            Chart("crowd", title, about, spec),
            contrast_table(
                "Verdicts that are the crowd's", ["Model", "Goal"], contrasts, sides=("Round 1", "Last round")
            ),
            Table("Consensus and the crowd", columns, rows),
            Method(f"{_CROWD}{f' Left out: {found.unknown:,} dilemmas.' if found.unknown else ''}"),
        ],
    )


_CROWD = "Dilemmas whose crowd is not known, or has no single most common verdict, are left out."
