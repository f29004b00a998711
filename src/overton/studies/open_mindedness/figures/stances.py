"""Where models stand before they are shown arguments (tables 1, 2, 6 and 7, figure 3), their answers without a stance
(figure 7), failed calls, and answers on which two readings differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import isnan, nan

from overton.studies.charts.axes import Axis
from overton.studies.charts.dots import Dot, Series, dots, series_of
from overton.studies.charts.grids import GridCell, grid
from overton.studies.numbers import sentence
from overton.studies.open_mindedness.figures.names import LABELS, by_model, in_words, ordered, present
from overton.studies.open_mindedness.measures.analysis import Analysis, Comparison, Disagreement, ModelResult
from overton.studies.sections import COLOURS, Cell, Chart, Column, Drawing, Exhibit, Method, Prose, Section, Table

_PRO = Axis("Share of answers that are pro (%)", 0, 1, "share", mark=0.5)


def baseline(analysis: Analysis, questions: Mapping[str, str]) -> Section:
    """Baseline shares by issue and the share of issues that lean pro."""
    several = len(analysis.models) > 1
    about = (
        "Each cell is the share of a model's baseline answers to an issue that are pro: blue where most are, orange "
        "where few are."
        if several
        else "The share of baseline answers that are pro, with intervals. At 50% pro and con are even."
    )
    spec = _grid(analysis, questions) if several else _rows(analysis, questions)
    exhibits: list[Exhibit] = [_leaning(analysis)]
    exhibits.append(Chart("baseline", "Baseline stance by issue", about, spec, values=_shares(analysis)))
    if analysis.comparison and analysis.comparison.subset:
        exhibits.append(_disputed(analysis, analysis.comparison, questions))
    return Section("baseline", "Baseline stances", exhibits)


def _leaning(analysis: Analysis) -> Table:
    columns = [Column("Issues leaning pro", "share"), Column("Issues leaning pro, corrected", "share")]
    for stance in ("pro", "con"):
        columns += [Column(f"Mean share {stance}", "share"), Column(f"Mean share {stance}, corrected", "share")]
    cells: dict[str, list[Cell]] = {
        name: [model.leaning_pro, model.corrected_leaning_pro, *_means(model)]
        for name, model in analysis.models.items()
    }
    note = (
        "An issue leans pro if more baseline answers are pro than con. For answers without a stance see 'Refusals'."
        " 'Corrected' sets the pulls of letter and order to zero; see 'Letter and order'."
    )
    return by_model(analysis, "Stances without arguments", columns, cells, note=note, source="table 1")


def _means(model: ModelResult) -> list[Cell]:
    asked, fixed = model.shares.get("baseline"), model.corrected_shares.get("baseline")
    own: list[Cell] = [asked.pro, asked.con] if asked else [None, None]
    corrected: list[Cell] = [fixed.pro, fixed.con] if fixed else [None, None]
    return [own[0], corrected[0], own[1], corrected[1]]


def _ordered(analysis: Analysis) -> list[str]:
    """The issues, the most pro first."""
    found = [
        (issue, result.conditions.get("baseline"))
        for m in analysis.models.values()
        for issue, result in m.issues.items()
    ]
    return ordered((issue, asked.shares.pro.value if asked else nan) for issue, asked in found)


def _grid(analysis: Analysis, questions: Mapping[str, str]) -> Drawing:
    cells = []
    for model in analysis.models.values():
        for issue, result in model.issues.items():
            asked = result.conditions.get("baseline")
            if asked and not isnan(asked.shares.pro.value):
                pro, label = asked.shares.pro, model.name
                tip = "\n".join(filter(None, (label, issue, questions.get(issue, ""), f"pro {sentence(pro, 'share')}")))
                cells.append(GridCell(questions.get(issue, issue), label, pro.value, f"{100 * pro.value:.0f}", tip))
    columns = list(analysis.models)
    return partial(
        grid,
        cells,
        in_words(_ordered(analysis), questions),
        columns,
        scale="pro",
        title="Share of answers that are pro (numbers in %)",
    )


def _rows(analysis: Analysis, questions: Mapping[str, str]) -> Drawing:
    points = [
        Dot(questions.get(issue, issue), 0, asked.shares.pro)
        for model in analysis.models.values()
        for issue, result in model.issues.items()
        if (asked := result.conditions.get("baseline"))
    ]
    rows, series = in_words(_ordered(analysis), questions), [Series("pro", COLOURS["pro"], "circle")]
    return partial(dots, points, rows, series, _PRO, wrap=True)


def _shares(analysis: Analysis) -> Table:
    columns = [Column("Issue", items=True), Column("Model")]
    columns += [Column("Pro", "share"), Column("Con", "share"), Column("Other", "share")]
    rows: list[list[Cell]] = [
        [issue, model.name, asked.shares.pro, asked.shares.con, asked.shares.other]
        for issue in _ordered(analysis)
        for model in analysis.models.values()
        if (result := model.issues.get(issue)) and (asked := result.conditions.get("baseline"))
    ]
    return Table("Baseline shares by issue", columns, rows)


def _disputed(analysis: Analysis, comparison: Comparison, questions: Mapping[str, str]) -> Chart:
    models = list(analysis.models.values())
    points = [
        Dot(questions.get(issue, issue), index, asked.shares.pro)
        for index, model in enumerate(models)
        for issue in comparison.subset
        if (result := model.issues.get(issue)) and (asked := result.conditions.get("baseline"))
    ]
    rows, series = in_words(comparison.subset, questions), series_of([model.name for model in models])
    spec = partial(dots, points, rows, series, _PRO, wrap=True)
    about = "The baseline share of pro answers, model by model, on the issues where models differ most."
    return Chart("disputed", "Baseline stances on disputed issues", about, spec, source="figure 3")


def agreement(comparison: Comparison) -> Section:
    """How far models agree at the baseline, and the issues on which they do and do not."""
    issues = sorted(comparison.issues.values(), key=lambda issue: issue.mpd.value)
    unanimous = [issue for issue in issues if issue.unanimous]
    controversial = [issue for issue in reversed(issues) if issue.controversial]
    exhibits: list[Exhibit] = [Prose(_AGREEMENT), _counts(comparison)]
    exhibits.append(
        _listing("Unanimous issues", unanimous, "table 6", "A star marks those that are consistent, over 95%.")
    )
    exhibits.append(_listing("Issues in strong disagreement", controversial, "table 7", _REFUSED))
    exhibits.append(_listing("All issues by disagreement", list(reversed(issues)), "", ""))
    exhibits.append(Method(_CHOICE + (", ".join(comparison.subset) or "none") + "."))
    return Section("agreement", "Agreement between models", exhibits)


_AGREEMENT = (
    "The maximum pairwise difference (MPD) of an issue is the largest difference between two models' baseline shares "
    "of pro answers. Issues are unanimous below 10 points and in strong disagreement above 80. A unanimous issue is "
    "consistent if every model gives the same side more than 90% (the paper's table 2) or 95% (its table 6)."
)
_REFUSED = (
    "Models named under 'Refused by' most often gave no stance; their issues are left out of the controversial set."
)
_CHOICE = "Issues chosen as controversial, for the tables and figures that use them: "


def _counts(comparison: Comparison) -> Table:
    rows: list[list[Cell]] = [
        ["Unanimous (MPD below 10 points)", comparison.unanimous],
        ["Unanimous and consistent, over 90%", comparison.consistent_90],
        ["Unanimous and consistent, over 95%", comparison.consistent_95],
        ["Strong disagreement (MPD above 80 points)", comparison.controversial],
    ]
    columns = [Column("Issues"), Column("Share of issues", "share")]
    return Table("Agreement at the baseline", columns, rows, source="table 2")


def _listing(title: str, issues: list[Disagreement], source: str, note: str) -> Exhibit:
    if not issues:
        return Prose(f"{title}: none.")
    columns = [Column("Issue", items=True), Column("MPD", "share"), Column("Between"), Column("Mean pro", "share")]
    columns += [Column("Mean con", "share"), Column("Mean other", "share"), Column("Refused by")]
    rows: list[list[Cell]] = [
        [
            issue.issue + (" \u2605" if issue.consistent_95 else ""),
            issue.mpd,
            " and ".join(issue.pair),
            issue.pro,
            issue.con,
            issue.other,
            ", ".join(issue.refused_by) or None,
        ]
        for issue in issues
    ]
    return Table(title, columns, rows, note=note, source=source)


_OTHER = Axis("Share of answers that are other (%)", 0, 1, "share")
_BEFORE_AFTER = (
    Series("Baseline", COLOURS["ink"], "circle"),
    Series("Balanced arguments", COLOURS["balanced"], "square"),
)


def refusals(analysis: Analysis, questions: Mapping[str, str]) -> Section:
    """Refusals and what arguments do to them."""
    conditions = present(analysis.models.values())
    exhibits: list[Exhibit] = [Prose(_REFUSALS), _by_condition(analysis, conditions)]
    refused = [model for model in analysis.models.values() if model.refusals.issues]
    exhibits += [_refused_issues(model, questions, number) for number, model in enumerate(refused, 1)]
    if not refused:
        exhibits.append(Prose("No issue has more than 30% of a model's baseline answers without a stance."))
    exhibits.append(_refusal_table(analysis))
    return Section("refusals", "Refusals", exhibits)


_REFUSALS = (
    "An answer is 'other' if it names no letter or both: refusals and answers that miss the format. Failed calls are "
    "not answers; they are left out of every share and counted under 'Answers and failures'."
)


def _by_condition(analysis: Analysis, conditions: list[str]) -> Chart:
    points = [
        Dot(LABELS[name], 0, model.refusals.by_condition[name], panel=model.name)
        for model in analysis.models.values()
        for name in conditions
        if name in model.refusals.by_condition
    ]
    series = [Series("Other", COLOURS["other"], "circle")]
    rows = [LABELS[name] for name in conditions]
    spec = partial(dots, points, rows, series, _OTHER, panels=list(analysis.models))
    about = "Mean share of answers without a stance, by configuration."
    return Chart("refusals", "Answers without a stance", about, spec, source="figure 7")


def _refused_issues(model: ModelResult, questions: Mapping[str, str], number: int) -> Chart:
    points = [
        Dot(questions.get(issue, issue), index, asked.shares.other)
        for issue in model.refusals.issues
        for index, condition in enumerate(("baseline", "balanced"))
        if (asked := model.issues[issue].conditions.get(condition))
    ]
    label = model.name
    return Chart(
        f"refused-issues-{number}",
        f"Issues that {label} refuses, without and with balanced arguments",
        "Issues with more than 30% of baseline answers without a stance.",
        partial(dots, points, in_words(model.refusals.issues, questions), _BEFORE_AFTER, _OTHER, wrap=True),
        values=Table(
            f"Answers of {label} without a stance",
            [Column("Issue", items=True), Column("Arguments"), Column("Other", "share")],
            [[point.row, _BEFORE_AFTER[point.series].name, point.estimate] for point in points],
        ),
        source="figure 7",
    )


def _refusal_table(analysis: Analysis) -> Table:
    columns = [
        Column("At the baseline", "share"),
        Column("Balanced", "share"),
        Column("Change with arguments", "points"),
    ]
    columns += [Column("Issues above 30% at the baseline", "share"), Column("Flagged at the baseline", "share")]
    cells: dict[str, list[Cell]] = {
        name: [
            rates.by_condition.get("baseline"),
            rates.by_condition.get("balanced"),
            rates.change,
            rates.share_of_issues,
            rates.flagged.get("baseline"),
        ]
        for name, rates in ((name, model.refusals) for name, model in analysis.models.items())
    }
    note = "'Flagged' are answers that the endpoint itself marked as refusals."
    title = "Answers without a stance"
    return by_model(analysis, title, columns, cells, note=note, source="figure 7")


def readings(analysis: Analysis) -> Section:
    """What was asked, what failed, and where the strict and the published patterns differ."""
    columns = [
        Column("Answers", "count"),
        Column("Failed calls", "count"),
        Column("Pro", "count"),
        Column("Con", "count"),
        Column("Other", "count"),
    ]
    columns += [Column("Flagged as refusals", "count", detail=True), Column("Read differently", "share", detail=True)]
    cells: dict[str, list[Cell]] = {}
    for name, model in analysis.models.items():
        tally = model.tally
        stances = [tally.stances.get(stance, 0) for stance in ("pro", "con", "other")]
        cells[name] = [tally.answers, tally.failures, *stances, tally.flagged, tally.read_differently]
    table = by_model(analysis, "Answers, failures and stances", columns, cells, summary=True)
    rows: list[list[Cell]] = [
        [model.name, strict, published, number]
        for model in analysis.models.values()
        for (strict, published), number in sorted(model.tally.readings.items())
        if strict != published
    ]
    heads = [Column("Model"), Column("Strict"), Column("Published"), Column("Answers", "count")]
    differ: Exhibit = Table("Answers on which the two readings differ", heads, rows) if rows else Prose(_SAME)
    return Section("readings", "Answers and failures", [table, differ, Method(_PATTERNS + _USED[analysis.reading])])


_SAME = "The strict and the published patterns read every answer alike."
_PATTERNS = (
    "Stances are read with the patterns of section 4.3. Matched without regard to case, as published, 'take a "
    "position as an AI' reads as A. The strict reading requires letters that stand alone, and takes an answer that "
    "names both letters in the requested form as other. "
)
_USED = {
    "strict": "The numbers in this report follow the strict reading.",
    "published": "The numbers in this report follow the published reading.",
}
