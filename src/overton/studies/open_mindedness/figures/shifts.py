"""What arguments do to stances (figures 2, 4 and 5, table 3), which arguments move which models (figure 6), and how
much it matters which were drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import isnan

from overton.studies.charts.axes import difference_axis
from overton.studies.charts.dots import Dot, Series, dots
from overton.studies.charts.grids import GridCell, grid
from overton.studies.numbers import sentence
from overton.studies.open_mindedness.figures.names import (
    LABELS,
    PLAIN,
    absent,
    arguments_only,
    blank,
    by_model,
    present,
)
from overton.studies.open_mindedness.measures.analysis import (
    Agreement,
    Analysis,
    Comparison,
    ContraryArgument,
    ModelResult,
)
from overton.studies.sections import COLOURS, Cell, Chart, Column, Drawing, Exhibit, Method, Prose, Section, Table

_READINGS = (Series("As answered", COLOURS["ink"], "circle"), Series("Corrected", COLOURS["balanced"], "square"))
_SIDES = (
    Series("One con argument among pro ones", COLOURS["con"], "circle"),
    Series("One pro argument among con ones", COLOURS["pro"], "square"),
)


def shifts(analysis: Analysis) -> Section:
    """Average change of the pro share by configuration (figure 2), and the shares themselves."""
    conditions = arguments_only(present(analysis.models.values()))
    points = []
    for model in analysis.models.values():
        for index, changes in enumerate((model.shifts, model.corrected_shifts)):
            points += [
                Dot(LABELS[name], index, changes[name], panel=model.name) for name in conditions if name in changes
            ]
    axis = difference_axis("Mean change of the pro share from the baseline", [point.estimate for point in points])
    spec = partial(
        dots,
        points,
        [LABELS[name] for name in conditions],
        _READINGS,
        axis,
        panels=list(analysis.models),
    )
    chart = Chart("shifts", "Average shift by configuration", _SHIFTS, spec, source="figure 2")
    return Section("shifts", "Shifts by configuration", [chart, _changes(analysis), _shares(analysis)])


_SHIFTS = (
    "Right of zero, arguments move a model towards pro; left of it, towards con. Means over issues; 'corrected' sets "
    "the pulls of letter and order to zero."
)


def _changes(analysis: Analysis) -> Table:
    columns = [Column("Model"), Column("Configuration")]
    columns += [Column("Shift of the pro share", "points"), Column("Corrected", "points")]
    rows: list[list[Cell]] = [
        [model.name, LABELS[name], model.shifts[name], model.corrected_shifts.get(name)]
        for model in analysis.models.values()
        for name in present([model])
        if name in model.shifts and name != "baseline"
    ]
    return Table("Average shift by configuration, in percentage points", columns, rows, source="figure 2")


def _shares(analysis: Analysis) -> Table:
    columns = [Column("Model"), Column("Configuration"), Column("Pro", "share"), Column("Con", "share")]
    columns += [Column("Pro, corrected", "share"), Column("Con, corrected", "share")]
    rows: list[list[Cell]] = []
    for model in analysis.models.values():
        for name in arguments_only(present([model])):
            asked, fixed = model.shares[name], model.corrected_shares.get(name)
            corrected = [fixed.pro, fixed.con] if fixed else [None, None]
            rows.append([model.name, LABELS[name], asked.pro, asked.con, *corrected])
    note = (
        "Shares of all answers, averaged over issues. The baseline is in 'Stances without arguments', the share of"
        " other answers in 'Answers without a stance'."
    )
    return Table("Stances by configuration", columns, rows, note=note)


def topics(analysis: Analysis) -> Section | None:
    """Scores by topic (figure 4); None if the issues have no topics."""
    found = {topic for model in analysis.models.values() for topic in model.topics}
    if not found:
        return None
    ordered = sorted(found, key=lambda topic: -_mean(analysis, topic))
    about = "Mean plain score of the issues of each topic, the highest first."
    chart = Chart("topics", "Plain score by topic", about, _topic_chart(analysis, ordered), source="figure 4")
    columns = [Column("Topic"), Column("Model"), Column("Plain score", "score")]
    columns += [Column("By the published formula", "score")]
    rows: list[list[Cell]] = [
        [topic, model.name, model.topics[topic].open_mindedness, model.topics[topic].as_published]
        for topic in ordered
        for model in analysis.models.values()
        if topic in model.topics
    ]
    return Section("topics", "By topic", [chart, Table("Scores by topic", columns, rows, source="figure 4")])


def _mean(analysis: Analysis, topic: str) -> float:
    values = [m.topics[topic].open_mindedness.value for m in analysis.models.values() if topic in m.topics]
    known = [value for value in values if not isnan(value)]
    return sum(known) / max(1, len(known))


def _topic_chart(analysis: Analysis, topics: list[str]) -> Drawing:
    models = list(analysis.models.values())
    scored = [(t, m, m.topics[t].open_mindedness) for m in models for t in topics if t in m.topics]
    if len(models) == 1:
        axis = PLAIN
        points = [Dot(topic, 0, score) for topic, _, score in scored]
        return partial(dots, points, topics, [Series("Plain score", COLOURS["accent"], "circle")], axis)
    cells = [
        GridCell(topic, m.name, score.value, f"{score.value:.0f}", f"{m.name}\n{topic}\n{sentence(score, 'score')}")
        for topic, m, score in scored
        if not isnan(score.value)
    ]
    return partial(grid, cells, topics, list(analysis.models), scale="score", title=PLAIN.title)


def contrary(analysis: Analysis) -> Section:
    """The effect of a single contrary argument (figure 5), and its clean version."""
    exhibits: list[Exhibit] = [Prose(_CONTRARY)]
    exhibits += _effects(analysis, lambda model: model.contrary, "contrary", "over all issues")
    if any(model.subset for model in analysis.models.values()):
        exhibits += _effects(
            analysis,
            lambda model: model.subset.contrary if model.subset else None,
            "contrary-subset",
            "on the controversial issues",
        )
    return Section("contrary", "One contrary argument", exhibits)


_CONTRARY = (
    "What a single argument takes from the side that all other arguments support: the share after one-sided arguments "
    "minus the share after three arguments to one. This is the paper's contrast, in which the number of agreeing "
    "arguments changes too; the clean version compares with exactly three arguments of one side, so that only the "
    "contrary argument differs. It needs the configurations three-pro and three-con."
)


def _effects(
    analysis: Analysis, of: Callable[[ModelResult], ContraryArgument | None], name: str, where: str
) -> list[Exhibit]:
    effects = {model.name: effect for model in analysis.models.values() if (effect := of(model))}
    paper, clean = "All arguments of one side against 3:1 (the paper's)", "Three arguments of one side against 3:1"
    points = []
    for model, effect in effects.items():
        pairs = ((paper, (effect.con, effect.pro)), (clean, (effect.clean_con, effect.clean_pro)))
        for panel, sides in pairs:
            points += [Dot(model, index, side, panel=panel) for index, side in enumerate(sides)]
    known = [point for point in points if not isnan(point.estimate.value)]
    panels = [panel for panel in (paper, clean) if any(point.panel == panel for point in known)]
    table = _effect_table(analysis, effects, where)
    if not known:
        return [table]
    axis = difference_axis("Share taken by one contrary argument", [point.estimate for point in known])
    spec = partial(dots, known, list(effects), _SIDES, axis, panels=panels)
    about = f"Mean effect {where}; right of zero, the contrary argument draws the model to its side."
    return [Chart(name, f"The effect of a single contrary argument {where}", about, spec, source="figure 5"), table]


def _effect_table(analysis: Analysis, effects: dict[str, ContraryArgument], where: str) -> Table:
    columns = [
        Column("One con among pro", "points"),
        Column("One pro among con", "points"),
        Column("Issues above 50 points", "share"),
    ]
    columns += [
        Column("Con, clean", "points"),
        Column("Pro, clean", "points"),
        Column("Issues above 50, clean", "share"),
    ]
    cells: dict[str, list[Cell]] = {
        name: [effect.con, effect.pro, effect.above_half, effect.clean_con, effect.clean_pro, effect.clean_above_half]
        for name, effect in effects.items()
    }
    listed = [f"{name}: {', '.join(effect.above_half_issues)}" for name, effect in effects.items()]
    above = "; ".join(line for line, effect in zip(listed, effects.values(), strict=True) if effect.above_half_issues)
    note = f"Issues above 50 points: {above or 'none'}."
    title = f"A single contrary argument {where}, in percentage points"
    return by_model(analysis, title, columns, cells, note=note, source="figure 5")


def counter(analysis: Analysis) -> Section:
    """Shifts against the arguments (table 3)."""
    columns = [
        Column("Shifts", "count"),
        Column("Of", "count"),
        Column("Interval excludes 0", "count"),
        Column("Mean size", "points"),
    ]
    cells: dict[str, list[Cell]] = {
        name: [counted.count, counted.compared, counted.clear, counted.mean]
        for name, counted in ((name, model.counter_shifts) for name, model in analysis.models.items())
    }
    table = by_model(analysis, "Shifts against the arguments", columns, cells, source="table 3")
    rows: list[list[Cell]] = [
        [model.name, shift.issue, LABELS[shift.condition], shift.shift, "yes" if shift.clear else "no"]
        for model in analysis.models.values()
        for shift in model.counter_shifts.shifts
    ]
    heads = [
        Column("Model"),
        Column("Issue", items=True),
        Column("Arguments shown"),
        Column("Shift of the pro share", "points"),
    ]
    listed = Table("Each shift against the arguments", [*heads, Column("Interval excludes 0")], rows)
    exhibits: list[Exhibit] = [Prose(_COUNTER), table, *([listed] if rows else []), Method(_CHANCE)]
    return Section("counter", "Shifts against the arguments", exhibits)


_COUNTER = "Issues on which one-sided arguments moved the answers towards the side they argue against."
_CHANCE = (
    "When a share hardly moves, chance alone puts about half of all shifts on the wrong side of zero: the count of "
    "those whose interval excludes 0 is the one to read."
)


def correlations(comparison: Comparison) -> Section:
    """Correlations between models of single arguments' effects."""
    title = "The same arguments, different models"
    if not comparison.agreements:
        return Section("arguments", title, [absent(comparison.not_computed, "agreements", "Correlations are")])
    cells = [cell for agreement in comparison.agreements for cell in _boxes(agreement)]
    models = list(comparison.models)
    spec = partial(grid, cells, models, models, scale="correlation", title="Pearson correlation")
    chart = Chart("correlations", "Correlation of single arguments' effects", _CORRELATIONS, spec, source="figure 6")
    exhibits: list[Exhibit] = [chart, _pairs(comparison), _medians(comparison), Method(_EFFECTS)]
    return Section("arguments", title, exhibits)


_CORRELATIONS = (
    "For every pair of models, how similarly the same arguments move them; framed cells are pairs from one family. "
    "Below the diagonal as in the paper, above it within issue and side."
)
_EFFECTS = (
    "An argument's effect is the pro share over all trials whose prompt contains it, as in the paper. Most of that "
    "correlation comes from differences between issues and sides; 'within issue and side' removes their means, so "
    "that only differences between the arguments of one side remain."
)


def _boxes(agreement: Agreement) -> list[GridCell]:
    first, second = agreement.first, agreement.second
    pairs = (
        (second, first, agreement.correlation, "as in the paper"),
        (first, second, agreement.within, "within issue and side"),
    )
    return [
        GridCell(
            row,
            column,
            estimate.value,
            f"{estimate.value:.2f}".replace("-", "\u2212"),
            f"{first} and {second}, {how}\n{sentence(estimate, 'value')}",
            framed=bool(agreement.same_family),
        )
        for row, column, estimate, how in pairs
        if not isnan(estimate.value)
    ]


def _pairs(comparison: Comparison) -> Table:
    columns = [Column("Model"), Column("and"), Column("Family"), Column("Correlation", "value")]
    columns += [Column("Within issue and side", "value")]
    family = {True: "same", False: "different", None: "unknown"}
    rows: list[list[Cell]] = [
        [agreement.first, agreement.second, family[agreement.same_family], agreement.correlation, agreement.within]
        for agreement in comparison.agreements
    ]
    return Table("Correlation of single arguments' effects", columns, rows, source="figure 6")


def _medians(comparison: Comparison) -> Table:
    rows: list[list[Cell]] = [
        ["Within a family", comparison.within_families],
        ["Between families", comparison.between_families],
    ]
    return Table("Median correlation", [Column("Pairs"), Column("Median", "value")], rows, source="section 6.2")


def draws(analysis: Analysis) -> Section:
    """How much results depend on which arguments happened to be drawn."""
    columns = [
        Column("Different arguments", "share"),
        Column("Same arguments", "share"),
        Column("Difference", "points"),
    ]
    columns += [Column("Sets whose stances differ", "share"), Column("Variance between sets", "value")]
    cells: dict[str, list[Cell]] = {}
    for name, model in analysis.models.items():
        found = model.draws
        none: Cell = blank(model.not_computed, "draws")
        cells[name] = (
            [found.flips_other_set, found.flips_same_set, found.extra, found.majority_flips, found.variance]
            if found
            else [none] * 5
        )
    table = by_model(analysis, "How often two answers to the same prompt differ", columns, cells)
    return Section("draws", "Which arguments were drawn", [table, Method(_DRAWS)])


_DRAWS = (
    "The probability that two answers to the same issue, configuration, wording and template differ, when different "
    "arguments were shown and when the same were. Their difference (in percentage points) is what the draw adds to "
    "chance. Comparing whole sets of arguments needs repeated sets (--draws)."
)
