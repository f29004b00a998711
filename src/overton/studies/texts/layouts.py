"""The report of judged texts: proportions of labels, and the texts to browse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from overton.studies.frame import Analysis
from overton.studies.layouts import CONDITION, CountColumn, MeasureColumn, RowsOf, SectionOf, TableOf
from overton.studies.sections import Method, Prose, TrialTable, record_table
from overton.studies.texts.measures import label_of

if TYPE_CHECKING:
    from overton.studies.results import Results

_COUNTS = (CountColumn("texts", "Texts"), CountColumn("groups", "Groups"))
_FILTERS = {"model": "Model", "condition": "Condition", "label": "Label", "failure": "Failed"}


def layouts(analysis: Analysis) -> list[SectionOf]:
    """The report's only section, whose columns are the labels."""
    labels = [label_of(measure) for measure in analysis.measures]
    made = SectionOf(
        "shares",
        "Shares of labels",
        [
            Prose("The judge gives each text one label. Shares are of the texts that have a label."),
            TableOf(
                "Shares by model",
                [*(MeasureColumn(f"share_{label}", label) for label in labels), *_COUNTS],
                summary=True,
            ),
            TableOf(
                "Differences between conditions",
                [MeasureColumn(f"share_{label}", f"{label}, difference", of="difference") for label in labels],
                RowsOf(sides=(CONDITION,)),
                note="The first condition minus the second, over all groups with texts in one or both conditions.",
            ),
            TableOf(
                "Texts and labels behind the numbers",
                [*_COUNTS, CountColumn("failed", "With a failed call"), CountColumn("unread", "Unreadable labels")],
            ),
            Method("Intervals are over groups of similar texts and need at least five groups."),
        ],
    )
    return [made]


def text_table(results: Results) -> TrialTable:
    """The texts with their labels, to browse."""
    rows, texts = results.records, {row.id: "\n\n".join(_parts(row.columns)) for row in results.items}
    return record_table(rows, "text", texts, rows["label"].fill_null("no label"), _FILTERS, ("label",), ("trial",))


def _parts(columns: dict[str, str]) -> Iterator[str]:
    """The columns that the judge reads, each after its name if there are several."""
    for name, text in columns.items():
        yield text if len(columns) == 1 else f"{name}: {text}"
