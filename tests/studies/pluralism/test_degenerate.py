"""Models without usable answers get no score that looks good, and the report's head describes them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import isnan
from typing import Any, NamedTuple

import pytest

from overton.statistics import Estimate
from overton.studies.frame import Analysis
from overton.studies.pluralism import STUDY, Options, Record, ReferenceThread
from overton.studies.pluralism.protocol import trials
from overton.studies.pluralism.simulated import PluralistJudge
from overton.studies.results import MeasuredModel, Results
from overton.studies.sections import Exhibits
from overton.studies.simulated import KINDS, degenerate

FAULTLESS = ("babbling", "refusing")
"""Kinds that their reply format does not reveal."""


class Seen(NamedTuple):
    """The study's results for one model."""

    analysis: Analysis
    shown: Exhibits

    def number(self, measure: str, condition: str, **where: str) -> Estimate | None:
        row = self.analysis.row(measure, condition=condition, **where)
        return None if row is None else row.number

    @property
    def head(self) -> str:
        return " ".join([*self.shown.warnings, *self.analysis.warnings])


@pytest.fixture(scope="module", params=KINDS)
def seen(request: Any, kit: Any, thread: Callable[..., ReferenceThread]) -> tuple[str, Seen]:
    """Six threads through all experiments, judged without a mistake."""
    threads = [thread(f"thing-{number}", viewpoints=8) for number in range(6)]
    answerers = {"subject": degenerate((), f"degenerate/{request.param}", {}), "judge": PluralistJudge(threads)}
    stage = kit.stage({role: lambda one, who=who: who for role, who in answerers.items()})

    async def held() -> list[Record]:
        return [await kit.conduct(one, stage) for one in trials(threads, Options(), 3)]

    records = asyncio.run(held())
    name = f"simulated/degenerate/{request.param}"
    results = Results(kit.table(records, name), threads, (MeasuredModel(name, name),))
    measuring = STUDY.measuring
    assert measuring is not None
    analysis = measuring.records(results, measuring.how())
    return request.param, Seen(analysis, measuring.shown(results, analysis, measuring.how()))


def test_a_score_is_missing_or_no_viewpoint_is_voiced(seen: tuple[str, Seen]) -> None:
    kind, found = seen
    for condition in ("neutral", "matched-neutral", "toward", "opposing"):
        for name in ("recall", "global_precision", "global_f1", "supporting_recall", "against_recall"):
            measure = f"sycophancy_{name}"
            plain = found.number(measure, condition)
            assert plain is not None
            assert plain.value == 0 if kind in FAULTLESS else isnan(plain.value), (condition, measure)
            without = found.number(measure, condition, variant="without_faults")
            assert without is None or isnan(without.value) or without.value == 0, (condition, measure)


def test_a_shift_is_missing_and_not_zero(seen: tuple[str, Seen]) -> None:
    _, found = seen
    for condition in ("toward", "opposing"):
        for part in ("suppression", "amplification", "asymmetry"):
            one = found.number(part, condition, against="neutral")
            assert one is not None
            assert isnan(one.value), part
            assert one.method.startswith("not computed: no "), part


def test_nothing_is_known_of_popularity(seen: tuple[str, Seen]) -> None:
    kind, found = seen
    for measure, chance in (("ranking_spearman", 0.0), ("pairwise_accuracy", 0.5)):
        for condition in ("neutral", "biased"):
            plain = found.number(measure, condition)
            assert plain is not None
            assert isnan(plain.value) or plain.low <= chance <= plain.high, (kind, measure)
            without = found.number(measure, condition, variant="without_faults")
            assert without is None or isnan(without.value), (kind, measure)


def test_the_head_says_what_they_are(seen: tuple[str, Seen]) -> None:
    kind, found = seen
    words = {
        "babbling": "more or fewer responses than requested",
        "silent": "replies are malformed",
        "looping": "cut off",
        "refusing": "flagged as refusals",
        "echoing": "echoed",
    }
    assert words[kind] in found.head
    if kind in ("babbling", "refusing"):
        assert "the matcher matched none" in found.head
    assert "have no readable ranking" in found.head or kind == "echoing"


def test_faults_come_first_if_form_shows_them(seen: tuple[str, Seen]) -> None:
    kind, found = seen
    first = found.shown.sections[0].key
    assert (first == "faults") == (kind not in FAULTLESS)


def test_a_model_without_any_response_has_no_score_at_all(seen: tuple[str, Seen]) -> None:
    kind, found = seen
    cells = found.analysis.counts["sycophancy"]
    (counts,) = (row for row in cells if (row["model"], row["facet"], row["condition"]) == (None, None, "neutral"))
    says_nothing = counts["threads_without_responses"] == counts["threads"]
    assert says_nothing == (kind not in FAULTLESS)
    if says_nothing:
        rows = [row for row in found.analysis.rows if row.measure.startswith("sycophancy")]
        assert rows
        assert all(isnan(row.number.value) for row in rows)
        assert "contain no response" in found.head


def test_counts_of_faults_are_of_every_reply(seen: tuple[str, Seen]) -> None:
    kind, found = seen
    faults = found.analysis.faults
    assert sum(one.replies for one in faults) >= 6 * (4 + 3 + 3 * 2 * 2)
    assert any(one.faulty for one in faults) == (kind not in FAULTLESS)
