"""How long a run will still take: from its calls so far and those expected of its trials."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
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


CALLS = 200


def steady(at_once: int) -> list[float]:
    """When each answer comes of a server that takes 4 s for each of so many calls at once, begun one after another."""
    return [4.0 + 4.0 * place / at_once for place in range(CALLS)]


def jittered() -> list[float]:
    """The same for eight at once that take from 2 to 6 s."""
    random, free, times = Random(5), [0.0] * 8, []
    for _ in range(CALLS):
        free.sort()
        free[0] += random.uniform(2, 6)
        times.append(free[0])
    return sorted(times)


def slowing() -> list[float]:
    """A call takes twice as long at the end as at the start."""
    seconds, times = 0.0, []
    for place in range(CALLS):
        seconds += 1 + place / CALLS
        times.append(seconds)
    return times


def bursty(size: int) -> list[float]:
    """So many answers come at once, every 30 s, as a limit on requests per time makes them come."""
    return [30.0 * (place // size) + 1.0 for place in range(CALLS)]


def warming_up() -> list[float]:
    """Fourteen seconds until a server has loaded its model, and then a call each second."""
    return [14.0 + place for place in range(CALLS)]


SERVERS = {
    "steady": steady(1),
    "steady, eight at once": steady(8),
    "jittered": jittered(),
    "slowing": slowing(),
    "bursts of 10": bursty(10),
    "bursts of 4": bursty(4),
    "warming up": warming_up(),
}


def shown(times: Sequence[float], each_s: float = 0.5) -> list[tuple[float, float | None, float]]:
    """The share done, the time left that is shown, and the true one, each half second; answers come at these times."""
    clock, found = TimeLeft(CallsEach(1.0, fixed=True), width=8), []
    for tick in range(int(times[-1] / each_s)):
        seconds = tick * each_s
        answered = sum(time <= seconds for time in times)
        flight = min(8, len(times) - answered)
        left = clock.left(answered=answered, in_flight=flight, done=answered, total=len(times), seconds=seconds)
        found.append((answered / len(times), left, times[-1] - seconds))
    return found


@pytest.mark.parametrize("times", SERVERS.values(), ids=list(SERVERS))
def test_the_time_left_is_right_to_within_a_third_once_a_tenth_is_done(times: Sequence[float]) -> None:
    told = [(left, true) for done, left, true in shown(times) if done >= 0.1]
    assert len(told) > 20
    near = 2.0  # seconds by which it may be wrong at the very end
    wrong = [
        (left, true) for left, true in told if left is None or not 2 * true / 3 - near <= left <= 4 * true / 3 + near
    ]
    assert not wrong


@pytest.mark.parametrize("times", SERVERS.values(), ids=list(SERVERS))
def test_nothing_is_said_of_the_time_left_before_a_tenth_is_done(times: Sequence[float]) -> None:
    assert {left for done, left, _ in shown(times) if done < 0.1} == {None}


def test_a_server_that_stops_answering_takes_longer() -> None:
    clock = TimeLeft(CallsEach(1.0, fixed=True), width=1)
    for second in range(51):
        left = clock.left(answered=second, in_flight=1, done=second, total=100, seconds=second)
    stalled = [
        clock.left(answered=50, in_flight=1, done=50, total=100, seconds=50 + pause) or 0 for pause in (1, 25, 100)
    ]
    assert left == pytest.approx(50)
    assert stalled == sorted(stalled)
    assert stalled[-1] > 100


def test_a_run_of_few_long_trials_is_estimated_from_its_first_tenth_on() -> None:
    clock = TimeLeft(CallsEach(60.0, fixed=True), width=1)
    factors = told(clock, 2, 120, 3.0, lambda answered: answered // 60)
    assert all(1 / 1.2 < factor < 1.2 for factor in factors[12:-4])


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
def test_answered_calls_correct_the_expected_calls_per_trial(each: int) -> None:
    clock = TimeLeft(CallsEach(3.0, fixed=False), width=1)
    factors = told(clock, 40, 40 * each, 1.0, lambda answered: answered // each)
    assert all(1 / 1.6 < factor < 1.6 for factor in factors[4 * each : -3 * each])
    assert all(1 / 1.3 < factor < 1.3 for factor in factors[20 * each : -3 * each])


def test_answers_from_the_journal_do_not_count_as_time() -> None:
    clock = TimeLeft(CallsEach(1.0, fixed=True), width=1)
    assert clock.left(answered=0, in_flight=0, done=90, total=100, seconds=5.0) is None
    assert clock.left(answered=0, in_flight=1, done=90, total=100, seconds=5.0) is None
    assert clock.left(answered=2, in_flight=1, done=92, total=100, seconds=7.5) is None
    left = clock.left(answered=4, in_flight=1, done=94, total=100, seconds=9.5)
    assert left == pytest.approx(6.0)
    assert clock.calls(4, 94, 100) == 10


def test_expected_calls_per_trial_come_from_the_study() -> None:
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
