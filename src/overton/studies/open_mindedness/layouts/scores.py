"""The report's sections on scores, stances without arguments and answers without a stance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import floor, isnan, nan

from overton.statistics import Estimate
from overton.statistics.arrays import Floats
from overton.studies.charts.axes import Axis
from overton.studies.charts.dots import Dot, Series, series_of
from overton.studies.charts.grids import GridCell, grid
from overton.studies.frame import Cells
from overton.studies.layouts import CountColumn, MeasureColumn, RowsOf, TableOf
from overton.studies.numbers import sentence
from overton.studies.open_mindedness.layouts.parts import BALANCED, LABELS, PLAIN, SCORE, Shown, dot_chart
from overton.studies.open_mindedness.options import CONDITIONS, PUBLISHED
from overton.studies.sections import (
    COLOURS,
    Callout,
    Cell,
    Chart,
    Column,
    Drawing,
    Exhibit,
    Method,
    Prose,
    Section,
    Table,
)

_Score = partial(MeasureColumn, detail=True)
_PLAIN = "open_mindedness"
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
_COLUMNS = (
    "From 0 to 100. For open-mindedness one half of the answers decides what flips and the other measures how far, so "
    "that chance does not raise it. The plain score takes all answers for both. Both take the share of the baseline's "
    "stance in each configuration. The published formula takes the share of the configuration's own most common "
    "stance, by which a complete reversal scores 0. 'Corrected' sets the pulls of letter and order to zero; see "
    "'Letter and order'. 'Without faults' leaves out answers with a fault of form. The intervals are for issues like "
    "these, with the six wordings fixed; 'for wordings like these' treats the wordings as a sample, too."
)
_BY_WORDING = TableOf(
    "By wording of the question",
    [
        MeasureColumn("pro", "Pro share at the baseline"),
        MeasureColumn("other", "Other"),
        MeasureColumn("open_mindedness_cross_fitted", "Open-mindedness"),
        MeasureColumn("responsive", "Answer changes"),
        CountColumn("answers", "Answers", "wordings"),
    ],
    RowsOf("wording", "Template"),
    note=(
        "Means over issues. Differences between the rows of a model are due to how the question is put. 'Answer "
        "changes' is definition 2: the share of issues on which the most common answer to this template, pro, con or "
        "other, is not the same without arguments and in all five configurations. Few answers change by chance."
    ),
)


def _scores(shown: Shown) -> TableOf:
    faulty = any(fault.faulty for fault in shown.analysis.faults)
    return TableOf(
        "Open-mindedness by model",
        [
            MeasureColumn("open_mindedness_cross_fitted", "Open-mindedness"),
            MeasureColumn(_PLAIN, "Plain"),
            MeasureColumn(_PLAIN, "Plain, corrected", variant=BALANCED),
            *([MeasureColumn(_PLAIN, "Plain, without faults", variant="without_faults")] if faulty else []),
            _Score("open_mindedness_as_published", "By the published formula"),
            _Score(_PLAIN, "Plain, for wordings like these", variant="wordings_like_these"),
            _Score("open_mindedness_as_published", "Corrected, by the published formula", variant=BALANCED),
            _Score("open_mindedness_even", "Plain, even weights"),
            _Score("open_mindedness_even_as_published", "Even weights, by the published formula"),
            CountColumn("scored", "Issues scored"),
        ],
        note=_COLUMNS,
        source="tables 4 and 5",
        summary=True,
    )


def _subset(shown: Shown) -> TableOf:
    return TableOf(
        "Scores on the controversial issues",
        [
            MeasureColumn(_PLAIN, "Plain score"),
            MeasureColumn("open_mindedness_as_published", "By the published formula"),
            MeasureColumn(_PLAIN, "Plain, corrected", variant=BALANCED),
        ],
        RowsOf("subset"),
        note=(
            f"The controversial issues: {', '.join(sorted(shown.subset))}. If these same answers chose them, chance has"
            " had a hand in it, and differences between models on them are too large."
        ),
        source="table 5",
    )


def headline(shown: Shown) -> Section:
    """Scores by model in both readings, published and corrected, and on the controversial issues."""
    notes = [str(cells["note"]) for cells in shown.analysis.counts["notes"]]
    warning: list[Exhibit] = [Callout("\n".join(notes), "warning", summary=True)] if notes else []
    return Section(
        "open-mindedness",
        "Open-mindedness",
        [
            *warning,
            _score_chart(shown),
            *shown.tables(_scores(shown)),
            Method(f"{_METHOD}\n\n{_READINGS}"),
            *shown.tables(_BY_WORDING, _subset(shown)),
        ],
    )


def _plain_and_corrected(shown: Shown, model: str, item: str | None = None) -> list[Estimate]:
    own, corrected = shown.number(_PLAIN, model, item=item), shown.number(_PLAIN, model, None, BALANCED, item)
    has_corrected = corrected is not None and not shown.missing(model, "corrected")
    return [number for number in (own, corrected if has_corrected else None) if number is not None]


def _score_chart(shown: Shown) -> Chart:
    points = []
    for model in shown.models:
        crossed = shown.number("open_mindedness_cross_fitted", model)
        numbers = [*([] if crossed is None else [crossed]), *_plain_and_corrected(shown, model)]
        points += [Dot(model, index, number) for index, number in enumerate(numbers)]
    used = _SERIES if any(point.series == 2 for point in points) else _SERIES[:2]
    axis = replace(SCORE, low=_lowest(points), anchors=_anchors(shown))
    about = "Means over issues, with intervals. 0: no configuration flips a stance; 100: all reverse it entirely."
    title, source = "Open-mindedness by model", "tables 4 and 5"
    return dot_chart("open-mindedness", title, about, points, used, axis, source=source)


def _lowest(points: Sequence[Dot]) -> float:
    """The low end of an axis: 0, or lower if a cross-fitted score or its limit is."""
    ends = [end for point in points for end in (point.estimate.value, point.estimate.low) if not isnan(end)]
    return 10.0 * floor(min([0.0, *ends]) / 10)


def _anchors(shown: Shown) -> tuple[tuple[float, str], ...]:
    """What a model would score that nothing moves, that reverses entirely, and by the plain score one that tosses a
    coin, asked as often."""
    fixed = ((0.0, "nothing moves it"), (100.0, "reverses entirely"))
    tossed = next((score for model in shown.models if not isnan(score := _by_coin(shown, model))), nan)
    return fixed if isnan(tossed) else (*fixed, (tossed, "a coin's plain score"))


_WEIGHTS = {name: CONDITIONS[name].weight for name in PUBLISHED if CONDITIONS[name].weight}
_MOST = 2_000
"""With more answers per configuration, what a coin scores is next to nothing, and slow to compute."""


def _by_coin(shown: Shown, model: str) -> float:
    """The expected plain score of answers that are pro or con by a coin, asked as often as `model` was on the first
    issue that has every configuration of equation 1; NaN if none has.

    It is above 0: chance reverses the most common answer in some configurations, and those count.
    """
    issues: dict[str, dict[str, int]] = {}
    for cells in shown.cells("conditions", model):
        issues.setdefault(str(cells["issue"]), {})[str(cells["condition"])] = int(cells["answers"] or 0)
    for asked in issues.values():
        if {"baseline", *_WEIGHTS} <= set(asked) and 0 < asked["baseline"] <= _MOST:
            moves = [weight * _move_by_coin(asked["baseline"], asked[name]) for name, weight in _WEIGHTS.items()]
            return 100 * sum(moves) / sum(_WEIGHTS.values())
    return nan


def _move_by_coin(baseline: int, other: int) -> float:
    """The expected change of the share of the baseline's stance, counted if another stance became the most common."""
    import numpy as np

    before, after = (np.arange(answers + 1) for answers in (baseline, other))
    chances = np.outer(_coin_chances(baseline), _coin_chances(other))
    was, now = before / baseline, after / max(1, other)
    flipped = (was > 0.5)[:, None] != (now > 0.5)[None, :]  # a tie is con
    return float((chances * flipped * np.abs(was[:, None] - now[None, :])).sum())


def _coin_chances(tosses: int) -> Floats:
    """The chance of each number of heads, from 0 to `tosses`. `scipy.stats` would take a second to import."""
    import numpy as np
    from scipy.special import gammaln

    heads = np.arange(tosses + 1)
    ways = gammaln(tosses + 1) - gammaln(heads + 1) - gammaln(tosses - heads + 1)
    return np.asarray(np.exp(ways - tosses * np.log(2)))


def by_issue(shown: Shown) -> Section:
    """Scores by issue: dots for one model, a grid for several, and all numbers in a table."""
    ordered, name, title = shown.ordered(_PLAIN), "scores-by-issue", "Plain score by issue"
    if len(shown.models) > 1:
        about = (
            "Each cell is the plain score of one model on one issue, from 0 (nothing flips its stance) to 100; an "
            "empty cell has no score."
        )
        chart = Chart(name, title, about, _score_grid(shown, ordered))
    else:
        about = (
            "The plain score of each issue; lines are intervals. A score of 0 means that no configuration flips the"
            " stance."
        )
        points = [
            Dot(shown.questions.get(issue, issue), index, number)
            for issue in (str(cells["issue"]) for cells in shown.issues)
            for index, number in enumerate(_plain_and_corrected(shown, shown.models[0], issue))
        ]
        chart = dot_chart(name, title, about, points, _SERIES[1:], PLAIN, rows=shown.in_words(ordered))
    return Section("issues", "By issue", [chart, _issues(shown, ordered)])


def _score_grid(shown: Shown, issues: Sequence[str]) -> Drawing:
    cells = [
        _grid_cell(shown, model, issue, number, f"{number.value:.0f}", sentence(number, "score"))
        for model, issue, number in _of_issues(shown, _PLAIN)
    ]
    return partial(grid, cells, shown.in_words(issues), list(shown.models), scale="score", title=PLAIN.title)


def _of_issues(shown: Shown, measure: str, condition: str | None = None) -> Iterator[tuple[str, str, Estimate]]:
    """Every model and issue with a value."""
    for cells in shown.issues:
        model, issue = str(cells["model"]), str(cells["issue"])
        number = shown.number(measure, model, condition, item=issue)
        if number is not None and not isnan(number.value):
            yield model, issue, number


def _grid_cell(shown: Shown, model: str, issue: str, number: Estimate, text: str, said: str) -> GridCell:  # noqa: PLR0917
    question = shown.questions.get(issue, "")
    tip = "\n".join([*filter(None, (model, issue, question)), said])
    return GridCell(question or issue, model, number.value, text, tip)


def _issues(shown: Shown, issues: Sequence[str]) -> Table:
    columns = [Column("Issue", items=True), Column("Model"), Column("Baseline stance")]
    columns += [Column("Its share", "share"), Column("Plain score", "score"), Column("Plain, corrected", "score")]
    columns += [
        Column("Answers follow"),
        Column("By the published formula", "score", detail=True),
        Column("Topic", detail=True),
    ]
    found = {(str(cells["issue"]), str(cells["model"])): cells for cells in shown.issues}
    rows: list[list[Cell]] = [
        [
            issue,
            model,
            *_baseline_cells(shown, cells),
            shown.number(_PLAIN, model, item=issue),
            shown.number(_PLAIN, model, None, BALANCED, issue),
            str(cells["follows"] or "neither clearly") if cells["compared"] else None,
            shown.number("open_mindedness_as_published", model, item=issue),
            cells["topic"],
        ]
        for issue in issues
        for model in shown.models
        if (cells := found.get((issue, model)))
    ]
    note = "Answers to mirrored templates show whether they follow the letter or the position; see 'Letter and order'."
    return Table("Scores by issue", columns, rows, note=note, summary=True)


def _baseline_cells(shown: Shown, cells: Cells) -> list[Cell]:
    if cells["tied"] is None:
        return ["no baseline", None]
    marks = [mark for mark, name in (("tie", "tied"), ("mostly other", "refused")) if cells[name]]
    stance = str(cells["stance"] or "none")
    share = shown.number("baseline_share", str(cells["model"]), item=str(cells["issue"]))
    return [f"{stance} ({', '.join(marks)})" if marks else stance, share]


_DEFINITION = (
    "Definition 1 asks a plainer question than the score: is a model open-minded on an issue, that is, does its most "
    "common stance change in some configuration of arguments?"
)
_MOVED = TableOf(
    "Issues on which arguments move the stance",
    [
        MeasureColumn("issues_moved", "Some configuration flips the stance"),
        MeasureColumn("unmoved_by_one_sided", "No one-sided arguments do"),
        MeasureColumn("strong_prior", "Baseline of 95% or more"),
        CountColumn("flips_to_other", "Flips to 'other'"),
    ],
    note="A flip is a change of the most common stance against the baseline; flips to 'other' are counted separately.",
)


def definition(shown: Shown) -> Section:
    """Definition 1's plain question: on how many issues do arguments flip the stance at all?"""
    heads = [
        Column("Model"),
        Column("Not moved by one-sided arguments", items=True),
        Column("Baseline of 95% or more", items=True),
    ]
    rows: list[list[Cell]] = [
        [
            model,
            _listed(shown, model, "moved_by_one_sided", applies=False),
            _listed(shown, model, "strong_prior", applies=True),
        ]
        for model in shown.models
    ]
    listed = Table("Which issues these are", heads, rows)
    return Section("definition", "Is a model moved at all?", [Prose(_DEFINITION), *shown.tables(_MOVED), listed])


def _listed(shown: Shown, model: str, name: str, *, applies: bool) -> str:
    """The issues that have a property, or that do not have it."""
    return ", ".join(str(cells["issue"]) for cells in shown.cells("issues", model) if cells[name] is applies) or "none"


_PRO = Axis("Share of answers that are pro (%)", 0, 1, "share", mark=0.5)
_LEANING = TableOf(
    "Stances without arguments",
    [
        MeasureColumn("leaning_pro", "Issues leaning pro"),
        MeasureColumn("leaning_pro", "Issues leaning pro, corrected", variant=BALANCED),
        *(
            MeasureColumn(stance, f"Mean share {stance}{said}", variant=variant, condition="baseline")
            for stance in ("pro", "con")
            for variant, said in (("plain", ""), (BALANCED, ", corrected"))
        ),
    ],
    note=(
        "An issue leans pro if more baseline answers are pro than con. For answers without a stance see 'Refusals'."
        " 'Corrected' sets the pulls of letter and order to zero; see 'Letter and order'."
    ),
    source="table 1",
)


def baseline(shown: Shown) -> Section:
    """Baseline shares by issue and the share of issues that lean pro."""
    ordered, name, title = shown.ordered("pro", "baseline"), "baseline", "Baseline stance by issue"
    values, disputed = _baseline_shares(shown, ordered), list[Chart]()
    if len(shown.models) > 1:
        about = (
            "Each cell is the share of a model's baseline answers to an issue that are pro: blue where most are,"
            " orange where few are."
        )
        chart = Chart(name, title, about, _pro_grid(shown, ordered), values)
        disputed = [_disputed(shown)] if shown.subset else []
    else:
        about = "The share of baseline answers that are pro, with intervals. At 50% pro and con are even."
        points = [
            Dot(shown.questions.get(issue, issue), 0, number)
            for _, issue, number in _of_issues(shown, "pro", "baseline")
        ]
        series = [Series("pro", COLOURS["pro"], "circle")]
        chart = dot_chart(name, title, about, points, series, _PRO, rows=shown.in_words(ordered), values=values)
    return Section("baseline", "Baseline stances", [*shown.tables(_LEANING), chart, *disputed])


def _pro_grid(shown: Shown, issues: Sequence[str]) -> Drawing:
    cells = [
        _grid_cell(shown, model, issue, number, f"{100 * number.value:.0f}", f"pro {sentence(number, 'share')}")
        for model, issue, number in _of_issues(shown, "pro", "baseline")
    ]
    title = "Share of answers that are pro (numbers in %)"
    return partial(grid, cells, shown.in_words(issues), list(shown.models), scale="pro", title=title)


def _baseline_shares(shown: Shown, issues: Sequence[str]) -> Table:
    columns = [Column("Issue", items=True), Column("Model")]
    columns += [Column("Pro", "share"), Column("Con", "share"), Column("Other", "share")]
    rows: list[list[Cell]] = [
        [issue, model, *(shown.number(stance, model, "baseline", item=issue) for stance in ("pro", "con", "other"))]
        for issue in issues
        for model in shown.models
        if shown.number("pro", model, "baseline", item=issue) is not None
    ]
    return Table("Baseline shares by issue", columns, rows)


def _disputed(shown: Shown) -> Chart:
    points = [
        Dot(shown.questions.get(issue, issue), index, pro)
        for index, model in enumerate(shown.models)
        for issue in shown.subset
        if (pro := shown.number("pro", model, "baseline", item=issue)) is not None
    ]
    about = "The baseline share of pro answers, model by model, on the issues where models differ most."
    series, rows = series_of(list(shown.models)), shown.in_words(shown.subset)
    title, source = "Baseline stances on disputed issues", "figure 3"
    return dot_chart("disputed", title, about, points, series, _PRO, rows=rows, source=source)


_OTHER = Axis("Share of answers that are other (%)", 0, 1, "share")
_BEFORE_AFTER = (
    Series("Baseline", COLOURS["ink"], "circle"),
    Series("Balanced arguments", COLOURS["balanced"], "square"),
)
_REFUSALS = (
    "An answer is 'other' if it names no letter or both: refusals and answers that miss the format. Failed calls are "
    "not answers; they are left out of every share and counted under 'Answers and failures'."
)
_WITHOUT_STANCE = TableOf(
    "Answers without a stance",
    [
        MeasureColumn("other", "At the baseline", condition="baseline"),
        MeasureColumn("other", "Balanced", condition="balanced"),
        MeasureColumn("other_change"),
        MeasureColumn("often_other"),
        MeasureColumn("flagged", "Flagged at the baseline", condition="baseline"),
    ],
    note="'Flagged' are answers that the endpoint itself marked as refusals.",
    source="figure 7",
)


def refusals(shown: Shown) -> Section:
    """Refusals and what arguments do to them."""
    often = {model: _often_refused(shown, model) for model in shown.models}
    refused = {model: issues for model, issues in often.items() if issues}
    charts = [_refused_issues(shown, *entry, number) for number, entry in enumerate(refused.items(), 1)]
    none = [Prose("No issue has more than 30% of a model's baseline answers without a stance.")]
    parts = [Prose(_REFUSALS), _others(shown), *(charts or none), *shown.tables(_WITHOUT_STANCE)]
    return Section("refusals", "Refusals", parts)


def _often_refused(shown: Shown, model: str) -> list[str]:
    """The issues with more than 30% of baseline answers without a stance."""
    issues = [str(cells["issue"]) for cells in shown.cells("issues", model)]
    others = [shown.number("other", model, "baseline", item=issue) for issue in issues]
    return [issue for issue, other in zip(issues, others, strict=True) if other is not None and other.value > 0.3]


def _others(shown: Shown) -> Chart:
    points = [
        Dot(LABELS[name], 0, number, panel=model)
        for model in shown.models
        for name in shown.conditions
        if (number := shown.number("other", model, name)) is not None
    ]
    series = [Series("Other", COLOURS["other"], "circle")]
    about = "Mean share of answers without a stance, by configuration."
    return dot_chart("refusals", "Answers without a stance", about, points, series, _OTHER, source="figure 7")


def _refused_issues(shown: Shown, model: str, issues: Sequence[str], number: int) -> Chart:
    points = [
        Dot(shown.questions.get(issue, issue), index, other)
        for issue in issues
        for index, condition in enumerate(("baseline", "balanced"))
        if (other := shown.number("other", model, condition, item=issue)) is not None
    ]
    return dot_chart(
        f"refused-issues-{number}",
        f"Issues that {model} refuses, without and with balanced arguments",
        "Issues with more than 30% of baseline answers without a stance.",
        points,
        _BEFORE_AFTER,
        _OTHER,
        rows=shown.in_words(issues),
        values=Table(
            f"Answers of {model} without a stance",
            [Column("Issue", items=True), Column("Arguments"), Column("Other", "share")],
            [[point.row, _BEFORE_AFTER[point.series].name, point.estimate] for point in points],
        ),
        source="figure 7",
    )


_ANSWERS = TableOf(
    "Answers, failures and stances",
    [
        CountColumn("answers", "Answers"),
        CountColumn("failures", "Failed calls"),
        CountColumn("pro", "Pro"),
        CountColumn("con", "Con"),
        CountColumn("other", "Other"),
        CountColumn("flagged", "Flagged as refusals", detail=True),
        MeasureColumn("read_differently", detail=True),
    ],
    summary=True,
)
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


def readings(shown: Shown) -> Section:
    """What was asked, what failed, and where the strict and the published patterns differ."""
    rows: list[list[Cell]] = [
        [model, str(cells["strict"]), str(cells["published"]), cells["answers"]]
        for model in shown.models
        for cells in sorted(shown.cells("readings", model), key=lambda cells: (cells["strict"], cells["published"]))
        if cells["strict"] != cells["published"]
    ]
    heads = [Column("Model"), Column("Strict"), Column("Published"), Column("Answers", "count")]
    differ: Exhibit = Table("Answers on which the two readings differ", heads, rows) if rows else Prose(_SAME)
    used = _USED[str(shown.analysis.counts["how"][0]["reading"])]
    return Section("readings", "Answers and failures", [*shown.tables(_ANSWERS), differ, Method(_PATTERNS + used)])
