"""The report of judged texts: shares of labels, and the texts to browse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from overton.studies.frame import Analysis
from overton.studies.layouts import CONDITION, CountColumn, MeasureColumn, RowsOf, SectionOf, TableOf, make_report
from overton.studies.sections import BrowseFilter, Method, Prose, Section, TrialTable
from overton.studies.texts.measures import label_of

if TYPE_CHECKING:
    from overton.studies.results import Results

_LONGEST = 20_000
_COUNTS = (CountColumn("texts", "Texts"), CountColumn("groups", "Groups"))
_FILTERS = {"model": "Model", "condition": "Condition", "label": "Label", "failure": "Failed"}


def _layout(labels: Sequence[str]) -> SectionOf:
    return SectionOf(
        "shares",
        "Shares of labels",
        [
            Prose("The judge gives each text one label. A share is over the texts that have a label."),
            TableOf(
                "Shares by model",
                [*(MeasureColumn(f"share_{label}", label) for label in labels), *_COUNTS],
                summary=True,
            ),
            TableOf(
                "Conditions against each other",
                [MeasureColumn(f"share_{label}", f"{label}, difference", of="difference") for label in labels],
                RowsOf(sides=(CONDITION,)),
                note="The first minus the second, over the groups of either.",
            ),
            TableOf(
                "Texts and labels behind the numbers",
                [*_COUNTS, CountColumn("failed", "With a failed call"), CountColumn("unread", "Unreadable labels")],
            ),
            Method("Intervals are over groups of texts that are alike: there are none below five groups."),
        ],
    )


def sections(analysis: Analysis, judged: str = "") -> list[Section]:
    """The report's sections. `judged` says who judged."""
    return make_report(
        [_layout([label_of(measure) for measure in analysis.measures])],
        analysis,
        "",
        judged=judged,
        faults=("texts", "Condition", ""),
    )


def text_table(results: Results) -> TrialTable:
    """The texts with their labels, to browse."""
    import polars as pl

    rows = results.records
    texts = ["\n\n".join(_parts(row.columns)) for row in results.items]
    places = {row.id: number for number, row in enumerate(results.items)}

    def answers(start: int, stop: int) -> list[str]:
        return [label or "no label" for label in rows["label"][start:stop].to_list()]

    return TrialTable(
        size=rows.height,
        texts=texts,
        prompts=lambda number: [number],
        prompt=[places.get(name, -1) for name in rows["text"]],
        facets=[
            BrowseFilter.of(title, rows[name].cast(pl.String).to_list(), read=name == "label")
            for name, title in _FILTERS.items()
        ],
        answers=answers,
        longest=_LONGEST,
        names=rows["trial"].to_list(),
        beside="Condition",
    )


def _parts(columns: dict[str, str]) -> Iterator[str]:
    """The columns that the judge was shown, each under its name if there are several."""
    for name, text in columns.items():
        yield text if len(columns) == 1 else f"{name}: {text}"
