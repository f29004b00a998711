"""The sentences of stored runs: each has claims, and gives the number in its row."""

from __future__ import annotations

import re
from functools import cache
from math import isnan
from pathlib import Path

import pytest
from contradictions import contradictions
from tests.stored_runs import RUNS, unpack

from overton.analysis.analyze import measure_run
from overton.analysis.results import measuring_of
from overton.studies.findings import Finding, correct_for_multiple_tests
from overton.studies.numbers import brief_number

CASES = [
    "open-mindedness-probabilities",
    "stance-stability-repeats",
    "pluralism-repeats",
    "deliberation-repeats",
    "even-handedness-repeats",
]


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> object:
    """A study's own findings about a stored run, without those on null conditions."""

    @cache
    def of(name: str) -> list[Finding]:
        run = unpack(name, tmp_path_factory.mktemp("stored"))
        outcome = measure_run(RUNS[name].study, Path(run))
        return correct_for_multiple_tests(measuring_of(outcome.study).findings(outcome.analysis))

    return of


@pytest.mark.parametrize("name", CASES)
def test_every_finding_has_claims_that_do_not_contradict_each_other(name, own):
    found = own(name)
    assert found
    assert all(one.assertions for one in found)
    assert not contradictions(found)


@pytest.mark.parametrize("name", CASES)
def test_a_sentence_gives_its_own_number_and_no_other(name, own):
    """Besides its number a sentence may give counts of items, and what the number is compared with."""
    for one in own(name):
        if one.number is None or isnan(one.number.value) or one.what == "bound" or one.exhibit == "choice":
            continue
        value = brief_number(one.number.value, one.kind, one.number.n)
        if one.assertions[0].measure != "issues_moved":  # the sentence gives that proportion as a count of issues
            assert value.lstrip("−") in one.sentence or (value == "0.00" and "never" in one.sentence), one.sentence
        decimals = re.findall(r"\d+\.\d+", one.sentence)
        assert set(decimals) - {"6.5"} <= {value.lstrip("−").rstrip("%")}, one.sentence
        for assertion in one.assertions:
            assert assertion.value in (None, one.number.value)
