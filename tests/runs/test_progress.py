"""How long a run will still take: from its calls so far and those expected of its trials."""

from __future__ import annotations

from typing import Any

import pytest

from overton.runs.experiment import Experiment
from overton.runs.items import read_items
from overton.runs.progress import CallsEach, Progress, TimeLeft, calls_each
from overton.studies import deliberation, open_mindedness, pluralism


def told(clock: TimeLeft, total: int, calls: int, seconds_each: float, ended: Any) -> list[float]:
    """The clock's error factor after each call of a run whose calls take equally long, one after the other."""
    factors = []
    for answered in range(calls):
        seconds = answered * seconds_each
        left = clock.left(answered=answered, in_flight=1, done=ended(answered), total=total, seconds=seconds)
        true = (calls - answered - 0.5) * seconds_each
        factors.append(1.0 if left is None else max(left, 0.01) / true)
    return factors


def test_a_run_of_few_long_trials_is_estimated_from_its_first_tenth_on() -> None:
    clock = TimeLeft(CallsEach(60.0, fixed=True), width=1)
    factors = told(clock, 2, 120, 3.0, lambda answered: answered // 60)
    assert all(1 / 1.2 < factor < 1.2 for factor in factors[12:])


@pytest.mark.parametrize("at_once", [1, 2, 8])
def test_calls_that_only_wait_in_flight_are_not_taken_for_half_done(at_once: int) -> None:
    """Eight in flight, of which a model works on `at_once` at a time, 3 s each: when these end together, none of the
    next is half done yet just afterwards."""
    clock, calls, factors = TimeLeft(CallsEach(1.0, fixed=True), width=8), 88, []
    for second in range(0, int(calls * 3 / at_once) - 3, 1):
        answered = second // 3 * at_once
        left = clock.left(
            answered=answered, in_flight=min(8, calls - answered), done=answered, total=calls, seconds=second
        )
        factors.append(1.0 if left is None else left / (calls * 3 / at_once - second))
    assert all(1 / 1.6 < factor < 1.5 for factor in factors[len(factors) // 10 : -len(factors) // 10])


@pytest.mark.parametrize("each", [2, 6])
def test_what_trials_ask_corrects_what_was_expected_of_them(each: int) -> None:
    clock = TimeLeft(CallsEach(3.0, fixed=False), width=1)
    factors = told(clock, 40, 40 * each, 1.0, lambda answered: answered // each)
    assert all(1 / 1.6 < factor < 1.6 for factor in factors[4 * each : -3 * each])
    assert all(1 / 1.3 < factor < 1.3 for factor in factors[20 * each : -3 * each])


def test_what_is_recalled_from_the_journal_takes_no_time() -> None:
    clock = TimeLeft(CallsEach(1.0, fixed=True), width=1)
    assert clock.left(answered=0, in_flight=0, done=90, total=100, seconds=5.0) is None
    assert clock.left(answered=0, in_flight=1, done=90, total=100, seconds=5.0) is None
    left = clock.left(answered=4, in_flight=1, done=94, total=100, seconds=9.5)
    assert left == pytest.approx(5.5)
    assert clock.calls(4, 94, 100) == 10


def test_trials_ask_what_the_study_lets_expect() -> None:
    issues = read_items(open_mindedness.STUDY)
    assert calls_each(Experiment(open_mindedness.STUDY, issues, open_mindedness.Options())) == CallsEach(
        1.0, fixed=True
    )
    threads = read_items(pluralism.STUDY)[:1]
    assert calls_each(Experiment(pluralism.STUDY, threads, pluralism.STUDY.options())).calls > 1
    agents = deliberation.STUDY.options(agents=("a", "b"))
    at_table = calls_each(Experiment(deliberation.STUDY, read_items(deliberation.STUDY), agents))
    assert (at_table.calls, at_table.fixed) == (2.0, False)


def test_a_watcher_sees_calls_and_ends_with_all_of_them(runs: Any) -> None:
    seen: list[Progress] = []
    runs.start(trials=1, watch=seen.append)
    assert (seen[-1].answered, seen[-1].calls) == (132, 132)
    assert all(one.calls >= one.answered for one in seen)
