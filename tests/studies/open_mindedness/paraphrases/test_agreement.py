from __future__ import annotations

from math import isnan
from typing import Any

import polars as pl
import pytest

from overton.judging import cohen_kappa
from overton.studies.open_mindedness.paraphrases.audit import agreement, agreement_tables


def row(model: str, issue: str, template: int, verdict: str | None, **other: Any) -> dict[str, Any]:
    orientation = "pro" if template < 5 else "con"
    read = verdict is not None
    return {
        "model": model,
        "trial": f"{issue}/audit/t{template}",
        "issue": issue,
        "template": template,
        "orientation": orientation,
        "verdict": verdict,
        "fair": read or None,
        "a_supports": orientation if read else None,
        "reason": "Because." if read else "",
        "reading": "as is" if read else "invalid",
        "attempts": 1,
        "refused": False,
        "failure": None,
        **other,
    }


def table(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, infer_schema_length=None)


SITES = [(issue, template) for issue in ("a", "b", "c", "d") for template in range(1, 7)]
FIRST = {site: "favors pro" if site[1] == 1 or site == ("a", 2) else "neutral" for site in SITES}
SECOND = {site: "favors pro" if site[1] == 1 else "neutral" for site in SITES}


def test_each_judge_has_its_shares_with_intervals() -> None:
    rows = [row("one", *site, FIRST[site]) for site in SITES]
    (judge,) = agreement(table(rows)).judges
    assert (judge.judge, judge.neutral.n, judge.neutral.value) == ("one", 24, pytest.approx(19 / 24))
    assert judge.neutral.low < 19 / 24 < judge.neutral.high
    assert judge.verdicts == {"neutral": 19, "favors pro": 5, "favors con": 0}
    assert (judge.fair.value, judge.orientation.value) == (1, 1)


def test_two_judges_have_percent_agreement_and_kappa_clustered_by_issue() -> None:
    rows = [row("one", *site, FIRST[site]) for site in SITES] + [row("two", *site, SECOND[site]) for site in SITES]
    found = agreement(table(rows[::-1]))
    (pair,) = found.pairs
    assert (pair.first, pair.second, pair.same.value) == ("one", "two", pytest.approx(23 / 24))
    expected = cohen_kappa(list(FIRST.values()), list(SECOND.values()), [issue for issue, _ in SITES])
    assert pair.kappa == expected
    assert found.fleiss is None


def test_three_judges_have_fleiss_kappa_and_three_pairs() -> None:
    said = {"one": FIRST, "two": SECOND, "x": SECOND}
    rows = [row(judge, *site, verdicts[site]) for judge, verdicts in said.items() for site in SITES]
    found = agreement(table(rows))
    assert [(pair.first, pair.second) for pair in found.pairs] == [("one", "two"), ("one", "x"), ("two", "x")]
    assert found.fleiss is not None
    assert 0.5 < found.fleiss.value < 1
    assert found.fleiss.n == 24


def test_unreadable_verdicts_are_counted_and_left_out_of_the_shares() -> None:
    rows = [
        row("one", "a", 1, "neutral", reading="repaired"),
        row("one", "a", 2, "neutral", attempts=2),
        row("one", "a", 3, None, attempts=2, refused=True),
        row("one", "a", 4, None, reading=None, failure="timeout: no answer"),
        row("two", "a", 1, "favors con"),
        row("two", "a", 3, "neutral"),
    ]
    found = agreement(table(rows))
    one = found.judges[0]
    assert (one.repaired, one.asked_again, one.invalid, one.refused, one.failed) == (1, 2, 1, 1, 1)
    assert one.neutral.n == 2
    assert found.pairs[0].same.n == 1


def test_every_objection_is_listed_with_its_reason() -> None:
    rows = [
        row("one", "b", 4, "neutral", a_supports="con", reason="A is against."),
        row("one", "a", 5, "favors con", reason="Loaded."),
        row("two", "a", 5, "neutral", a_supports="unclear"),
    ]
    found = agreement(table(rows))
    assert [(one.issue, one.template, one.judge, one.says, one.stated) for one in found.orientation_disagreements] == [
        ("a", 5, "two", "unclear", "con"),
        ("b", 4, "one", "con", "pro"),
    ]
    assert [(one.issue, one.says, one.reason) for one in found.not_neutral] == [("a", "favors con", "Loaded.")]


def test_judges_without_a_readable_verdict_have_no_share_and_no_kappa() -> None:
    found = agreement(table([row("one", "a", 1, None), row("two", "a", 1, "neutral")]))
    assert isnan(found.judges[0].neutral.value)
    assert isnan(found.pairs[0].kappa.value)


def test_the_tables_have_judges_pairs_and_objections() -> None:
    rows = [
        row("one", "a", 5, "favors con", reason="Loaded."),
        row("one", "b", 4, None),
        row("two", "a", 5, "neutral"),
    ]
    found = agreement(table(rows))
    judges, pairs, objections = agreement_tables(found)
    assert all(one.summary for one in (judges, pairs, objections))
    assert [column.title for column in judges.columns][1:4] == ["Neutral", "Positions fair", "Orientation as stated"]
    first = found.judges[0]
    assert judges.rows[0] == ["one", first.neutral, first.fair, first.orientation, 1, 0, 0]
    assert pairs.rows == [["one and two", found.pairs[0].same, found.pairs[0].kappa]]
    assert objections.rows == [["a", "5", "one", "favors con", "Loaded."]]
    assert len(agreement_tables(agreement(table([row("one", "a", 1, "neutral")])))) == 1
