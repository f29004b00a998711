"""A run's trials as people read them: what was asked, what was replied, and how that was read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from overton.calls import Draw, Failure, Message, Trial
from overton.engine import JournalReader, Lane
from overton.engine.records import columns_of, record_type_columns, why_unfit
from overton.errors import DamagedJournal, InputError, Problem, suggestion
from overton.runs.event_loop import run_to_end
from overton.runs.replay import Replay, ReplayedCall, ReplayedTrial
from overton.runs.run import Run, open_run
from overton.studies.null_conditions import condition_of
from overton.studies.options import option_place
from overton.studies.study import AnyStudy

if TYPE_CHECKING:
    import polars as pl

_TRIALS_AT_ONCE = 256
"""Trials whose records become one table: a table for each would take several times as long."""
_UNREAD_KINDS = {
    "answers_other": "answers without a clear side",
    "answers_unread": "answers that could not be read",
    "judge_unread": "labels that no reply of the judge gave",
}
"""The kinds of `Headline.answers` in words."""


class ShownCall(msgspec.Struct, frozen=True):
    """A call as it was sent and answered.

    `role` is what the study asked ('subject', 'judge', 'search'), `speaker` who it was if several have that role
    ('agent/1'), and `model` the model, engine or source of pages that answered. `reply` is its text, '' if the call
    failed: `failure` then says why ('kind: message'). `refused` is True if the endpoint flagged the reply as a refusal,
    `finish` is its word for why the reply ended, and `retrieved` is True for what was found or read.
    """

    role: str
    speaker: str
    model: str
    messages: tuple[Message, ...]
    reply: str = ""
    failure: str = ""
    refused: bool = False
    finish: str = ""
    retrieved: bool = False


class ShownTrial(msgspec.Struct, frozen=True):
    """A trial with its calls in the order in which they were made.

    `model` is the measured one, or the study if its models meet, followed by the judge's if several judged. `read` has
    how its replies were read: the columns of each of its records that people read first, and those with a judge's
    labels. `unread` says what could not be read or failed, a line each. A trial that is not `finished` has no records
    yet.
    """

    trial: str
    model: str
    item: str
    condition: str
    calls: tuple[ShownCall, ...]
    read: tuple[dict[str, Any], ...] = ()
    unread: tuple[str, ...] = ()
    finished: bool = True

    @property
    def refused(self) -> bool:
        """Whether an endpoint flagged a reply as a refusal."""
        return any(call.refused for call in self.calls)


def show(
    path: str | Path | Run,
    *,
    unread: bool = False,
    refused: bool = False,
    trials: Sequence[str] = (),
    models: Sequence[str] = (),
    sample: int | None = None,
    seed: int = 0,
) -> list[ShownTrial]:
    """The prompts and replies of a run's trials, in plan order, also while it runs; those not asked yet are left out.

    Trials are conducted again from the journal: nothing is asked, written or locked. `unread` keeps those of which
    something failed or could not be read, `refused` those with a reply that its endpoint flagged as a refusal; with
    both, either is enough. `trials` and `models` are names of trials and of measured models. `sample` takes so many of
    the trials that are left, at random by `seed`.

    Raises:
        InputError: no trial or model has such a name, or the run's study is not installed here.
        RunError: `path` is not a run folder, or its journal cannot be read.
        RunMismatch: prompts or items are not those that the run was asked with.
    """
    run = open_run(path)
    if sample is not None and sample < 1:
        raise InputError([Problem(option_place("sample"), str(sample), "must be 1 or more")])
    if run.manifest.spent.outcomes and not run.journal_file.is_file():
        raise DamagedJournal(f"{run.journal_file}: no such journal")
    with closing(JournalReader(run.journal_file)) as journal:
        replay = Replay(run, journal)
        wanted = _choose(run, replay, trials, models)
        order = range(len(wanted))
        drawn = order if sample is None else Draw(f"{seed}/show").shuffle(order)
        keep = _Filter(unread=unread, refused=refused, models=frozenset(models) if run.study.together else frozenset())
        found = run_to_end(_collect(run.study, replay, [(number, *wanted[number]) for number in drawn], keep, sample))
    return [shown for _, shown in sorted(found, key=lambda pair: pair[0])]


class _Filter(msgspec.Struct, frozen=True):
    """The properties by which trials are chosen; `models` are those of which one has to have spoken, if any."""

    unread: bool
    refused: bool
    models: frozenset[str]

    def admits(self, shown: ShownTrial) -> bool:
        """Whether a trial is to be shown."""
        if not shown.calls or (self.models and not any(call.model in self.models for call in shown.calls)):
            return False
        wanted = [bool(shown.unread)] if self.unread else []
        wanted += [shown.refused] if self.refused else []
        return any(wanted) or not wanted


def _choose(run: Run, replay: Replay, trials: Sequence[str], models: Sequence[str]) -> list[tuple[str, Lane, Trial]]:
    """The trials of these names and models in plan order, each with its lane and the lane's name.

    Raises:
        InputError: there is no such trial or model.
    """
    first = run.study.first
    known = [entry.name for entry in run.entries]
    problems = [
        Problem(option_place("model"), name, f"no such model in {run.path}{suggestion(name, known)}")
        for name in models
        if name not in known
    ]
    lanes = [
        (name, lane, list(lane.trials()))
        for name, lane in zip(replay.names, replay.lanes, strict=True)
        if run.study.together or not models or lane.seats[first].model.answerer.name in models
    ]
    named = {trial.name for _, _, planned in lanes for trial in planned}
    if not problems:
        problems = [
            Problem(option_place("trial"), name, f"no such trial in {run.path}{suggestion(name, named)}")
            for name in trials
            if name not in named
        ]
    if problems:
        raise InputError(problems)
    return [
        (name, lane, trial) for name, lane, planned in lanes for trial in planned if not trials or trial.name in trials
    ]


async def _collect(
    study: AnyStudy, replay: Replay, wanted: Sequence[tuple[int, str, Lane, Trial]], keep: _Filter, most: int | None
) -> list[tuple[int, ShownTrial]]:
    """The trials to be shown, at most so many, each with its place in the plan."""
    found: list[tuple[int, ShownTrial]] = []
    size = _TRIALS_AT_ONCE if most is None or keep.unread else min(most, _TRIALS_AT_ONCE)
    for start in range(0, len(wanted), size):
        some = wanted[start : start + size]
        replayed = [await replay.replay_so_far(lane, trial) for _, _, lane, trial in some]
        left_out = _left_out(study, replayed)
        for number, ((place, model, _, _), each) in enumerate(zip(some, replayed, strict=True)):
            shown = _shown(study, model, each, left_out.get(number, ()))
            if keep.admits(shown):
                found.append((place, shown))
            if len(found) == most:
                return found
    return found


def _left_out(study: AnyStudy, found: Sequence[ReplayedTrial]) -> dict[int, Sequence[str]]:
    """Sentences on the answers of each trial that figures do not show, by its place; only for trials with any."""
    headline = study.measuring.headline if study.measuring else None
    if headline is None:
        return {}
    columns = record_type_columns(study.record)
    unfit: dict[int, Sequence[str]] = {}
    if why_unfit([record for each in found for record in each.records], columns):
        reasons = {place: why_unfit(each.records, columns) for place, each in enumerate(found)}
        unfit = {place: [f"no table can store its records: {reason}"] for place, reason in reasons.items() if reason}
    parts = [(place, len(each.records)) for place, each in enumerate(found) if each.records and place not in unfit]
    table = columns_of([record for place, _ in parts for record in found[place].records], columns)
    return unfit | dict(_count_left_out(headline.answers, table, parts) if parts else ())


def _count_left_out(
    answers: Callable[[pl.DataFrame], Iterator[tuple[str, int, int]]],
    table: pl.DataFrame,
    parts: Sequence[tuple[int, int]],
) -> Iterator[tuple[int, Sequence[str]]]:
    """The same for the records of some trials, each with its place and its number of rows: halves without any such
    answer are not looked at further."""
    said = [
        f"{_UNREAD_KINDS.get(kind, kind.replace('_', ' '))}: {count} of {of}"
        for kind, count, of in answers(table)
        if count
    ]
    if said and len(parts) == 1:
        yield parts[0][0], said
    elif said:
        middle = len(parts) // 2
        rows = sum(count for _, count in parts[:middle])
        yield from _count_left_out(answers, table[:rows], parts[:middle])
        yield from _count_left_out(answers, table[rows:], parts[middle:])


def _shown(study: AnyStudy, model: str, found: ReplayedTrial, left_out: Sequence[str]) -> ShownTrial:
    trial = found.trial
    calls = tuple(_shown_call(call, call.role in study.retrieval) for call in found.calls)
    failed = [f"the call to {call.model} failed: {call.failure}" for call in calls if call.failure]
    failures = [str(failure) for record in found.records if (failure := getattr(record, "failure", None))]
    return ShownTrial(
        trial=trial.name,
        model=model,
        item=trial.item,
        condition=condition_of(trial),
        calls=calls,
        read=tuple(_read(study, record, {call.reply for call in calls}) for record in found.records),
        unread=tuple(dict.fromkeys([*failed, *failures, *left_out])),
        finished=found.finished,
    )


def _shown_call(call: ReplayedCall, retrieved: bool) -> ShownCall:
    outcome = call.outcome
    shown = ShownCall(call.role, call.place.speaker, call.answerer, call.request.messages, retrieved=retrieved)
    if isinstance(outcome, Failure):
        return replace(shown, failure=f"{outcome.kind}: {outcome.message}")
    return replace(shown, reply=outcome.text, refused=outcome.refused, finish=outcome.finish)


def _read(study: AnyStudy, record: msgspec.Struct, replies: set[str]) -> dict[str, Any]:
    """The columns of a record to read first, without those that are empty or repeat the trial's name or a reply."""
    headline = study.measuring.headline if study.measuring else None
    labels = study.questions.label_columns if study.questions else ()
    names = dict.fromkeys((*headline.columns, *labels)) if headline else record.__struct_fields__
    named = study.row_key[:1] or ("trial",)
    found = {name: getattr(record, name) for name in names if name in record.__struct_fields__ and name not in named}
    empty = ("", None, ())
    return {
        name: msgspec.to_builtins(value)
        for name, value in found.items()
        if name != "failure" and value not in empty and not (isinstance(value, str) and value in replies)
    }
