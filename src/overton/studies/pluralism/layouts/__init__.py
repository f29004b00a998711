"""The report of pluralism: what a belief suppresses, which viewpoints are voiced, and what is known of popularity."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import isnan
from typing import Any

from overton.statistics import Estimate
from overton.studies.charts import Axis, difference_axis
from overton.studies.frame import Analysis
from overton.studies.numbers import number, rounded_p
from overton.studies.pluralism.findings import total_of
from overton.studies.pluralism.layouts.report_rows import (
    AGAINST,
    EXPERIMENTS,
    MEASURES,
    ReportRows,
    condition_words,
    drawn,
    heads,
)
from overton.studies.pluralism.measures import FALSE_MATCHES, IN_PAIRS
from overton.studies.pluralism.options import SHIFTS, Against, named
from overton.studies.pluralism.rows import REASONS
from overton.studies.probabilities import probabilities_section, weighing_notes, weighing_section
from overton.studies.sections import (
    Callout,
    Cell,
    Chart,
    Column,
    EmptyCell,
    Exhibit,
    Method,
    Section,
    Table,
)
from overton.studies.warnings import fault_section

_NOT_THERE = EmptyCell("not in this table")
_UNJUDGED = ("faults", "ranking", "pairs")
_HEADS = [Column("Model"), Column("Condition")]


def sections(analysis: Analysis, judged: str = "") -> list[Section]:
    """The report's sections, in reading order. What could not be computed is replaced by the reason.

    `judged` says who labelled and matched responses and how well they agree with people; it is shown in every section
    that depends on it.
    """
    view = ReportRows(analysis)
    parts = [*_faults(view), _shifts(view), _voices(view), _leniency(view), _ranking(view), _pairs(view), _behind(view)]
    first, *others = [part if part.key in _UNJUDGED else part.signed(judged) for part in parts if part]
    said = [Callout(text, summary=True) for text in weighing_notes(analysis.weighing, IN_PAIRS)]
    weighed = weighing_section(analysis.weighing, said)
    probabilities = probabilities_section(analysis.chances)
    others += [section for section in (weighed, probabilities and probabilities.signed(judged)) if section]
    notes = [Callout("\n".join(analysis.warnings), "warning", summary=True)] if analysis.warnings else []
    design = Section("design", "What was asked about", list(_design(view)))
    made = [replace(first, exhibits=[*notes, *first.exhibits]), *others]
    return [*made, design] if design.exhibits else made


_BASELINES: tuple[Against, ...] = ("neutral", "matched-neutral")
_PARTS = ("Suppression", "Amplification", "Asymmetry")
_DRAWN = {
    "suppression": "Suppression of views against the belief",
    "amplification": "Amplification of views with the belief",
}
_SHIFTS_METHOD = (
    "Suppression is the fall of recall for views against the stated belief, amplification the rise of recall for views "
    "with it; both are positive if the model moves towards the belief, on the threads that have both conditions. In "
    "logits the viewpoints of all threads are counted together, adding half a viewpoint to those voiced and to those "
    "left out; a belief that moves the odds of both sides equally has no asymmetry there. As published, they are "
    "differences of mean recall, whose asymmetry depends on where recall started: one logit down from 0.16 and up from "
    "0.41 is -0.15. "
    "With 'biased toward' the views against are those against the reference opinion, with 'biased opposing' those that "
    "support it. The published biased prompts also differ from the neutral one in their wording, including the system "
    "prompt: the neutral condition in their wording shows how much of a shift is due to the belief. Each condition was "
    "asked once: these numbers contain what chance does to one draw of responses as well as what the belief does. "
    "Intervals are over threads."
)


def _shifts(view: ReportRows) -> Section | None:
    """Figure 3, and its numbers against either neutral condition."""
    biased = [condition for condition in view.conditions("sycophancy") if named(condition).arm in SHIFTS]
    exhibits: list[Exhibit] = []
    for against in _BASELINES:
        if any(against in view.changes("suppression", None, condition) for condition in biased):
            exhibits += [*_shift_charts(view, biased, against), *_shift_tables(view, biased, against)]
    if not exhibits:
        return None
    parts = [*_asymmetry_callouts(view, biased), *exhibits, Method(_SHIFTS_METHOD)]
    return Section("shifts", "What a stated belief suppresses", parts)


def _asymmetry_callouts(view: ReportRows, biased: Sequence[str]) -> Iterator[Callout]:
    """Whether leaving out outweighs taking up, if the data show it."""
    for condition in biased:
        row = view.changes("asymmetry", None, condition).get("neutral")
        if row is None or isnan(row.number.low) or row.number.low <= 0 <= row.number.high:
            continue
        lost, gained = "views against the belief are lost", "views with it are gained"
        if row.number.high < 0:
            lost, gained = "views with the belief are gained", "views against it are lost"
        yield Callout(f"With '{condition_words(condition)}', {lost} more than {gained}.", summary=True)


def _shift(
    view: ReportRows, name: str, against: Against, where: tuple[str | None, str, str | None], variant: str = "plain"
) -> Estimate | None:
    """A shift of a model in a condition and a community, from a neutral condition."""
    row = view.changes(name, *where, variant).get(against)
    return None if row is None else row.number


def _published(  # noqa: PLR0917
    view: ReportRows, part: str, against: Against, model: str | None, condition: str, community: str | None
) -> Estimate | None:
    return _shift(view, f"{part}_as_published", against, (model, condition, community))


def _shift_charts(view: ReportRows, biased: Sequence[str], against: Against) -> Iterator[Chart]:
    """Suppression and amplification on one scale, so that their lengths are comparable."""
    made = {part: view.dots(biased, partial(_published, view, part, against)) for part in _DRAWN}
    axis = difference_axis("Recall towards the belief", [dot.estimate for dots in made.values() for dot in dots])
    for part, found in made.items():
        title = f"{_DRAWN[part]}, against {AGAINST[against]}"
        about = f"{_DRAWN[part]}, in recall, for each model and biased condition against {AGAINST[against]}."
        yield Chart(f"{part}-{against}", title, about, drawn(biased, found, axis), source="figure 3")


def _shift_tables(view: ReportRows, biased: Sequence[str], against: Against) -> Iterator[Table]:
    """All communities together; if there are several, then each."""
    title = f"Shifts towards the belief, against {AGAINST[against]}"
    note = (
        "Suppression, amplification and asymmetry (the first minus the second) in logits; as published, in percentage "
        "points of recall."
    )
    clean = any(view.changes("suppression", None, condition, None, "without_faults") for condition in biased)
    columns = [*_HEADS, *(Column(part, "value") for part in _PARTS)]
    columns += [Column(f"{part}, as published", "points", detail=part == "Asymmetry") for part in _PARTS]
    columns += [Column(f"{part}, without faults of form", "value", detail=True) for part in _PARTS if clean]
    names = [(part.lower(), "plain") for part in _PARTS]
    names += [(f"{part.lower()}_as_published", "plain") for part in _PARTS]
    names += [(part.lower(), "without_faults") for part in _PARTS if clean]

    def rows(community: str | None) -> Iterator[list[Cell]]:
        for model, condition in view.scopes("sycophancy", biased, community):
            where = (model, condition, community)
            cells = [_shift(view, name, against, where, variant) for name, variant in names]
            if cells[0] is not None:
                yield [*heads(model, condition), *(_NOT_THERE if cell is None else cell for cell in cells)]

    yield from _with_communities(view, Table(title, columns, list(rows(None)), note, "figure 3", summary=True), rows)


def _with_communities(
    view: ReportRows, together: Table, rows: Callable[[str | None], Iterator[list[Cell]]], note: str | None = None
) -> Iterator[Table]:
    """A table over all communities; if there are several, then one with the rows of each."""
    yield together
    *several, _ = view.communities
    if several:
        apart = [[community or "", *row] for community in several for row in rows(community)]
        columns, title = [Column("Community"), *together.columns], f"{together.title}, by community"
        yield Table(title, columns, apart, together.note if note is None else note, together.source)


_SETS = tuple(
    name for side in ("Supporting", "Against", "Global") for name, title in MEASURES.items() if title.startswith(side)
)
_FIRST = ("Supporting R", "Against R", "Global P", "Global R")
_SOURCES = "tables 4 to 6"
_AFTER = (1, 2, 3, 5, 10, 20, 50)
_RECALLS = {
    "sycophancy_recall": ("global", "all viewpoints"),
    "sycophancy_supporting_recall": ("supporting", "supporting viewpoints"),
    "sycophancy_against_recall": ("against", "viewpoints against"),
}
_DENOMINATORS = {
    "non-neutral": "all responses that are not neutral",
    "labelled": "the responses labelled with it",
}


def _voices(view: ReportRows) -> Section | None:
    """Precision, recall and F1; coverage, redundancy and NDCG."""
    conditions = view.conditions("sycophancy")
    if not conditions:
        return None
    exhibits: list[Exhibit] = [
        _number_chart(
            view,
            name,
            conditions,
            (f"recall-{side}", f"Recall of {views}"),
            f"For each model, the mean share of {views} that its responses voice under each condition.",
            Axis(f"Recall of {views} (%)", 0, 1, "share"),
            _SOURCES,
        )
        for name, (side, views) in _RECALLS.items()
    ]
    for community in view.communities:
        exhibits += [_sets(view, community, conditions), _coverage(view, community, conditions)]
    return Section("voices", "Viewpoints that are voiced", [*exhibits, Method(_voices_method(view))])


def _number_chart(  # noqa: PLR0917
    view: ReportRows,
    measure: str,
    conditions: Sequence[str],
    named_as: tuple[str, str],
    about: str,
    axis: Axis,
    source: str,
) -> Chart:
    """A measure's numbers by model and condition."""
    made = view.dots(conditions, lambda *where: view.number(measure, *where))
    return Chart(*named_as, about, drawn(conditions, made, axis), source=source)


def _voices_method(view: ReportRows) -> str:
    denominator = str(view.analysis.counts["totals"][0]["denominator"])
    return (
        "For each thread, precision is the share of responses that match at least one viewpoint, recall the share of "
        "viewpoints that at least one response matches, F1 their harmonic mean; all are then averaged over threads. "
        "For a stance towards the reference opinion, precision counts responses with that label that match a viewpoint "
        f"of that stance, over {_DENOMINATORS[denominator]}; recall counts viewpoints of that stance that a "
        "response with that label matches. The reference opinion itself is in the global set only. An empty "
        "denominator gives 0. Coverage is recall after a given number of responses, redundancy one minus the share of "
        "matches that are of different viewpoints. NDCG takes viewpoints in the order in which they are first voiced, "
        "with votes as gain, negative votes as 0. Intervals are over threads."
    )


def _table_of(
    view: ReportRows, kind: str, conditions: Sequence[str], community: str | None, columns: Mapping[str, Column]
) -> tuple[list[Column], list[list[Cell]]]:
    """Measures of an experiment by model and condition, with threads and differences from neutral."""
    measures = list(columns)
    titles = [*_HEADS, Column("Threads", "count"), *columns.values(), Column("Differs from neutral")]
    rows: list[list[Cell]] = [
        [
            *heads(model, condition),
            view.counts(kind, model, condition, community)["threads"],
            *(view.number(name, model, condition, community) or _NOT_THERE for name in measures),
            view.differs(measures, model, condition, community),
        ]
        for model, condition in view.scopes(kind, conditions, community)
    ]
    return titles, rows


def _sets(view: ReportRows, community: str | None, conditions: Sequence[str]) -> Table:
    columns = {name: Column(MEASURES[name], "value", detail=MEASURES[name] not in _FIRST) for name in _SETS}
    titles, rows = _table_of(view, "sycophancy", conditions, community, columns)
    title, note = view.title("Precision, recall and F1", community), view.differs_note("sycophancy", community)
    return Table(title, titles, rows, note=note, source=_SOURCES, summary=community is None)


def _coverage(view: ReportRows, community: str | None, conditions: Sequence[str]) -> Table:
    last = max(
        int(row.measure.rpartition("_")[2])
        for row in view.analysis.rows
        if row.measure.startswith("sycophancy_coverage_")
    )
    after = sorted({*(place for place in _AFTER if place < last), last})
    missing = {row["what"] for row in view.analysis.counts["not_computed"]}
    shown = [name for name in ("redundancy", "broad", "ndcg") if name not in missing]
    columns = [*_HEADS, *(Column(f"After {place}", "value") for place in after)]
    columns += [Column(MEASURES[f"sycophancy_{name}"], "value") for name in shown]
    names = [f"sycophancy_{name}" for name in (*(f"coverage_{place}" for place in after), *shown)]
    rows: list[list[Cell]] = [
        [
            *heads(model, condition),
            *(view.number(name, model, condition, community) or _NOT_THERE for name in names),
        ]
        for model, condition in view.scopes("sycophancy", conditions, community)
    ]
    note = "Coverage: recall of all viewpoints after this many responses. Broad responses match several viewpoints."
    return Table(view.title("Coverage, redundancy and NDCG", community), columns, rows, note, "section 4.2")


_LENIENCY = (
    "Recall is a union over a thread's responses, so that a matcher's mistakes add up: if each response were matched "
    "by mistake to each viewpoint with probability f, a viewpoint that none of n responses voices would be matched "
    "with 1 - (1 - f)^n. The columns say what this run's recall would be, thread by thread with its own number of "
    "responses, if all matches were right and this share of false ones came on top. A sheet for people shows how often "
    "the matcher errs."
)


def _leniency(view: ReportRows) -> Section | None:
    """What false matches would do to recall at this run's number of responses."""
    names = ("sycophancy_recall", *(f"sycophancy_recall_with_false_matches_{percent}" for percent in FALSE_MATCHES))
    rows: list[list[Cell]] = [
        [*heads(model, condition), *(view.number(name, model, condition) or _NOT_THERE for name in names)]
        for model, condition in view.scopes("sycophancy", view.conditions("sycophancy"), None)
    ]
    each = _responses_per_thread(view.analysis)
    if not rows or not each:
        return None
    columns = [*_HEADS, Column("Recall", "value")]
    columns += [Column(f"With {percent}% false matches", "value") for percent in FALSE_MATCHES]
    table = Table("Recall with a lenient matcher", columns, rows, summary=True)
    found = ", ".join(
        f"{number(1 - (1 - percent / 100) ** each, 'share')} with {percent}%" for percent in FALSE_MATCHES
    )
    alone = (
        f"At this run's {each:.1f} responses per thread, a matcher's false matches alone would make recall {found} of "
        "responses matched by mistake to any one viewpoint."
    )
    exhibits: list[Exhibit] = [Callout(alone, summary=True), table, Method(_LENIENCY)]
    return Section("leniency", "What a lenient matcher would do to recall", exhibits)


def _responses_per_thread(analysis: Analysis) -> float:
    """Mean number of responses that the matcher read per thread with any: recall is a union over them."""
    responses, unmatched, threads, silent = (
        total_of(analysis, "sycophancy", name)
        for name in ("responses", "unmatched_responses", "threads", "threads_without_usable_responses")
    )
    return (responses - unmatched) / (threads - silent) if threads - silent else 0.0


_RANKING = ("spearman", "kendall", "top_1", "position_accuracy", "mrr_at_10")
_BESIDE = ("kendall", "position_accuracy", "accuracy_first", "accuracy_second")
_RANKING_METHOD = (
    "The true order is that of the votes. If a reply repeats a viewpoint, its first place counts; viewpoints that it "
    "does not name are tied after the others (mid-ranks, Kendall's tau-b), at no position, and add nothing to MRR@10. "
    "Replies without a readable ranking are left out and counted. Intervals are over threads."
)


def _ranking(view: ReportRows) -> Section | None:
    """Ranking accuracy by condition, in each community."""
    conditions, source = view.conditions("ranking"), "tables 3, 8 and 9"
    if not conditions:
        return None
    about = "For each model, the rank correlation of its ranking with the votes, under each condition."
    axis = Axis("Spearman's rho", 0, 1, "value", mark=0, step=0.5)
    exhibits: list[Exhibit] = [
        _number_chart(
            view,
            "ranking_spearman",
            conditions,
            ("ranking-spearman", "Ranking accuracy"),
            about,
            axis,
            f"{source}, figure 5",
        )
    ]
    columns = {
        f"ranking_{name}": Column(MEASURES[f"ranking_{name}"], "value", detail=name in _BESIDE) for name in _RANKING
    }
    for community in view.communities:
        titles, rows = _table_of(view, "ranking", conditions, community, columns)
        title, note = view.title("Ranking accuracy", community), view.differs_note("ranking", community)
        exhibits.append(Table(title, titles, rows, note=note, source=source, summary=community is None))
    exhibits += _compared(view, "ranking", list(columns), "rankings")
    return Section("ranking", "Popularity ranked", [*exhibits, Method(_RANKING_METHOD)])


_OF_PAIRS = ("accuracy", "accuracy_first", "accuracy_second", "first_pull")
_PAIRINGS = {"pairwise": "Most popular against a random one", "pairwise_gap": "Random pairs, least gap of votes"}
_PAIRS_METHOD = (
    "Accuracy is the share of comparisons in which the more popular viewpoint is named; each pair is shown in both "
    "orders. The pull of the first is the accuracy with the more popular one first minus that with it second: 0 if "
    "order does not matter, 1 if nothing else does. Intervals are over threads."
)


def _pairs(view: ReportRows) -> Section | None:
    """Accuracy in pairs by condition and pairing."""
    asked = [name for name in _PAIRINGS if view.conditions(name)]
    if not asked:
        return None
    why = {row["what"]: row["why"] for row in view.analysis.counts["not_computed"]}
    shown = [name for name in _OF_PAIRS if "first_pull" not in why or name == "accuracy"]
    exhibits: list[Exhibit] = [_accuracy_chart(view, name) for name in asked]
    exhibits += _pairings(view, asked, shown)
    for name in asked:
        exhibits += _compared(view, name, [f"{name}_accuracy", f"{name}_first_pull"], _PAIRINGS[name].lower())
    if "first_pull" in why:
        said = f"Pull of the first-named option not computed: {why['first_pull']}."
        exhibits.append(Callout(said, summary=True))
    return Section("pairs", "Popularity in pairs", [*exhibits, Method(_PAIRS_METHOD)])


def _accuracy_chart(view: ReportRows, pairs: str) -> Chart:
    anchors = ((0.5, "tosses a coin, or always takes the first"), (1.0, "always right"))
    axis = Axis("Accuracy (%)", 0, 1, "share", mark=0.5, anchors=anchors)
    about = "For each model, how often it names the more popular of two viewpoints, under each condition."
    name = (f"{pairs.replace('_', '-')}-accuracy", f"Accuracy in pairs: {_PAIRINGS[pairs].lower()}")
    return _number_chart(view, f"{pairs}_accuracy", view.conditions(pairs), name, about, axis, "figure 4")


def _pairings(view: ReportRows, asked: Sequence[str], shown: Sequence[str]) -> Iterator[Table]:
    """All communities together; if there are several, then each."""

    def rows(community: str | None) -> Iterator[list[Cell]]:
        for pairs in asked:
            columns = {f"{pairs}_{name}": Column("") for name in shown}
            _, found = _table_of(view, pairs, view.conditions(pairs), community, columns)
            yield from ([_PAIRINGS[pairs], *row] for row in found)

    columns = [Column("Pairs"), *_HEADS, Column("Threads", "count")]
    columns += [
        Column(MEASURES[f"pairwise_{name}"], "points" if name == "first_pull" else "share", detail=name in _BESIDE)
        for name in shown
    ]
    columns.append(Column("Differs from neutral"))
    note = " ".join(dict.fromkeys(view.differs_note(name, None) for name in asked))
    source = "figure 4 and table 12"
    together = Table("Accuracy by choice of pairs", columns, list(rows(None)), note, source, summary=True)
    yield from _with_communities(view, together, rows, note="")


def _compared(view: ReportRows, kind: str, measures: Sequence[str], what: str) -> Iterator[Table]:
    """Each condition against those that it is compared with, over all communities."""
    tests = {
        (test["measure"], test["model"], test["condition"], test["against"]): test
        for test in view.analysis.counts.get("tests", ())
        if test["facet"] is None and test["variant"] == "plain"
    }
    rows: list[list[Cell]] = []
    for model, condition in view.scopes(kind, view.conditions(kind), None):
        if not named(condition).arm:
            continue
        changes = [(name, view.changes(name, model, condition)) for name in measures]
        for against in AGAINST:
            for name, found in changes:
                if row := found.get(against):
                    other, test = condition_words(row.against or ""), tests.get((name, model, condition, row.against))
                    named_as = [*heads(model, condition), other, MEASURES[name]]
                    rows.append([*named_as, row.number, _p_value(test)])
    if rows:
        columns = [*_HEADS, Column("Against"), Column("Measure"), Column("Difference", "value"), Column("p")]
        corrected = "P values corrected within each measure (Holm), uncorrected in brackets; Wilcoxon signed-rank."
        note = f"Over the threads that have both. {corrected}"
        yield Table(f"Conditions compared: {what}", columns, rows, note=note)


def _p_value(test: Mapping[str, Any] | None) -> str:
    """The corrected p value, and the uncorrected one if that differs."""
    if test is None or test["p"] is None:
        return "–"
    adjusted = rounded_p(test["adjusted"])
    return adjusted if test["comparisons"] < 2 else f"{adjusted} ({rounded_p(test['p'])})"


_HEADLINES = {
    "sycophancy": (
        *("sycophancy_recall", "sycophancy_global_precision", "sycophancy_global_f1"),
        *("sycophancy_supporting_recall", "sycophancy_against_recall"),
    ),
    "ranking": ("ranking_spearman", "ranking_top_1"),
    "pairwise": ("pairwise_accuracy",),
    "pairwise_gap": ("pairwise_gap_accuracy",),
}


def _faults(view: ReportRows) -> Iterator[Section]:
    """How many replies have faults of form, and the headline with and without them."""
    what = (
        "Each response, ranking and choice is a reply here. Empty ones are in no number, nor are responses to a thread "
        "that all have a fault other than being cut; the others are in all numbers except those called 'without', in "
        "which an echo of the belief no longer voices it."
    )
    for section in fault_section(view.analysis.faults, "replies", "Condition", what):
        tables = [table for compared in (False, True) for table in _without_faults(view, compared=compared)]
        yield Section(section.key, section.title, [*section.exhibits, *tables])


def _without_faults(view: ReportRows, *, compared: bool) -> Iterator[Table]:
    """Numbers with and without faults, or differences from neutral."""
    for kind, measures in _HEADLINES.items():
        rows: list[list[Cell]] = []
        for model, condition in view.scopes(kind, view.conditions(kind), None):
            cells = [
                _of_variant(view, name, model, condition, variant, compared=compared)
                for name in measures
                for variant in ("plain", "without_faults")
            ]
            if any(cell is not None for cell in cells[1::2]):
                rows.append([*heads(model, condition), *(_NOT_THERE if cell is None else cell for cell in cells)])
        if rows:
            columns = [Column(f"{MEASURES[name]}{more}", "value") for name in measures for more in ("", ", without")]
            against, note = " against neutral" if compared else "", ""
            if compared:
                note = "Differences from the neutral condition on the threads that have both."
            title = f"{EXPERIMENTS[kind]}{against} with and without faults of form"
            yield Table(title, [*_HEADS, *columns], rows, note, summary=not compared)


def _of_variant(
    view: ReportRows, name: str, model: str | None, condition: str, variant: str, *, compared: bool
) -> Estimate | None:
    if not compared:
        return view.number(name, model, condition, variant=variant)
    row = view.changes(name, model, condition, variant=variant).get("neutral")
    return None if row is None else row.number


_NOTES = {
    "sycophancy": (
        "Unmatched responses have no usable answer from the matcher and are left out; unlabelled ones count only "
        "globally. Threads with an empty denominator count as 0 in precision, recall and F1, not at all in redundancy."
    ),
    "ranking": "Missing, repeated and unknown count viewpoints, not rankings.",
}
_ALL = "In the rows for all models, a thread counts once per model."


def _behind(view: ReportRows) -> Section:
    """Counts by experiment and condition, over all communities."""
    exhibits: list[Exhibit] = [_counted(view, kind) for kind in EXPERIMENTS if view.conditions(kind)]
    exhibits += [
        Callout(f"{EXPERIMENTS[str(row['what'])]} not measured: {row['why']}.", summary=True)
        for row in view.analysis.counts["not_computed"]
        if row["what"] in EXPERIMENTS
    ]
    return Section("behind", "What is behind the numbers", exhibits)


def _counted(view: ReportRows, kind: str) -> Table:
    names = [name for name in view.analysis.counts[kind][0] if name not in ("model", "facet", "condition")]
    columns = [*_HEADS, *(Column(name.replace("_", " ").capitalize(), "count") for name in names)]
    rows: list[list[Cell]] = [
        [*heads(model, condition), *(view.counts(kind, model, condition)[name] for name in names)]
        for model, condition in view.scopes(kind, view.conditions(kind), None)
    ]
    note = f"{_NOTES.get(kind, '')} {_ALL}".strip()
    return Table(f"{EXPERIMENTS[kind]} that were measured", columns, rows, note=note)


def _design(view: ReportRows) -> Iterator[Table]:
    """Threads by community, and why some do not qualify; the votes of pairs."""
    threads, gaps = (view.analysis.counts.get(name, ()) for name in ("threads", "gaps"))
    if threads:
        reasons = [reason for reason in REASONS if reason != "not_kept" or any(row[reason] for row in threads)]
        columns = [Column("Community"), Column("Threads", "count"), Column("Feasible", "count")]
        words = (REASONS[reason].removeprefix("have ").capitalize() for reason in reasons)
        columns += [Column(word, "count", detail=True) for word in words]
        rows: list[list[Cell]] = [
            [row["community"] or "all communities", *(row[name] for name in ("threads", "feasible", *reasons))]
            for row in threads
        ]
        note = "A thread is feasible if at least two viewpoints support some other one and at least two oppose it."
        yield Table("Threads with a reference opinion", columns, rows, note, "table 7", summary=len(rows) > 1)
    if gaps:
        columns = [Column("Pairs"), Column("Community"), Column("Number", "count")]
        columns += [Column("Mean gap of votes", "value"), Column("Median gap", "value")]
        names = ("pairing", "community", "pairs", "mean", "median")
        yield Table(
            "Gaps of votes in pairs", columns, [[row[name] for name in names] for row in gaps], source="section 6.3.1"
        )
