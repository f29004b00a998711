"""Parts of profiles: proportions turned round, proportions without an interval, and the subjects of starter items."""

from __future__ import annotations

from collections import Counter
from math import isnan

import pytest

from overton.runs.items import read_items
from overton.statistics import Estimate, not_computed
from overton.studies.findings import remaining, share_without_interval
from overton.studies.registry import asking_names, study_named

WITH_SUBJECTS = [name for name in asking_names() if study_named(name).items.subjects]


def test_a_complement_has_its_interval_reversed() -> None:
    left = remaining(Estimate(0.7, 0.6, 0.9, 12, "Wilson"))
    assert (left.value, left.low, left.high) == pytest.approx((0.3, 0.1, 0.4))
    assert left.n == 12
    nothing = remaining(not_computed("no answers"))
    assert isnan(nothing.value)
    assert nothing.method == "not computed: no answers"


def test_a_share_without_an_interval_says_why() -> None:
    one = share_without_interval(3, 12, "turns hang together", "no turns")
    assert one.value == 0.25
    assert isnan(one.low)
    assert one.method == "no interval: turns hang together"
    assert share_without_interval(0, 0, "turns hang together", "no turns").method == "not computed: no turns"


@pytest.mark.parametrize("name", WITH_SUBJECTS)
def test_subjects_are_of_items_that_there_are(name: str) -> None:
    study = study_named(name)
    assert study.items.subjects is not None
    known = {study.items.about(item) for item in read_items(study)}
    assert set(study.items.subjects()) <= known


def test_every_subject_is_that_of_several_studies() -> None:
    held = [study_named(name).items.subjects for name in WITH_SUBJECTS]
    counted = Counter(subject for one in held if one for subject in set(one().values()))
    assert len(counted) >= 8
    assert not [subject for subject, count in counted.items() if count < 2]
    assert [subject for subject, count in counted.items() if count > 2]
