"""A study as an Inspect task, with its samples.

The task only names models and services, which are looked up when samples make calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from overton.calls import Message, Question, Reply, Trial
from overton.calls.model import Model
from overton.engine import digest
from overton.engine.ask import ScriptedAsk
from overton.engine.first_replies import FirstReplies
from overton.errors import InputError, Problem, Stopped
from overton.inspect.ask import EvalContext, RetrievalSources
from overton.inspect.compat import prerequisite
from overton.inspect.log_format import CALLS, KEY, SampleData, TaskData, location_of, viewer_config
from overton.inspect.seats import entry_of, named_models, seats_of
from overton.inspect.solver import SampleResults, conduct_trials, leave_records
from overton.models.inspect import chat_messages
from overton.retrieval import open_pages, open_search
from overton.runs.answerers import PAGES, ModelRequest, is_simulated
from overton.runs.answerers import entry_of as local_entry
from overton.runs.event_loop import run_to_end
from overton.runs.first_replies import control_of
from overton.runs.folder import ModelEntry
from overton.runs.temperature_probe import probe_call
from overton.studies.null_conditions import condition_of
from overton.studies.study import AnyStudy
from overton.version import __version__

Groups = Mapping[str, Sequence[Trial]]
"""Trials by the name of their sample, in plan order."""


def _sample_name(trial: Trial) -> str:
    """The name of a trial's sample: the item and the condition."""
    return f"{trial.item}/{condition_of(trial)}"


def grouped(trials: Iterable[Trial]) -> Groups:
    """Group trials by sample."""
    groups: dict[str, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(_sample_name(trial), []).append(trial)
    return groups


def samples_of(study: AnyStudy, items: Sequence[Any], groups: Groups) -> list[Any]:
    """The samples of a task. A sample's input is the first prompt of its first trial."""
    from inspect_ai.dataset import Sample

    by_id = {item.id: msgspec.to_builtins(item) for item in items}
    prompts = run_to_end(_first_prompts(study, [trials[0] for trials in groups.values()]))
    return [
        Sample(
            id=name,
            input=chat_messages(prompt),
            metadata={
                KEY: msgspec.to_builtins(
                    SampleData(by_id[trials[0].item], condition_of(trials[0]), [trial.name for trial in trials])
                )
            },
        )
        for (name, trials), prompt in zip(groups.items(), prompts, strict=True)
    ]


async def _first_prompts(study: AnyStudy, trials: Sequence[Trial]) -> list[Sequence[Message]]:
    return [await _first_prompt(study, trial) for trial in trials]


async def _first_prompt(study: AnyStudy, trial: Trial) -> Sequence[Message]:
    asked: list[Question] = []

    async def end_trial(questions: Sequence[Question]) -> Sequence[Reply]:
        asked.extend(questions)
        if questions:
            raise _FirstCallMade
        return ()

    with suppress(_FirstCallMade):
        await study.conduct(trial, ScriptedAsk(end_trial))
    return asked[0].messages if asked else ()


class _FirstCallMade(Stopped):
    """Raised to end a trial at its first call."""


@dataclass(frozen=True)
class StudyAnswerers:
    """The models and services in each role of a study, as in a run's manifest; `agents` is the number of interacting
    models."""

    study: AnyStudy
    seed: int
    agents: int
    entries: dict[str, list[ModelEntry]]
    sources: Mapping[str, Model]

    def table(self, *, cache: bool, anyway: bool = False) -> EvalContext:
        """Make the state that all samples of an eval share when they make calls. With `anyway`, the eval continues even
        if few of a model's first replies can be read.

        Raises:
            InputError: the task was made for other models, or for other settings of the models.
        """
        models = named_models(self.study, self.agents)
        entries = _entries_of(self.study, models, self.seed)
        for role, found in entries.items():
            for then, now in zip(self.entries[role], found, strict=True):
                if (then.identity, then.settings) != (now.identity, now.settings):
                    reason = f"the task was made for {then.name} with {then.settings}; give eval the task's name, as in"
                    raise InputError([Problem(role, now.name, f"{reason} eval('overton/...', model=...)")])
        own = "" if self.study.together else entries[self.study.first][0].identity
        seats = seats_of(self.study, models, entries, self.sources)
        probes = [probe_call(seat) for seat in seats.values() if seat.model.unsure]
        context = EvalContext(seats, own, RetrievalSources(self.sources), cache, probes=probes)
        if not anyway:
            are_free = self.study.questions is not None
            context.first_replies = first = FirstReplies({}, anyway=False, are_free=are_free, stop=context.stop)
            for seat in (seat for role, seat in seats.items() if role not in self.sources):
                seat.sample = (
                    None if is_simulated(seat.model) else first.sample(seat.model.answerer, judges=seat.judges)
                )
            context.control = control_of(self.study)
        return context


def model_entries(study: AnyStudy, seed: int, agents: int = 0) -> dict[str, list[ModelEntry]]:
    """Inspect's models for each role of a study. If models interact, there are `agents` of them.

    Raises:
        InputError: a needed role has no model, or one that cannot be used.
    """
    return _entries_of(study, named_models(study, agents), seed)


def answerers_of(
    study: AnyStudy,
    seed: int,
    agents: int,
    models: Mapping[str, list[ModelEntry]],
    wanted: Mapping[str, Sequence[ModelRequest]],
) -> StudyAnswerers:
    """All models and services by role: the `models`, and the search engines and page sources that are `wanted`.

    Raises:
        InputError: a source cannot be opened.
    """
    sources = {role: _open_source(role, requests[0]) for role, requests in wanted.items() if requests}
    known = {role: [local_entry(wanted[role][0], source)] for role, source in sources.items()}
    empty: dict[str, list[ModelEntry]] = {role: [] for role in study.role_names}
    return StudyAnswerers(study, seed, agents, empty | dict(models) | known, sources)


def _entries_of(study: AnyStudy, models: Mapping[str, Sequence[Any]], seed: int) -> dict[str, list[ModelEntry]]:
    return {role: [entry_of(model, study.role(role), seed) for model in found] for role, found in models.items()}


def _open_source(role: str, request: ModelRequest) -> Model:
    opening = open_pages if role == PAGES else open_search
    return opening(request.spec, request.arguments)


_MAX_RETRIES = 7
"""The default number of retries, which take six minutes. Inspect's own default is to retry for ever."""


@dataclass
class HostedStudy:
    """A study with everything that defines an eval of it.

    `trials_at_once` is the number of trials of a sample that run in parallel. With `cache`, answered calls are not made
    again in a later eval. `left_out` describes items that were read but are not used. With `anyway`, the eval continues
    even if few of a model's first replies can be read.
    """

    answerers: StudyAnswerers
    items: Sequence[Any]
    options: msgspec.Struct
    trials_at_once: int = 10
    cache: bool = True
    left_out: str = ""
    anyway: bool = False

    @cached_property
    def groups(self) -> Groups:
        """The trials of each sample."""
        study = self.answerers.study
        return grouped(study.trials(self.items, self.options, self.answerers.seed))

    @cached_property
    def table(self) -> EvalContext:
        """The state that all samples share when they make calls."""
        return self.answerers.table(cache=self.cache, anyway=self.anyway)

    @property
    def data(self) -> TaskData:
        """The run's description in the task's metadata."""
        study = self.answerers.study
        return TaskData(
            study=study.name,
            seed=self.answerers.seed,
            options=msgspec.to_builtins(self.options),
            models=self.answerers.entries,
            prompts={name: digest(text) for name, text in study.prompts().items()},
            overton=__version__,
            left_out=self.left_out,
            replaced=dict(study.replaced) or msgspec.UNSET,
        )


def make_task(hosted: HostedStudy, scorers: Sequence[Any]) -> Any:
    """The task, with the scorers of its samples.

    Raises:
        InputError: the study cannot be run with these settings.
    """
    from inspect_ai import Task
    from inspect_ai.dataset import MemoryDataset
    from inspect_ai.model import GenerateConfig

    if hosted.trials_at_once < 1:
        raise InputError([Problem("trials_at_once", str(hosted.trials_at_once), "must be 1 or more")])
    study = hosted.answerers.study
    return Task(
        dataset=MemoryDataset(
            samples_of(study, hosted.items, hosted.groups),
            name=study.name,
            location=location_of(study.items.plural, digest(list(hosted.items))),
        ),
        solver=_make_solver(hosted),
        scorer=list(scorers),
        config=GenerateConfig(max_retries=_MAX_RETRIES),
        version=__version__,
        viewer=viewer_config(study.name.replace("-", "_")),
        metadata={KEY: msgspec.to_builtins(hosted.data)},
    )


def _make_solver(hosted: HostedStudy) -> Any:
    from inspect_ai.solver import solver

    def conduct() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            return await _solve_sample(hosted, state)

        return solve

    return solver(name="conduct")(conduct)()


async def _solve_sample(hosted: HostedStudy, state: Any) -> Any:
    if state.epoch > 1:
        raise prerequisite("epochs would repeat the same calls; use -T trials=N for more answers, and --epochs 1")
    results, trials = SampleResults(), hosted.groups[str(state.sample_id)]
    try:
        context = hosted.table
    except InputError as error:
        raise prerequisite(error) from error
    async with context.sources:
        try:
            await conduct_trials(hosted.answerers.study, trials, context, results, hosted.trials_at_once)
        finally:
            state.store.set(CALLS, msgspec.to_builtins(results.calls))
            leave_records(state, [record for trial in trials for record in results.records.get(trial.name, ())])
            _show_conversation(state, results)
    return state


def _show_conversation(state: Any, results: SampleResults) -> None:
    """Have the viewer show the first trial's conversation."""
    if results.shown is not None:
        state.messages = [*chat_messages(results.shown.messages), results.shown.output.message]
        state.output = results.shown.output
