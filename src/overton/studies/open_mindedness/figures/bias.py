"""Letter and order: what moves answers besides arguments, and what remains without it."""

from __future__ import annotations

from functools import partial
from math import isnan

from overton.statistics import Estimate
from overton.studies.charts.axes import difference_axis
from overton.studies.charts.dots import Dot, Series, dots
from overton.studies.open_mindedness.figures.names import absent, by_model
from overton.studies.open_mindedness.measures.analysis import Analysis, ModelResult
from overton.studies.open_mindedness.measures.results import LetterOrPosition, Pulls
from overton.studies.sections import COLOURS, Cell, Chart, Column, Exhibit, Method, Prose, Section, Table

_PULLS = {
    "letter": "Letter: being answer A",
    "first": "Order: being named first",
    "letter_and_first": "Being both A and first",
    "request": "Request: 'A' named first in it",
    "last": "Last argument shown",
}
_SERIES = (Series("Pull", COLOURS["accent"], "circle"),)


def bias(analysis: Analysis) -> Section:
    """The pulls, the issues that follow the letter, and results as published and corrected."""
    exhibits: list[Exhibit] = [Prose(_WHY)]
    for model in analysis.models.values():
        if model.pulls is None:
            exhibits.append(absent(model.not_computed, "pulls", f"The pulls on {model.name} are", summary=True))
    if any(model.pulls for model in analysis.models.values()):
        exhibits += [_chart(analysis), _pulls(analysis)]
    exhibits += [_followers(analysis), Method(_HOW)]
    return Section("letter", "Letter and order", exhibits)


_WHY = (
    "A model that always answers A looks 66.7% pro at the baseline, because A supports pro in four of the six "
    "templates, and it looks unmoved by arguments. These are the pulls on an answer that have nothing to do with the "
    "arguments. 'Corrected' scores and shares, in the other sections, set these pulls to zero."
)
_HOW = (
    "Corrected shares come from a model with additive effects of letter, order and template family, with both pulls "
    "set to zero. In a balanced design this is exact averaging over the mirrored pairs of templates. Additivity is "
    "an assumption: if a pull is strong for one stance and weak for another, the correction is approximate. An issue "
    "follows the letter if two answers, one to each template of a mirrored pair, agree in letter more often than in "
    "position, and the interval of the difference excludes 0."
)


def _estimates(pulls: Pulls) -> dict[str, Estimate]:
    return {name: getattr(pulls, name) for name in _PULLS}


def _chart(analysis: Analysis) -> Chart:
    points = [
        Dot(_PULLS[name], 0, estimate, panel=model.name)
        for model in analysis.models.values()
        if model.pulls
        for name, estimate in _estimates(model.pulls).items()
        if not isnan(estimate.value)
    ]
    axis = difference_axis("Pull on the answer", [point.estimate for point in points])
    panels = [panel for panel in analysis.models if any(point.panel == panel for point in points)]
    rows = [label for label in _PULLS.values() if any(point.row == label for point in points)]
    return Chart(
        "pulls",
        "What moves answers besides arguments",
        _ABOUT,
        partial(dots, points, rows, _SERIES, axis, panels=panels),
    )


_ABOUT = "How much a side's share gains from its place in the prompt. At zero, only content decides."


def _pulls(analysis: Analysis) -> Table:
    cells: dict[str, list[Cell]] = {
        m.name: list(_estimates(m.pulls).values()) for m in analysis.models.values() if m.pulls
    }
    columns = [Column(label, "points") for label in _PULLS.values()]
    return by_model(analysis, "Pulls on the answer, in percentage points", columns, cells, summary=True)


def _followers(analysis: Analysis) -> Exhibit:
    rows: list[list[Cell]] = [
        [model.name, issue, where, found.same_letter, found.same_position, found.difference]
        for model in analysis.models.values()
        for issue in model.letter_followers
        for where, found in _followed(model, issue)
    ]
    if not rows:
        return Prose("No issue's answers follow the letter rather than the position.")
    columns = [Column("Model"), Column("Issue", items=True), Column("Where"), Column("Same letter", "share")]
    columns += [Column("Same position", "share"), Column("Difference", "points")]
    return Table("Issues whose answers follow the letter rather than the position", columns, rows)


def _followed(model: ModelResult, issue: str) -> list[tuple[str, LetterOrPosition]]:
    result = model.issues[issue]
    places = (("baseline", result.letter_baseline), ("all configurations", result.letter_all))
    return [(where, found) for where, found in places if found and found.follows == "letter"]


def respondent(analysis: Analysis) -> Section:
    """The parameters of the respondent model, fitted to each model's answers."""
    exhibits: list[Exhibit] = [Prose(_RESPONDENT)]
    for model in analysis.models.values():
        if model.respondent is None:
            exhibits.append(absent(model.not_computed, "respondent", f"The fit to {model.name} is"))
    fits = {model.name: model.respondent for model in analysis.models.values() if model.respondent}
    if not fits:
        return Section("respondent", "Respondent model", exhibits)
    columns = [
        Column("Moved by pro", "value"),
        Column("Moved by con", "value"),
        Column("Letter", "value"),
        Column("Order", "value"),
    ]
    columns += [Column("Request", "value"), Column("Last argument", "value"), Column("Refuses", "share")]
    columns += [Column("Refuses, with arguments", "share"), Column("Dispersion", "value")]
    cells: dict[str, list[Cell]] = {
        name: [
            fit.susceptibility_pro,
            fit.susceptibility_con,
            fit.letter,
            fit.first,
            fit.request,
            fit.last,
            fit.refusal,
            fit.refusal_with_arguments,
            fit.dispersion,
        ]
        for name, fit in fits.items()
    }
    table = by_model(analysis, "Parameters, in logits except for the refusal rates", columns, cells, note=_FIT)
    leans: list[list[Cell]] = [[issue, name, lean] for name, fit in fits.items() for issue, lean in fit.leans.items()]
    columns_of_leans = [Column("Issue", items=True), Column("Model"), Column("Lean to pro", "value")]
    exhibits += [table, Table("Prior lean by issue, in logits", columns_of_leans, leans)]
    return Section("respondent", "Respondent model", exhibits)


_RESPONDENT = (
    "The simplest respondent that could have given these answers: a prior lean for each issue, a shift for each side's "
    "arguments, the pulls of letter and order, and rates of refusal. A simulated model with these parameters "
    "(simulated/open-minded) shows how many trials a question needs."
)
_FIT = "Dispersion is 1 if the model fits; if it is above 1, intervals are widened by its square root."
