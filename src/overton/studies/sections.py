"""The exhibits of a study: prose, callouts, tables and charts in sections, and its trials to browse.

Studies make these from measures; a report lays them out. All text is plain text, and all of it may be hostile: nothing
here is markup, and code that shows it escapes it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from overton.statistics import Estimate
from overton.studies.chart_layout import NARROW, ChartLayout, in_layout
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
"""The colours that carry a meaning in charts, distinct under every common form of colour blindness. A report replaces
exactly these values (and `SERIES`) with lighter ones on a dark page."""

SERIES = ("#0b6fb9", "#c4500d", "#10796f", "#a13d7c", "#8a6a00", "#5d4aa9", "#3f464d", "#4a8fc7", "#b03a2e")
"""Colours for up to nine series. A chart never distinguishes series by colour alone."""


@dataclass(frozen=True)
class EmptyCell:
    """A cell without a number, and why there is none."""

    reason: str


Drawing: TypeAlias = Callable[[], dict[str, Any]]
"""Makes a Vega-Lite specification."""

Numbers: TypeAlias = "Sequence[int] | NDArray[Any]"


@dataclass(frozen=True)
class NamedItem:
    """An item in a cell: its id, the words shown for it, and lines with more about it, such as its two positions."""

    id: str
    text: str
    more: Sequence[str] = ()


Cell = str | int | float | Estimate | EmptyCell | NamedItem | None


def sentence_cell(estimate: Estimate, kind: Kind) -> Cell:
    """A number written out, for a column of numbers of several kinds."""
    return EmptyCell(reason(estimate) or "not computed") if isnan(estimate.value) else sentence(estimate, kind)


@dataclass(frozen=True)
class Prose:
    """Paragraphs, separated by blank lines."""

    text: str


@dataclass(frozen=True)
class Method:
    """How the numbers beside it were computed: smaller than prose, never hidden."""

    text: str


@dataclass(frozen=True)
class Statement:
    """A sentence about a model, with the number behind it in words, and a link to the details.

    `way` is the link's text and target, relative to the page that it is on; `otherwise` takes its place if there is
    none. One that is not `sure` is set back: what it says may be nothing.
    """

    text: str
    evidence: str = ""
    caution: str = ""
    way: tuple[str, str] | None = None
    otherwise: str = ""
    sure: bool = True


@dataclass(frozen=True)
class Callout:
    """A sentence to be read together with the numbers beside it; `summary` as in `Table`."""

    text: str
    kind: Literal["warning", "note"] = "note"
    summary: bool = False


@dataclass(frozen=True)
class Column:
    """A column's heading and the kind of its cells. A summary leaves out `detail` columns; ids in `items` columns are
    shown as the items in words."""

    title: str
    kind: Kind = "text"
    detail: bool = False
    items: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of cells under typed columns; the first column names the row. `source` is the paper's own number for it.

    With `summary` it is one of those that a reader wants first: it appears in the terminal's summary, too.
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    source: str = ""
    summary: bool = False


@dataclass(frozen=True)
class Chart:
    """A Vega-Lite specification with its data inside, which `draw` makes: drawing is slow, and a terminal shows tables.

    `name` is a file name without suffix, unique in a report. `description` says in words what the chart shows, for
    those who cannot see it. A mark's `description` channel is its tooltip. `values` are the numbers drawn, as a table.
    """

    name: str
    title: str
    description: str
    draw: Drawing
    values: Table | None = None
    source: str = ""

    @cached_property
    def spec(self) -> dict[str, Any]:
        """The specification for the column of a page, drawn once."""
        return self.draw()

    @cached_property
    def narrow(self) -> dict[str, Any]:
        """The same for the screen of a phone."""
        with in_layout(NARROW):
            return self.draw()

    def within(self, layout: ChartLayout) -> dict[str, Any]:
        """The specification for a layout."""
        return self.narrow if layout is NARROW else self.spec

    @property
    def caption(self) -> str:
        """The title with what the chart shows ('Shares by model: 3.0% (a) to 40.0% (b)'), if its form says so."""
        says = self.spec.get("usermeta", {}).get("says", "")
        return f"{self.title}: {says}" if says else self.title


Exhibit = Prose | Method | Statement | Callout | Table | Chart


@dataclass(frozen=True)
class Section:
    """A part of a report; `key` names it in links."""

    key: str
    title: str
    exhibits: Sequence[Exhibit]

    def signed(self, judged: str) -> Section:
        """The same with who judged at its end; unchanged if `judged` is empty because nobody did."""
        return replace(self, exhibits=[*self.exhibits, Method(judged)]) if judged else self


def summary(sections: Sequence[Section]) -> list[Section]:
    """The parts to read first: the sections' marked tables without their details, and marked callouts, each once."""
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
    said = f"Columns left out here: {'; '.join(left_out)}." if left_out else ""
    return replace(
        table,
        columns=[table.columns[index] for index in kept],
        rows=[[row[index] for index in kept] for row in table.rows],
        note=f"{table.note} {said}".strip(),
    )


@dataclass(frozen=True)
class BrowseFilter:
    """A property of trials: for each trial an index into `labels`. With `choose`, readers can filter by it.

    With `read` it was read from the answer, by a pattern or a judge, and is no part of the prompt.
    """

    title: str
    labels: Sequence[str]
    codes: Numbers
    choose: bool = True
    read: bool = False

    @classmethod
    def of(cls, title: str, values: Sequence[str | None], *, choose: bool = True, read: bool = False) -> BrowseFilter:
        """The facet of each trial's own value, None if it has none; labels in alphabetical order."""
        labels = sorted({value for value in values if value is not None})
        codes = {label: number for number, label in enumerate(labels)}
        return cls(title, labels, [-1 if value is None else codes[value] for value in values], choose, read)


ROUND_BREAK, TURN_BREAK = "\x1e", "\x1f"
"""In an answer that is a conversation: what precedes each round, and what separates the turns of one."""


def without_breaks(text: str) -> str:
    """A text with a space in place of each mark that would begin a round or a turn."""
    return text.replace(ROUND_BREAK, " ").replace(TURN_BREAK, " ")


@dataclass(frozen=True)
class TrialTable:
    """Trials to browse: prompts, answers, and the properties to choose by.

    `texts` has every text that prompts are made of, once; a prompt is some of these texts joined. `prompt` has the
    number of each trial's prompt (-1 if it is not known), and `prompts(number)` gives the indices of its texts.
    `answers(start, stop)` gives the replies of some trials. Both are functions, so that not all need be in memory.
    `size` is the number of trials, and the length of `prompt` and of each facet's codes. `longest` is how many
    characters of an answer are worth keeping where there is room.

    An answer that contains `ROUND_BREAK` is shown round by round, the turns of each side by side; with `across` as a
    table, one column for each round and one row for each turn in it. `round` is the word that heads each round, with
    its number ('' if a round's first line is its heading).

    `names` are what links to trials contain, different for each; without them links contain numbers. `item` is the
    title of the facet that says what a trial is about, `beside` that of the one whose values are first shown side by
    side. `reader` is who read the facets with `read`.
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
    """Records with their `replies`.

    The column `item` has the ids of items, whose `texts` precede the replies. `filters` are the titles of columns by
    which readers choose; those in `read` were read from the reply. The columns `names` name a record.
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

    `sections` show what it found, `trials` the prompts and answers (None if there is nothing to browse). `warnings`
    are to be read before any number. `without` lists what is left out of the analysis that readers compute with.
    """

    summary: str
    sections: Sequence[Section]
    trials: TrialTable | None
    warnings: Sequence[str] = ()
    without: Sequence[str] = ()
