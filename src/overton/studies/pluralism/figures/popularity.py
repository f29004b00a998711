"""What models consider popular: rankings (tables 3, 8, 9 and figure 5) and pairs (figure 4 and table 12)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from overton.statistics import Estimate
from overton.studies.charts import Axis
from overton.studies.pluralism.figures import names
from overton.studies.pluralism.figures.names import by_model, points
from overton.studies.pluralism.measures.analysis import Analysis, Group, Result
from overton.studies.pluralism.measures.contrasts import named
from overton.studies.sections import Callout, Cell, Chart, Column, Exhibit, Method, Section, Table

IN_PAIRS = "Accuracies in pairs"
"""What token probabilities of the model's choices are used for."""

_RANKING = ("spearman", "kendall", "top_1", "position_accuracy", "mrr_at_10")
_BESIDE = ("kendall", "position_accuracy", "accuracy_first", "accuracy_second")
_PAIRS = ("accuracy", "accuracy_first", "accuracy_second", "first_pull")
_PAIRINGS = {"pairwise": "Most popular against a random one", "pairwise_gap": "Random pairs, least gap of votes"}
_RANKING_METHOD = (
    "The true order is that of the votes. If a reply repeats a viewpoint, its first place counts; viewpoints that it "
    "does not name are tied after the others (mid-ranks, Kendall's tau-b), at no position, and add nothing to MRR@10. "
    "Replies without a readable ranking are left out and counted. Intervals are over threads."
)
_PAIRS_METHOD = (
    "Accuracy is the share of comparisons in which the more popular viewpoint is named; each pair is shown in both "
    "orders. The pull of the first is the accuracy with the more popular one first minus that with it second: 0 if "
    "order does not matter, 1 if nothing else does. Intervals are over threads."
)


def ranking(analysis: Analysis) -> Section | None:
    """Ranking accuracy by condition, in each community."""
    conditions = names.conditions(analysis, "ranking")
    if not conditions:
        return None
    exhibits: list[Exhibit] = [_chart(analysis, "ranking", conditions, "spearman")]
    exhibits += [_rankings(analysis, community, conditions) for community in names.communities(analysis)]
    if falls := _falls(analysis, "ranking", _RANKING):
        exhibits.append(falls)
    return Section("ranking", "Popularity ranked", [*exhibits, Method(_RANKING_METHOD)])


def pairs(analysis: Analysis) -> Section | None:
    """Accuracy in pairs by condition and pairing."""
    asked = [name for name in _PAIRINGS if names.conditions(analysis, name)]
    if not asked:
        return None
    exhibits: list[Exhibit] = []
    for name in asked:
        exhibits.append(_chart(analysis, name, names.conditions(analysis, name), "accuracy"))
    exhibits += _pairings(analysis, asked)
    exhibits += [falls for name in asked if (falls := _falls(analysis, name, ("accuracy", "first_pull")))]
    if "first_pull" in analysis.not_computed:
        exhibits.append(_no_pull(analysis))
    return Section("pairs", "Popularity in pairs", [*exhibits, Method(_PAIRS_METHOD)])


def _no_pull(analysis: Analysis) -> Callout:
    why = analysis.not_computed["first_pull"]
    return Callout(f"Pull of the first-named option not computed: {why}.", summary=True)


def _result(group: Group, experiment: str, condition: str) -> Result | None:
    return group.experiments.get(experiment, {}).get(condition)


def _chart(analysis: Analysis, experiment: str, conditions: Sequence[str], measure: str) -> Chart:
    def picked(group: Group, condition: str) -> Estimate | None:
        result = _result(group, experiment, condition)
        return result.measures[measure] if result else None

    made = points(analysis, conditions, picked)
    if measure == "accuracy":
        anchors = ((0.5, "tosses a coin, or always takes the first"), (1.0, "always right"))
        axis = Axis("Accuracy (%)", 0, 1, "share", mark=0.5, anchors=anchors)
        title, source = f"Accuracy in pairs: {_PAIRINGS[experiment].lower()}", "figure 4"
        about = "For each model, how often it names the more popular of two viewpoints, under each condition."
    else:
        axis = Axis("Spearman's rho", 0, 1, "value", mark=0, step=0.5)
        title, source = "Ranking accuracy", "tables 3, 8 and 9, figure 5"
        about = "For each model, the rank correlation of its ranking with the votes, under each condition."
    name = f"{experiment.replace('_', '-')}-{measure}"
    return Chart(name, title, about, by_model(analysis, conditions, made, axis), source=source)


def _rankings(analysis: Analysis, community: str | None, conditions: Sequence[str]) -> Table:
    columns = [Column("Model"), Column("Condition"), Column("Threads", "count")]
    columns += [Column(names.MEASURES[name], "value", detail=name in _BESIDE) for name in _RANKING]
    columns.append(Column("Differs from neutral"))
    rows: list[list[Cell]] = []
    for group in names.groups(analysis, community):
        for condition in conditions:
            if result := _result(group, "ranking", condition):
                cells = [names.estimate(result, name) for name in _RANKING]
                different = names.differs(result, "neutral", _RANKING)
                head: list[Cell] = [names.model(group.model), names.condition(condition), result.counts["threads"]]
                rows.append([*head, *cells, different])
    where = f", {community}" if community else ", all communities" if analysis.communities else ""
    note = names.differs_note(analysis, "ranking", community)
    title, summary = f"Ranking accuracy{where}", community is None
    return Table(title, columns, rows, note=note, source="tables 3, 8 and 9", summary=summary)


def _pairings(analysis: Analysis, asked: Sequence[str]) -> Iterator[Table]:
    """All communities together; if there are several, then each."""
    shown = [name for name in _PAIRS if "first_pull" not in analysis.not_computed or name == "accuracy"]
    columns = [Column("Pairs"), Column("Model"), Column("Condition"), Column("Threads", "count")]
    columns += [
        Column(names.MEASURES[name], "points" if name == "first_pull" else "share", detail=name in _BESIDE)
        for name in shown
    ]
    columns.append(Column("Differs from neutral"))
    note = " ".join(dict.fromkeys(names.differs_note(analysis, name, None) for name in asked))
    title, source = "Accuracy by choice of pairs", "figure 4 and table 12"
    together = list(_pair_rows(analysis, asked, None, shown))
    yield Table(title, columns, together, note=note, source=source, summary=True)
    *several, _ = names.communities(analysis)
    if several:
        apart = [
            [community or "", *row] for community in several for row in _pair_rows(analysis, asked, community, shown)
        ]
        yield Table(f"{title}, by community", [Column("Community"), *columns], apart, source=source)


def _pair_rows(
    analysis: Analysis, asked: Sequence[str], community: str | None, shown: Sequence[str]
) -> Iterator[list[Cell]]:
    for name in asked:
        for group in names.groups(analysis, community):
            for condition in names.conditions(analysis, name):
                if result := _result(group, name, condition):
                    head: list[Cell] = [_PAIRINGS[name], names.model(group.model), names.condition(condition)]
                    cells = [result.counts["threads"], *(names.estimate(result, measure) for measure in shown)]
                    yield [*head, *cells, names.differs(result, "neutral", shown)]


def _falls(analysis: Analysis, experiment: str, measures: Sequence[str]) -> Table | None:
    """Each condition against those that it is compared with, over all communities."""
    rows = list(_fallen(analysis, experiment, measures))
    if not rows:
        return None
    columns = [Column("Model"), Column("Condition"), Column("Against"), Column("Measure")]
    columns += [Column("Difference", "value"), Column("p")]
    what = "rankings" if experiment == "ranking" else _PAIRINGS[experiment].lower()
    corrected = "P values corrected within each measure (Holm), uncorrected in brackets; Wilcoxon signed-rank."
    note = f"Over the threads that have both. {corrected}"
    return Table(f"Conditions compared: {what}", columns, rows, note=note)


def _fallen(analysis: Analysis, experiment: str, measures: Sequence[str]) -> Iterator[list[Cell]]:
    for group in names.groups(analysis, None):
        for condition in names.conditions(analysis, experiment):
            result = _result(group, experiment, condition)
            if result is None or not named(condition).arm:
                continue
            for against, contrasts in result.contrasts.items():
                other = names.condition(result.others[against])
                for measure in measures:
                    if found := contrasts.get(measure):
                        head = [names.model(group.model), names.condition(condition), other, names.MEASURES[measure]]
                        yield [*head, found.difference, names.p_value(found)]
