"""Records of judged texts made into units, one for each text, with a column for each label."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from overton.studies.record_units import RecordUnits
from overton.studies.texts.question_files import LABEL


def texts_with(columns: Mapping[str, str]) -> RecordUnits:
    """The texts that may have some labels: for each there is a column that is true if the text has it, null if it has
    none."""
    values = {column: pl.col(LABEL) == label for label, column in columns.items()}
    return RecordUnits("texts", "group", values, condition="condition")
