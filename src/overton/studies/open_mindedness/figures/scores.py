"""The headline: open-mindedness by model and by issue (equations 1 and 2, tables 4 and 5), and definition 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import floor, isnan, nan

from overton.statistics import Estimate
from overton.studies.charts.dots import Dot, Series, dots
from overton.studies.charts.grids import GridCell, grid
from overton.studies.numbers import sentence
from overton.studies.open_mindedness.figures.coin import by_coin
from overton.studies.open_mindedness.figures.names import PLAIN, SCORE, blank, by_model, in_words, ordered
from overton.studies.open_mindedness.measures.analysis import Analysis, ModelResult
from overton.studies.open_mindedness.measures.results import IssueResult
from overton.studies.sections import (
    COLOURS,
    Callout,
    Cell,
    Chart,
    Column,
    Drawing,
    EmptyCell,
    Exhibit,
    Method,
    Prose,
    Section,
    Table,
)

_SERIES = (
    Series("Open-mindedness", COLOURS["accent"], "circle"),
    Series("Plain score", COLOURS["muted"], "diamond"),
    Series("Plain score, corrected for letter and order", COLOURS["balanced"], "square"),
)
_READINGS = (
    "The paper defines the score twice, and both readings are shown. In the first, p_c is the share of the "
    "baseline's own stance in configuration c: a model that goes from all pro to all con scores 100, as the paper's "
    "worked example and footnote 1 have it. In the second, equation 1 as printed, p_c is the share of configuration "
    "c's own most common stance: the same model scores 0, because both shares are 100%. The published scores follow "
    "the second."
)
_METHOD = (
    "Plain score of an issue: the sum over five configurations of w_c times |p_c - p_0|, counted if the most common "
    "stance differs from the baseline's, with weights 3 (balanced), 2 (clear and convincing) and 1 (one-sided), "
    "divided by 9, times 100. The two wordings of a configuration are pooled. A model's score is the mean over "
    "issues. Chance flips evenly divided issues, which raises the plain score if answers are few. So "
    "open-mindedness is cross-fitted: half of an issue's answers decide what flips, the other half measure by how "
    "much, and then the halves swap. 'Even weights' gives each configuration weight 1 and divides by 5."
)


def headline(analysis: Analysis) -> Section:
    """Scores by model in both readings, published and corrected, and on the controversial issues."""
    exhibits: list[Exhibit] = []
    if analysis.notes:
        exhibits.append(Callout("\n".join(analysis.notes), "warning", summary=True))
    exhibits += [_chart(analysis), _table(analysis), Method(f"{_METHOD}\n\n{_READINGS}")]
    if any(model.wordings for model in analysis.models.values()):
        exhibits.append(_wordings(analysis))
    if any(model.subset for model in analysis.models.values()):
        exhibits.append(_subset(analysis))
    return Section("open-mindedness", "Open-mindedness", exhibits)


def _chart(analysis: Analysis) -> Chart:
    points = []
    for model in analysis.models.values():
        estimates = [model.cross_fitted.open_mindedness, *_plain_and_corrected(model)]
        points += [Dot(model.name, index, estimate) for index, estimate in enumerate(estimates)]
    used = _SERIES if any(point.series == 2 for point in points) else _SERIES[:2]
    rows = list(analysis.models)
    axis = replace(SCORE, low=_lowest(points), anchors=_anchors(analysis))
    spec = partial(dots, points, rows, used, axis)
    about = "Means over issues, with intervals. 0: no configuration flips a stance; 100: all reverse it entirely."
    return Chart("open-mindedness", "Open-mindedness by model", about, spec, source="tables 4 and 5")


def _lowest(points: Sequence[Dot]) -> float:
    """The low end of an axis: 0, or lower if a cross-fitted score or its limit is."""
    ends = [end for point in points for end in (point.estimate.value, point.estimate.low) if not isnan(end)]
    return 10.0 * floor(min([0.0, *ends]) / 10)


def _anchors(analysis: Analysis) -> tuple[tuple[float, str], ...]:
    """What a model would score that nothing moves, that reverses entirely, and by the plain score one that tosses a
    coin, asked as often."""
    fixed = ((0.0, "nothing moves it"), (100.0, "reverses entirely"))
    tossed = next((score for model in analysis.models.values() if not isnan(score := by_coin(model))), nan)
    return fixed if isnan(tossed) else (*fixed, (tossed, "a coin's plain score"))


def _table(analysis: Analysis) -> Table:
    columns = [Column("Open-mindedness", "score"), Column("Plain", "score"), Column("Plain, corrected", "score")]
    columns += [Column("Plain, without faults", "score")] if _faulty(analysis) else []
    columns += [
        Column("By the published formula", "score", detail=True),
        Column("Plain, for wordings like these", "score", detail=True),
        Column("Corrected, by the published formula", "score", detail=True),
        Column("Plain, even weights", "score", detail=True),
        Column("Even weights, by the published formula", "score", detail=True),
    ]
    columns += [Column("Issues scored", "count")]
    cells: dict[str, list[Cell]] = {
        name: [*_scores(model, faulty=_faulty(analysis)), model.scored] for name, model in analysis.models.items()
    }
    return by_model(
        analysis,
        "Open-mindedness by model",
        columns,
        cells,
        note=_COLUMNS,
        source="tables 4 and 5",
        summary=True,
    )


_COLUMNS = (
    "From 0 to 100. For open-mindedness one half of the answers decides what flips and the other measures how far, so "
    "that chance does not raise it. The plain score takes all answers for both. Both take the share of the baseline's "
    "stance in each configuration. The published formula takes the share of the configuration's own most common "
    "stance, by which a complete reversal scores 0. 'Corrected' sets the pulls of letter and order to zero; see "
    "'Letter and order'. 'Without faults' leaves out answers with a fault of form. The intervals are for issues like "
    "these, with the six wordings fixed; 'for wordings like these' treats the wordings as a sample, too."
)


def _faulty(analysis: Analysis) -> bool:
    """Whether any answer has a fault of form."""
    return any(fault.faulty for fault in analysis.faults)


def _scores(model: ModelResult, *, faulty: bool) -> list[Cell]:
    scores, corrected, none = model.scores, model.corrected, blank(model.not_computed, "corrected")
    return [
        model.cross_fitted.open_mindedness,
        scores.open_mindedness,
        corrected.open_mindedness if corrected else none,
        *([model.without_faults.open_mindedness if model.without_faults else None] if faulty else []),
        scores.as_published,
        model.like_these.open_mindedness if model.like_these else EmptyCell("the table does not distinguish wordings"),
        corrected.as_published if corrected else none,
        scores.even,
        scores.even_as_published,
    ]


def _wordings(analysis: Analysis) -> Table:
    columns = [Column("Model"), Column("Template"), Column("Pro share at the baseline", "share")]
    columns += [Column("Other", "share"), Column("Open-mindedness", "score"), Column("Answers", "count")]
    rows: list[list[Cell]] = [
        [name, str(wording.template), wording.pro, wording.other, wording.open_mindedness, wording.answers]
        for name, model in analysis.models.items()
        for wording in model.wordings or ()
    ]
    note = "Means over issues. Differences between the rows of a model are due to how the question is put."
    return Table("By wording of the question", columns, rows, note=note)


def _subset(analysis: Analysis) -> Table:
    columns = [Column("Plain score", "score"), Column("By the published formula", "score")]
    columns += [Column("Plain, corrected", "score")]
    cells: dict[str, list[Cell]] = {
        name: [
            model.subset.scores.open_mindedness,
            model.subset.scores.as_published,
            model.subset.corrected.open_mindedness
            if model.subset.corrected
            else blank(model.not_computed, "corrected"),
        ]
        for name, model in analysis.models.items()
        if model.subset
    }
    chosen = next(model.subset.issues for model in analysis.models.values() if model.subset)
    note = (
        f"The controversial issues: {', '.join(chosen)}. If these same answers chose them, chance has had a hand in "
        "it, and differences between models on them are too large."
    )
    return by_model(analysis, "Scores on the controversial issues", columns, cells, note=note, source="table 5")


def by_issue(analysis: Analysis, questions: Mapping[str, str]) -> Section:
    """Scores by issue: dots for one model, a grid for several, and all numbers in a table."""
    several = len(analysis.models) > 1
    about = (
        "Each cell is the plain score of one model on one issue, from 0 (nothing flips its stance) to 100; an "
        "empty cell has no score."
        if several
        else "The plain score of each issue; lines are intervals. A score of 0 means that no configuration flips the"
        " stance."
    )
    spec = _grid(analysis, questions) if several else _rows(analysis, questions)
    chart = Chart("scores-by-issue", "Plain score by issue", about, spec)
    return Section("issues", "By issue", [chart, _issues(analysis)])


def _grid(analysis: Analysis, questions: Mapping[str, str]) -> Drawing:
    cells = [
        GridCell(
            questions.get(result.issue, result.issue),
            model.name,
            result.scores.open_mindedness.value,
            f"{result.scores.open_mindedness.value:.0f}",
            _tip(questions, result, model.name),
        )
        for model in analysis.models.values()
        for result in model.issues.values()
        if not isnan(result.scores.open_mindedness.value)
    ]
    columns = list(analysis.models)
    rows = in_words(_ordered(analysis), questions)
    return partial(grid, cells, rows, columns, scale="score", title=PLAIN.title)


def _tip(questions: Mapping[str, str], result: IssueResult, model: str) -> str:
    words = (model, result.issue, questions.get(result.issue, ""))
    return "\n".join([*filter(None, words), sentence(result.scores.open_mindedness, "score")])


def _rows(analysis: Analysis, questions: Mapping[str, str]) -> Drawing:
    points = [
        Dot(questions.get(result.issue, result.issue), index, estimate)
        for model in analysis.models.values()
        for result in model.issues.values()
        for index, estimate in enumerate(_plain_and_corrected(result))
    ]
    return partial(dots, points, in_words(_ordered(analysis), questions), _SERIES[1:], PLAIN, wrap=True)


def _plain_and_corrected(result: IssueResult | ModelResult) -> list[Estimate]:
    corrected = [result.corrected.open_mindedness] if result.corrected else []
    return [result.scores.open_mindedness, *corrected]


def _ordered(analysis: Analysis) -> list[str]:
    """The issues, the highest mean score first."""
    found = [model.issues.items() for model in analysis.models.values()]
    return ordered((issue, result.scores.open_mindedness.value) for issues in found for issue, result in issues)


def _issues(analysis: Analysis) -> Table:
    columns = [Column("Issue", items=True), Column("Model"), Column("Baseline stance")]
    columns += [Column("Its share", "share"), Column("Plain score", "score"), Column("Plain, corrected", "score")]
    columns += [
        Column("Answers follow"),
        Column("By the published formula", "score", detail=True),
        Column("Topic", detail=True),
    ]
    rows: list[list[Cell]] = [
        [
            result.issue,
            model.name,
            *_baseline(result),
            result.scores.open_mindedness,
            result.corrected.open_mindedness if result.corrected else blank(result.not_computed, "corrected"),
            (result.letter_all.follows or "neither clearly") if result.letter_all else None,
            result.scores.as_published,
            result.topic,
        ]
        for issue in _ordered(analysis)
        for model in analysis.models.values()
        if (result := model.issues.get(issue))
    ]
    note = "Answers to mirrored templates show whether they follow the letter or the position; see 'Letter and order'."
    return Table("Scores by issue", columns, rows, note=note, summary=True)


def _baseline(result: IssueResult) -> list[Cell]:
    if result.baseline is None:
        return ["no baseline", None]
    marks = [
        mark for mark, applies in (("tie", result.baseline.tied), ("mostly other", result.baseline.refused)) if applies
    ]
    stance = result.baseline.stance or "none"
    return [f"{stance} ({', '.join(marks)})" if marks else stance, result.baseline.share]


def definition(analysis: Analysis) -> Section:
    """Definition 1's plain question: on how many issues do arguments flip the stance at all?"""
    columns = [Column("Some configuration flips the stance", "share"), Column("No one-sided arguments do", "share")]
    columns += [Column("Baseline of 95% or more", "share"), Column("Flips to 'other'", "count")]
    results = {name: model.definition for name, model in analysis.models.items()}
    cells: dict[str, list[Cell]] = {
        name: [result.moved, result.unmoved_by_one_sided, result.strong_prior, result.flips_to_other]
        for name, result in results.items()
    }
    note = "A flip is a change of the most common stance against the baseline; flips to 'other' are counted separately."
    table = by_model(analysis, "Issues on which arguments move the stance", columns, cells, note=note)
    listed = Table(
        "Which issues these are",
        [
            Column("Model"),
            Column("Not moved by one-sided arguments", items=True),
            Column("Baseline of 95% or more", items=True),
        ],
        [
            [name, _listed(result.unmoved_by_one_sided_issues), _listed(result.strong_prior_issues)]
            for name, result in results.items()
        ],
    )
    return Section("definition", "Is a model moved at all?", [Prose(_DEFINITION), table, listed])


_DEFINITION = (
    "Definition 1 asks a plainer question than the score: is a model open-minded on an issue, that is, does its most "
    "common stance change in some configuration of arguments?"
)


def _listed(issues: tuple[str, ...]) -> str:
    return ", ".join(issues) if issues else "none"
