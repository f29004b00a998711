"""The exhibits of a study: sections with prose, callouts, tables and charts, and trials to browse.

Studies make exhibits from measures, and a report arranges the exhibits. All text is plain text without markup. Text may
be hostile, so any code that shows text must escape it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from overton.statistics import Estimate
from overton.studies.chart_layout import NARROW, WIDE, ChartLayout, in_layout
from overton.studies.numbers import Kind, reason, sentence

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray


COLOURS = {
    "ink": "#1f2328",
    "muted": "#667078",
    "line": "#d5dade",
    "pro": "#0b6fb8",
    "con": "#c4500c",
    "other": "#8a8f94",
    "balanced": "#5d4aa8",
    "accent": "#0f766e",
}
"""Chart colours with a meaning, distinct under every common form of colour blindness. On a dark page, a report replaces
exactly these values (and `SERIES`) with lighter ones."""

SERIES = ("#0b6fb9", "#c4500d", "#10796f", "#a13d7c", "#8a6a00", "#5d4aa9", "#3f464d", "#4a8fc7", "#b03a2e")
"""Colours for up to nine series. A chart never distinguishes series by colour alone."""


@dataclass(frozen=True)
class EmptyCell:
    """A cell without a number, and the reason why the number is missing."""

    reason: str


Drawing: TypeAlias = Callable[[], dict[str, Any]]
"""A function that makes a Vega-Lite specification."""

Numbers: TypeAlias = "Sequence[int] | NDArray[Any]"


@dataclass(frozen=True)
class NamedItem:
    """An item in a cell: its id, the words displayed for it, and lines with details, such as its two positions."""

    id: str
    text: str
    more: Sequence[str] = ()


Cell = str | int | float | Estimate | EmptyCell | NamedItem | None


def sentence_cell(estimate: Estimate, kind: Kind) -> Cell:
    """A number as text, for a column with numbers of several kinds."""
    return EmptyCell(reason(estimate) or "not computed") if isnan(estimate.value) else sentence(estimate, kind)


@dataclass(frozen=True)
class Prose:
    """Paragraphs, separated by blank lines."""

    text: str


@dataclass(frozen=True)
class Method:
    """The method by which nearby numbers were computed, in small print that is never hidden."""

    text: str


@dataclass(frozen=True)
class Statement:
    """A sentence about a model, with the number behind it in words, and a link to the details.

    `way` is the link's text and target, relative to the page. Without a link, the page shows `otherwise`. A statement
    that is not `sure` is displayed less prominently, because the effect that it describes may not exist.
    """

    text: str
    evidence: str = ""
    caution: str = ""
    way: tuple[str, str] | None = None
    otherwise: str = ""
    sure: bool = True


@dataclass(frozen=True)
class Callout:
    """A sentence to be read together with nearby numbers. With `summary` it also appears in the terminal's summary."""

    text: str
    kind: Literal["warning", "note"] = "note"
    summary: bool = False


@dataclass(frozen=True)
class Column:
    """A column's heading and the kind of its cells. A summary leaves out `detail` columns. In `items` columns, a report
    shows the items' words in place of their ids."""

    title: str
    kind: Kind = "text"
    detail: bool = False
    items: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of cells under typed columns. The first column names the row. `source` is the location of the corresponding
    table in the paper.

    A table with `summary` also appears in the terminal's summary, because readers want it first.
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    source: str = ""
    summary: bool = False


@dataclass(frozen=True)
class Chart:
    """A Vega-Lite specification that contains its data. `draw` makes the specification only when it is needed, because
    drawing is slow. A terminal shows tables instead.

    `name` is a file name without suffix, unique in a report. `description` describes the chart in words, for readers
    who cannot see it. A mark's `description` channel is its tooltip. `values` are the numbers of the chart, as a table.
    """

    name: str
    title: str
    description: str
    draw: Drawing
    values: Table | None = None
    source: str = ""

    @cached_property
    def spec(self) -> dict[str, Any]:
        """The specification for the column of a page, computed once."""
        return self.draw()

    @cached_property
    def narrow(self) -> dict[str, Any]:
        """The specification for the screen of a phone."""
        with in_layout(NARROW):
            return self.draw()

    @property
    def is_empty(self) -> bool:
        """Whether the chart would have axes but no marks, because no row of its data has a value."""
        data = [*_data_of(self.spec)]
        return bool(data) and not any(row for rows in data for row in rows)

    def within(self, layout: ChartLayout) -> dict[str, Any]:
        """The specification for a layout."""
        if layout in (WIDE, NARROW):
            return self.narrow if layout is NARROW else self.spec
        with in_layout(layout):
            return self.draw()

    @property
    def caption(self) -> str:
        """The title, followed by a summary of the values if the kind of chart has one: 'Shares by model: 3.0% (a) to
        40.0% (b)'."""
        says = self.spec.get("usermeta", {}).get("says", "")
        return f"{self.title}: {says}" if says else self.title


def _data_of(node: Any) -> Iterator[list[Any]]:
    """The rows of each data set inside a Vega-Lite specification."""
    if isinstance(node, Mapping):
        data = node.get("data")
        if isinstance(data, Mapping) and isinstance(data.get("values"), list):
            yield data["values"]
        for name, inner in node.items():
            if name == "datasets":
                yield from (rows for rows in inner.values() if isinstance(rows, list))
            elif name != "data":
                yield from _data_of(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from _data_of(inner)


Exhibit = Prose | Method | Statement | Callout | Table | Chart


@dataclass(frozen=True)
class Section:
    """A part of a report; `key` names it in links."""

    key: str
    title: str
    exhibits: Sequence[Exhibit]

    def signed(self, judged: str) -> Section:
        """The section with a description of the judges at its end; unchanged if `judged` is empty."""
        return replace(self, exhibits=[*self.exhibits, Method(judged)]) if judged else self


def summary(sections: Sequence[Section]) -> list[Section]:
    """The parts to read first: tables and callouts with `summary`, each once. Tables lack their `detail` columns."""
    said: list[Exhibit] = []
    found = [replace(section, exhibits=list(_summary_exhibits(section, said))) for section in sections]
    return [section for section in found if section.exhibits]


def _summary_exhibits(section: Section, said: list[Exhibit]) -> Iterator[Table | Callout]:
    for exhibit in section.exhibits:
        if isinstance(exhibit, Table | Callout) and exhibit.summary and exhibit not in said:
            said.append(exhibit)
            yield _drop_details(exhibit) if isinstance(exhibit, Table) else exhibit


def _drop_details(table: Table) -> Table:
    kept = [index for index, column in enumerate(table.columns) if not column.detail]
    left_out = dict.fromkeys(column.title for column in table.columns if column.detail)
    said = f"Columns not shown here: {'; '.join(left_out)}." if left_out else ""
    return replace(
        table,
        columns=[table.columns[index] for index in kept],
        rows=[[row[index] for index in kept] for row in table.rows],
        note=f"{table.note} {said}".strip(),
    )


@dataclass(frozen=True)
class BrowseFilter:
    """A property of trials. `codes` has an index into `labels` for each trial. With `choose`, readers can filter by the
    property.

    With `read`, a pattern or a judge derived the property from the answer. Otherwise the property belongs to the
    prompt.
    """

    title: str
    labels: Sequence[str]
    codes: Numbers
    choose: bool = True
    read: bool = False

    @classmethod
    def of(cls, title: str, values: Sequence[str | None], *, choose: bool = True, read: bool = False) -> BrowseFilter:
        """A filter built from the trials' values. A trial without a value has None. Labels are in alphabetical
        order."""
        labels = sorted({value for value in values if value is not None})
        codes = {label: number for number, label in enumerate(labels)}
        return cls(title, labels, [-1 if value is None else codes[value] for value in values], choose, read)


ROUND_BREAK, TURN_BREAK = "\x1e", "\x1f"
"""Marks in an answer that is a conversation. The first precedes each round, and the second separates the turns of a
round."""


def without_breaks(text: str) -> str:
    """A text in which spaces replace the marks `ROUND_BREAK` and `TURN_BREAK`."""
    return text.replace(ROUND_BREAK, " ").replace(TURN_BREAK, " ")


@dataclass(frozen=True)
class TrialTable:
    """Trials to browse: prompts, answers, and properties by which readers can filter.

    A prompt is made of several texts. `texts` has the texts of all prompts, without repetitions. `prompt` has the
    number of each trial's prompt (-1 if unknown), and `prompts(number)` gives the indices of that prompt's texts.
    `answers(start, stop)` gives the replies of the trials from `start` to `stop` (not included). It is a function, so
    that not all replies need to be in memory. `size` is the number of trials. `longest` is the number of characters to
    which an answer is shortened where space is limited.

    An answer that contains `ROUND_BREAK` appears round by round, with the turns of a round next to each other. With
    `across`, it appears as a table with one column for each round and one row for each turn. Each round's heading is
    the word `round` and the round's number. `round` is '' if each round's first line is already its heading.

    `names` identify trials in links; without names, links contain numbers. `item` is the title of the facet with the
    trial's item. `beside` is the title of the facet whose values the page first displays side by side. `reader` is the
    judge or pattern that derived the facets with `read`.
    """

    size: int
    texts: Sequence[str]
    prompts: Callable[[int], Sequence[int]]
    prompt: Numbers
    facets: Sequence[BrowseFilter]
    answers: Callable[[int, int], Sequence[str]]
    longest: int = 2_000
    round: str = "Round"
    across: bool = False
    names: Sequence[str] = ()
    item: str = ""
    beside: str = ""
    reader: str = ""


_LONGEST_REPLY = 20_000


def record_table(  # noqa: PLR0917
    records: pl.DataFrame,
    item: str,
    texts: Mapping[str, str],
    replies: pl.Series,
    filters: Mapping[str, str],
    read: Collection[str],
    names: Collection[str],
) -> TrialTable:
    """Records with their `replies`, as trials to browse.

    The column `item` has the ids of items. `texts` has the text of each item, which is shown above the item's replies.
    Readers can filter by the columns in `filters`, which maps each column to its title. The columns in `read` were
    derived from the reply. The columns `names` identify a record.
    """
    import polars as pl

    places = {name: place for place, name in enumerate(texts)}

    def answers(start: int, stop: int) -> list[str]:
        return [str(reply) for reply in replies[start:stop].to_list()]

    return TrialTable(
        size=records.height,
        texts=list(texts.values()),
        prompts=lambda number: [number],
        prompt=[places.get(name, -1) for name in records[item]],
        facets=[
            BrowseFilter.of(title, records[name].cast(pl.String).to_list(), read=name in read)
            for name, title in filters.items()
        ],
        answers=answers,
        longest=_LONGEST_REPLY,
        names=records.select(pl.concat_str(names, separator="/")).to_series().to_list(),
        beside=filters.get("condition", ""),
    )


@dataclass(frozen=True)
class Exhibits:
    """The part of a report that a study gives.

    `sections` show the results, and `trials` the prompts and answers (None if there are no trials to browse). Readers
    should see `warnings` before any number. `without` lists the parts of the analysis that the report's data leave out.
    """

    summary: str
    sections: Sequence[Section]
    trials: TrialTable | None
    warnings: Sequence[str] = ()
    without: Sequence[str] = ()
