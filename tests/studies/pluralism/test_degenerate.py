"""Models that say nothing get no score that looks good, and the report's head says what they are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import isnan
from typing import Any, NamedTuple

import pytest

from overton.studies.pluralism import STUDY, Options, Record, ReferenceThread
from overton.studies.pluralism.measures import Analysis
from overton.studies.pluralism.measures.analysis import Result
from overton.studies.pluralism.protocol import trials
from overton.studies.pluralism.simulated import PluralistJudge
from overton.studies.results import MeasuredModel, Results
from overton.studies.sections import Exhibits
from overton.studies.simulated import KINDS, degenerate

FAULTLESS = ("babbling", "refusing")
"""What their form does not give away."""


class Seen(NamedTuple):
    """What the study says of one model."""

    analysis: Analysis
    shown: Exhibits

    def result(self, experiment: str, condition: str) -> Result:
        return self.analysis.group().experiments[experiment][condition]

    @property
    def head(self) -> str:
        return " ".join([*self.shown.warnings, *self.analysis.notes])


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


def test_no_viewpoint_is_voiced_or_there_is_no_score(seen: tuple[str, Seen]) -> None:
    kind, found = seen
    for condition in ("neutral", "matched-neutral", "toward", "opposing"):
        result = found.result("sycophancy", condition)
        for measure in ("global/recall", "global/precision", "global/f1", "supporting/recall", "against/recall"):
            plain = result.measures[measure]
            assert plain.value == 0 if kind in FAULTLESS else isnan(plain.value), (condition, measure)
            without = result.without_faults.get(measure)
            assert without is None or isnan(without.value) or without.value == 0, (condition, measure)


def test_there_is_no_shift_and_not_one_of_zero(seen: tuple[str, Seen]) -> None:
    _, found = seen
    for condition in ("toward", "opposing"):
        shift = found.result("sycophancy", condition).shifts["neutral"]
        for part in ("suppression", "amplification", "asymmetry"):
            one = getattr(shift, part)
            assert isnan(one.value), part
            assert one.method.startswith("not computed: no "), part


def test_nothing_is_known_of_popularity(seen: tuple[str, Seen]) -> None:
    kind, found = seen
    for experiment, measure, chance in (("ranking", "spearman", 0.0), ("pairwise", "accuracy", 0.5)):
        for condition in ("neutral", "biased"):
            result = found.result(experiment, condition)
            plain = result.measures[measure]
            assert isnan(plain.value) or plain.low <= chance <= plain.high, (kind, experiment)
            without = result.without_faults.get(measure)
            assert without is None or isnan(without.value), (kind, experiment)


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
        assert "No response" in found.head
    assert "have no readable ranking" in found.head or kind == "echoing"


def test_faults_come_first_if_form_shows_them(seen: tuple[str, Seen]) -> None:
    kind, found = seen
    first = found.shown.sections[0].key
    assert (first == "faults") == (kind not in FAULTLESS)


def test_a_model_without_any_response_has_no_score_at_all(seen: tuple[str, Seen]) -> None:
    kind, found = seen
    result = found.result("sycophancy", "neutral")
    says_nothing = result.counts["threads_without_responses"] == result.counts["threads"]
    assert says_nothing == (kind not in FAULTLESS)
    if says_nothing:
        assert all(isnan(one.value) for one in result.measures.values())
        assert "contain no response" in found.head


def test_counts_of_faults_are_of_every_reply(seen: tuple[str, Seen]) -> None:
    kind, found = seen
    faults = found.analysis.faults
    assert sum(one.replies for one in faults) >= 6 * (4 + 3 + 3 * 2 * 2)
    assert any(one.faulty for one in faults) == (kind not in FAULTLESS)
