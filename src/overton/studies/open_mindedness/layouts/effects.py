"""Report sections on influences on answers, and on agreement between models. The influences are arguments, single
arguments, the choice of arguments, letter and order, and the freedom to answer in one's own words. Models are compared
by their answers to issues, and by the effects of single arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import isnan

from overton.statistics import Estimate
from overton.studies.charts.axes import Axis, difference_axis
from overton.studies.charts.dots import Dot, Series
from overton.studies.charts.grids import GridCell, grid
from overton.studies.findings import counted
from overton.studies.frame import Cells
from overton.studies.layouts import CountColumn, MeasureColumn, RowsOf, TableOf
from overton.studies.numbers import sentence
from overton.studies.open_mindedness.declarations import PULLS
from overton.studies.open_mindedness.issue_numbers import AGREEMENT, LETTER_OR_POSITION
from overton.studies.open_mindedness.layouts.parts import BALANCED, LABELS, PLAIN, Shown, dot_chart
from overton.studies.open_mindedness.options import CONDITIONS
from overton.studies.sections import (
    COLOURS,
    Callout,
    Cell,
    Chart,
    Column,
    Exhibit,
    Method,
    Prose,
    Section,
    Table,
)

_READINGS = (Series("As answered", COLOURS["ink"], "circle"), Series("Corrected", COLOURS["balanced"], "square"))
_SHIFTS = (
    "Means over issues. Right of zero, arguments move a model towards pro; left of zero, towards con. 'Corrected' sets "
    "label bias and position bias to zero."
)


def shifts(shown: Shown) -> Section:
    """The mean change of the pro proportion from the baseline by configuration (figure 2), and the proportions of
    stances."""
    points = []
    for model in shown.models:
        for index, variant in enumerate(("plain", BALANCED)):
            points += [
                Dot(LABELS[name], index, change, panel=model)
                for name in shown.arguments
                if (change := shown.number("shift", model, name, variant)) is not None
                if variant == "plain" or not shown.missing(model, "corrected")
            ]
    axis = difference_axis("Mean change of the pro share from the baseline", [point.estimate for point in points])
    title = "Average shift by configuration"
    chart = dot_chart("shifts", title, _SHIFTS, points, _READINGS, axis, source="figure 2")
    changes = shown.by_condition(
        f"{title}, in percentage points",
        [MeasureColumn("shift", "Shift of the pro share"), MeasureColumn("shift", "Corrected", variant=BALANCED)],
        source="figure 2",
    )
    shares = shown.by_condition(
        "Stances by configuration",
        [
            *(
                MeasureColumn(stance, f"{stance.capitalize()}{said}", variant=variant)
                for variant, said in (("plain", ""), (BALANCED, ", corrected"))
                for stance in ("pro", "con")
            ),
            MeasureColumn("one_side", "Issues on one side"),
        ],
        note=(
            "Shares of all answers, averaged over issues. For the baseline see 'Stances without arguments'; for the"
            " share of other answers see 'Answers without a stance'. An issue is on one side if two or more of its"
            " answers take a side, and all of these answers take the same side."
        ),
    )
    return Section("shifts", "Shifts by configuration", [chart, changes, shares])


def topics(shown: Shown) -> Section | None:
    """Scores by topic (figure 4); None if the issues have no topics."""
    rows = shown.analysis.rows_of("open_mindedness", "topic", variant="plain")
    found = {(row.condition or "", row.model or ""): row.number for row in rows}
    if not found:
        return None
    values: dict[str, list[float]] = {}
    for (topic, _), number in found.items():
        values.setdefault(topic, []).extend([] if isnan(number.value) else [number.value])
    ordered = sorted(sorted(values), key=lambda topic: -sum(values[topic]) / max(1, len(values[topic])))
    scored = [
        (topic, model, found[topic, model]) for model in shown.models for topic in ordered if (topic, model) in found
    ]
    title, about = "Plain score by topic", "Mean plain score over the issues of each topic, in descending order."
    if len(shown.models) == 1:
        points = [Dot(topic, 0, score) for topic, _, score in scored]
        series = [Series("Plain score", COLOURS["accent"], "circle")]
        chart = dot_chart("topics", title, about, points, series, PLAIN, source="figure 4")
    else:
        boxes = [
            GridCell(topic, model, score.value, f"{score.value:.0f}", f"{model}\n{topic}\n{sentence(score, 'score')}")
            for topic, model, score in scored
            if not isnan(score.value)
        ]
        draw = partial(grid, boxes, ordered, list(shown.models), scale="score", title=PLAIN.title)
        chart = Chart("topics", title, about, draw, source="figure 4")
    columns = [Column("Topic"), Column("Model"), Column("Plain score", "score")]
    columns += [Column("By the published formula", "score")]
    published = "open_mindedness_as_published"
    cells: list[list[Cell]] = [
        [topic, model, score, shown.number(published, model, topic, facet="topic")]
        for topic, model, score in sorted(scored, key=lambda row: ordered.index(row[0]))
    ]
    return Section("topics", "By topic", [chart, Table("Scores by topic", columns, cells, source="figure 4")])


_SIDES = (
    Series("One con argument among pro ones", COLOURS["con"], "circle"),
    Series("One pro argument among con ones", COLOURS["pro"], "square"),
)
_CONTRARY = (
    "How much the share of one side falls when one contrary argument joins that side's arguments. The paper subtracts"
    " the share after 3:1 arguments from the share after one-sided arguments, so the number of agreeing"
    " arguments changes, too. The clean version starts from exactly three arguments of one side, so that only the"
    " contrary argument differs. It needs the configurations three-pro and three-con."
)
_PANELS = {
    "contrary": "All arguments of one side against 3:1 (as in the paper)",
    "clean": "Three arguments of one side against 3:1",
}
_EFFECTS = (
    *("contrary_con", "contrary_pro", "contrary_above_half"),
    *("clean_con", "clean_pro", "clean_above_half"),
)


def contrary(shown: Shown) -> Section:
    """The effect of a single contrary argument (figure 5) on all issues, and on the controversial issues."""
    exhibits: list[Exhibit] = [Prose(_CONTRARY), *_effects(shown, "contrary", "over all issues")]
    if any(shown.in_subset("contrary_con", model) is not None for model in shown.models):
        exhibits += _effects(shown, "contrary-subset", "on the controversial issues")
    return Section("contrary", "One contrary argument", exhibits)


def _effects(shown: Shown, name: str, where: str) -> Iterator[Exhibit]:
    """A chart of the effects, if there are any, and a table. If `name` is 'contrary', they cover all issues, otherwise
    only the controversial issues."""
    is_subset = name != "contrary"
    number = shown.in_subset if is_subset else shown.number
    models = [model for model in shown.models if number("contrary_con", model) is not None]
    known = [
        Dot(model, index, effect, panel=panel)
        for model in models
        for start, panel in _PANELS.items()
        for index, side in enumerate(("con", "pro"))
        if (effect := number(f"{start}_{side}", model)) is not None and not isnan(effect.value)
    ]
    if known:
        axis = difference_axis("Share taken by one contrary argument", [point.estimate for point in known])
        title = f"The effect of a single contrary argument {where}"
        about = f"Mean effect {where}. Right of zero, the contrary argument moves the model to the argument's side."
        yield dot_chart(name, title, about, known, _SIDES, axis, source="figure 5")
    above = {model: _above_half(shown, model, shown.subset if is_subset else None) for model in models}
    listed = "; ".join(f"{model}: {', '.join(issues)}" for model, issues in above.items() if issues)
    yield from shown.tables(
        TableOf(
            f"A single contrary argument {where}, in percentage points",
            [MeasureColumn(measure) for measure in _EFFECTS],
            RowsOf("subset") if is_subset else RowsOf(),
            note=f"Issues above 50 points: {listed or 'none'}.",
            source="figure 5",
        )
    )


def _above_half(shown: Shown, model: str, chosen: Sequence[str] | None) -> list[str]:
    """The issues on which a contrary argument takes more than half of the share; if `chosen` is given, only issues in
    it."""
    issues = [str(cells["issue"]) for cells in shown.cells("issues", model)]
    sides = {
        issue: [shown.number(f"contrary_{side}", model, item=issue) for side in ("con", "pro")]
        for issue in issues
        if chosen is None or issue in chosen
    }
    return [issue for issue, both in sides.items() if any(side is not None and side.value > 0.5 for side in both)]


_COUNTER = "Issues on which one-sided arguments moved answers away from the side of the arguments."
_CHANCE = (
    "If arguments hardly change shares, about half of all changes are against the arguments by chance alone. So read "
    "the number of shifts whose interval excludes 0."
)
_COUNTED = TableOf(
    "Shifts against the arguments",
    [
        CountColumn("counter_count", "Shifts"),
        CountColumn("counter_compared", "Of"),
        CountColumn("counter_clear", "Interval excludes 0"),
        MeasureColumn("counter_shift", "Mean size"),
    ],
    source="table 3",
)


def counter(shown: Shown) -> Section:
    """Shifts against the arguments (table 3)."""
    rows: list[list[Cell]] = [
        [
            model,
            str(cells["issue"]),
            LABELS[str(cells["condition"])],
            shown.number("counter_shift", model, str(cells["condition"]), item=str(cells["issue"])),
            "yes" if cells["clear"] else "no",
        ]
        for model in shown.models
        for cells in shown.cells("counter_shifts", model)
    ]
    heads = [
        Column("Model"),
        Column("Issue", items=True),
        Column("Arguments shown"),
        Column("Rise of the opposite side's share", "points"),
        Column("Interval excludes 0"),
    ]
    listed = [Table("Each shift against the arguments", heads, rows)] if rows else []
    counted = shown.tables(_COUNTED)
    return Section("counter", "Shifts against the arguments", [Prose(_COUNTER), *counted, *listed, Method(_CHANCE)])


_DRAWS = (
    "The table compares pairs of answers to the same issue, configuration, wording and template. It shows how often the"
    " two answers differ with different arguments, and with the same arguments. The difference between these rates (in"
    " percentage points) shows how much the random choice of arguments adds to chance. Comparing whole sets of"
    " arguments needs repeated sets (--draws)."
)
_DEPENDENCE = TableOf(
    "How often two answers to the same prompt differ",
    [
        MeasureColumn(name)
        for name in ("flips_other_set", "flips_same_set", "flips_extra", "majority_flips", "set_variance")
    ],
)


def draws(shown: Shown) -> Section:
    """The dependence of results on the random choice of arguments."""
    absent = [model for model in shown.models if shown.missing(model, "draws")]
    parts = [shown.absent(model, "draws", f"The share of {model}'s answers that differ is") for model in absent]
    tables = shown.tables(_DEPENDENCE)
    return Section("draws", "Which arguments were drawn", [*parts, *tables, Method(_DRAWS)])


_PULL_SERIES = (Series("Bias", COLOURS["accent"], "circle"),)
_WHY = (
    "A model that always answers A looks 66.7% pro at the baseline, because A supports pro in four of the six"
    " templates. Such a model also looks unmoved by arguments. This section shows label bias, position bias and"
    " other influences on answers besides the arguments. 'Corrected' scores and shares in the other sections set"
    " label bias and position bias to zero."
)
_HOW = (
    "Corrected shares come from a model with additive effects of letter, order and template family, with the effects of"
    " letter and order set to zero. In a balanced design, this correction equals the mean over the mirrored pairs of"
    " templates. If a bias is strong for one stance and weak for another, effects do not add up, and the correction is"
    " approximate. To find issues whose answers follow the letter, Overton compares two answers, one to each template"
    " of a mirrored pair. An issue follows the letter if such answers name the same letter more often than the same"
    " position (pro or con), and the interval of the difference excludes 0."
)
_ABOUT = "How much a side gains from its letter and from its position in the prompt. At zero, only content decides."
_PULL_TABLE = TableOf(
    "Label bias, position bias and other influences, in percentage points",
    [MeasureColumn(f"pulls_{name}") for name in PULLS],
    summary=True,
)


def bias(shown: Shown) -> Section:
    """Label bias, position bias and other influences, and the issues on which answers follow the letter."""
    absent = [model for model in shown.models if shown.missing(model, "pulls")]
    exhibits: list[Exhibit] = [Prose(_WHY)]
    exhibits += [
        shown.absent(model, "pulls", f"Label bias and position bias of {model} are", summary=True) for model in absent
    ]
    if len(absent) < len(shown.models):
        exhibits += [_pull_chart(shown), *shown.tables(_PULL_TABLE)]
    return Section("letter", "Letter and order", [*exhibits, _followers(shown), Method(_HOW)])


def _pull_chart(shown: Shown) -> Chart:
    points = [
        Dot(title, 0, number, panel=model)
        for model in shown.models
        for name, title in PULLS.items()
        if (number := shown.number(f"pulls_{name}", model)) is not None and not isnan(number.value)
    ]
    axis = difference_axis("Gain of a side's share", [point.estimate for point in points])
    return dot_chart("pulls", "Influences on answers besides arguments", _ABOUT, points, _PULL_SERIES, axis)


_WHERE = {"follows_at_baseline": ("baseline", "baseline"), "follows": (None, "all configurations")}


def _followers(shown: Shown) -> Exhibit:
    rows: list[list[Cell]] = [
        [
            model,
            str(cells["issue"]),
            where,
            *(shown.number(name, model, condition, item=str(cells["issue"])) for name in LETTER_OR_POSITION),
        ]
        for model in shown.models
        for cells in shown.cells("issues", model)
        for column, (condition, where) in _WHERE.items()
        if cells[column] == "letter"
    ]
    if not rows:
        return Prose("On no issue do answers follow the letter rather than the position.")
    columns = [Column("Model"), Column("Issue", items=True), Column("Where"), Column("Same letter", "share")]
    columns += [Column("Same position", "share"), Column("Difference", "points")]
    return Table("Issues whose answers follow the letter rather than the position", columns, rows)


_RESPONDENT = (
    "A simple statistical model of a respondent, fitted to these answers. The fitted respondent has a baseline"
    " stance for each issue, a shift for each side's arguments, label bias, position bias, and rates of refusal. Run"
    " a simulated model with these parameters (simulated/open-minded) to see how many trials a question needs."
)
_FIT = "Dispersion is 1 if the model fits. If it is above 1, intervals are widened by its square root."
_PARAMETERS = (
    *("susceptibility_pro", "susceptibility_con", "letter", "first", "request", "last"),
    *("refusal", "refusal_with_arguments"),
)


def respondent(shown: Shown) -> Section:
    """The parameters of the respondent model, fitted to each model's answers."""
    absent = [model for model in shown.models if shown.missing(model, "respondent")]
    exhibits: list[Exhibit] = [Prose(_RESPONDENT)]
    exhibits += [shown.absent(model, "respondent", f"The fit to {model} is") for model in absent]
    fitted = [model for model in shown.models if model not in absent]
    if not fitted:
        return Section("respondent", "Respondent model", exhibits)
    declared = [shown.analysis.measures[f"respondent_{name}"] for name in _PARAMETERS]
    columns = [*(Column(measure.title, measure.kind) for measure in declared), Column("Dispersion", "value")]
    rows: list[list[Cell]] = [
        [
            model,
            *(shown.number(f"respondent_{name}", model) for name in _PARAMETERS),
            shown.cells("counts", model)[0]["dispersion"],
        ]
        for model in fitted
    ]
    title = "Parameters, in logits except for the refusal rates"
    leans = shown.analysis.rows_of("respondent_lean")
    lean_rows: list[list[Cell]] = [[row.item, row.model, row.number] for row in leans]
    heads = [Column("Issue", items=True), Column("Model"), Column("Towards pro", "value")]
    exhibits += [
        Table(title, [Column("Model"), *columns], rows, note=_FIT),
        Table("Baseline stance by issue, in logits", heads, lean_rows),
    ]
    return Section("respondent", "Respondent model", exhibits)


_FREE = (
    "The free prompts are the forced prompts without the letters. The model answered in its own words after the same"
    " evidence. A judge, which saw neither the evidence nor the forced answer, labelled the position that the answer"
    " takes. A pair is a forced and a free answer to the same prompt. A pair differs if only one of its answers takes a"
    " side, or if they take opposite sides. Two forced answers also differ by chance. The null condition"
    " 'forced-again' shows how often; it needs more than one trial."
)
_FREE_METHOD = (
    "All issues have the same weight. 'Declines' counts free answers in which the model says that it does not take"
    " sides or have an opinion, even if the answer leans to one side. Strengths (slight, clear, strong) are shares of"
    " the answers that take a side."
)
_FREE_SERIES = [
    Series("Takes no side", COLOURS["other"], "circle"),
    Series("Takes the other side", COLOURS["con"], "square"),
]
_PAIRS = Axis("Share of pairs (%)", 0, 1, "share")
_DIFFER = {
    "free_differs": "Differ",
    "free_abstains": "No side when free",
    "free_opposite": "The other side",
    "free_speaks": "A side only when free",
}
_FIRMNESS = TableOf(
    "How firmly free answers take a side",
    [
        CountColumn("answers", "Free answers", "free"),
        *(MeasureColumn(f"free_{name}") for name in ("neither", "declines", "slight", "clear", "strong")),
    ],
    summary=True,
)


def free_answers(shown: Shown) -> Section | None:
    """Comparison of a model's free and forced answers; None if there are no free answers."""
    counts = [cells for cells in shown.analysis.counts.get("free", ()) if cells["condition"] is None]
    if not counts:
        return None
    parts: list[Exhibit] = [Prose(_FREE), *_unlabelled(shown)]
    if paired := [str(cells["model"]) for cells in counts if cells["pairs"]]:
        columns = [MeasureColumn(name, title) for name, title in _DIFFER.items()]
        beside = TableOf(
            "Free answers compared with forced ones", [CountColumn("pairs", "Pairs", "free"), *columns], summary=True
        )
        parts += [*shown.tables(beside), _free_chart(shown, paired)]
    else:
        said = "There are no forced answers, so the effect of forcing is unknown."
        parts.append(Callout(said, summary=True))
    takes = [("free_pro", "Pro"), ("free_con", "Con"), ("free_other", "Neither")]
    columns_of = [Column("Model"), Column("Configuration"), *(Column(title, "share") for _, title in takes)]
    rows: list[list[Cell]] = [
        [model, LABELS[name], *(_freely(shown, measure, model, name) for measure, _ in takes)]
        for model in shown.models
        for name in CONDITIONS
        if _freely(shown, "free_pro", model, name) is not None
    ]
    parts.append(Table("Which side free answers take", columns_of, rows))
    parts += [*shown.tables(_FIRMNESS), Method(_FREE_METHOD)]
    return Section("free", "Free answers", parts)


def _unlabelled(shown: Shown) -> Iterator[Exhibit]:
    for cells in shown.analysis.counts["free"]:
        unlabelled, answers = (int(cells[name] or 0) for name in ("unlabelled", "answers"))
        if cells["condition"] is None and unlabelled:
            said = (
                f"{cells['model']}: the judge gave no usable label to {unlabelled:,} of"
                f" {counted(answers + unlabelled, 'free answers')}. Unlabelled answers are left out."
            )
            yield Callout(said, "warning", summary=True)


def _freely(shown: Shown, measure: str, model: str, configuration: str) -> Estimate | None:
    return shown.number(measure, model, configuration, facet="configuration")


def _free_chart(shown: Shown, models: Sequence[str]) -> Chart:
    found = [
        (model, name)
        for model in models
        for name in CONDITIONS
        if _freely(shown, "free_differs", model, name) is not None
    ]
    points = [
        Dot(LABELS[name], series, number, panel=model)
        for model, name in found
        for series, measure in enumerate(("free_abstains", "free_opposite"))
        if (number := _freely(shown, measure, model, name)) is not None
    ]
    pairs = {(cells["model"], cells["condition"]): cells["pairs"] for cells in shown.analysis.counts["free"]}
    columns = [Column("Model"), Column("Configuration"), Column("Pairs", "count")]
    columns += [Column(title, "share") for title in _DIFFER.values()]
    values: list[list[Cell]] = [
        [model, LABELS[name], pairs[model, name], *(_freely(shown, measure, model, name) for measure in _DIFFER)]
        for model, name in found
    ]
    about = "Share of pairs whose forced answer takes a side, while the free answer takes no side or the other side."
    table = Table("Free answers compared with forced ones, by configuration", columns, values)
    return dot_chart(
        "free", "How free answers differ from forced ones", about, points, _FREE_SERIES, _PAIRS, values=table
    )


_AGREEMENT = (
    "The maximum pairwise difference (MPD) of an issue is the largest difference between two models' baseline shares "
    "of pro answers. Models are unanimous on an issue if its MPD is below 10 points. Models strongly disagree if the "
    "MPD is above 80 points. A unanimous issue is consistent if every model gives the same side in more than 90% of its"
    " answers (the paper's table 2), or in more than 95% (table 6)."
)
_STAR = "A star marks issues that are consistent at 95%."
_REFUSED = (
    "'Refused by' names the models that mostly took no stance. Such issues are left out of the controversial set."
)
_CHOICE = "Issues chosen as controversial, for the tables and figures that use them: "


def agreement(shown: Shown) -> Section:
    """Agreement between models at the baseline, and the issues on which they agree and disagree."""
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
    "How similarly the same arguments move two models. Framed cells are pairs of models from one family. Correlations"
    " below the diagonal are as in the paper. Correlations above the diagonal are within issue and side."
)
_EFFECTS_OF_ARGUMENTS = (
    "An argument's effect is the share of pro answers over all trials whose prompt contains it, as in the paper. The"
    " correlation of these effects between models comes mostly from differences between issues and sides. 'Within"
    " issue and side' subtracts the mean of each issue and side, so that only differences between arguments for one"
    " side remain."
)
_FAMILY: Mapping[object, str] = {True: "same", False: "different", None: "unknown"}


def correlations(shown: Shown) -> Section:
    """How the effects of single arguments correlate between models."""
    title, analysis = "The same arguments, different models", shown.analysis
    pairs = [cells for cells in analysis.counts["families"] if _correlation(shown, cells, "agreement") is not None]
    if not pairs:
        said = "There are no correlations, because no record lists the arguments shown."
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
            _FAMILY[cells["same_family"]],
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
            Method(_EFFECTS_OF_ARGUMENTS),
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
