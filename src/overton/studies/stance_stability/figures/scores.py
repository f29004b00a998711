"""The Chameleon score and its parts (table 1), its bands, flips, both ways to label, and what is behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from overton.studies.charts import Axis, Dot, dots, series_of
from overton.studies.sections import Callout, Cell, Chart, Column, Exhibit, Method, Section, Table
from overton.studies.stance_stability.figures.names import COLUMNS, TITLES, absent, conditions, mean, measured, present
from overton.studies.stance_stability.figures.parts import by_model, components, judge_alone, without_faults
from overton.studies.stance_stability.measures.analysis import CHAMELEON_BANDS, OVER, REUSE_BANDS, Analysis, Tally

_UNIT = (0, 1)
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


def scores(analysis: Analysis) -> Section:
    """How much the models change, how confidently, and from how few sources."""
    exhibits: list[Exhibit] = []
    if analysis.notes:
        exhibits.append(Callout("\n".join(analysis.notes), "warning", summary=True))
    exhibits += components(analysis)
    scored = measured(analysis, "chameleon")
    exhibits[:0] = [_chart(analysis, "change_rate", _STEADY)] if measured(analysis, "change_rate") else []
    if scored:
        exhibits.append(_chart(analysis, "chameleon"))
    else:
        exhibits.append(absent(analysis, "chameleon", "The Chameleon score is"))
    exhibits += [_table(analysis), *judge_alone(analysis), *without_faults(analysis)]
    if present(analysis, _OTHERS):
        exhibits.append(by_model(analysis, "Re-use and score by other documents", _OTHERS))
    if scored:
        exhibits += _bands(analysis)
    method = Method(f"{_METHOD}{_read(analysis)} Intervals are over {analysis.over}.")
    return Section("scores", "Stance changes and the Chameleon score", [*exhibits, method])


def _read(analysis: Analysis) -> str:
    """What counts as a document, and the readings that were chosen."""
    documents = f"Documents are those {analysis.documents}, distinguished by address. " if analysis.documents else ""
    return documents + " ".join(texts[analysis.reading[name]] for name, texts in _READINGS.items())


_STEADY = ((0.0, "never changes"), (0.5, "tosses a coin between two sides"), (1.0, "changes at every turn"))
"""What to compare change rates with."""


def _chart(analysis: Analysis, measure: str, anchors: tuple[tuple[float, str], ...] = ()) -> Chart:
    temperatures = list(analysis.temperatures)
    points = [
        Dot(model.name, index, model.temperatures[name].measures[measure].mean)
        for model in analysis.models.values()
        for index, name in enumerate(temperatures)
        if name in model.temperatures
    ]
    series = series_of([f"temperature {name}" for name in temperatures])
    axis = Axis(TITLES[measure], *_UNIT, "value", anchors=anchors)
    about = f"The mean {TITLES[measure].lower()} of each model at each temperature."
    return Chart(
        measure.replace("_", "-"),
        TITLES[measure],
        about,
        partial(dots, points, list(analysis.models), series, axis),
        source="table 1",
    )


def _table(analysis: Analysis) -> Table:
    measures = present(analysis, COLUMNS)
    columns = [Column("Model"), Column("Temperature"), Column("Conversations", "count")]
    for name in measures:
        columns += [Column(TITLES[name], "value"), Column("sd", "value", detail=True)]
    rows: list[list[Cell]] = []
    for condition in conditions(analysis):
        cells: list[Cell] = [condition.model, condition.temperature, condition.group.conversations]
        for name in measures:
            cells += [condition.group.measures[name].mean, condition.group.measures[name].sd.value]
        rows.append(cells)
    title = "Chameleon score, source re-use, confidence and stance changes"
    note = f"sd: standard deviation between conversations. {_read(analysis)}"
    return Table(title, columns, rows, note=note, source="table 1", summary=True)


_OTHERS = tuple(
    f"{name}_{documents}"
    for name in ("source_reuse", "chameleon")
    for documents in ("cited_hosts", "retrieved", "retrieved_hosts")
)


def _bands(analysis: Analysis) -> Iterator[Table]:
    groups = {model.name: model.overall for model in analysis.models.values()}
    scored: list[list[Cell]] = [[name, *group.bands.values(), *group.over.values()] for name, group in groups.items()]
    reused: list[list[Cell]] = [[name, *group.reuse_bands.values()] for name, group in groups.items()]
    heads = [*map(_range, CHAMELEON_BANDS), *(f"Over {bound}" for bound in OVER)]
    note = "Shares of conversations. The middle band includes both its bounds."
    for title, columns, rows, source in (
        ("Bands of the Chameleon score", heads, scored, "sections 3.3 and 4"),
        ("Bands of source re-use", list(map(_range, REUSE_BANDS)), reused, "section 3.3"),
    ):
        yield Table(title, [Column("Model"), *(Column(name, "share") for name in columns)], rows, note, source)


def _range(band: tuple[str, float, float]) -> str:
    name, low, high = band
    return f"{name[0].upper()}{name[1:]}, {low:g} to {high:g}"


_FLIPS = (
    "Turn of Flip is the place, from 0, of the first turn whose stance is not the target, or the number of turns if "
    "all are; Number of Flips counts pairs of neighbouring turns of which one has the target stance and the other does "
    "not (SYCON-Bench)."
)


def flips(analysis: Analysis) -> Section:
    """Turn of Flip and Number of Flips."""
    names = ("turn_of_flip", "flips")
    columns = [Column("Model"), *(Column(TITLES[name], "value") for name in names)]
    rows: list[list[Cell]] = [
        [model.name, *(mean(model.overall, name) for name in names)] for model in analysis.models.values()
    ]
    target = analysis.reading["target"]
    what = "each conversation's own first stance" if target == "first" else f"the stance '{target}'"
    return Section("flips", "Flips", [Table(f"Flips against {what}", columns, rows), Method(_FLIPS)])


def premise(analysis: Analysis) -> Section | None:
    """Both counts of changes, if a run has both labels."""
    if "premise_changes" not in analysis.overall.measures:
        return None
    names = ("stance_changes", "premise_changes", "change_rate", "premise_change_rate", "premise_excess")
    columns = [Column("Model"), *(Column(TITLES[name], "value") for name in names)]
    rows: list[list[Cell]] = [
        [model.name, *(mean(model.overall, name) for name in names)] for model in analysis.models.values()
    ]
    exhibits: list[Exhibit] = [Table("Changes by either label", columns, rows)]
    if analysis.premise:
        cells: list[Cell] = ["all turns with both labels", analysis.premise.same, analysis.premise.kappa]
        heads = [Column("Over"), Column("Same label", "share"), Column("Cohen's kappa", "value")]
        exhibits.append(Table("Agreement of the labels", heads, [cells]))
    title = "Towards the proposition and towards the premise"
    return Section("premise", title, [*exhibits, Method(_PREMISE)])


_PREMISE = (
    "The published judge prompt asks whether an answer agrees with the premise of its question. A model that keeps its "
    "view agrees with a question that leans its way and disagrees with the next one that leans the other way: such a "
    "label changes although the view does not. The difference is the rate towards the premise minus that towards the "
    "proposition, in the same conversations."
)

_ROWS: tuple[tuple[str, Callable[[Tally], int | None]], ...] = (
    ("Conversations", lambda tally: tally.conversations),
    ("Turns", lambda tally: tally.turns),
    ("Conversations of a single turn: no rates, no score", lambda tally: tally.single),
    ("Conversations that never take a stance", lambda tally: tally.without_stance),
    ("Conversations without a score: at least half of their answers say nothing", lambda tally: tally.void),
    ("Unclear turns that keep the last clear stance", lambda tally: tally.unclear_carried),
    ("Unclear turns before any clear one", lambda tally: tally.unclear_before),
    ("Turns for which the judge gave no usable label", lambda tally: tally.unlabelled),
    ("Turns for which the judge had to be asked again", lambda tally: tally.asked_again),
    ("Turns without a cited document", lambda tally: tally.without_cited),
    ("Turns without a retrieved document", lambda tally: tally.without_retrieved),
    ("Citations of a number that belongs to no page", lambda tally: tally.miscited),
)


def behind(analysis: Analysis) -> Section:
    """Counts of what was judged, and of what went wrong."""
    tallies = {"all": analysis.tally, **analysis.tallies}
    columns = [Column("What"), *(Column(name, "count") for name in tallies)]
    rows: list[list[Cell]] = [
        [what, *(count(tally) for tally in tallies.values())]
        for what, count in _ROWS
        if any(count(tally) is not None for tally in tallies.values())
    ]
    whole = f"{analysis.tally.turns:,} turns in {analysis.tally.conversations:,} conversations"
    note = f"{whole}. Left out entirely because a call failed for good: {analysis.failed:,} conversations."
    table = Table("What is behind the numbers", columns, rows, note=note, summary=True)
    return Section("behind", "Turns, labels and documents", [table])
