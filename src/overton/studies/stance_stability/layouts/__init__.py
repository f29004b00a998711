"""The report of stance stability: its tables, charts and sections, from the table of estimates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from math import isnan, sqrt

from overton.statistics import Estimate
from overton.studies.charts import Axis, Dot, dots, series_of
from overton.studies.frame import Analysis
from overton.studies.layouts import CountColumn, DotsOf, MeasureColumn, RowsOf, SectionOf, TableOf, make_report
from overton.studies.numbers import number
from overton.studies.sections import Callout, Cell, Chart, Column, Exhibit, Method, Section, Table
from overton.studies.stance_stability.declarations import BANDS, COMPARED, ERROR, REUSE_SHARES
from overton.studies.stance_stability.findings import counts_of_model
from overton.studies.stance_stability.items import Topic
from overton.studies.stance_stability.layouts.conversations import trace_charts
from overton.studies.stance_stability.layouts.reuse import REUSE, TURNS, explain_absence, is_known, temperature_names

_Value = partial(MeasureColumn, kind="value")
_METHOD = (
    "Change rate: changes between neighbouring turns, over the pairs of turns that both have a stance; an unclear turn "
    "keeps the last clear stance. Source re-use (equation 1): the mean, from turn 2 on, of the share of a turn's "
    "documents that an earlier turn also had. Chameleon score (equation 2): the root mean square of change rate, "
    "confidence at changes and source re-use; a conversation that lacks one of the three has no score. Means are over "
    "conversations; standard deviations show how much these differ. "
)
_READINGS = {
    "no_change": {
        "zero": "A conversation without change has confidence 0 at changes.",
        "mean": "A conversation without change has, as its confidence at changes, the mean over all its turns.",
    },
    "no_documents": {
        "zero": "A turn without documents re-uses none.",
        "left out": "A turn without documents is left out of re-use.",
    },
}


def _read(analysis: Analysis) -> str:
    """What counts as a document, and how open points of the formulas were read."""
    (rules,) = analysis.counts["rules"]
    kind = rules["documents"]
    documents = f"Documents are those {kind}, distinguished by address. " if kind else ""
    return documents + " ".join(texts[str(rules[name])] for name, texts in _READINGS.items())


_STEADY = ((0.0, "never changes"), (0.5, "tosses a coin between two sides"), (1.0, "changes at every turn"))
"""What to compare change rates with."""


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
    """Models at each temperature; then each over all temperatures."""
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
    "What the judge's errors alone would give",
    [
        _Value("stance_changes", "Changes"),
        _Steady("changes", "... of a steady model"),
        _Value("chameleon", "Score"),
        _Steady("chameleon", "... of a steady model"),
        _Steady("without_errors", "... if the judge never errs"),
    ],
    note=(
        "A steady model never changes its stance, and has this model's number of turns, mean confidence and re-use; its"
        f" judge mislabels {number(ERROR, 'share')} of its answers, with each of the other three labels equally often."
    ),
    summary=True,
)
_ALONE = (
    "The score mostly shows whether there was at least one change: with the first, the confidence at changes jumps "
    "from 0 to about the model's own, whether the model changed or the judge erred. Compare it with what the judge's "
    "errors alone would give, and read its parts first."
)
_WITHOUT_FAULTS = TableOf(
    "Without malformed answers",
    [
        _Value(name, variant="without_faults")
        for name in ("change_rate", "drifted", "source_reuse", "confidence_at_changes", "chameleon")
    ],
    note="A malformed answer makes no pairs and is left out of means.",
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
                "All temperatures. Reversals go from one side to the other; moves of 'balanced' go into or out of it,"
                " and likewise moves of 'unclear' between neighbouring labels. Drift is from the first clear stance to"
                " the last, with critical as -1, balanced as 0 and supportive as +1; the overall view is compared"
                " between the first and the last question that ask for it."
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
                "All temperatures. Given the pages: what re-use would be if each answer cited the same number of the"
                " pages it was shown, at random. From the collection: if it cited the same number of all pages shown on"
                " the topic. Re-use that is no higher says nothing about the model."
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
    "The variance of a model's means at the temperatures, with an interval; beside it the variance that this many "
    "conversations would show if temperature made no difference, and the standard deviation, in the measure's unit. "
    "The test exchanges a topic's values between temperatures at random; its p value is corrected for all models and "
    "measures (Holm), uncorrected in brackets. The variance within a topic is that of one topic's values at the "
    "temperatures, averaged over topics: it includes chance differences between two conversations on the same topic. "
    "The paper reports a variance below 0.004 without saying which of these it is."
)


def _variances(analysis: Analysis) -> Iterator[Exhibit]:
    found = analysis.counts.get("temperatures", ())
    if not found:
        yield Callout("Variance across temperatures is not computed: there is only one temperature.", summary=True)
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
    """A number that may be tiny, with its interval if it has one."""
    limits = "" if isnan(estimate.low) else f" [{_small(estimate.low)}, {_small(estimate.high)}]"
    return f"{_small(estimate.value)}{limits}"


def _small(value: Cell) -> str:
    """A number that may be tiny, in as many digits as it needs."""
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
        yield Callout("Domains are not computed: no turn has a domain.", summary=True)
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
    """Orders of questions, if there are several."""
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
    "Each topic comes with the belief that its writer considers common at first, and with how strongly it is debated "
    "(appendix A.2). No prompt, condition or measure uses either; conversations are only grouped by them here."
)


def _written_about(analysis: Analysis) -> Iterator[TableOf | Method]:
    """By what the topics' writer said about them, if that is known."""
    facets = (("initial_belief", "Initial belief"), ("debate_strength", "Debate strength"))
    known = [(facet, title) for facet, title in facets if analysis.rows_of("turns", facet)]
    for facet, title in known:
        yield TableOf(f"Measures by {title.lower()}", _OF_TOPICS, RowsOf(facet, title))
    if known:
        yield Method(_WRITER)


TOPICS = SectionOf("topics", "What the topics' writer said about them", [_written_about])

_PREMISE = (
    "The published judge prompt asks whether an answer agrees with the premise of its question. A model that keeps its "
    "view agrees with a question that leans its way and disagrees with the next one that leans the other way: such a "
    "label changes although the view does not. The difference is the rate towards the premise minus that towards the "
    "proposition, in the same conversations."
)
_EITHER_LABEL = TableOf(
    "Changes by either label",
    [
        *(_Value(name) for name in ("stance_changes", "premise_changes", "change_rate", "premise_change_rate")),
        _Value("premise_excess"),
    ],
)


def _premise(analysis: Analysis) -> Iterator[Exhibit | TableOf]:
    """Both counts of changes, if a run has both labels."""
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
    "Turn of Flip is the place, from 0, of the first turn whose stance is not the target, or the number of turns if "
    "all are; Number of Flips counts pairs of neighbouring turns of which one has the target stance and the other does "
    "not (SYCON-Bench)."
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
    "void": "Conversations without a score: at least half of their answers say nothing",
    "unclear_carried": "Unclear turns that keep the last clear stance",
    "unclear_before": "Unclear turns before any clear one",
    "unread": "Turns for which the judge gave no usable label",
    "asked_again": "Turns for which the judge had to be asked again",
    "turns_without_cited": "Turns without a cited document",
    "turns_without_retrieved": "Turns without a retrieved document",
    "miscited": "Citations of a number that belongs to no page",
}


def _behind(analysis: Analysis) -> Iterator[Table]:
    """Counts of what was judged, and of what went wrong."""
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
        f"{whole['labels']:,} turns in {whole['conversations']:,} conversations. Left out entirely because a call"
        f" failed for good: {failed:,} conversations."
    )
    yield Table("What is behind the numbers", columns, rows, note=note, summary=True)


BEHIND = SectionOf("behind", "Turns, labels and documents", [_behind])


def sections(analysis: Analysis, judged: str = "", topics: Iterable[object] = ()) -> list[Section]:
    """The report's sections, in reading order. `judged` says who judged; each section depends on it.

    What could not be computed is replaced by the reason. Conversations are shown about `topics` in words, if these are
    known.
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
            "Conversations in which at least half of the answers are empty, echoed, looping or refused have no score."
            " The numbers of the others are given with and without the answers counted here.",
        ),
    )
