"""The tables, charts and sections of a report on stance stability."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from math import isnan, sqrt

from overton.statistics import Estimate
from overton.studies.charts import Axis, Dot, dots, series_of
from overton.studies.findings import counted
from overton.studies.frame import Analysis
from overton.studies.layouts import (
    CountColumn,
    DotsOf,
    MeasureColumn,
    OverviewColumn,
    RowsOf,
    SectionOf,
    TableOf,
    make_report,
)
from overton.studies.numbers import number
from overton.studies.sections import Callout, Cell, Chart, Column, Exhibit, Method, Section, Table
from overton.studies.stance_stability.declarations import BANDS, COMPARED, ERROR, REUSE_SHARES
from overton.studies.stance_stability.findings import counts_of_model
from overton.studies.stance_stability.items import Topic
from overton.studies.stance_stability.layouts.conversations import trace_charts
from overton.studies.stance_stability.layouts.reuse import REUSE, TURNS, explain_absence, is_known, temperature_names

_Value = partial(MeasureColumn, kind="value")
_METHOD = (
    "The change rate is the number of changes between neighbouring turns, divided by the number of pairs of turns"
    " that both have a stance. An unclear turn keeps the last clear stance. Source re-use (equation 1) is the share"
    " of a turn's documents that an earlier turn also had, averaged from turn 2 on. The Chameleon score (equation 2)"
    " is the root mean square of change rate, confidence at changes and source re-use. A conversation that lacks one"
    " of these three parts has no score. Means are over conversations; standard deviations show how much"
    " conversations differ. "
)
_READINGS = {
    "no_change": {
        "zero": "A conversation without change has confidence 0 at changes.",
        "mean": "In a conversation without change, the confidence at changes is the mean over all its turns.",
    },
    "no_documents": {
        "zero": "A turn without documents counts as re-use of 0.",
        "left out": "A turn without documents is left out of re-use.",
    },
}


def _read(analysis: Analysis) -> str:
    """Return a text that says which documents are counted, and how points are handled that the formulas leave open."""
    (rules,) = analysis.counts["rules"]
    kind = rules["documents"]
    documents = f"Documents are those {kind}, distinguished by address. " if kind else ""
    return documents + " ".join(texts[str(rules[name])] for name, texts in _READINGS.items())


_STEADY = ((0.0, "never changes"), (0.5, "tosses a coin between two sides"), (1.0, "changes at every turn"))
"""Reference values for change rates, with a description of a model that has this rate."""


def _by_temperature(analysis: Analysis, measure: str, anchors: tuple[tuple[float, str], ...] = ()) -> Iterator[Chart]:
    """A chart of each model's mean at each temperature."""
    if not is_known(analysis, measure):
        return
    names, title = temperature_names(analysis), analysis.measures[measure].title
    points = [
        Dot(row.model or "", names.index(row.condition or ""), row.number)
        for row in analysis.rows_of(measure, "temperature", variant="plain")
        if row.model is not None
    ]
    axis = Axis(title, 0, 1, "value", anchors=anchors)
    spec = partial(dots, points, list(analysis.models), series_of([f"temperature {name}" for name in names]), axis)
    about = f"The mean {title.lower()} of each model at each temperature."
    yield Chart(measure.replace("_", "-"), title, about, spec, source="table 1")


def _score_by_temperature(analysis: Analysis) -> Iterator[Exhibit]:
    yield from _by_temperature(analysis, "chameleon")
    if not is_known(analysis, "chameleon"):
        yield explain_absence(analysis, "chameleon", "The Chameleon score is", "it needs documents and confidence")


def _table_1(analysis: Analysis) -> Iterator[Table]:
    """Table 1: each model at each temperature, then each model over all temperatures."""
    names = temperature_names(analysis)
    at: list[tuple[str | None, str]] = [(name, name) for name in names] if len(names) > 1 else []
    at.append((None, "all" if len(names) > 1 else names[0]))
    measures = [measure for measure in COMPARED if analysis.rows_of(measure.name)]
    columns = [Column("Model"), Column("Temperature"), Column("Conversations", "count")]
    for measure in measures:
        columns += [Column(measure.title, "value"), Column("sd", "value", detail=True)]
    rows: list[list[Cell]] = []
    for condition, shown in at:
        facet = None if condition is None else "temperature"
        for model in analysis.models:
            number_of = partial(analysis.row, model=model, facet=facet, condition=condition)
            if (turns := number_of("turns")) is None:
                continue
            rows.append([model, shown, turns.n])
            for measure in measures:
                mean, deviation = number_of(measure.name), number_of(measure.name, variant="sd")
                rows[-1] += [
                    None if mean is None else mean.number,
                    None if deviation is None else deviation.number.value,
                ]
    title = "Chameleon score, source re-use, confidence and stance changes"
    note = f"sd: standard deviation between conversations. {_read(analysis)}"
    yield Table(title, columns, rows, note=note, source="table 1", summary=True)


_Steady = partial(CountColumn, table="judge_errors", kind="value")
_STEADY_MODELS = TableOf(
    "Changes and scores expected from the judge's errors alone",
    [
        _Value("stance_changes", "Changes"),
        _Steady("changes", "... by errors alone"),
        _Value("chameleon", "Score"),
        _Steady("chameleon", "... by errors alone"),
        _Steady("without_errors", "... without errors"),
    ],
    note=(
        "'By errors alone' describes a model that never changes its stance, with the same number of turns, mean"
        f" confidence and re-use. The judge mislabels {number(ERROR, 'share')} of the answers; the other three labels"
        " are equally likely. 'Without errors' describes the same model with a judge that is always right."
    ),
    summary=True,
)
_ALONE = (
    "The score mostly shows whether there was at least one change. With the first change, the confidence at changes"
    " rises from 0 to about the model's mean confidence, even if the change is only an error of the judge. So read"
    " the parts of the score first, and compare the score with the score that the judge's errors alone would give."
)
_WITHOUT_FAULTS = TableOf(
    "Without malformed answers",
    [
        _Value(name, variant="without_faults")
        for name in ("change_rate", "drifted", "source_reuse", "confidence_at_changes", "chameleon")
    ],
    note="Malformed answers are left out of pairs of turns and of means.",
    summary=True,
)


def _scoring_method(analysis: Analysis) -> Iterator[Method]:
    yield Method(f"{_METHOD}{_read(analysis)} Intervals are over {analysis.counts['rules'][0]['over']}.")


def _bands(analysis: Analysis) -> Iterator[TableOf]:
    if is_known(analysis, "chameleon"):
        yield from (_SCORE_BANDS, _REUSE_BANDS)


_SCORE_BANDS = TableOf(
    "Bands of the Chameleon score",
    [MeasureColumn(measure.name) for measure in BANDS],
    note="Shares of conversations. The middle band includes both its bounds.",
    source="sections 3.3 and 4",
)
_REUSE_BANDS = TableOf(
    "Bands of source re-use",
    [MeasureColumn(measure.name) for measure in REUSE_SHARES],
    note="Shares of conversations. The middle band includes both its bounds.",
    source="section 3.3",
)
_OTHERS = tuple(
    f"{name}_{documents}"
    for name in ("source_reuse", "chameleon")
    for documents in ("cited_hosts", "retrieved", "retrieved_hosts")
)
SCORES = SectionOf(
    "scores",
    "Stance changes and the Chameleon score",
    [
        partial(_by_temperature, measure="change_rate", anchors=_STEADY),
        TableOf(
            "How stances move",
            [
                *(_Value(name) for name in ("change_rate", "reversals", "balanced_moves", "unclear_moves", "drifted")),
                *(_Value(name) for name in ("drift", "overall_view_changed", "longest_run")),
            ],
            note=(
                "All temperatures. Reversals go from one side to the other. Moves of 'balanced' are changes to or"
                " from 'balanced'; moves of 'unclear' are changes to or from 'unclear'. Drift goes from the first"
                " clear stance to the last, on a scale from -1 (critical) to +1 (supportive). The overall view has"
                " changed if the first and the last question about the overall view get different stances."
            ),
            summary=True,
        ),
        TableOf(
            "Sources and certainty",
            [
                *(_Value(name) for name in ("source_reuse", "source_reuse_given_pages", "source_reuse_by_chance")),
                *(_Value(name) for name in ("confidence_at_changes", "confidence")),
            ],
            note=(
                "All temperatures. 'Given the pages' is the re-use expected if each answer cited the same number of"
                " pages, chosen at random from the pages that the model was shown. 'From the collection'"
                " chooses them from all pages shown on the topic. Only re-use above these two expected values shows a"
                " habit of the model."
            ),
            summary=True,
        ),
        _score_by_temperature,
        _table_1,
        _STEADY_MODELS,
        Method(_ALONE),
        _WITHOUT_FAULTS,
        TableOf("Re-use and score by other documents", [_Value(name) for name in _OTHERS], note="All temperatures."),
        _bands,
        _scoring_method,
    ],
)


_SCIENCE = 0.001
_TEMPERATURES = (
    "The variance of the means is the variance between a model's means at the different temperatures. 'By chance alone'"
    " is the variance expected from this number of conversations if temperature made no difference. The standard"
    " deviation has the measure's unit. The permutation test exchanges a topic's values between temperatures. Its p"
    " value is corrected for all models and measures (Holm). The uncorrected p value is in brackets. The variance"
    " within a topic is the variance between a topic's values at the different temperatures, averaged over topics."
    " This variance includes chance differences"
    " between conversations on the same topic. The paper reports a variance below 0.004, but does not say which"
    " variance."
)


def _variances(analysis: Analysis) -> Iterator[Exhibit]:
    found = analysis.counts.get("temperatures", ())
    if not found:
        yield Callout(
            "Variance across temperatures is not computed, because there is only one temperature.", summary=True
        )
        return
    heads = ("Model", "Measure", "Variance of the means", "... by chance alone", "Standard deviation of the means")
    columns = [Column(head) for head in (*heads, "Variance within a topic", "p, paired by topic")]
    rows: list[list[Cell]] = []
    for cells in found:
        model, measure = str(cells["model"]), str(cells["measure"])
        variance, within = (
            analysis.estimate(f"{measure}_temperature_{name}", model=model) for name in ("variance", "within_topics")
        )
        p, adjusted = cells["p"], cells["adjusted"]
        rows.append(
            [
                model,
                analysis.measures[measure].title,
                _with_interval(variance),
                _small(cells["by_chance"]),
                _small(sqrt(variance.value)),
                _small(within.value),
                "–" if p is None or adjusted is None else f"{adjusted:.3f} ({p:.3f})",
            ]
        )
    yield Table("Variance across temperatures", columns, rows, source="section 4")
    yield Method(_TEMPERATURES)


def _with_interval(estimate: Estimate) -> str:
    """A number as text, with its interval if it has one. Tiny numbers are in scientific notation."""
    limits = "" if isnan(estimate.low) else f" [{_small(estimate.low)}, {_small(estimate.high)}]"
    return f"{_small(estimate.value)}{limits}"


def _small(value: Cell) -> str:
    """A number as text, in scientific notation if it is tiny."""
    if not isinstance(value, float) or isnan(value):
        return "–"
    return f"{value:.2e}" if 0 < abs(value) < _SCIENCE else f"{value:.4f}"


TEMPERATURES = SectionOf("temperatures", "Temperature", [_variances])

_CONVERSATIONS = CountColumn("conversations", "Conversations")
_COMPARED: list[MeasureColumn | CountColumn] = [
    _CONVERSATIONS,
    *(_Value(measure.name) for measure in COMPARED),
    _Value("change_rate"),
]


def _domain_chart(analysis: Analysis) -> Iterator[DotsOf]:
    measure = "chameleon" if is_known(analysis, "chameleon") else "change_rate"
    if is_known(analysis, measure):
        title = analysis.measures[measure].title
        about = f"The mean {title.lower()} in each domain, by model."
        yield DotsOf("domains", f"{title} by domain", about, _Value(measure), RowsOf("domain"), title)


def _questions_of_domains(analysis: Analysis) -> Iterator[Exhibit]:
    found = analysis.counts["domains"]
    if not found:
        yield Callout("Domains are not computed, because no turn has a domain.", summary=True)
        return
    counted = ("topics", "questions", "conversations", "turns")
    columns = [Column("Domain"), *(Column(name.capitalize(), "count") for name in counted)]
    rows: list[list[Cell]] = [[cells["domain"], *(cells[name] for name in counted)] for cells in found]
    rows.append(["all", *(sum(int(cells[name] or 0) for cells in found) for name in counted)])
    yield Table("Topics and questions", columns, rows, source="table 2")


DOMAINS = SectionOf(
    "domains",
    "Domains",
    [
        _domain_chart,
        TableOf(
            "Measures by domain, all models",
            _COMPARED,
            RowsOf("domain", "Domain", together=True),
        ),
        _questions_of_domains,
    ],
)


def _orderings(analysis: Analysis) -> Iterator[TableOf]:
    """Tables of measures by order of questions, if there are several orders."""
    rows = analysis.rows_of("turns", "ordering", variant="plain")
    if len({row.condition for row in rows}) < 2:
        return
    yield TableOf("Measures by order of questions, all models", _COMPARED, RowsOf("ordering", "Order", together=True))
    if len(analysis.models) > 1:
        yield TableOf("Measures by order of questions", _COMPARED, RowsOf("ordering", "Order"))


ORDERINGS = SectionOf("orderings", "Order of questions", [_orderings])

_OF_TOPICS: list[MeasureColumn | CountColumn] = [
    _CONVERSATIONS,
    *(_Value(name) for name in ("change_rate", "drifted", "drift", "chameleon")),
]
_WRITER = (
    "The model that wrote a topic also states the initial belief about it and how strongly people debate it (appendix"
    " A.2). Here these descriptions only group conversations. No prompt, condition or measure uses them."
)


def _written_about(analysis: Analysis) -> Iterator[TableOf | Method]:
    """A table of measures by each description that the topics' writer gave, if known."""
    facets = (("initial_belief", "Initial belief"), ("debate_strength", "Debate strength"))
    known = [(facet, title) for facet, title in facets if analysis.rows_of("turns", facet)]
    for facet, title in known:
        yield TableOf(f"Measures by {title.lower()}", _OF_TOPICS, RowsOf(facet, title))
    if known:
        yield Method(_WRITER)


TOPICS = SectionOf("topics", "Groups of topics, by their writer's description", [_written_about])

_PREMISE = (
    "The published judge prompt asks whether an answer agrees with the premise of its question. Questions lean to"
    " different sides, so this label changes even if the model's view stays the same. The difference of rates is the"
    " change rate of stances towards the premise minus the change rate of stances towards the proposition, in the"
    " same conversations."
)
_EITHER_LABEL = TableOf(
    "Changes by either label",
    [
        *(_Value(name) for name in ("stance_changes", "premise_changes", "change_rate", "premise_change_rate")),
        _Value("premise_excess"),
    ],
)


def _premise(analysis: Analysis) -> Iterator[Exhibit | TableOf]:
    """Measures of changes by both kinds of labels, if the data have both."""
    if not analysis.rows_of("premise_changes"):
        return
    yield _EITHER_LABEL
    if analysis.rows_of("premise_same"):
        same, kappa = (analysis.estimate(f"premise_{name}") for name in ("same", "kappa"))
        heads = [Column("Over"), Column("Same label", "share"), Column("Cohen's kappa", "value")]
        yield Table("Agreement of the labels", heads, [["all turns with both labels", same, kappa]])
    yield Method(_PREMISE)


PREMISE = SectionOf("premise", "Towards the proposition and towards the premise", [_premise])

_FLIPS = (
    "Both measures are from SYCON-Bench. Turn of Flip is the number of turns before the first turn without the"
    " target stance. Number of Flips counts pairs of neighbouring turns in which only one has the target stance."
)


def _flips(analysis: Analysis) -> Iterator[TableOf | Method]:
    target = analysis.counts["rules"][0]["target"]
    what = "each conversation's own first stance" if target == "first" else f"the stance '{target}'"
    yield TableOf(f"Flips against {what}", [MeasureColumn("turn_of_flip"), MeasureColumn("flips")])
    yield Method(_FLIPS)


FLIPS = SectionOf("flips", "Flips", [_flips])

_BEHIND = {
    "conversations": "Conversations",
    "labels": "Turns",
    "single": "Conversations of a single turn: no rates, no score",
    "without_stance": "Conversations that never take a stance",
    "void": "Conversations without a score: at least half of their answers are malformed or refused",
    "unclear_carried": "Unclear turns that keep the last clear stance",
    "unclear_before": "Unclear turns before any clear one",
    "unread": "Turns for which the judge gave no usable label",
    "asked_again": "Turns for which the judge needed more than one reply",
    "turns_without_cited": "Turns without a cited document",
    "turns_without_retrieved": "Turns without a retrieved document",
    "miscited": "Citations of a number without a page",
}


def _behind(analysis: Analysis) -> Iterator[Table]:
    """Counts of judged turns, and of turns or conversations with something missing."""
    tallies = {"all": counts_of_model(analysis, None)} | {
        model: counts_of_model(analysis, model) for model in analysis.models
    }
    columns = [Column("What"), *(Column(name, "count") for name in tallies)]
    rows: list[list[Cell]] = [
        [what, *(tally[name] for tally in tallies.values())]
        for name, what in _BEHIND.items()
        if any(tally[name] is not None for tally in tallies.values())
    ]
    whole, failed = tallies["all"], analysis.counts["rules"][0]["failed"]
    note = (
        f"{whole['labels']:,} turns in {counted(int(whole['conversations'] or 0), 'conversations')}. Left out"
        f" entirely, because a call failed permanently: {counted(int(failed or 0), 'conversations')}."
    )
    yield Table("Turns, labels and documents in numbers", columns, rows, note=note, summary=True)


BEHIND = SectionOf("behind", "Turns, labels and documents", [_behind])


def sections(analysis: Analysis, judged: str = "", topics: Iterable[object] = ()) -> list[Section]:
    """The report's sections, in reading order.

    `judged` describes the judges, on whose labels each section depends. A section that cannot be computed states the
    reason instead. `topics` are the topics of the conversations, whose names the report shows.
    """
    words = {topic.id: topic.topic for topic in topics if isinstance(topic, Topic)}
    traces = SectionOf("traces", "Stance traces", [partial(trace_charts, topics=words)])
    return make_report(
        [
            *(SCORES, REUSE, TURNS, TEMPERATURES, DOMAINS, ORDERINGS, TOPICS, PREMISE, FLIPS, traces, BEHIND),
        ],
        analysis,
        "",
        judged=judged,
        faults=(
            "answers",
            "Temperature",
            "Conversations have no score if at least half of their answers are empty, echoed, repetitive or refused."
            " For all other conversations, the report gives numbers with and without the malformed answers counted"
            " here.",
        ),
    )


def overview(analysis: Analysis) -> Sequence[OverviewColumn]:
    """The columns of the first screen."""
    titles = {
        "change_rate": "Turns with a change",
        "drifted": "Ends on another stance",
        "chameleon": "",
        "source_reuse": "",
    }
    return [MeasureColumn(name, title) for name, title in titles.items()]
