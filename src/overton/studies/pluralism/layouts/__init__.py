"""The report of pluralism: suppression by a belief, the viewpoints voiced, and the model's knowledge of popularity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from overton.studies.charts import Axis, difference_axis
from overton.studies.frame import Analysis
from overton.studies.layouts import MeasureColumn, OverviewColumn
from overton.studies.numbers import number, rounded_p
from overton.studies.pluralism.findings import total_of
from overton.studies.pluralism.layouts.report_rows import (
    AGAINST,
    EXPERIMENTS,
    HEADINGS,
    HEADS,
    ReportRows,
    condition_words,
    heads,
)
from overton.studies.pluralism.measures import IN_PAIRS, OF_VIEWPOINTS
from overton.studies.pluralism.options import FALSE_MATCHES, SHIFTS, Against, named
from overton.studies.pluralism.rows import REASONS
from overton.studies.probabilities import probabilities_section, weighing_notes, weighing_section
from overton.studies.sections import (
    Callout,
    Cell,
    Chart,
    Column,
    Exhibit,
    Method,
    Section,
    Table,
)
from overton.studies.warnings import fault_section

_UNJUDGED = ("faults", "ranking", "pairs")


def sections(analysis: Analysis, judged: str = "") -> list[Section]:
    """The report's sections, in reading order. If a section could not be computed, the reason replaces it.

    `judged` is a text about the judges of responses and their agreement with people. The text appears in every section
    that depends on a judge.
    """
    view = ReportRows(analysis)
    parts = [*_faults(view), _shifts(view), _voices(view), _leniency(view), _ranking(view), _pairs(view), _behind(view)]
    first, *others = [part if part.key in _UNJUDGED else part.signed(judged) for part in parts if part]
    said = [Callout(text, summary=True) for text in weighing_notes(analysis.weighing, IN_PAIRS)]
    weighed = weighing_section(analysis.weighing, said)
    probabilities = probabilities_section(analysis.chances)
    others += [section for section in (weighed, probabilities and probabilities.signed(judged)) if section]
    notes = [Callout("\n".join(analysis.warnings), "warning", summary=True)] if analysis.warnings else []
    design = Section("design", "Threads and pairs", list(_design(view)))
    made = [replace(first, exhibits=[*notes, *first.exhibits]), *others]
    return [*made, design] if design.exhibits else made


_BASELINES: tuple[Against, ...] = ("neutral", "matched-neutral")
_PARTS = ("Suppression", "Amplification", "Asymmetry")
_DRAWN = {
    "suppression": "Suppression of views against the belief",
    "amplification": "Amplification of views with the belief",
}
_SHIFTS_METHOD = (
    "Suppression is the fall of recall for views against the stated belief. Amplification is the rise of recall for"
    " views in line with the belief. Suppression and amplification are positive if the model moves towards the belief."
    " They are computed over the threads that have both the biased and the neutral condition. In logits, the viewpoints"
    " of all threads are counted together. Half a viewpoint is added to the number voiced and to the number left out."
    " If a belief moves the odds of both sides equally, the asymmetry is 0. As published, suppression and amplification"
    " are differences of mean recall. The published asymmetry depends on recall in the neutral condition. For example,"
    " a fall from 0.16 to 0.07 and a rise from 0.41 to 0.65 are one logit each, but the published asymmetry is -0.15."
    " With 'biased toward', views against the belief are the viewpoints against the reference opinion. With 'biased"
    " opposing', they are the viewpoints that support the reference opinion. The published biased prompts also differ"
    " from the neutral one in their wording and system prompt. The neutral condition in the biased wording shows how"
    " much of a shift is due to the belief. Each condition has one set of responses, so these numbers contain chance as"
    " well as the effect of the belief. Intervals are over threads."
)


def _shifts(view: ReportRows) -> Section | None:
    """Charts as in figure 3, and tables of their numbers, compared with each neutral condition."""
    biased = [condition for condition in view.conditions("sycophancy") if named(condition).arm in SHIFTS]
    exhibits: list[Exhibit] = []
    for against in _BASELINES:
        if any(against in view.changes("suppression", None, condition) for condition in biased):
            exhibits += [*_shift_charts(view, biased, against), *_shift_tables(view, against)]
    if not exhibits:
        return None
    parts = [*_asymmetry_callouts(view, biased), *exhibits, Method(_SHIFTS_METHOD)]
    return Section("shifts", "Viewpoints suppressed by a stated belief", parts)


def _asymmetry_callouts(view: ReportRows, biased: Sequence[str]) -> Iterator[Callout]:
    """Sentences on whether suppression or amplification is larger, if the data show a difference."""
    for condition in biased:
        row = view.changes("asymmetry", None, condition).get("neutral")
        if row is None or not (row.number.lies_above() or row.number.lies_below()):
            continue
        lost, gained = "views against the belief are lost", "views with it are gained"
        if row.number.lies_below():
            lost, gained = "views with the belief are gained", "views against it are lost"
        yield Callout(f"With '{condition_words(condition)}', {lost} more than {gained}.", summary=True)


def _shift_charts(view: ReportRows, biased: Sequence[str], against: Against) -> Iterator[Chart]:
    """Suppression and amplification on one scale, so that their lengths are comparable."""
    shifts = {part: MeasureColumn(f"{part}_as_published", against=against) for part in _DRAWN}
    drawn = [dot.estimate for shift in shifts.values() for dot in view.dots(shift, biased)]
    axis = difference_axis("Recall towards the belief", drawn)
    for part, shift in shifts.items():
        title = f"{_DRAWN[part]}, against {AGAINST[against]}"
        about = f"{_DRAWN[part]}, in recall, for each model and biased condition against {AGAINST[against]}."
        yield view.chart(f"{part}-{against}", title, about, shift, biased, axis, "figure 3")


def _shift_tables(view: ReportRows, against: Against) -> Iterator[Table]:
    """The table of shifts over all communities, and a table by community if there are several."""
    note = (
        "Asymmetry is suppression minus amplification. Numbers are in logits. Numbers 'as published' are in"
        " percentage points of recall."
    )
    shift = partial(MeasureColumn, against=against)
    columns = [shift(part.lower(), part) for part in _PARTS]
    columns += [
        shift(f"{part.lower()}_as_published", f"{part}, as published", detail=part == "Asymmetry") for part in _PARTS
    ]
    without = partial(shift, variant="without_faults", detail=True)
    columns += [without(part.lower(), f"{part}, without malformed responses") for part in _PARTS]
    title = f"Shifts towards the belief, against {AGAINST[against]}"
    yield from _by_community(view, title, {"sycophancy": columns}, note=note, source="figure 3")


def _by_community(
    view: ReportRows, title: str, columns: Mapping[str, Sequence[MeasureColumn]], **more: Any
) -> Iterator[Table]:
    """A table over all communities. If there are several communities, then also a table with rows for each."""
    yield view.table(title, columns, summary=True, **more)
    *several, _ = view.communities
    if several:
        yield view.table(f"{title}, by community", columns, several, **more)


_SETS = sorted(OF_VIEWPOINTS, key=lambda measure: measure.heading.startswith("Global"))
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
    "labelled": "the responses with this stance",
}


def _voices(view: ReportRows) -> Section | None:
    """Precision, recall and F1; coverage, redundancy and NDCG."""
    conditions = view.conditions("sycophancy")
    if not conditions:
        return None
    exhibits: list[Exhibit] = [
        view.chart(
            f"recall-{side}",
            f"Recall of {views}",
            f"For each model, the mean share of {views} that its responses voice under each condition.",
            MeasureColumn(name),
            conditions,
            Axis(f"Recall of {views} (%)", 0, 1, "share"),
            _SOURCES,
        )
        for name, (side, views) in _RECALLS.items()
    ]
    sets = [MeasureColumn(measure.name, kind="value", detail=measure.heading not in _FIRST) for measure in _SETS]
    for community in view.communities:
        exhibits += [_tested(view, "Precision, recall and F1", {"sycophancy": sets}, community, _SOURCES)]
        exhibits += [_coverage(view, community)]
    return Section("voices", "Viewpoints that are voiced", [*exhibits, Method(_voices_method(view))])


def _tested(
    view: ReportRows,
    title: str,
    columns: Mapping[str, Sequence[MeasureColumn]],
    community: str | None,
    source: str,
) -> Table:
    """A table of one community, or of all communities, with differences from neutral."""
    titled, summary = view.title(title, community), community is None
    return view.table(titled, columns, [community], tested=True, source=source, summary=summary)


def _voices_method(view: ReportRows) -> str:
    denominator = str(view.analysis.counts["totals"][0]["denominator"])
    return (
        "For each thread, precision is the share of responses that match at least one viewpoint. Recall is the share"
        " of viewpoints that at least one response matches, and F1 is the harmonic mean of precision and recall. The"
        " table shows means over threads. Responses and viewpoints also have a stance towards the reference opinion."
        " For one stance (supporting or against), a match counts only if response and viewpoint both have this stance."
        f" Precision for a stance is the share of matching responses among {_DENOMINATORS[denominator]}. The reference"
        " opinion itself counts only in the global numbers. If a denominator is empty, the value is 0. Coverage is"
        " recall after a given number of responses. Redundancy is 1 - D / M, with D the number of different viewpoints"
        " and M the number of matches. In NDCG, viewpoints are in the order in which they are first voiced. A"
        " viewpoint's gain is its votes, or 0 if these are negative. Intervals are over threads."
    )


def _coverage(view: ReportRows, community: str | None) -> Table:
    last = max(
        int(row.measure.rpartition("_")[2])
        for row in view.analysis.rows
        if row.measure.startswith("sycophancy_coverage_")
    )
    after = sorted({*(place for place in _AFTER if place < last), last})
    columns = [MeasureColumn(f"sycophancy_coverage_{place}", f"After {place}", "value") for place in after]
    columns += [MeasureColumn(f"sycophancy_{name}", kind="value") for name in ("redundancy", "broad", "ndcg")]
    return view.table(
        view.title("Coverage, redundancy and NDCG", community),
        {"sycophancy": columns},
        [community],
        note=(
            "Coverage is recall of all viewpoints after this many responses. Broad responses match several viewpoints."
        ),
        source="section 4.2",
    )


_LENIENCY = (
    "A viewpoint counts as voiced if any response of the thread matches it, so a matcher's mistakes add up. Suppose"
    " that none of n responses voices a viewpoint, and that each response is falsely matched to it with probability f."
    " Then the viewpoint counts as voiced with probability 1 - (1 - f)^n. The columns assume that all matches of this"
    " run are right. Each column gives the recall after adding the share of false matches in its heading. Human labels"
    " show how often the matcher errs."
)


def _leniency(view: ReportRows) -> Section | None:
    """The effect of false matches on recall at this run's number of responses."""
    columns = [
        MeasureColumn("sycophancy_recall", "Recall", "value"),
        *(
            MeasureColumn(f"sycophancy_recall_with_false_matches_{percent}", f"With {percent}% false matches", "value")
            for percent in FALSE_MATCHES
        ),
    ]
    each = _responses_per_thread(view.analysis)
    if not each:
        return None
    table = view.table("Recall with a lenient matcher", {"sycophancy": columns}, summary=True)
    found = ", ".join(
        f"{number(1 - (1 - percent / 100) ** each, 'share')} at a rate of {percent}%" for percent in FALSE_MATCHES
    )
    alone = (
        "At a false match rate of 1%, 1% of responses are falsely matched to each viewpoint. With this run's"
        f" {each:.1f} responses per thread, such matches alone would give a recall of {found}."
    )
    exhibits: list[Exhibit] = [Callout(alone, summary=True), table, Method(_LENIENCY)]
    return Section("leniency", "Effect of a lenient matcher on recall", exhibits)


def _responses_per_thread(analysis: Analysis) -> float:
    """Mean number of responses with a usable answer from the matcher, over threads with at least one such response.
    Recall is a union over these responses."""
    responses, unmatched, threads, silent = (
        total_of(analysis, "sycophancy", name)
        for name in ("responses", "unmatched_responses", "threads", "threads_without_usable_responses")
    )
    return (responses - unmatched) / (threads - silent) if threads - silent else 0.0


_RANKING = ("spearman", "kendall", "top_1", "position_accuracy", "mrr_at_10")
_BESIDE = ("kendall", "position_accuracy", "accuracy_first", "accuracy_second")
_RANKING_METHOD = (
    "The true order is by votes. If a reply repeats a viewpoint, its first position counts. Viewpoints that the reply"
    " does not name are tied after the others (mid-ranks, Kendall's tau-b). Such viewpoints have no position and add 0"
    " to MRR@10. Replies without a readable ranking are left out and counted. Intervals are over threads."
)


def _ranking(view: ReportRows) -> Section | None:
    """Ranking accuracy by condition, in each community."""
    conditions, source = view.conditions("ranking"), "tables 3, 8 and 9"
    if not conditions:
        return None
    axis = Axis("Spearman's rho", 0, 1, "value", mark=0, step=0.5)
    exhibits: list[Exhibit] = [
        view.chart(
            "ranking-spearman",
            "Ranking accuracy",
            "For each model, the rank correlation of its ranking with the votes, under each condition.",
            MeasureColumn("ranking_spearman"),
            conditions,
            axis,
            f"{source}, figure 5",
        )
    ]
    columns = [MeasureColumn(f"ranking_{name}", kind="value", detail=name in _BESIDE) for name in _RANKING]
    exhibits += [
        _tested(view, "Ranking accuracy", {"ranking": columns}, community, source) for community in view.communities
    ]
    exhibits += _compared(view, "ranking", [column.measure for column in columns], "rankings")
    return Section("ranking", "Popularity ranked", [*exhibits, Method(_RANKING_METHOD)])


_OF_PAIRS = ("accuracy", "accuracy_first", "accuracy_second", "first_pull")
_PAIRINGS = {"pairwise": "Most popular against a random one", "pairwise_gap": "Random pairs, least gap of votes"}
_PAIRS_METHOD = (
    "Accuracy is the share of comparisons in which the model names the more popular viewpoint. Each pair is shown in"
    " both orders. Position bias is the accuracy if the more popular viewpoint comes first, minus the accuracy if it"
    " comes second. It is 0 if order has no effect, and 1 if the model always names the first viewpoint. Intervals"
    " are over threads."
)


def _pairs(view: ReportRows) -> Section | None:
    """Accuracy in pairs by condition and pairing."""
    asked = [name for name in _PAIRINGS if view.conditions(name)]
    if not asked:
        return None
    why = {row["what"]: row["why"] for row in view.analysis.counts["not_computed"]}
    exhibits: list[Exhibit] = [_accuracy_chart(view, name) for name in asked]
    exhibits += _pairings(view, asked)
    for name in asked:
        exhibits += _compared(view, name, [f"{name}_accuracy", f"{name}_first_pull"], _PAIRINGS[name].lower())
    if "first_pull" in why:
        said = f"Position bias was not computed, because {why['first_pull']}."
        exhibits.append(Callout(said, summary=True))
    return Section("pairs", "Popularity in pairs", [*exhibits, Method(_PAIRS_METHOD)])


def _accuracy_chart(view: ReportRows, pairs: str) -> Chart:
    anchors = ((0.5, "tosses a coin, or always takes the first"), (1.0, "always right"))
    axis = Axis("Accuracy (%)", 0, 1, "share", mark=0.5, anchors=anchors)
    about = "For each model, how often it names the more popular of two viewpoints, under each condition."
    return view.chart(
        f"{pairs.replace('_', '-')}-accuracy",
        f"Accuracy in pairs: {_PAIRINGS[pairs].lower()}",
        about,
        MeasureColumn(f"{pairs}_accuracy"),
        view.conditions(pairs),
        axis,
        "figure 4",
    )


def _pairings(view: ReportRows, asked: Sequence[str]) -> Iterator[Table]:
    """The table of accuracy over all communities, and a table by community if there are several."""
    columns = {
        pairs: [MeasureColumn(f"{pairs}_{name}", detail=name in _BESIDE) for name in _OF_PAIRS] for pairs in asked
    }
    title, source = "Accuracy by choice of pairs", "figure 4 and table 12"
    yield from _by_community(view, title, columns, named=_PAIRINGS, tested=True, source=source)


def _compared(view: ReportRows, kind: str, measures: Sequence[str], what: str) -> Iterator[Table]:
    """A table of differences between each condition and the conditions that it is compared with, over all
    communities."""
    tests = {
        (test["measure"], test["model"], test["condition"], test["against"]): test
        for test in view.analysis.counts.get("tests", ())
        if test["facet"] is None and test["variant"] == "plain"
    }
    rows: list[list[Cell]] = []
    for model, condition in view.scopes(kind):
        if not named(condition).arm:
            continue
        changes = [(name, view.changes(name, model, condition)) for name in measures]
        for against in AGAINST:
            for name, found in changes:
                if row := found.get(against):
                    other, test = condition_words(row.against or ""), tests.get((name, model, condition, row.against))
                    named_as = [*heads(model, condition), other, HEADINGS[name]]
                    rows.append([*named_as, row.number, _p_value(test)])
    if rows:
        columns = [*HEADS, Column("Against"), Column("Measure"), Column("Difference", "value"), Column("p")]
        corrected = (
            "P values are from Wilcoxon signed-rank tests, corrected within each measure (Holm). Uncorrected values are"
            " in brackets."
        )
        note = f"Differences are over the threads that have both conditions. {corrected}"
        yield Table(f"Conditions compared: {what}", columns, rows, note=note)


def _p_value(test: Mapping[str, Any] | None) -> str:
    """The corrected p value, followed by the uncorrected one if there are several comparisons."""
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
    """The number of malformed replies, and the headlines with and without them."""
    what = (
        "Here a reply is a response, a ranking or a choice. All numbers leave out empty replies. They also leave out"
        " a thread's responses if all of them are malformed. Truncated responses do not count as malformed here."
        " Numbers called 'without' leave out all malformed replies. Replies that only echo the user's belief are among"
        " these."
    )
    for section in fault_section(view.analysis.faults, "replies", "Condition", what):
        tables = [table for compared in (False, True) for table in _without_faults(view, compared=compared)]
        yield Section(section.key, section.title, [*section.exhibits, *tables])


def _without_faults(view: ReportRows, *, compared: bool) -> Iterator[Table]:
    """Numbers with and without malformed replies, or differences from neutral."""
    against, note = ("neutral", _FROM_NEUTRAL) if compared else (None, "")
    for kind, measures in _HEADLINES.items():
        columns = [
            MeasureColumn(name, f"{HEADINGS[name]}{more}", "value", variant=variant, against=against)
            for name in measures
            for variant, more in (("plain", ""), ("without_faults", ", without"))
        ]
        beside = " against neutral" if compared else ""
        title = f"{EXPERIMENTS[kind]}{beside}, with and without malformed replies"
        table = view.table(title, {kind: columns}, needed="without_faults", note=note, summary=not compared)
        if table.rows:
            yield table


_FROM_NEUTRAL = "Differences from the neutral condition, on the threads that have both conditions."
_NOTES = {
    "sycophancy": (
        "Unmatched responses have no usable answer from the matcher and are left out. Unlabelled responses count"
        " only in the global numbers. Threads with an empty denominator count as 0 in precision, recall and F1, and"
        " are left out of redundancy."
    ),
    "ranking": "The columns Missing, Repeated and Unknown count viewpoints, not rankings.",
}
_ALL = "In the rows for all models, a thread counts once per model."


def _behind(view: ReportRows) -> Section:
    """Counts by experiment and condition, over all communities."""
    exhibits: list[Exhibit] = [_counted(view, kind) for kind in EXPERIMENTS if view.conditions(kind)]
    exhibits += [
        Callout(f"{EXPERIMENTS[str(row['what'])]} not measured, because {row['why']}.", summary=True)
        for row in view.analysis.counts["not_computed"]
        if row["what"] in EXPERIMENTS
    ]
    return Section("behind", "Counts behind the numbers", exhibits)


def _counted(view: ReportRows, kind: str) -> Table:
    names = [name for name in view.analysis.counts[kind][0] if name not in ("model", "facet", "condition")]
    columns = [*HEADS, *(Column(name.replace("_", " ").capitalize(), "count") for name in names)]
    rows: list[list[Cell]] = [
        [*heads(model, condition), *(view.counts(kind, model, condition)[name] for name in names)]
        for model, condition in view.scopes(kind)
    ]
    note = f"{_NOTES.get(kind, '')} {_ALL}".strip()
    return Table(f"{EXPERIMENTS[kind]} that were measured", columns, rows, note=note)


def _design(view: ReportRows) -> Iterator[Table]:
    """A table of threads by community, with the reasons why some do not qualify, and a table of the gaps of votes in
    pairs."""
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
        note = (
            "A thread is feasible if it has a viewpoint that at least two other viewpoints support and at least two"
            " oppose."
        )
        yield Table("Threads with a reference opinion", columns, rows, note, "table 7", summary=len(rows) > 1)
    if gaps:
        columns = [Column("Pairs"), Column("Community"), Column("Number", "count")]
        columns += [Column("Mean gap of votes", "value"), Column("Median gap", "value")]
        names = ("pairing", "community", "pairs", "mean", "median")
        yield Table(
            "Gaps of votes in pairs", columns, [[row[name] for name in names] for row in gaps], source="section 6.3.1"
        )


def overview(analysis: Analysis) -> Sequence[OverviewColumn]:
    """The columns of the first screen: numbers without a stated belief, and suppression by a stated belief."""
    return [
        MeasureColumn("sycophancy_recall", "Viewpoints voiced", condition="neutral"),
        MeasureColumn("suppression", "Suppressed by a belief, logits", condition="toward", against="neutral"),
        MeasureColumn("ranking_spearman", "Popularity ranked, rho", condition="neutral"),
        MeasureColumn("pairwise_gap_accuracy", "More popular one picked", condition="neutral"),
    ]
