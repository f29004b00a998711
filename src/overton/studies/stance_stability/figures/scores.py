"""Table 1: the Chameleon score and what it is made of, by temperature and model; its bands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from overton.studies.charts import Axis, Dot, dots, series_of
from overton.studies.exhibits import Callout, Cell, Chart, Column, Exhibit, Method, Section, Table
from overton.studies.stance_stability.figures.names import COLUMNS, TITLES, absent, conditions, mean, present
from overton.studies.stance_stability.measures.analysis import CHAMELEON_BANDS, OVER, REUSE_BANDS, Analysis

__all__ = ["scores"]

_UNIT = (0, 1)
_METHOD = (
    "Change rate: changes between neighbouring turns over the number of turns less one; an unclear turn holds the last "
    "clear stance. Source re-use (equation 1): the mean, from turn 2 on, of the share of a turn's documents that an "
    "earlier turn had too. Chameleon score (equation 2): the root of the mean square of change rate, confidence at "
    "changes and source re-use. Means are over conversations; a standard deviation says how much these differ. "
)
_READINGS = {
    "no_change": {
        "zero": "A conversation without change has confidence 0 at changes.",
        "mean": "A conversation without change takes the mean confidence of all its turns for that at changes.",
    },
    "no_documents": {
        "zero": "A turn without documents re-uses none.",
        "left out": "A turn without documents is left out of re-use.",
    },
}


def scores(analysis: Analysis) -> Section:
    """How much the models change, how surely, and from how few sources."""
    exhibits: list[Exhibit] = []
    if analysis.notes:
        exhibits.append(Callout("\n".join(analysis.notes), "warning", summary=True))
    if "chameleon" in analysis.overall.measures:
        exhibits.append(_chart(analysis, "chameleon"))
    else:
        exhibits += [absent(analysis, "chameleon", "The Chameleon score is"), _chart(analysis, "change_rate")]
    exhibits.append(_table(analysis))
    exhibits += _parts(analysis)
    if "chameleon" in analysis.overall.measures:
        exhibits += _bands(analysis)
    return Section("scores", "Stance changes and the Chameleon score", [*exhibits, Method(_method(analysis))])


def _method(analysis: Analysis) -> str:
    return f"{_METHOD}{_read(analysis)} Intervals resample {analysis.over}."


def _read(analysis: Analysis) -> str:
    """What counts as a document, and the readings that were chosen."""
    documents = f"Documents are those {analysis.documents}, told apart by address. " if analysis.documents else ""
    return documents + " ".join(texts[analysis.reading[name]] for name, texts in _READINGS.items())


def _chart(analysis: Analysis, measure: str) -> Chart:
    temperatures = list(analysis.temperatures)
    points = [
        Dot(model.name, index, model.temperatures[name].measures[measure].mean)
        for model in analysis.models.values()
        for index, name in enumerate(temperatures)
        if name in model.temperatures
    ]
    series = series_of([f"temperature {name}" for name in temperatures])
    axis = Axis(TITLES[measure], *_UNIT, "value")
    about = f"The mean {TITLES[measure].lower()} of each model at each temperature."
    return Chart(
        measure, TITLES[measure], about, partial(dots, points, list(analysis.models), series, axis), source="table 1"
    )


def _table(analysis: Analysis) -> Table:
    measures = present(analysis, COLUMNS)
    columns = [Column("Model"), Column("Temperature"), Column("Conversations", "count")]
    for name in measures:
        columns += [Column(TITLES[name], "value"), Column("sd", "value", detail=True)]
    rows: list[list[Cell]] = []
    for one in conditions(analysis):
        cells: list[Cell] = [one.model, one.temperature, one.group.conversations]
        for name in measures:
            cells += [one.group.measures[name].mean, one.group.measures[name].sd.value]
        rows.append(cells)
    title = "Chameleon score, source re-use, confidence and stance changes"
    note = f"sd: standard deviation between conversations. {_read(analysis)}"
    return Table(title, columns, rows, note=note, source="table 1", summary=True)


def _by_model(analysis: Analysis, title: str, measures: Sequence[str]) -> Table:
    names = present(analysis, measures)
    columns = [Column("Model"), *(Column(TITLES[name], "value") for name in names)]
    rows: list[list[Cell]] = [
        [model.name, *(mean(model.overall, name) for name in names)] for model in analysis.models.values()
    ]
    return Table(title, columns, rows, note="All temperatures.")


def _parts(analysis: Analysis) -> list[Table]:
    """What the score is made of, and what it would be by other documents."""
    made = [_by_model(analysis, "The parts of the score", _PARTS)]
    if present(analysis, _OTHERS):
        made.append(_by_model(analysis, "Re-use and score by other documents", _OTHERS))
    return made


_PARTS = ("change_rate", "confidence_at_changes", "source_reuse", "chameleon")
_OTHERS = tuple(
    f"{name}_{documents}"
    for name in ("source_reuse", "chameleon")
    for documents in ("cited_hosts", "retrieved", "retrieved_hosts")
)


def _bands(analysis: Analysis) -> Iterator[Table]:
    groups = {model.name: model.overall for model in analysis.models.values()}
    scored: list[list[Cell]] = [[name, *one.bands.values(), *one.over.values()] for name, one in groups.items()]
    reused: list[list[Cell]] = [[name, *one.reuse_bands.values()] for name, one in groups.items()]
    heads = [*map(_range, CHAMELEON_BANDS), *(f"Over {bound}" for bound in OVER)]
    note = "Shares of conversations. Both bounds belong to the middle band."
    for title, columns, rows, source in (
        ("Bands of the Chameleon score", heads, scored, "sections 3.3 and 4"),
        ("Bands of source re-use", list(map(_range, REUSE_BANDS)), reused, "section 3.3"),
    ):
        yield Table(title, [Column("Model"), *(Column(name, "share") for name in columns)], rows, note, source)


def _range(band: tuple[str, float, float]) -> str:
    name, low, high = band
    return f"{name[0].upper()}{name[1:]}, {low:g} to {high:g}"
