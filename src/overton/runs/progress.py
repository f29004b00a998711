"""Progress of a run: counts, and how long it will still take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from time import monotonic

from overton.calls import Trial
from overton.engine import Counters
from overton.runs.dry_run import count_calls
from overton.runs.event_loop import run_to_end
from overton.runs.experiment import Experiment
from overton.studies.study import AnyStudy


@dataclass(frozen=True)
class Progress:
    """A run's progress, for display.

    `in_flight` are the models' requests in flight, `admitted` how many are currently allowed; neither includes searches
    and pages. `stopping` says why nothing more is sent, '' while the run continues. `answered` is how many calls models
    have answered in this session, `calls` how many it is expected to make in all, and `left` the seconds to its end at
    this pace, None while unknown. `fleets` says, for each model with several servers, how many are up and why others
    are not.
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
    left: float | None = None
    fleets: Mapping[str, str] = field(default_factory=dict)


Watch = Callable[[Progress], None]


_SAMPLED_TRIALS = 12
_SAMPLING_S = 1.0
"""Trials that are conducted on canned replies before a run, and how long that may take, in seconds: even so, a
conversation over many pages takes a while."""
_EXPECTED_WEIGHT_TRIALS = 1.0
"""The weight of the expected number of calls, in trials of the run itself."""
_MIN_ANSWERS = 2


@dataclass(frozen=True)
class CallsEach:
    """Calls to models that a trial makes, by canned replies; `fixed` if no reply changes the number."""

    calls: float
    fixed: bool


def calls_each(experiment: Experiment) -> CallsEach:
    """The calls of a trial on the shortest course, over a sample of trials from all parts of the plan."""
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


@dataclass
class TimeLeft:
    """Estimates how long a session will still take, on each request.

    `width` is how many trials run at once. Time counts from the first request; trials that the journal had completed
    by then do not count, as recalling them takes no time.
    """

    each: CallsEach
    width: int
    _began_s: float | None = None
    _done_before: int = 0
    _first_answer_s: float | None = None

    def calls(self, answered: int, done: int, total: int) -> float:
        """How many calls the session will make in all, by current knowledge; never fewer than it has made."""
        ended = done - self._done_before
        expected = self.each.calls
        if ended > 0 and not self.each.fixed:
            open_ = min(self.width, total - done) * expected / 2
            seen = max(answered - open_, 1.0) / ended
            expected = (_EXPECTED_WEIGHT_TRIALS * expected + ended * seen) / (_EXPECTED_WEIGHT_TRIALS + ended)
        return max(expected * (total - self._done_before), answered + (total - done))

    def left(self, *, answered: int, in_flight: int, done: int, total: int, seconds: float) -> float | None:
        """Seconds to the end, None while too little is known or if no calls are made."""
        if self._began_s is None:
            if in_flight or answered:
                self._began_s, self._done_before = seconds, done
            return None
        taken = seconds - self._began_s
        if answered and self._first_answer_s is None:
            self._first_answer_s = taken
        if answered < _MIN_ANSWERS or self._first_answer_s is None:
            return None
        # Calls being answered are half done on average. Their number is that of the calls answered in the time that
        # the first one took (Little 1961, Operations Research 9:383); a local model keeps the others waiting.
        worked = answered + min(in_flight, self._first_answer_s * answered / max(taken, self._first_answer_s)) / 2
        rest = max(self.calls(answered, done, total) - worked, 0.0)
        return rest * taken / worked
