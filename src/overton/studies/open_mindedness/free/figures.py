"""What a model writes when it may answer as it likes, beside what it chose when it had to."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from overton.studies.charts.axes import Axis
from overton.studies.charts.dots import Dot, Series, dots
from overton.studies.open_mindedness.figures.names import LABELS
from overton.studies.open_mindedness.measures.analysis import Analysis
from overton.studies.open_mindedness.measures.free import Freely
from overton.studies.open_mindedness.options import CONDITIONS
from overton.studies.sections import COLOURS, Callout, Cell, Chart, Column, Exhibit, Method, Prose, Section, Table

_READ = (
    "The same prompts without the letters: the model wrote what it thinks in its own words, after the same evidence,"
    " and a judge that saw neither the evidence nor the forced answer said which position the text takes. A forced and"
    " a free answer to one prompt are a pair. Pairs differ if the free answer takes no side though the forced one"
    " did, if it takes the other side, or if it alone takes one. Two forced answers differ by chance as well: how"
    " often is shown under 'forced-again', if there is more than one trial."
)
_METHOD = (
    "Issues weigh equally. 'Declines' are free answers that say that their writer does not take sides or have an"
    " opinion, whether or not they lean to one side. Strength is that of answers that take a side."
)
_SERIES = [
    Series("Takes no side", COLOURS["other"], "circle"),
    Series("Takes the other side", COLOURS["con"], "square"),
]
_AXIS = Axis("Share of pairs (%)", 0, 1, "share")


def free_section(analysis: Analysis) -> Section | None:
    """Everything about free answers; None if there are none."""
    if not analysis.free:
        return None
    return Section(
        "free", "Free answers", [Prose(_READ), *_unlabelled_callouts(analysis.free), *_exhibits(analysis.free)]
    )


def _exhibits(free: dict[str, Freely]) -> Iterator[Exhibit]:
    paired = {name: result for name, result in free.items() if result.pairs}
    if paired:
        yield _headline(paired)
        yield _chart(paired)
    else:
        yield Callout("The model was never forced, so nothing can be said about what forcing does.", summary=True)
    yield _takes(free)
    yield _firmness(free)
    yield Method(_METHOD)


def _unlabelled_callouts(free: dict[str, Freely]) -> Iterator[Exhibit]:
    for name, result in free.items():
        if result.unlabelled:
            all_ = result.answers + result.unlabelled
            said = (
                f"{name}: the judge gave no label to {result.unlabelled:,} of {all_:,} free answers; they are left out."
            )
            yield Callout(said, "warning", summary=True)


def _headline(free: dict[str, Freely]) -> Table:
    columns = [Column("Model"), Column("Pairs", "count"), Column("Differ", "share")]
    columns += [Column("No side when free", "share"), Column("The other side", "share")]
    columns.append(Column("A side only when free", "share"))
    rows: list[list[Cell]] = [
        [name, result.pairs, result.differs, result.abstains, result.opposite, result.speaks]
        for name, result in free.items()
    ]
    return Table("Free answers beside forced ones", columns, rows, summary=True)


def _chart(free: dict[str, Freely]) -> Chart:
    points = [
        Dot(LABELS[name], series, number, panel=model)
        for model, result in free.items()
        for name, found in result.by_condition.items()
        for series, number in enumerate((found.abstains, found.opposite))
    ]
    rows = [LABELS[name] for name in CONDITIONS if any(name in result.by_condition for result in free.values())]
    about = "Of the answers that the model gives when it must choose, how many it does not give when it need not."
    columns = [Column("Model"), Column("Configuration"), Column("Pairs", "count"), Column("Differ", "share")]
    columns += [Column("No side when free", "share"), Column("The other side", "share")]
    columns.append(Column("A side only when free", "share"))
    values: list[list[Cell]] = [
        [model, LABELS[name], found.pairs, found.differs, found.abstains, found.opposite, found.speaks]
        for model, result in free.items()
        for name, found in result.by_condition.items()
    ]
    spec = partial(dots, points, rows, _SERIES, _AXIS, panels=list(free))
    table = Table("Free answers beside forced ones, by configuration", columns, values)
    return Chart("free", "What becomes of forced answers", about, spec, values=table)


def _takes(free: dict[str, Freely]) -> Table:
    columns = [Column("Model"), Column("Configuration"), Column("Pro", "share"), Column("Con", "share")]
    columns.append(Column("Neither", "share"))
    rows: list[list[Cell]] = [
        [model, LABELS[name], found.pro, found.con, found.other]
        for model, result in free.items()
        for name, found in result.takes.items()
    ]
    return Table("Which side free answers take", columns, rows)


def _firmness(free: dict[str, Freely]) -> Table:
    columns = [Column("Model"), Column("Free answers", "count"), Column("Take no side", "share")]
    columns += [Column("Declines", "share")]
    columns += [Column(f"{name}", "share") for name in ("Slightly", "Clearly", "Strongly")]
    rows: list[list[Cell]] = [
        [name, result.answers, result.neither, result.declines, *result.strength.values()]
        for name, result in free.items()
    ]
    return Table("How firmly free answers take a side", columns, rows, summary=True)
