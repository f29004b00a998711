"""Several judges as a study declares them, and as records show them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import polars as pl
import pytest

from overton.studies.even_handedness import STUDY
from overton.studies.multiple_judges import JUDGE, judge_of, judges_of, led_alone
from overton.studies.standard_parts import differing
from overton.studies.tables import RawTable

FIRST = pl.DataFrame({"trial": ["t1", "t2", "t3"], "label": ["a", "b", None], JUDGE: "one"})
OTHER = pl.DataFrame({"trial": ["t3", "t1", "t2"], "label": ["c", "a", None], JUDGE: "two"})


class Taken(msgspec.Struct, frozen=True):
    """A record that has a judge of its own."""

    judge: str


def test_the_first_judge_is_the_one_whose_records_come_first() -> None:
    records = pl.concat([FIRST, OTHER])
    assert judges_of(records) == ["one", "two"]
    assert judge_of(records, "two").equals(OTHER.drop(JUDGE))
    table = RawTable("records.parquet", ".parquet", tuple(records.columns), lambda: records)
    assert led_alone(table, "judge").frame().equals(FIRST.drop(JUDGE))
    assert led_alone(table, "") is table


@pytest.mark.parametrize("judge", [pl.lit(1), pl.lit(None, pl.String), pl.lit([1, 2])], ids=str)
def test_a_column_without_names_does_not_count_as_judges(judge: Any) -> None:
    assert judges_of(FIRST.with_columns(judge.alias(JUDGE))) == []


def test_the_reader_sees_who_says_otherwise_and_what() -> None:
    rows, others = FIRST.drop(JUDGE), {"two": OTHER.drop(JUDGE)}
    judges, differ, otherwise = differing(rows, others, ["trial"], {"label": "Label"})
    told = [[one.labels[code] if code >= 0 else None for code in one.codes] for one in (judges, differ, otherwise)]
    assert told == [["agree", "differ", "differ"], [None, "Label", "Label"], [None, "Label: none", "Label: c"]]
    assert otherwise.title == "Otherwise, by two"
    assert differing(rows, {}, ["trial"], {"label": "Label"}) == []


def test_several_judge_in_one_role_and_records_have_the_column_for_their_names() -> None:
    more = tuple(replace(role, several=True) for role in STUDY.roles)
    with pytest.raises(ValueError, match="only one role"):
        replace(STUDY, roles=more)
    with pytest.raises(ValueError, match="names the judge"):
        replace(STUDY, record=Taken)  # type: ignore[arg-type]
