"""A run's trials for people to read: prompts, replies, and the parsed replies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from overton.calls import Draw, Failure, Message, Trial
from overton.engine import JournalReader, Lane
from overton.engine.records import columns_of, record_type_columns, why_unfit
from overton.errors import DamagedJournal, InputError, Problem, suggestion
from overton.reports.finding_trials import find
from overton.reports.position_changes import changes_of, position_of
from overton.runs.event_loop import run_to_end
from overton.runs.replay import Replay, ReplayedCall, ReplayedTrial
from overton.runs.run import Run, open_run
from overton.studies.null_conditions import condition_of
from overton.studies.options import option_place
from overton.studies.study import AnyStudy

if TYPE_CHECKING:
    import polars as pl

_TRIALS_AT_ONCE = 256
"""The number of trials whose records are checked in one table. One table per trial would take several times as long."""
_UNREAD_KINDS = {
    "answers_other": "answers without a clear side",
    "answers_unread": "answers that could not be read",
    "judge_unread": "labels that the judge's replies do not give",
}
"""The kinds of `Headline.answers` in words."""


class ShownCall(msgspec.Struct, frozen=True):
    """A call as it was sent and answered.

    `role` is the role that the study asked ('subject', 'judge', 'search'). `speaker` distinguishes several speakers in
    that role ('agent/1'). `model` is the model, search engine or source of pages that answered. `reply` is the text of
    the reply. If the call failed, `reply` is '', and `failure` has the reason ('kind: message'). `refused` is True if
    the endpoint flagged the reply as a refusal. `finish` is the endpoint's reason for the end of the reply. `retrieved`
    is True for search results and pages.
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

    `model` is the measured model's name, or the study's name if its models interact. If there are several judges, the
    judge's name follows. `read` has the parsed replies: for each record, the columns that people read first and the
    columns with a judge's labels. `unread` has one line for each failed call and each reply that could not be read.
    `flipped` describes a change of position, if the caller requested changes. A trial that is not `finished` has no
    records yet.
    """

    trial: str
    model: str
    item: str
    condition: str
    calls: tuple[ShownCall, ...]
    read: tuple[dict[str, Any], ...] = ()
    unread: tuple[str, ...] = ()
    finished: bool = True
    flipped: str = ""

    @property
    def refused(self) -> bool:
        """Whether an endpoint flagged a reply as a refusal."""
        return any(call.refused for call in self.calls)


def show(
    path: str | Path | Run,
    *,
    unread: bool = False,
    refused: bool = False,
    flipped: bool = False,
    finding: str = "",
    trials: Sequence[str] = (),
    models: Sequence[str] = (),
    sample: int | None = None,
    seed: int = 0,
) -> list[ShownTrial]:
    """Show the prompts and replies of a run's trials, in plan order. This also works during the run. Calls that have
    not been made yet are then left out.

    Trials are conducted again from the journal: nothing is sent, written or locked. `unread` selects trials with a
    failed call or an unreadable reply. `refused` selects trials with a reply that its endpoint flagged as a refusal.
    `flipped` selects trials in which a model left its position. If several of these three options are set, each
    selected trial matches at least one of them. `finding` selects the trials behind a finding, by the finding's number
    in the analysis or its code. `trials` and `models` select by the names of trials and of measured models. `sample` is
    the number of selected trials to show, chosen at random with `seed`.

    Raises:
        InputError: no trial, model or finding has such a name, the study's records have no position, or the run's study
            is not installed here.
        RunError: `path` is not a run folder, or its journal cannot be read.
        RunMismatch: prompts or items differ from those that the run used.
    """
    run = open_run(path)
    if sample is not None and sample < 1:
        raise InputError([Problem(option_place("sample"), str(sample), "must be 1 or more")])
    if run.manifest.spent.outcomes and not run.journal_file.is_file():
        raise DamagedJournal(f"{run.journal_file}: no such journal")
    with closing(JournalReader(run.journal_file)) as journal:
        replay = Replay(run, journal)
        wanted = _behind(run, finding, _choose(run, replay, trials, models))
        changes = run_to_end(_find_changes(run.study, replay)) if flipped else {}
        order = range(len(wanted))
        drawn = order if sample is None else Draw(f"{seed}/show").shuffle(order)
        together = frozenset(models) if run.study.together else frozenset()
        keep = _Filter(unread=unread, refused=refused, changes=changes if flipped else None, models=together)
        found = run_to_end(_collect(run.study, replay, [(number, *wanted[number]) for number in drawn], keep, sample))
    return [shown for _, shown in sorted(found, key=lambda pair: pair[0])]


class _Filter(msgspec.Struct, frozen=True):
    """The properties by which trials are chosen. If `models` is not empty, one of these models must have answered a
    call of the trial.

    `changes` says how positions changed, by model and trial; None if changes are not requested.
    """

    unread: bool
    refused: bool
    changes: Mapping[tuple[str, str], str] | None
    models: frozenset[str]

    def with_change(self, shown: ShownTrial) -> ShownTrial:
        """The trial, with its change of position."""
        return replace(shown, flipped=(self.changes or {}).get((shown.model, shown.trial), ""))

    def admits(self, shown: ShownTrial) -> bool:
        """Whether a trial is to be shown."""
        if not shown.calls or (self.models and not any(call.model in self.models for call in shown.calls)):
            return False
        wanted = [bool(shown.unread)] if self.unread else []
        wanted += [shown.refused] if self.refused else []
        wanted += [bool(shown.flipped)] if self.changes is not None else []
        return any(wanted) or not wanted


def _choose(run: Run, replay: Replay, trials: Sequence[str], models: Sequence[str]) -> list[tuple[str, Lane, Trial]]:
    """The trials of these names and models in plan order, each with its pipeline and the pipeline's name.

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


def _behind(run: Run, finding: str, wanted: Sequence[tuple[str, Lane, Trial]]) -> Sequence[tuple[str, Lane, Trial]]:
    """The trials behind a finding; all trials if `finding` is ''.

    Raises:
        InputError: there is no such finding.
    """
    if not finding:
        return wanted
    found = find(run, finding)
    conditions = sorted({condition_of(trial) for _, _, trial in wanted})
    return [
        (name, lane, trial)
        for name, lane, trial in wanted
        if found.includes("" if run.study.together else name, trial, conditions)
    ]


async def _find_changes(study: AnyStudy, replay: Replay) -> dict[tuple[str, str], str]:
    """How positions changed in the run, by model and trial.

    Raises:
        InputError: the study's records have no position.
    """
    position = position_of(study)
    trials = [
        (name, await replay.replay_so_far(lane, trial))
        for name, lane in zip(replay.names, replay.lanes, strict=True)
        for trial in lane.trials()
    ]
    return changes_of(position, trials)


async def _collect(
    study: AnyStudy, replay: Replay, wanted: Sequence[tuple[int, str, Lane, Trial]], keep: _Filter, most: int | None
) -> list[tuple[int, ShownTrial]]:
    """Up to `most` trials to show, each with its index in the plan."""
    found: list[tuple[int, ShownTrial]] = []
    size = _TRIALS_AT_ONCE if most is None or keep.unread or keep.changes is not None else min(most, _TRIALS_AT_ONCE)
    for start in range(0, len(wanted), size):
        some = wanted[start : start + size]
        replayed = [await replay.replay_so_far(lane, trial) for _, _, lane, trial in some]
        left_out = _left_out(study, replayed)
        for number, ((place, model, _, _), each) in enumerate(zip(some, replayed, strict=True)):
            shown = keep.with_change(_shown(study, model, each, left_out.get(number, ())))
            if keep.admits(shown):
                found.append((place, shown))
            if len(found) == most:
                return found
    return found


def _left_out(study: AnyStudy, found: Sequence[ReplayedTrial]) -> dict[int, Sequence[str]]:
    """Sentences on the answers that figures do not show, by the trial's index. Trials without such answers are left
    out."""
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
    """Find the trials with answers that figures do not show, by halving the list of trials. `table` has the records of
    the trials, and `parts` has each trial's index and number of rows. Halves without such answers are not searched
    further."""
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
        unread=tuple(dict.fromkeys([*failed, *failures, *left_out, *_unread_labels(study, found)])),
        finished=found.finished,
    )


def _unread_labels(study: AnyStudy, found: ReplayedTrial) -> Iterator[str]:
    """A sentence on a judge's unreadable labels, if the study does not count such labels in its answers.

    Each conversation with the judge is about one label. A call that continues an earlier call repeats the question.
    """
    headline, questions = study.measuring.headline if study.measuring else None, study.questions
    columns = record_type_columns(study.record)
    if headline is None or questions is None or not found.records or why_unfit(found.records, columns):
        return
    if any(getattr(record, "failure", None) for record in found.records):
        return
    if any(kind == "judge_unread" for kind, _, _ in headline.answers(columns_of([*found.records], columns))):
        return
    judges = {question.role for question in questions}
    asked = [call.request.messages for call in found.calls if call.role in judges]
    again = sum(any(later[: len(earlier)] == earlier for earlier in asked[:place]) for place, later in enumerate(asked))
    labels = (*questions.label_columns, *questions.repeat_columns)
    read = sum(getattr(record, name, None) is not None for record in found.records for name in labels)
    if (unread := len(asked) - again - read) > 0:
        yield f"{_UNREAD_KINDS['judge_unread']}: {unread} of {len(asked) - again}"


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
