"""The progress of a run: counts, and the estimated time left."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from time import monotonic
from typing import NamedTuple

from overton.calls import Trial
from overton.engine import Counters
from overton.runs.dry_run import count_calls
from overton.runs.event_loop import run_to_end
from overton.runs.experiment import Experiment
from overton.studies.study import AnyStudy


@dataclass(frozen=True)
class Progress:
    """A run's progress, for display.

    `in_flight` is the number of requests in flight to models, and `admitted` the number that is currently allowed.
    Searches and pages do not count. `stopping` is the reason for sending nothing more, '' while the run continues.
    `answered` counts the calls that models have answered in this session, and `calls` is the expected number of calls
    of the session (the true number if `exact`). `left` is the estimated number of seconds to the end, None while
    unknown. `fleets` says, for each model with several servers, how many servers are up and why the others are not.
    """

    done: int
    total: int
    tally: Counters
    cost: float
    seconds: float
    in_flight: int
    admitted: int
    stopping: str = ""
    answered: int = 0
    calls: float = 0.0
    exact: bool = False
    left: float | None = None
    fleets: Mapping[str, str] = field(default_factory=dict)


Watch = Callable[[Progress], None]


_SAMPLED_TRIALS = 12
_SAMPLING_S = 1.0
"""The maximum number of trials that are conducted with canned replies before a run, and the maximum time in seconds.
The time limit matters because a conversation over many pages takes a while even with canned replies."""
_EXPECTED_WEIGHT_TRIALS = 1.0
"""The weight of the number of calls expected before the run, when it is averaged with the numbers seen in finished
trials. Each finished trial has weight 1."""
_LEAST_SHARE = 0.1
"""The proportion of calls after which the display shows the time left. Earlier, the pace is too uncertain."""
_WINDOW_START = 0.25
"""The pace is measured without the first answers (this proportion of all answers), because they arrive while requests
build up. The later answers show whether a server has slowed down. A window of only the latest answers would follow
every burst."""
_MARK_GROWTH = 1.01
"""The time of an answer is kept if the number of answers has grown by this factor since the last kept time."""


@dataclass(frozen=True)
class CallsEach:
    """The number of calls to models in a trial, counted with canned replies. `fixed` is True if the number does not
    depend on the replies."""

    calls: float
    fixed: bool


def calls_each(experiment: Experiment) -> CallsEach:
    """Count the calls per trial on the shortest course, as the mean of a sample of trials from all parts of the
    plan."""
    study, step = experiment.study, max(1, experiment.trials_by_item.total() // _SAMPLED_TRIALS)
    some = list(islice(experiment.trials(), 0, _SAMPLED_TRIALS * step, step))
    until = monotonic() + _SAMPLING_S
    least, most, seen = 0, 0, 0
    for trial in some:
        counts = [_count_model_calls(study, trial, number) for number in range(max(1, len(study.planning)))]
        least, most, seen = least + counts[0], most + counts[-1], seen + 1
        if monotonic() > until:
            break
    return CallsEach(least / seen if seen else 0.0, least == most)


def _count_model_calls(study: AnyStudy, trial: Trial, number: int) -> int:
    course = run_to_end(count_calls(study, [trial], number))
    return sum(
        count.calls
        for counts in (course.own, course.shared)
        for name, count in counts.items()
        if name not in study.retrieval
    )


class _Mark(NamedTuple):
    """The number of answers at a moment, which is given in seconds since the first request."""

    seconds: float
    answers: int


@dataclass
class TimeLeft:
    """An estimate of the time left in a session, updated whenever it is requested.

    `width` is the number of trials that run in parallel. Time counts from the first request. Trials that were recalled
    from the journal before the first request do not count, because recalling takes no time.
    """

    each: CallsEach
    width: int
    _began_s: float | None = None
    _done_before: int = 0
    _marks: list[_Mark] = field(default_factory=list)
    _latest: _Mark = field(default_factory=lambda: _Mark(0.0, 0))
    _longest_pause_s: float = 0.0

    def calls(self, answered: int, done: int, total: int) -> float:
        """The expected number of calls of the session. It is never below the number of calls already made."""
        ended = done - self._done_before
        expected = self.each.calls
        if ended > 0 and not self.each.fixed:
            open_ = min(self.width, total - done) * expected / 2
            seen = max(answered - open_, 1.0) / ended
            expected = (_EXPECTED_WEIGHT_TRIALS * expected + ended * seen) / (_EXPECTED_WEIGHT_TRIALS + ended)
        return max(expected * (total - self._done_before), answered + (total - done))

    def left(self, *, answered: int, in_flight: int, done: int, total: int, seconds: float) -> float | None:
        """The estimated seconds to the end, None if too little is known yet or no calls are made."""
        if self._began_s is None:
            if in_flight or answered:
                self._began_s, self._done_before = seconds, done
            return None
        taken = seconds - self._began_s
        if answered > self._latest.answers:
            self._note(_Mark(taken, answered))
        calls = self.calls(answered, done, total)
        if answered < _LEAST_SHARE * calls or (start := self._window_start) is None:
            return None
        # The measured pace includes pauses between bursts of answers. Only a pause longer than all earlier ones slows
        # it.
        pause = taken - self._latest.seconds
        expected_pause = min(pause, self._longest_pause_s)
        each_s = (taken - expected_pause - start.seconds) / (answered - start.answers)
        return max((calls - answered) * each_s - expected_pause, 0.0)

    @property
    def _window_start(self) -> _Mark | None:
        """The moment from which the pace is measured. None if all answers came at the same time, because they show no
        pace."""
        if not self._marks:
            return None
        first, *later = self._marks
        few = _WINDOW_START * self._latest.answers
        start = next((mark for mark in reversed(later) if mark.answers <= few), first)
        return start if start.answers < self._latest.answers else None

    def _note(self, mark: _Mark) -> None:
        """Keep the time at which an answer came."""
        self._longest_pause_s = max(self._longest_pause_s, mark.seconds - self._latest.seconds)
        self._latest = mark
        if not self._marks or mark.answers >= _MARK_GROWTH * self._marks[-1].answers:
            self._marks.append(mark)
