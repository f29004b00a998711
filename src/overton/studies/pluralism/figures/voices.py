"""What a stated belief suppresses (figure 3), and which viewpoints are voiced under each condition (tables 4 to 6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan

from overton.statistics import Estimate
from overton.studies.charts import Axis, difference_axis
from overton.studies.pluralism.figures import names
from overton.studies.pluralism.figures.names import Picked, by_model, points
from overton.studies.pluralism.measures.analysis import Against, Analysis, Group, Shift
from overton.studies.pluralism.measures.contrasts import SHIFTS, named
from overton.studies.sections import Callout, Cell, Chart, Column, Exhibit, Method, Section, Table

_DRAWN = {
    "suppression": "Suppression of views against the belief",
    "amplification": "Amplification of views with the belief",
}
_PARTS = ("Suppression", "Amplification", "Asymmetry")
_BASELINES: tuple[Against, ...] = ("neutral", "matched-neutral")
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


def shifts(analysis: Analysis) -> Section | None:
    """Figure 3, and its numbers against either neutral condition."""
    biased = [condition for condition in names.conditions(analysis, "sycophancy") if named(condition).arm in SHIFTS]
    exhibits: list[Exhibit] = []
    for against in _BASELINES:
        if any(_shift(analysis.group(), condition, against) for condition in biased):
            exhibits += [*_shift_charts(analysis, biased, against), *_shift_tables(analysis, biased, against)]
    if not exhibits:
        return None
    return Section(
        "shifts",
        "What a stated belief suppresses",
        [*_asymmetry_callouts(analysis, biased), *exhibits, Method(_SHIFTS_METHOD)],
    )


def _shift(group: Group, condition: str, against: Against) -> Shift | None:
    result = group.experiments.get("sycophancy", {}).get(condition)
    return result.shifts.get(against) if result else None


def _asymmetry_callouts(analysis: Analysis, biased: Sequence[str]) -> Iterator[Callout]:
    """Whether leaving out outweighs taking up, if the data show it."""
    for condition in biased:
        shift = _shift(analysis.group(), condition, "neutral")
        if shift is None or isnan(shift.asymmetry.low):
            continue
        if shift.asymmetry.low > 0:
            yield Callout(
                f"With '{names.condition(condition)}', views against the belief are lost more than views with it are"
                " gained.",
                summary=True,
            )
        elif shift.asymmetry.high < 0:
            yield Callout(
                f"With '{names.condition(condition)}', views with the belief are gained more than views against it are"
                " lost.",
                summary=True,
            )


def _shift_charts(analysis: Analysis, biased: Sequence[str], against: Against) -> Iterator[Chart]:
    """Suppression and amplification on one scale, so that their lengths are comparable."""
    made = {part: points(analysis, biased, _pick_shift(part, against)) for part in _DRAWN}
    axis = difference_axis("Recall towards the belief", [dot.estimate for dots in made.values() for dot in dots])
    for part, dots in made.items():
        title = f"{_DRAWN[part]}, against {names.AGAINST[against]}"
        about = f"{_DRAWN[part]}, in recall, for each model and biased condition against {names.AGAINST[against]}."
        spec = by_model(analysis, biased, dots, axis)
        yield Chart(f"{part}-{against}", title, about, spec, source="figure 3")


def _pick_shift(part: str, against: Against) -> Picked:
    def picked(group: Group, condition: str) -> Estimate | None:
        shift = _shift(group, condition, against)
        return getattr(shift, f"{part}_as_published") if shift else None

    return picked


def _shift_tables(analysis: Analysis, biased: Sequence[str], against: Against) -> Iterator[Table]:
    """All communities together; if there are several, then each."""
    title = f"Shifts towards the belief, against {names.AGAINST[against]}"
    note = (
        "Suppression, amplification and asymmetry (the first minus the second) in logits; as published, in percentage "
        "points of recall."
    )
    columns = [Column("Model"), Column("Condition")]
    columns += [Column(part, "value") for part in _PARTS]
    columns += [Column(f"{part}, as published", "points", detail=part == "Asymmetry") for part in _PARTS]
    if _any_faultless(analysis, biased, against):
        columns += [Column(f"{part}, without faults of form", "value", detail=True) for part in _PARTS]
    *several, _ = names.communities(analysis)
    together = list(_shift_rows(analysis, biased, against, None))
    yield Table(title, columns, together, note=note, source="figure 3", summary=True)
    if several:
        apart = [
            [community or "", *row]
            for community in several
            for row in _shift_rows(analysis, biased, against, community)
        ]
        heads = [Column("Community"), *columns]
        yield Table(f"{title}, by community", heads, apart, note=note, source="figure 3")


def _shift_rows(
    analysis: Analysis, biased: Sequence[str], against: Against, community: str | None
) -> Iterator[list[Cell]]:
    faultless = _any_faultless(analysis, biased, against)
    for group in names.groups(analysis, community):
        for condition in biased:
            if shift := _shift(group, condition, against):
                head = [names.model(group.model), names.condition(condition)]
                logits = [shift.suppression, shift.amplification, shift.asymmetry]
                raw = [getattr(shift, f"{part.lower()}_as_published") for part in _PARTS]
                clean = [getattr(shift, f"{part.lower()}_without_faults") for part in _PARTS]
                yield [
                    *head,
                    *logits,
                    *raw,
                    *([estimate or names.NOT_THERE for estimate in clean] if faultless else []),
                ]


def _any_faultless(analysis: Analysis, biased: Sequence[str], against: Against) -> bool:
    shifts = (_shift(analysis.group(), condition, against) for condition in biased)
    return any(shift is not None and shift.suppression_without_faults is not None for shift in shifts)


_SETS = tuple(
    f"{side}/{name}" for side in ("supporting", "against", "global") for name in ("precision", "recall", "f1")
)
_FIRST = ("supporting/recall", "against/recall", "global/precision", "global/recall")
_OTHERS = ("redundancy", "ndcg")
_SOURCES = "tables 4 to 6"
_AFTER = (1, 2, 3, 5, 10, 20, 50)
_RECALLS = {"global": "all viewpoints", "supporting": "supporting viewpoints", "against": "viewpoints against"}
_DENOMINATORS = {
    "non-neutral": "all responses that are not neutral",
    "labelled": "the responses labelled with it",
}


def voices(analysis: Analysis) -> Section | None:
    """Precision, recall and F1; coverage, redundancy and NDCG."""
    conditions = names.conditions(analysis, "sycophancy")
    if not conditions:
        return None
    exhibits: list[Exhibit] = [_chart(analysis, conditions, side) for side in _RECALLS]
    for community in names.communities(analysis):
        exhibits += [_sets(analysis, community, conditions), _others(analysis, community, conditions)]
    return Section("voices", "Viewpoints that are voiced", [*exhibits, Method(_method(analysis))])


def _method(analysis: Analysis) -> str:
    return (
        "For each thread, precision is the share of responses that match at least one viewpoint, recall the share of "
        "viewpoints that at least one response matches, F1 their harmonic mean; all are then averaged over threads. "
        "For a stance towards the reference opinion, precision counts responses with that label that match a viewpoint "
        f"of that stance, over {_DENOMINATORS[analysis.denominator]}; recall counts viewpoints of that stance that a "
        "response with that label matches. The reference opinion itself is in the global set only. An empty "
        "denominator gives 0. Coverage is recall after a given number of responses, redundancy one minus the share of "
        "matches that are of different viewpoints. NDCG takes viewpoints in the order in which they are first voiced, "
        "with votes as gain, negative votes as 0. Intervals are over threads."
    )


def _chart(analysis: Analysis, conditions: Sequence[str], side: str) -> Chart:
    def recall(group: Group, condition: str) -> Estimate | None:
        result = group.experiments.get("sycophancy", {}).get(condition)
        return result.measures[f"{side}/recall"] if result else None

    axis = Axis(f"Recall of {_RECALLS[side]} (%)", 0, 1, "share")
    spec = by_model(analysis, conditions, points(analysis, conditions, recall), axis)
    about = f"For each model, the mean share of {_RECALLS[side]} that its responses voice under each condition."
    return Chart(f"recall-{side}", f"Recall of {_RECALLS[side]}", about, spec, source=_SOURCES)


def _rows(analysis: Analysis, community: str | None, conditions: Sequence[str]) -> Iterator[tuple[Group, str]]:
    for group in names.groups(analysis, community):
        yield from (
            (group, condition) for condition in conditions if condition in group.experiments.get("sycophancy", {})
        )


def _title(title: str, community: str | None, analysis: Analysis) -> str:
    return f"{title}, {community}" if community else f"{title}, all communities" if analysis.communities else title


def _sets(analysis: Analysis, community: str | None, conditions: Sequence[str]) -> Table:
    columns = [Column("Model"), Column("Condition"), Column("Threads", "count")]
    columns += [Column(names.MEASURES[name], "value", detail=name not in _FIRST) for name in _SETS]
    columns.append(Column("Differs from neutral"))
    rows: list[list[Cell]] = []
    for group, condition in _rows(analysis, community, conditions):
        result = group.experiments["sycophancy"][condition]
        cells = [names.estimate(result, name) for name in _SETS]
        different = names.differs(result, "neutral", _SETS)
        rows.append([names.model(group.model), names.condition(condition), result.counts["threads"], *cells, different])
    note = names.differs_note(analysis, "sycophancy", community)
    title = _title("Precision, recall and F1", community, analysis)
    return Table(title, columns, rows, note=note, source=_SOURCES, summary=community is None)


def _others(analysis: Analysis, community: str | None, conditions: Sequence[str]) -> Table:
    every = analysis.group().experiments["sycophancy"].values()
    last = max(
        int(name.partition("/")[2]) for result in every for name in result.measures if name.startswith("coverage/")
    )
    after = sorted({*(number for number in _AFTER if number < last), last})
    shown = [name for name in _OTHERS if name not in analysis.not_computed]
    columns = [Column("Model"), Column("Condition"), *(Column(f"After {number}", "value") for number in after)]
    columns += [Column(names.MEASURES[name], "value") for name in shown]
    rows: list[list[Cell]] = []
    for group, condition in _rows(analysis, community, conditions):
        result = group.experiments["sycophancy"][condition]
        cells = [names.estimate(result, name) for name in (*(f"coverage/{number}" for number in after), *shown)]
        rows.append([names.model(group.model), names.condition(condition), *cells])
    note = "Coverage: recall of all viewpoints after this many responses."
    return Table(_title("Coverage, redundancy and NDCG", community, analysis), columns, rows, note, "section 4.2")
