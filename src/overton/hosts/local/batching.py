"""A run's batches that are out between sessions: their progress, and cancelling them."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass

from overton.calls import BatchApi
from overton.engine.batch_notes import noted_batches
from overton.errors import AnswerError
from overton.hosts.local.folder import RunFolder, open_journal
from overton.hosts.local.loop import run_to_end
from overton.hosts.local.opening import open_models, wanted_of
from overton.hosts.local.trusting import Trust, check_trusted
from overton.models import Model
from overton.studies.study import AnyStudy

__all__ = ["BatchOut", "batches_out"]


@dataclass(frozen=True)
class BatchOut:
    """A batch that is out: its model, how many calls it contains, the provider's id for it ('' if it is unknown whether
    it was made), how many calls are finished, and a remark on its state."""

    model: str
    calls: int
    id: str
    done: int
    state: str

    def __str__(self) -> str:
        """As one line."""
        return f"{self.model}: batch {self.id or 'without an id'}: {self.done:,} of {self.calls:,} calls, {self.state}"


def batches_out(study: AnyStudy, folder: RunFolder, *, cancel: bool, trust: Trust) -> list[BatchOut]:
    """The run's batches; with `cancel` each is cancelled first.

    Raises:
        RunLocked: another process is using the run.
        InputError: see `resume`.
    """
    manifest = folder.manifest()
    wanted = wanted_of(manifest)
    with closing(open_journal(folder, manifest)) as journal:
        noted = [batch for batch in noted_batches(journal.notes()) if any(not journal.has(slot) for slot in batch.open)]
    if not noted:
        return []
    check_trusted(study, folder.path, wanted, trust)
    asked = study.with_tokens(folder.options(study, manifest.options))
    opened = open_models(asked, folder.items(study.items.kind), wanted, manifest.seed, resumed=True)
    by_identity = {
        one.answerer.identity: one
        for side in opened.values()
        for one in side
        if isinstance(one, Model) and one.batching
    }

    async def all_() -> list[BatchOut]:
        found = []
        for batch in noted:
            model = by_identity.get(batch.answerer)
            if model is not None and model.batching is not None:
                name = model.answerer.name
                if batch.refused:
                    found.append(BatchOut(name, batch.calls, batch.id, 0, f"over: {batch.refused}"))
                else:
                    found.append(await _one(name, batch.calls, batch.id, model.batching, cancel=cancel))
        return found

    return run_to_end(all_())


async def _one(name: str, calls: int, id_: str, batching: BatchApi, *, cancel: bool) -> BatchOut:
    if not id_:
        return BatchOut(name, calls, "", 0, "perhaps never made: 'overton resume' will find out")
    try:
        if cancel:
            await batching.cancel(id_)
        looked = await batching.look(id_)
    except AnswerError as error:
        return BatchOut(name, calls, id_, 0, f"state unknown: {error}")
    state = "over" if looked.over else "being cancelled" if cancel else "in progress"
    return BatchOut(name, calls, id_, looked.done, state)
