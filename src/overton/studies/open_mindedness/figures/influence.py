"""Which arguments move which models (figure 6), and how much it matters which were drawn."""

from __future__ import annotations

from functools import partial
from math import isnan

from overton.studies.charts.grids import Box, grid
from overton.studies.exhibits import Cell, Chart, Column, Exhibit, Method, Section, Table
from overton.studies.numbers import sentence
from overton.studies.open_mindedness.figures.names import Names, absent, blank, by_model
from overton.studies.open_mindedness.measures.analysis import Agreement, Analysis, Comparison

__all__ = ["correlations", "draws"]


def correlations(comparison: Comparison, names: Names) -> Section:
    """Correlations between models of single arguments' effects."""
    title = "The same arguments, different models"
    if not comparison.agreements:
        return Section("arguments", title, [absent(comparison.not_computed, "agreements", "Correlations are")])
    cells = [cell for one in comparison.agreements for cell in _cells(one, names)]
    models = list(map(names.model, comparison.models))
    spec = partial(grid, cells, models, models, scale="correlation", title="Pearson correlation")
    chart = Chart("correlations", "Correlation of single arguments' effects", _ABOUT, spec, source="figure 6")
    exhibits: list[Exhibit] = [chart, _pairs(comparison, names), _medians(comparison), Method(_METHOD)]
    return Section("arguments", title, exhibits)


_ABOUT = (
    "For every pair of models, how alike the same arguments move them; framed cells are pairs of one family. Below the "
    "diagonal as in the paper, above it within issue and side."
)
_METHOD = (
    "An argument's effect is the pro share over all trials whose prompt holds it, as in the paper. Most of that "
    "correlation is that issues and sides differ; 'within issue and side' takes out their means, so that only "
    "differences between the arguments of one side remain."
)


def _cells(one: Agreement, names: Names) -> list[Box]:
    first, second = names.model(one.first), names.model(one.second)
    pairs = ((second, first, one.correlation, "as in the paper"), (first, second, one.within, "within issue and side"))
    return [
        Box(
            row,
            column,
            estimate.value,
            f"{estimate.value:.2f}".replace("-", "\u2212"),
            f"{first} and {second}, {how}\n{sentence(estimate, 'value')}",
            framed=bool(one.same_family),
        )
        for row, column, estimate, how in pairs
        if not isnan(estimate.value)
    ]


def _pairs(comparison: Comparison, names: Names) -> Table:
    columns = [Column("Model"), Column("and"), Column("Family"), Column("Correlation", "value")]
    columns += [Column("Within issue and side", "value")]
    family = {True: "same", False: "different", None: "unknown"}
    rows: list[list[Cell]] = [
        [names.model(one.first), names.model(one.second), family[one.same_family], one.correlation, one.within]
        for one in comparison.agreements
    ]
    return Table("Correlation of single arguments' effects", columns, rows, source="figure 6")


def _medians(comparison: Comparison) -> Table:
    rows: list[list[Cell]] = [
        ["Within a family", comparison.within_families],
        ["Between families", comparison.between_families],
    ]
    return Table("Median correlation", [Column("Pairs"), Column("Median", "value")], rows, source="section 6.2")


def draws(analysis: Analysis, names: Names) -> Section:
    """How much results depend on which arguments happened to be drawn."""
    columns = [Column("Other arguments", "share"), Column("Same arguments", "share"), Column("Difference", "points")]
    columns += [Column("Sets whose stances differ", "share"), Column("Variance between sets", "value")]
    cells: dict[str, list[Cell]] = {}
    for name, model in analysis.models.items():
        one = model.draws
        none: Cell = blank(model.not_computed, "draws")
        cells[name] = (
            [one.flips_other_set, one.flips_same_set, one.extra, one.majority_flips, one.variance]
            if one
            else [none] * 5
        )
    table = by_model(analysis, names, "How often two answers to the same prompt differ", columns, cells)
    return Section("draws", "Which arguments were drawn", [table, Method(_DRAWS)])


_DRAWS = (
    "The probability that two answers to the same issue, configuration, wording and template differ, where they were "
    "shown other arguments and where the same. Their difference (in percentage points) is what the draw adds to "
    "chance. Comparing whole sets of arguments needs sets that repeat (--draws)."
)
