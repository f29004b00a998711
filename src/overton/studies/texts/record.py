"""One row of the outcome table: a text, and the judge's label of it."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec

from overton.studies.tables import ColumnRules, means
from overton.studies.texts.items import UNNAMED


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A text of the table with its label. `model` is what the text is by, not the judge."""

    row_key: ClassVar[tuple[str, ...]] = ("trial",)

    trial: Annotated[str, means("the text's id, by which label tasks name it")]
    text: Annotated[str, means("the text's id"), ColumnRules(needed=True)]
    model: Annotated[str, means("what the text is by, 'unnamed' if the table does not say"), ColumnRules(usual=UNNAMED)]
    group: Annotated[str, means("what the text is alike with; intervals are over groups")]
    condition: Annotated[
        str, means("the condition under which the text came about, '' for none"), ColumnRules(usual="")
    ]
    label: Annotated[
        str | None, means("the judge's label, None if no reply could be read"), ColumnRules(needed=True)
    ] = None
    judged_again: Annotated[bool, means("whether the label was requested once more")] = False
    label_again: Annotated[str | None, means("the label given then, with the labels in reverse")] = None
    unread: Annotated[int, means("labels for which the judge gave no readable reply")] = 0
    failure: Annotated[str | None, means("who failed ('judge') and why, None if no call did")] = None
