"""Several models side by side: the issues on which they agree, and how alike single arguments move them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import isnan

from overton.statistics import Estimate
from overton.studies.charts.grids import GridCell, grid
from overton.studies.frame import Cells
from overton.studies.numbers import sentence
from overton.studies.open_mindedness.model_agreement import AGREEMENT
from overton.studies.open_mindedness.report_parts import Shown
from overton.studies.sections import Callout, Cell, Chart, Column, Exhibit, Method, Prose, Section, Table

_AGREEMENT = (
    "The maximum pairwise difference (MPD) of an issue is the largest difference between two models' baseline shares "
    "of pro answers. Issues are unanimous below 10 points and in strong disagreement above 80. A unanimous issue is "
    "consistent if every model gives the same side more than 90% (the paper's table 2) or 95% (its table 6)."
)
_STAR = "A star marks those that are consistent, over 95%."
_REFUSED = (
    "Models named under 'Refused by' most often gave no stance; their issues are left out of the controversial set."
)
_CHOICE = "Issues chosen as controversial, for the tables and figures that use them: "


def agreement(shown: Shown) -> Section:
    """How far models agree at the baseline, and the issues on which they do and do not."""
    analysis = shown.analysis
    known = {str(cells["issue"]): cells for cells in analysis.counts["disagreements"]}
    mpd = {row.item: row.number for row in analysis.rows_of("disagreement") if row.item is not None}
    issues = [known[name] for name in sorted(known, key=lambda name: mpd[name].value)]
    rows: list[list[Cell]] = [[analysis.measures[name].title, shown.number(name, None)] for name in AGREEMENT]
    counts = Table(
        "Agreement at the baseline", [Column("Issues"), Column("Share of issues", "share")], rows, source="table 2"
    )
    unanimous = [cells for cells in issues if cells["unanimous"]]
    controversial = [cells for cells in reversed(issues) if cells["controversial"]]
    parts: list[Exhibit] = [
        Prose(_AGREEMENT),
        counts,
        _listing("Unanimous issues", unanimous, mpd, "table 6", _STAR),
        _listing("Issues in strong disagreement", controversial, mpd, "table 7", _REFUSED),
        _listing("All issues by disagreement", list(reversed(issues)), mpd),
        Method(_CHOICE + (", ".join(shown.subset) or "none") + "."),
    ]
    return Section("agreement", "Agreement between models", parts)


def _listing(
    title: str, issues: Sequence[Cells], mpd: dict[str, Estimate], source: str = "", note: str = ""
) -> Exhibit:
    if not issues:
        return Prose(f"{title}: none.")
    columns = [Column("Issue", items=True), Column("MPD", "share"), Column("Between"), Column("Mean pro", "share")]
    columns += [Column("Mean con", "share"), Column("Mean other", "share"), Column("Refused by")]
    rows: list[list[Cell]] = [
        [
            str(cells["issue"]) + (" \u2605" if cells["consistent_95"] else ""),
            mpd[str(cells["issue"])],
            f"{cells['first']} and {cells['second']}",
            cells["pro"],
            cells["con"],
            cells["other"],
            ", ".join(str(cells["refused_by"]).splitlines()) or None,
        ]
        for cells in issues
    ]
    return Table(title, columns, rows, note=note, source=source)


_CORRELATIONS = (
    "For every pair of models, how similarly the same arguments move them; framed cells are pairs from one family. "
    "Below the diagonal as in the paper, above it within issue and side."
)
_EFFECTS = (
    "An argument's effect is the pro share over all trials whose prompt contains it, as in the paper. Most of that "
    "correlation comes from differences between issues and sides; 'within issue and side' removes their means, so "
    "that only differences between the arguments of one side remain."
)
_FAMILY = {True: "same", False: "different", None: "unknown"}


def correlations(shown: Shown) -> Section:
    """Correlations between models of single arguments' effects."""
    title, analysis = "The same arguments, different models", shown.analysis
    pairs = [cells for cells in analysis.counts["families"] if _correlation(shown, cells, "agreement") is not None]
    if not pairs:
        said = "Correlations are not computed: no record shows arguments."
        return Section("arguments", title, [Callout(said)])
    boxes = [box for cells in pairs for box in _boxes(shown, cells)]
    models = list(shown.models)
    spec = partial(grid, boxes, models, models, scale="correlation", title="Pearson correlation")
    chart = Chart("correlations", "Correlation of single arguments' effects", _CORRELATIONS, spec, source="figure 6")
    columns = [Column("Model"), Column("and"), Column("Family"), Column("Correlation", "value")]
    columns += [Column("Within issue and side", "value")]
    rows: list[list[Cell]] = [
        [
            str(cells["first"]),
            str(cells["second"]),
            _FAMILY[None if cells["same_family"] is None else bool(cells["same_family"])],
            *(_correlation(shown, cells, measure) for measure in ("agreement", "agreement_within")),
        ]
        for cells in pairs
    ]
    medians: list[list[Cell]] = [
        [said, shown.number("agreement", None, name, facet="families")]
        for name, said in (("within", "Within a family"), ("between", "Between families"))
    ]
    return Section(
        "arguments",
        title,
        [
            chart,
            Table("Correlation of single arguments' effects", columns, rows, source="figure 6"),
            Table("Median correlation", [Column("Pairs"), Column("Median", "value")], medians, source="section 6.2"),
            Method(_EFFECTS),
        ],
    )


def _correlation(shown: Shown, cells: Cells, measure: str) -> Estimate | None:
    return shown.number(measure, str(cells["first"]), against=str(cells["second"]))


def _boxes(shown: Shown, cells: Cells) -> list[GridCell]:
    first, second = str(cells["first"]), str(cells["second"])
    pairs = (
        (second, first, "agreement", "as in the paper"),
        (first, second, "agreement_within", "within issue and side"),
    )
    return [
        GridCell(
            row,
            column,
            number.value,
            f"{number.value:.2f}".replace("-", "\u2212"),
            f"{first} and {second}, {how}\n{sentence(number, 'value')}",
            framed=bool(cells["same_family"]),
        )
        for row, column, measure, how in pairs
        if (number := _correlation(shown, cells, measure)) is not None and not isnan(number.value)
    ]
