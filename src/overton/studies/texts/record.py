"""One row of the outcome table: a text and its label by the judge."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec

from overton.studies.tables import ColumnRules, means
from overton.studies.texts.items import UNNAMED


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A text of the table with its label. `model` is the author of the text, not the judge."""

    row_key: ClassVar[tuple[str, ...]] = ("trial",)

    trial: Annotated[str, means("the text's id, by which label tasks name it")]
    text: Annotated[str, means("the text's id"), ColumnRules(needed=True)]
    model: Annotated[
        str,
        means("the author of the text, such as a model; 'unnamed' if the table does not say"),
        ColumnRules(usual=UNNAMED),
    ]
    group: Annotated[str, means("the group of similar texts; intervals are over groups")]
    condition: Annotated[
        str, means("the condition under which the text was written, '' for none"), ColumnRules(usual="")
    ]
    label: Annotated[
        str | None, means("the judge's label, None if no reply could be read"), ColumnRules(needed=True)
    ] = None
    judged_again: Annotated[bool, means("whether the label was requested once more")] = False
    label_again: Annotated[
        str | None, means("the judge's label in a second request with the labels in reverse order")
    ] = None
    unread: Annotated[int, means("labels for which the judge gave no readable reply")] = 0
    failure: Annotated[str | None, means("who failed ('judge') and why, None if no call failed")] = None
