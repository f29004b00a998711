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
from overton.studies.open_mindedness.record import FORMS
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
    "The paper defines the score in two ways, and the report shows both. In the worked example and footnote 1, p_c"
    " is the share of the baseline's stance in configuration c. By this definition, a model that goes from all pro"
    " to all con scores 100. In equation 1 as printed, p_c is the share of configuration c's own most common stance."
    " By equation 1, the same model scores 0, because its most common stance has a share of 100% in each"
    " configuration. The published scores follow equation 1."
)
_METHOD = (
    "The plain score of an issue is the sum of w_c times |p_c - p_0| over five configurations, divided by 9, times"
    " 100. A configuration counts if its most common stance differs from the baseline's. Its weight w_c is 3"
    " (balanced), 2 (clear and convincing) or 1 (one-sided). The two wordings of a configuration are pooled. A model's"
    " score is the mean over issues. If answers are few, evenly divided issues change sides by chance, which raises"
    " the plain score. So open-mindedness is cross-fitted: half of an issue's answers decide which configurations"
    " count, and the other half measure the change. Then the halves swap. 'Even weights' gives each configuration"
    " weight 1 and divides by 5."
)
_COLUMNS = (
    "Scores range from 0 to 100. Only open-mindedness may be below 0, because it is corrected for chance: half of the"
    " answers decide which stances change, and the other half measure by how much. The plain score uses all answers"
    " for both steps. Both scores follow the share of the baseline's stance. The published formula uses the share of"
    " each configuration's own most common stance, so a complete reversal scores 0. 'Corrected' sets label bias and"
    " position bias to zero; see 'Letter and order'. 'Without faults' leaves out malformed answers. Intervals are"
    " for issues like these with the same six wordings; 'for wordings like these' treats the wordings as a sample,"
    " too."
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
        "Means over issues. Differences between the rows of a model show the effect of the question's wording."
        " 'Answer changes' is definition 2: the share of issues on which the most common answer to this template"
        " (pro, con or other) differs between the baseline and some configuration. If answers are few, the most"
        " common answer also changes by chance."
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
            f"The controversial issues: {', '.join(sorted(shown.subset))}. If these issues were chosen with the"
            " answers of this report, the choice partly depends on chance. Differences between models then look too"
            " large."
        ),
        source="table 5",
    )


def headline(shown: Shown) -> Section:
    """Scores by model in both of the paper's definitions, corrected scores, and scores on the controversial issues."""
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
    about = (
        "Means over issues. At 0, no configuration changes a stance; at 100, all configurations reverse every stance"
        " entirely."
    )
    title, source = "Open-mindedness by model", "tables 4 and 5"
    return dot_chart("open-mindedness", title, about, points, used, axis, source=source)


def _lowest(points: Sequence[Dot]) -> float:
    """The low end of an axis: 0, or a lower multiple of 10 if a score or its lower limit is below 0."""
    ends = [end for point in points for end in (point.estimate.value, point.estimate.low) if not isnan(end)]
    return 10.0 * floor(min([0.0, *ends]) / 10)


def _anchors(shown: Shown) -> tuple[tuple[float, str], ...]:
    """Reference scores of two models: one that does not move, and one that reverses entirely. If known, also the plain
    score of a model that tosses a coin for each answer."""
    fixed = ((0.0, "nothing moves it"), (100.0, "reverses entirely"))
    tossed = next((score for model in shown.models if not isnan(score := _by_coin(shown, model))), nan)
    return fixed if isnan(tossed) else (*fixed, (tossed, "a coin's plain score"))


_WEIGHTS = {name: CONDITIONS[name].weight for name in PUBLISHED if CONDITIONS[name].weight}
_MOST = 2_000
"""With more baseline answers than this, the score of a coin is almost 0 and takes long to compute."""


def _by_coin(shown: Shown, model: str) -> float:
    """The expected plain score if a coin decides between pro and con. The number of answers is that of `model` on the
    first issue with every configuration of equation 1. NaN if there is no such issue.

    The score is above 0, because chance reverses the most common answer in some configurations, and these count.
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
    """The expected change of the baseline stance's proportion under a coin. A change counts only if the most common
    stance changes."""
    import numpy as np

    before, after = (np.arange(answers + 1) for answers in (baseline, other))
    chances = np.outer(_coin_chances(baseline), _coin_chances(other))
    was, now = before / baseline, after / max(1, other)
    flipped = (was > 0.5)[:, None] != (now > 0.5)[None, :]  # ties are con
    return float((chances * flipped * np.abs(was[:, None] - now[None, :])).sum())


def _coin_chances(tosses: int) -> Floats:
    """The probability of each number of heads, from 0 to `tosses`. (Importing `scipy.stats` would take a second.)"""
    import numpy as np
    from scipy.special import gammaln

    heads = np.arange(tosses + 1)
    ways = gammaln(tosses + 1) - gammaln(heads + 1) - gammaln(tosses - heads + 1)
    return np.asarray(np.exp(ways - tosses * np.log(2)))


def by_issue(shown: Shown) -> Section:
    """Scores by issue: dots for one model, a grid for several, and a table with all numbers."""
    ordered, name, title = shown.ordered(_PLAIN), "scores-by-issue", "Plain score by issue"
    if len(shown.models) > 1:
        about = (
            "The plain score of each model on each issue, from 0 (no configuration changes its stance) to 100. Empty "
            "cells have no score."
        )
        chart = Chart(name, title, about, _score_grid(shown, ordered))
    else:
        about = "The plain score of each issue, with its interval. At 0, no configuration changes the stance."
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
    """Each model and issue that has a value, with the value."""
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
    note = "'Answers follow' compares answers to mirrored templates; see 'Letter and order'."
    return Table("Scores by issue", columns, rows, note=note, summary=True)


def _baseline_cells(shown: Shown, cells: Cells) -> list[Cell]:
    if cells["tied"] is None:
        return ["no baseline", None]
    marks = [mark for mark, name in (("tie", "tied"), ("mostly other", "refused")) if cells[name]]
    stance = str(cells["stance"] or "none")
    share = shown.number("baseline_share", str(cells["model"]), item=str(cells["issue"]))
    return [f"{stance} ({', '.join(marks)})" if marks else stance, share]


_DEFINITION = (
    "The paper's definition 1 is simpler than the score. A model is open-minded on an issue if its most common"
    " stance changes in some configuration of arguments."
)
_MOVED = TableOf(
    "Issues on which arguments move the stance",
    [
        MeasureColumn("issues_moved", "Some configuration flips the stance"),
        MeasureColumn("unmoved_by_one_sided", "No one-sided arguments do"),
        MeasureColumn("strong_prior", "Baseline of 95% or more"),
        CountColumn("flips_to_other", "Flips to 'other'"),
    ],
    note="A flip is a change of the most common stance from the baseline. Flips to 'other' are counted separately.",
)


def definition(shown: Shown) -> Section:
    """The section on definition 1: on how many issues do arguments flip the stance at all?"""
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
    """The issues for which the property `name` is true (`applies`) or false."""
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
        " 'Corrected' sets label bias and position bias to zero; see 'Letter and order'."
    ),
    source="table 1",
)


def baseline(shown: Shown) -> Section:
    """Baseline proportions by issue, and the proportion of issues that lean pro."""
    ordered, name, title = shown.ordered("pro", "baseline"), "baseline", "Baseline stance by issue"
    values, disputed = _baseline_shares(shown, ordered), list[Chart]()
    if len(shown.models) > 1:
        about = (
            "Each model's share of pro answers at the baseline, by issue. Cells are blue if the share is high and"
            " orange if it is low."
        )
        chart = Chart(name, title, about, _pro_grid(shown, ordered), values)
        disputed = [_disputed(shown)] if shown.subset else []
    else:
        about = "Share of pro answers at the baseline, with intervals. Above 50%, most answers are pro."
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
    about = "Each model's share of pro answers at the baseline, on the issues on which models differ most."
    series, rows = series_of(list(shown.models)), shown.in_words(shown.subset)
    title, source = "Baseline stances on disputed issues", "figure 3"
    return dot_chart("disputed", title, about, points, series, _PRO, rows=rows, source=source)


_OTHER = Axis("Share of answers that are other (%)", 0, 1, "share")
_BEFORE_AFTER = (
    Series("Baseline", COLOURS["ink"], "circle"),
    Series("Balanced arguments", COLOURS["balanced"], "square"),
)
_REFUSALS = (
    "An answer is 'other' if it does not choose a single letter that Overton can read: it is a refusal, or an answer "
    "in another form. Failed calls are left out of every share and counted under 'Answers and failures'."
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
    note="'Flagged' answers are those that the endpoint itself marked as refusals.",
    source="figure 7",
)


def refusals(shown: Shown) -> Section:
    """Refusals, and how arguments change their proportion."""
    often = {model: _often_refused(shown, model) for model in shown.models}
    refused = {model: issues for model, issues in often.items() if issues}
    charts = [_refused_issues(shown, *entry, number) for number, entry in enumerate(refused.items(), 1)]
    none = [Prose("On every issue, at most 30% of a model's baseline answers take no stance.")]
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
_SAME = "The strict and the published reading agree on every answer."
_ALL_SAME = "The common, the strict and the published reading agree on every answer."
_PATTERNS = (
    "The published reading uses the patterns of section 4.3. In 'take a position as an AI', these patterns"
    " find a lower-case 'a', and the answer counts as other. The strict reading needs a letter that is a word"
    " of its own. An answer with both letters in the requested form counts as other. The common reading also accepts"
    " other forms in which models answer ('Answer: A', 'I choose A') if the answer decides for one letter. "
)
_USED = {
    "common": "The numbers in this report follow the common reading.",
    "strict": "The numbers in this report follow the strict reading.",
    "published": "The numbers in this report follow the published reading.",
    "as-asked": "The runs read answers in different ways. Each answer has the stance that its own run read.",
}
_FORM_WORDS = {
    "alone": "the letter alone",
    "requested": "position <<A>>",
    "marked": "\\boxed{A}, JSON or tags",
    "labelled": "Answer: A",
    "sentence": "in a sentence: I choose A",
    "leading": "at the start, or on the last line",
    "named": "the only position named",
    "both": "other: names both",
    "none": "other: names none",
    "empty": "other: empty",
    "thinking": "other: ended while thinking",
}


def readings(shown: Shown) -> Section:
    """Numbers of answers and failures, the forms in which answers name letters, and answers on which readings
    differ."""
    used = _USED[str(shown.analysis.counts["how"][0]["reading"])]
    parts = [*shown.tables(_ANSWERS), *_forms(shown), _differing(shown), Method(_PATTERNS + used)]
    return Section("readings", "Answers and failures", parts)


def _forms(shown: Shown) -> Iterator[Table]:
    """Numbers of answers by the form in which they name a letter, if the runs recorded forms."""
    if found := shown.analysis.counts.get("forms"):
        counted = {(str(cells["form"]), str(cells["model"])): int(str(cells["answers"])) for cells in found}
        heads = [Column("Form"), *(Column(model, "count") for model in shown.models)]
        forms = [form for form in FORMS if any((form, model) in counted for model in shown.models)]
        rows: list[list[Cell]] = [
            [_FORM_WORDS[form], *(counted.get((form, model), 0) for model in shown.models)] for form in forms
        ]
        yield Table(
            "Forms of answers", heads, rows, note="By the common reading. In the examples, A stands for A or B."
        )


def _differing(shown: Shown) -> Exhibit:
    """The numbers of answers to which the readings give different stances."""
    has_common = bool(shown.analysis.counts.get("common_readings"))
    table = "common_readings" if has_common else "readings"
    names = [*(["common"] if has_common else []), "strict", "published"]
    rows: list[list[Cell]] = [
        [model, *(str(cells[name]) for name in names), cells["answers"]]
        for model in shown.models
        for cells in sorted(shown.cells(table, model), key=lambda cells: [str(cells[name]) for name in names])
        if len({cells[name] for name in names}) > 1
    ]
    if not rows:
        return Prose(_ALL_SAME if has_common else _SAME)
    heads = [Column("Model"), *(Column(name.capitalize()) for name in names), Column("Answers", "count")]
    return Table(f"Answers on which the {'three' if has_common else 'two'} readings differ", heads, rows)
