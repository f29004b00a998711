"""One lane of a run as an Inspect log, written a few samples at a time: Inspect's own writer keeps all in memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from itertools import groupby, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, ZipFile

import msgspec

from overton.calls import Settings
from overton.engine import Lane, digest
from overton.engine.records import columns_of, record_type_columns, unfit
from overton.hosts.inspect.layout import CALLS, KEY, SampleData, TaskData, location_of, null_scorer, viewer_config
from overton.hosts.inspect.planning import condition_of, grouped
from overton.hosts.inspect.privates import SAMPLES, START, SUMMARIES
from overton.hosts.inspect.results import Figure, eval_scores
from overton.hosts.inspect.transcribing import Transcriber, call_data, each_once, generate_config, inspect_name
from overton.runs.folder import Manifest
from overton.runs.replay import Replay, ReplayedCall, ReplayedTrial
from overton.studies.study import AnyStudy
from overton.untrusted import decode_text, python_of

if TYPE_CHECKING:
    import polars as pl

__all__ = ["LaneLog", "Scoring"]


@dataclass(frozen=True)
class Scoring:
    """What the study's task makes of records: `score` an Inspect score, `figures` the figures of their table.

    `score` takes the records, their condition, and the model's reply. `scorer` is the scorer's name, `metric` the
    metric's, and `options` the metric's options; `arguments` are the task's, with which the same calls would be made
    again. `with_nulls` says that null conditions are among them, which have a scorer of their own.
    """

    scorer: str
    score: Callable[[Sequence[Any], str, str], Any]
    figures: Callable[[pl.DataFrame], Sequence[Figure]]
    metric: str
    options: Mapping[str, Any]
    arguments: Mapping[str, Any]
    with_nulls: bool


class LaneLog:
    """A lane's samples, each an item in a condition, and what follows from them.

    `planned` are the ids of the samples that the lane is to have, `written` counts those written.
    """

    def __init__(  # noqa: PLR0917
        self, study: AnyStudy, manifest: Manifest, task: TaskData, recall: Replay, lane: Lane, scoring: Scoring
    ) -> None:
        self.planned: list[str] = []
        self.written = 0
        self._study = study
        self._manifest = manifest
        self._task = task
        self._recall = recall
        self._lane = lane
        self._scoring = scoring
        self._items = {item.id: item for item in recall.items}
        self._prices = {entry.identity: entry.price for side in task.models.values() for entry in side}
        self._began = datetime.fromisoformat(manifest.created)
        self._missing: list[str] = []
        self._shared: set[bytes] = set()
        self._usage: dict[str, Any] = {}
        self._tables: list[pl.DataFrame] = []

    def write(self, path: Path) -> None:
        """Conduct the lane's trials from the journal and write them.

        Raises:
            RunMismatch: a call would differ now from the one made then.
        """
        self.planned = list(grouped(self._study, self._lane.trials()))
        self._spec = self._specified()
        _write_log(self._spec, self._samples(), self._finished, path)

    def _samples(self) -> Iterator[Any]:
        """Samples in plan order, of complete items only."""
        for item, trials in groupby(self._lane.trials(), key=lambda trial: trial.item):
            groups = grouped(self._study, trials)
            found = {name: self._recall.conduct(self._lane, some) for name, some in groups.items()}
            if any(one is None for some in found.values() for one in some) or self._spoiled(found.values()):
                self._missing.append(item)
                continue
            for name, some in found.items():
                self.written += 1
                yield self._sample(item, name, [one for one in some if one is not None])

    def _spoiled(self, found: Iterable[Sequence[ReplayedTrial | None]]) -> bool:
        """Whether a trial has records that no table can store."""
        records = [record for some in found for one in some if one is not None for record in one.records]
        return bool(unfit(records, record_type_columns(self._study.record)))

    def _sample(self, item: str, name: str, found: Sequence[ReplayedTrial]) -> Any:
        from inspect_ai.log import EvalSample

        calls = each_once(call for one in found for call in one.calls)
        self._count(calls)
        records = [record for one in found for record in one.records]
        self._tables.append(columns_of(records, record_type_columns(self._study.record)))
        shown = Transcriber(self._began, self._prices, self._study.retrieval)
        first, last = _ends(found, self._study.first)
        output, data = shown.output(last) if last else None, self._data(item, found)
        return EvalSample(
            id=name,
            epoch=1,
            uuid=digest([self._manifest.created, self._task, name])[:22],
            input=shown.prompt(first) if first else "",
            target="",
            messages=shown.conversation(last) if last else [],
            **({"output": output} if output else {}),
            scores=self._scored(data, records, output.completion if output else ""),
            metadata={KEY: msgspec.to_builtins(data)},
            store={CALLS: [msgspec.to_builtins(call_data(call)) for call in calls]},
            events=[event for one in found for event in shown.events(one)],
            model_usage=shown.usage(calls),
        )

    def _data(self, item: str, found: Sequence[ReplayedTrial]) -> SampleData:
        condition = condition_of(self._study, found[0].trial)
        return SampleData(msgspec.to_builtins(self._items[item]), condition, [one.trial.name for one in found])

    def _scored(self, data: SampleData, records: Sequence[Any], answer: str) -> dict[str, Any]:
        """The score that the study's task gives these records, by the name of its scorer."""
        name = null_scorer(self._scoring.scorer) if data.null else self._scoring.scorer
        return {name: self._scoring.score(records, data.condition, answer)}

    def _count(self, calls: Sequence[ReplayedCall]) -> None:
        """Add a sample's tokens to the log's; calls that trials share count once."""
        fresh = [call for call in calls if call.place.trial or call.identity.slot not in self._shared]
        self._shared |= {call.identity.slot for call in calls if not call.place.trial}
        for model, usage in Transcriber(self._began, self._prices).usage(fresh).items():
            self._usage[model] = self._usage[model] + usage if model in self._usage else usage

    def _specified(self) -> Any:
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

    def _finished(self) -> Any:
        """The log's head, once all samples have been seen."""
        from inspect_ai.log import EvalLog, EvalStats

        lacking = {"items that are not whole": len(self._missing)} if self._missing else {}
        return EvalLog(
            status="cancelled" if self._missing else "success",
            eval=self._spec.model_copy(update={"metadata": self._spec.metadata | lacking}),
            results=self._results(),
            stats=EvalStats(
                started_at=self._manifest.created, completed_at=self._recall.ended, model_usage=self._usage
            ),
        )

    def _results(self) -> Any:
        import polars as pl
        from inspect_ai.log import EvalResults

        figures = self._scoring.figures(pl.concat(self._tables)) if self._tables else []
        return EvalResults(
            total_samples=len(self.planned),
            completed_samples=self.written,
            scores=eval_scores(figures, self._scoring.scorer),
        )


def _ends(found: Sequence[ReplayedTrial], role: str) -> tuple[ReplayedCall | None, ReplayedCall | None]:
    """Of the first trial with any call: its first call, and its last call of the model measured."""
    for one in found:
        own = [call for call in one.calls if call.place.speaker.partition("/")[0] == role]
        if one.calls:
            return one.calls[0], (own or one.calls)[-1]
    return None, None


_AT_ONCE = 32
"""Samples in memory at a time."""


def _write_log(spec: Any, samples: Iterable[Any], finished: Callable[[], Any], path: Path) -> None:
    """Write a log of `spec`; `finished` returns its head once all samples are written.

    Inspect writes a few samples at a time as a separate log, whose members go into one archive; the head comes last.
    """
    from inspect_ai.log import write_eval_log

    summaries: list[Any] = []
    with TemporaryDirectory(dir=path.parent) as beside, ZipFile(path, "w", ZIP_DEFLATED, compresslevel=5) as whole:
        for part in _parts(spec, samples, Path(beside) / "part.eval"):
            if START not in whole.namelist():
                whole.writestr(START, part.read(START))
            for name in part.namelist():
                if name.startswith(SAMPLES):
                    whole.writestr(name, part.read(name))
            summaries += python_of(decode_text(part.read(SUMMARIES)))
        whole.writestr(SUMMARIES, json.dumps(summaries))
    write_eval_log(finished(), path, header_only=True)


def _parts(spec: Any, samples: Iterable[Any], path: Path) -> Iterator[ZipFile]:
    """Logs of a few samples each; one without samples if there are none."""
    from inspect_ai.log import EvalLog, write_eval_log

    rest = iter(samples)
    part = list(islice(rest, _AT_ONCE))
    while True:
        log = EvalLog(status="started", eval=spec)
        log.samples = part
        write_eval_log(log, path)
        with ZipFile(path) as archive:
            yield archive
        path.unlink()
        part = list(islice(rest, _AT_ONCE))
        if not part:
            return
