"""The weightiest of several cautions."""

from __future__ import annotations

from overton.studies.cautions import Caution, CautionRank, cautions_of, warn_of_width, weightiest
from overton.studies.findings import Finding, level_finding
from overton.studies.warnings import UNCHECKED_JUDGE


def stands(*cautions: str, quotable: bool = True) -> Finding:
    found = level_finding("m", "It stands.", 9, "issues", "x")
    return Finding(
        what=found.what,
        model="m",
        sentence=found.sentence,
        n=9,
        units="issues",
        exhibit="x",
        cautions=cautions,
        quotable=quotable,
    )


def test_do_not_quote_outweighs_everything() -> None:
    others = [Caution(rank, rank.name) for rank in reversed(CautionRank)]
    assert weightiest(others) == Caution(CautionRank.DO_NOT_QUOTE, "DO_NOT_QUOTE")
    assert weightiest([]) is None


def test_the_first_of_equal_weight_is_taken() -> None:
    first, second = Caution(CautionRank.MEANING, "first"), Caution(CautionRank.MEANING, "second")
    assert weightiest([first, second]) == first


def test_findings_that_are_all_unfit_are_not_to_be_quoted() -> None:
    (found,) = cautions_of([stands("Why.", quotable=False), stands("Why.", quotable=False)])
    assert found == Caution(CautionRank.DO_NOT_QUOTE, "Do not quote this. Why.")


def test_those_of_several_that_are_unfit_are_marked() -> None:
    (found,) = cautions_of([stands("Why.", quotable=False), stands()])
    assert found.text == "Do not quote what is marked *. Why."


def test_an_unchecked_judge_is_a_caution() -> None:
    assert list(cautions_of([stands(UNCHECKED_JUDGE), stands()])) == [Caution(CautionRank.UNCHECKED, UNCHECKED_JUDGE)]
    assert not list(cautions_of([stands()]))


def test_four_times_the_items_halve_an_interval() -> None:
    (found,) = warn_of_width(12, "issues")
    assert found.text == "Intervals are wide with 12 issues; about 48 issues would halve their width."
    assert not list(warn_of_width(20, "issues"))
    assert not list(warn_of_width(4, "issues"))
