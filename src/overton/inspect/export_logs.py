"""The export of a run as Inspect logs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from importlib.metadata import version
from itertools import groupby, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, ZipFile

import msgspec

from overton.calls import Failure, Message, Price, Reply, Settings
from overton.engine import Lane, digest
from overton.engine.records import columns_of, record_type_columns, why_unfit
from overton.errors import InputError, MissingExtra, Problem, RunError
from overton.inspect.compat import SAMPLES, START, SUMMARIES
from overton.inspect.log_format import (
    CALLS,
    KEY,
    SampleData,
    TaskData,
    call_data,
    inspect_name,
    location_of,
    null_scorer,
    span_name,
    viewer_config,
)
from overton.inspect.scores import Figure, eval_scores
from overton.inspect.task import grouped
from overton.models.inspect import chat_messages, extra_fields
from overton.runs.answerers import public_spec
from overton.runs.folder import Manifest, ModelEntry
from overton.runs.replay import Replay, ReplayedCall, ReplayedTrial
from overton.runs.run import Run, check_unchanged, open_journal
from overton.studies.null_conditions import condition_of
from overton.untrusted import decode_text, python_of

if TYPE_CHECKING:
    import polars as pl


_STOP_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "length": "max_tokens",
    "refusal": "content_filter",
    **{word: word for word in ("stop", "max_tokens", "model_length", "content_filter")},
}
"""Inspect's stop reason for each finish reason of the providers."""

_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""Reasoning efforts that Inspect knows; a provider may have others."""


def each_once(calls: Iterable[ReplayedCall]) -> list[ReplayedCall]:
    """The calls without repetitions. Calls that several trials share occur once."""
    return list({call.identity.slot: call for call in calls}.values())


@dataclass
class Transcriber:
    """A converter of calls into Inspect's objects. A journal does not record the time of a call, so every call gets the
    time `began`.

    `prices` has the models' prices by identity; `retrieval` names the speakers that search and read pages.
    """

    began: datetime
    prices: Mapping[str, Price | None] = field(default_factory=dict)
    retrieval: Sequence[str] = ()
    _known_messages: dict[Message, Any] = field(default_factory=dict)

    def conversation(self, call: ReplayedCall) -> list[Any]:
        """The messages before a call and its reply."""
        said = self._messages(call.request.messages)
        return [*said, self.output(call).message] if isinstance(call.outcome, Reply) else said

    def prompt(self, call: ReplayedCall) -> Any:
        """A call's prompt in the format of a sample's input."""
        return self._messages(call.request.messages)

    def events(self, found: ReplayedTrial) -> Iterator[Any]:
        """The events of a trial: a span that contains the trial's calls."""
        from inspect_ai.event import SpanBeginEvent, SpanEndEvent

        name, began = found.trial.name, self.began
        yield SpanBeginEvent(
            id=name, name=span_name(found.trial), type="trial", timestamp=began, span_id=name, working_start=0
        )
        for call in found.calls:
            event = self._retrieval_event if call.place.speaker in self.retrieval else self._model_event
            yield event(call, name)
        yield SpanEndEvent(id=name, timestamp=began, span_id=name, working_start=0)

    def usage(self, calls: Iterable[ReplayedCall]) -> dict[str, Any]:
        """Numbers of tokens by model, with costs in dollars if prices are known."""
        total: dict[str, Any] = {}
        for call in calls:
            usage = self._usage(call)
            if usage is not None:
                name = _model_name(call)
                total[name] = total[name] + usage if name in total else usage
        return total

    def _model_event(self, call: ReplayedCall, span: str) -> Any:
        from inspect_ai.event import ModelEvent

        failure = call.outcome if isinstance(call.outcome, Failure) else None
        return ModelEvent(
            model=_model_name(call),
            role=call.place.speaker,
            input=self._messages(call.request.messages),
            tools=[],
            tool_choice="none",
            config=generate_config(call.request.settings, call.request.seed),
            output=self.output(call),
            error=_failure_text(failure) if failure else None,
            retries=failure.attempts - 1 if failure else None,
            timestamp=self.began,
            completed=self.began,
            working_start=0,
            span_id=span,
        )

    def _retrieval_event(self, call: ReplayedCall, span: str) -> Any:
        """The event of a search, or of the reading of a page."""
        from inspect_ai.event import InfoEvent

        found = (
            {"failed": _failure_text(call.outcome)}
            if isinstance(call.outcome, Failure)
            else {"found": call.outcome.text}
        )
        return InfoEvent(
            source=call.place.speaker,
            data={"asked": call.request.messages[0].content, **found},
            timestamp=self.began,
            working_start=0,
            span_id=span,
        )

    def _messages(self, messages: Sequence[Message]) -> list[Any]:
        return [self._message(message) for message in messages]

    def _message(self, message: Message) -> Any:
        """A message in Inspect's format. Equal messages are the same object, so that Inspect stores them once."""
        if message not in self._known_messages:
            (self._known_messages[message],) = chat_messages([message])
        return self._known_messages[message]

    def output(self, call: ReplayedCall) -> Any:
        """A call's reply in Inspect's format, or the reason why there is no reply."""
        from inspect_ai.model import ChatCompletionChoice, ChatMessageAssistant, ModelOutput

        named = _model_name(call)
        name = named.partition("/")[2] or named  # without the provider, as in the output of Inspect's own models
        if isinstance(call.outcome, Failure):
            return ModelOutput(model=name, error=_failure_text(call.outcome))
        reply = call.outcome
        message = ChatMessageAssistant(content=reply.text, model=name, source="generate")
        stop = "content_filter" if reply.refused else _STOP_REASONS.get(reply.finish, "unknown")
        choice = ChatCompletionChoice(message=message, stop_reason=stop)
        return ModelOutput(
            model=reply.model or name, choices=[choice], usage=self._usage(call), metadata=extra_fields(reply)
        )

    def _usage(self, call: ReplayedCall) -> Any:
        from inspect_ai.model import ModelUsage

        if not isinstance(call.outcome, Reply) or call.outcome.usage.input_tokens is None:
            return None
        price, usage = self.prices.get(call.place.answerer), call.outcome.usage
        sent, got = usage.input_tokens or 0, usage.output_tokens or 0
        return ModelUsage(
            input_tokens=sent,
            output_tokens=got,
            total_tokens=sent + got,
            total_cost=price.cost(usage) if price else None,
        )


def _model_name(call: ReplayedCall) -> str:
    return inspect_name(call.answerer, call.place.answerer)


def _failure_text(failure: Failure) -> str:
    return f"{failure.kind}: {failure.message}"


def generate_config(settings: Settings, seed: int | None) -> Any:
    """Settings, with a call's own seed, in the format of Inspect's configuration."""
    from inspect_ai.model import GenerateConfig

    effort = settings.reasoning_effort
    return GenerateConfig(
        temperature=settings.temperature,
        top_p=settings.top_p,
        max_tokens=settings.max_tokens,
        reasoning_effort=effort if effort in _EFFORTS else None,
        seed=seed,
        extra_body=settings.extra or None,
    )


@dataclass(frozen=True)
class Scoring:
    """The way in which the study's task scores records.

    `score` makes an Inspect score from records, their condition, and the model's reply. `figures` computes the figures
    of a table of records. `scorer` and `metric` are names, and `options` are the metric's options. `arguments` are the
    parameters with which the task would make the same calls again. `with_nulls` is True if there are records of null
    conditions, which have a separate scorer.
    """

    scorer: str
    score: Callable[[Sequence[Any], str, str], Any]
    figures: Callable[[pl.DataFrame], Sequence[Figure]]
    metric: str
    options: Mapping[str, Any]
    arguments: Mapping[str, Any]
    with_nulls: bool


class LaneLog:
    """The log of one pipeline.

    A sample is an item in a condition. `planned` are the ids of all samples of the pipeline, and `written` counts the
    samples written so far.
    """

    def __init__(self, run: Run, task: TaskData, recall: Replay, lane: Lane, scoring: Scoring) -> None:
        self.planned: list[str] = []
        self.written = 0
        self._study = run.study
        self._manifest = run.manifest
        self._task = task
        self._replay = recall
        self._lane = lane
        self._scoring = scoring
        self._items = {item.id: item for item in recall.items}
        self._prices = {entry.identity: entry.price for side in task.models.values() for entry in side}
        self._began = datetime.fromisoformat(run.manifest.created)
        self._incomplete_items: list[str] = []
        self._shared_slots: set[bytes] = set()
        self._usage: dict[str, Any] = {}
        self._tables: list[pl.DataFrame] = []

    def write(self, path: Path) -> None:
        """Repeat the pipeline's trials from the journal, and write their samples.

        Raises:
            RunMismatch: a trial would now make another call than in the run.
        """
        self.planned = list(grouped(self._lane.trials()))
        self._spec = self._eval_spec()
        _write_log(self._spec, self._make_samples(), self._log_head, path)

    def _make_samples(self) -> Iterator[Any]:
        """The samples of complete items, in plan order."""
        for item, trials in groupby(self._lane.trials(), key=lambda trial: trial.item):
            groups = grouped(trials)
            found = {name: self._replay.conduct(self._lane, some) for name, some in groups.items()}
            is_incomplete = any(replayed is None for some in found.values() for replayed in some)
            if is_incomplete or self._has_unfit_records(found.values()):
                self._incomplete_items.append(item)
                continue
            for name, some in found.items():
                self.written += 1
                yield self._make_sample(item, name, [replayed for replayed in some if replayed is not None])

    def _has_unfit_records(self, found: Iterable[Sequence[ReplayedTrial | None]]) -> bool:
        """Whether a trial has records that no table can store."""
        records = [record for some in found for replayed in some if replayed is not None for record in replayed.records]
        return bool(why_unfit(records, record_type_columns(self._study.record)))

    def _make_sample(self, item: str, name: str, found: Sequence[ReplayedTrial]) -> Any:
        from inspect_ai.log import EvalSample

        calls = each_once(call for replayed_trial in found for call in replayed_trial.calls)
        self._count_usage(calls)
        records = [record for replayed in found for record in replayed.records]
        self._tables.append(columns_of(records, record_type_columns(self._study.record)))
        shown = Transcriber(self._began, self._prices, self._study.retrieval)
        first, last = _first_and_last_call(found, self._study.first)
        output, data = shown.output(last) if last else None, self._sample_data(item, found)
        return EvalSample(
            id=name,
            epoch=1,
            uuid=digest([self._manifest.created, self._task, name])[:22],
            input=shown.prompt(first) if first else "",
            target="",
            messages=shown.conversation(last) if last else [],
            **({"output": output} if output else {}),
            scores=self._score_sample(data, records, output.completion if output else ""),
            metadata={KEY: msgspec.to_builtins(data)},
            store={CALLS: [msgspec.to_builtins(call_data(call.identity, call.place, call.outcome)) for call in calls]},
            events=[event for replayed in found for event in shown.events(replayed)],
            model_usage=shown.usage(calls),
        )

    def _sample_data(self, item: str, found: Sequence[ReplayedTrial]) -> SampleData:
        condition = condition_of(found[0].trial)
        return SampleData(
            msgspec.to_builtins(self._items[item]), condition, [replayed_trial.trial.name for replayed_trial in found]
        )

    def _score_sample(self, data: SampleData, records: Sequence[Any], answer: str) -> dict[str, Any]:
        """The score that the study's task gives these records, keyed by the scorer's name."""
        name = null_scorer(self._scoring.scorer) if data.null else self._scoring.scorer
        return {name: self._scoring.score(records, data.condition, answer)}

    def _count_usage(self, calls: Sequence[ReplayedCall]) -> None:
        """Add a sample's tokens to the log's total. Calls that several trials share count once."""
        fresh = [call for call in calls if call.place.trial or call.identity.slot not in self._shared_slots]
        self._shared_slots |= {call.identity.slot for call in calls if not call.place.trial}
        for model, usage in Transcriber(self._began, self._prices).usage(fresh).items():
            self._usage[model] = self._usage[model] + usage if model in self._usage else usage

    def _eval_spec(self) -> Any:
        from inspect_ai.log import EvalConfig, EvalDataset, EvalSpec

        manifest, task = self._manifest, self._task.study.replace("-", "_")
        entries = self._task.models[self._study.first]
        metric = {"name": self._scoring.metric, "options": dict(self._scoring.options)}
        scorers: list[dict[str, Any]] = [{"name": self._scoring.scorer, "metrics": [metric]}]
        if self._scoring.with_nulls:
            scorers.append({"name": null_scorer(self._scoring.scorer), "metrics": []})
        own = entries[0].settings if len(entries) == 1 else Settings()
        return EvalSpec(
            created=manifest.created,
            run_id=digest([manifest.created, manifest.items])[:22],
            task_id=digest([manifest.items, self._task])[:22],
            task=f"overton/{task}",
            task_registry_name=f"overton/{task}",
            task_display_name=self._task.study,
            task_version=manifest.overton,
            task_args=dict(self._scoring.arguments),
            model=" + ".join(inspect_name(entry.name, entry.identity) for entry in entries),
            model_generate_config=generate_config(own, own.seed),
            scorers=scorers,
            dataset=EvalDataset(
                name=self._task.study,
                location=location_of(self._study.items.plural, manifest.items),
                samples=len(self.planned),
                sample_ids=self.planned,
            ),
            config=EvalConfig(epochs=1),
            packages={"inspect_ai": version("inspect_ai"), "overton": manifest.overton},
            metadata={KEY: msgspec.to_builtins(self._task)},
            viewer=viewer_config(self._scoring.scorer),
        )

    def _log_head(self) -> Any:
        """The log's head, made after all samples."""
        from inspect_ai.log import EvalLog, EvalStats

        lacking = {"items that are not whole": len(self._incomplete_items)} if self._incomplete_items else {}
        return EvalLog(
            status="cancelled" if self._incomplete_items else "success",
            eval=self._spec.model_copy(update={"metadata": self._spec.metadata | lacking}),
            results=self._eval_results(),
            stats=EvalStats(
                started_at=self._manifest.created, completed_at=self._replay.ended, model_usage=self._usage
            ),
        )

    def _eval_results(self) -> Any:
        import polars as pl
        from inspect_ai.log import EvalResults

        figures = self._scoring.figures(pl.concat(self._tables)) if self._tables else []
        return EvalResults(
            total_samples=len(self.planned),
            completed_samples=self.written,
            scores=eval_scores(figures, self._scoring.scorer),
        )


def _first_and_last_call(found: Sequence[ReplayedTrial], role: str) -> tuple[ReplayedCall | None, ReplayedCall | None]:
    """The very first call, and the measured model's last call, in the first trial that has calls."""
    for replayed_trial in found:
        own = [call for call in replayed_trial.calls if call.place.speaker.partition("/")[0] == role]
        if replayed_trial.calls:
            return replayed_trial.calls[0], (own or replayed_trial.calls)[-1]
    return None, None


_SAMPLES_PER_PART = 32
"""The most samples in memory at a time."""


def _write_log(spec: Any, samples: Iterable[Any], finished: Callable[[], Any], path: Path) -> None:
    """Write a log of `spec`; `finished` returns its head once all samples are written.

    Inspect writes several logs of a few samples each. The members of these logs are copied into one archive, and the
    head is written last.
    """
    from inspect_ai.log import write_eval_log

    summaries: list[Any] = []
    with TemporaryDirectory(dir=path.parent) as beside, ZipFile(path, "w", ZIP_DEFLATED, compresslevel=5) as whole:
        for part in _write_parts(spec, samples, Path(beside) / "part.eval"):
            if START not in whole.namelist():
                whole.writestr(START, part.read(START))
            for name in part.namelist():
                if name.startswith(SAMPLES):
                    whole.writestr(name, part.read(name))
            summaries += python_of(decode_text(part.read(SUMMARIES)))
        whole.writestr(SUMMARIES, json.dumps(summaries))
    write_eval_log(finished(), path, header_only=True)


def _write_parts(spec: Any, samples: Iterable[Any], path: Path) -> Iterator[ZipFile]:
    """Yield logs of a few samples each. If there are no samples, yield a single empty log."""
    from inspect_ai.log import EvalLog, write_eval_log

    rest = iter(samples)
    part = list(islice(rest, _SAMPLES_PER_PART))
    while True:
        log = EvalLog(status="started", eval=spec)
        log.samples = part
        write_eval_log(log, path)
        with ZipFile(path) as archive:
            yield archive
        path.unlink()
        part = list(islice(rest, _SAMPLES_PER_PART))
        if not part:
            return


@dataclass(frozen=True)
class Exported:
    """An exported log: its model, the number of its samples, and the number of planned samples."""

    path: Path
    lane: str
    samples: int
    planned: int


def write_logs(run: Run, out: Path, scoring: Callable[[TaskData], Scoring]) -> list[Exported]:
    """Write one log per pipeline of a run into the folder `out`. As in reports, incomplete items are left out.

    Raises:
        MissingExtra: Inspect AI is not installed.
        InputError: a log of this run already exists there, so no log is written.
        RunMismatch: prompts or items have changed since the run started.
    """
    _check_installed()
    check_unchanged(run)
    tasks = _lane_tasks(run)
    paths = [out / _file_name(run.manifest, task) for task in tasks]
    if there := [path for path in paths if path.exists()]:
        raise InputError([Problem(str(path), "", "exists already; nothing is overwritten") for path in there])
    try:
        out.mkdir(parents=True, exist_ok=True)
        with (
            closing(open_journal(run)) as journal,
            TemporaryDirectory(prefix=".export-", dir=out) as new,
        ):
            recall = Replay(run, journal)
            logs = [
                LaneLog(run, task, recall, lane, scoring(task)) for lane, task in zip(recall.lanes, tasks, strict=True)
            ]
            for log, path in zip(logs, paths, strict=True):
                log.write(Path(new) / path.name)
            for path in paths:
                (Path(new) / path.name).rename(path)
    except OSError as error:
        raise RunError(f"{out} cannot be written: {error.strerror}") from error
    return [
        Exported(path, name, log.written, len(log.planned))
        for path, name, log in zip(paths, recall.names, logs, strict=True)
    ]


def _check_installed() -> None:
    try:
        import inspect_ai  # noqa: F401
    except ImportError:
        raise MissingExtra("writing Inspect logs", "inspect") from None


def _lane_tasks(run: Run) -> list[TaskData]:
    """The description of each pipeline's log. If a run has several judges, each log has a single judge."""
    study, manifest = run.study, run.manifest
    first, several = study.first, study.several
    models = {role: [_public_entry(entry) for entry in entries] for role, entries in manifest.models.items()}
    entries = models[first]
    judges = [{several: [judge]} for judge in models.get(several, ())] or [{}]
    return [
        TaskData(
            study=manifest.study,
            seed=manifest.seed,
            options=manifest.options,
            models=models | judge | {first: list(lane)},
            prompts=manifest.prompts,
            overton=manifest.overton,
            left_out=manifest.left_out,
            replaced=dict(study.replaced) or msgspec.UNSET,
        )
        for judge in judges
        for lane in ([entries] if study.together else [[entry] for entry in entries])
    ]


def _public_entry(entry: ModelEntry) -> ModelEntry:
    """The entry without paths of this machine, because logs are shared with other people."""
    return msgspec.structs.replace(entry, spec=public_spec(entry.spec))


def _file_name(manifest: Manifest, task: TaskData) -> str:
    """The name of a log's file in Inspect's style. It depends only on the run and the pipeline."""
    when = manifest.created.replace(":", "-")
    return f"{when}_{task.study}_{digest([manifest.items, task])[:22]}.eval"
