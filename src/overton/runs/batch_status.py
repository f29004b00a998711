"""Functions that show and cancel a run's open batches."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from overton.calls import BatchApi
from overton.engine.batch_notes import noted_batches
from overton.errors import AnswerError
from overton.runs.answerers import open_models, requests_of_run
from overton.runs.event_loop import run_to_end
from overton.runs.run import Run, open_journal, open_run
from overton.runs.trust import Confirm, Trust, check_trusted


@dataclass(frozen=True)
class PendingBatch:
    """A batch whose results have not been read yet. The fields are the model, the number of calls, the provider's id,
    the number of finished calls, and a remark on the batch's state. The id is '' if it is unknown whether the batch was
    made."""

    model: str
    calls: int
    id: str
    done: int
    state: str

    def __str__(self) -> str:
        """Describe the batch in one line."""
        return f"{self.model}: batch {self.id or 'without an id'}: {self.done:,} of {self.calls:,} calls, {self.state}"


async def _poll_batch(name: str, calls: int, id_: str, batching: BatchApi, *, cancel: bool) -> PendingBatch:
    if not id_:
        return PendingBatch(name, calls, "", 0, "perhaps never made: 'overton resume' will find out")
    try:
        if cancel:
            await batching.cancel(id_)
        looked = await batching.look(id_)
    except AnswerError as error:
        return PendingBatch(name, calls, id_, 0, f"state unknown: {error}")
    state = "over" if looked.over else "being cancelled" if cancel else "in progress"
    return PendingBatch(name, calls, id_, looked.done, state)


def batches(
    path: str | Path | Run, *, cancel: bool = False, trust: bool = False, confirm: Confirm | None = None
) -> list[PendingBatch]:
    """List the batches that were still in progress when the run's last session ended, with their state at the provider.
    With `cancel`, ask the provider to start no further calls of these batches. Calls that were already answered are
    billed, and `resume` reads their replies.

    `trust` and `confirm` are those of `overton.resume`.

    Raises:
        RunLocked: another process works on the run.
        InputError: see `overton.resume`.
        RunError: `path` is not a run folder.
    """
    run = open_run(path)
    wanted = requests_of_run(run.manifest)
    with closing(open_journal(run)) as journal:
        noted = [batch for batch in noted_batches(journal.notes()) if any(not journal.has(slot) for slot in batch.open)]
    if not noted:
        return []
    check_trusted(run.study, run.path, wanted, Trust(trust, confirm))
    opened = open_models(run.study, run.items(), wanted, run.manifest.seed, resumed=True)
    by_identity = {model.answerer.identity: model for side in opened.values() for model in side if model.batching}

    async def poll_all() -> list[PendingBatch]:
        found = []
        for batch in noted:
            model = by_identity.get(batch.answerer)
            if model is not None and model.batching is not None:
                name = model.answerer.name
                if batch.refused:
                    found.append(PendingBatch(name, batch.calls, batch.id, 0, f"over: {batch.refused}"))
                else:
                    found.append(await _poll_batch(name, batch.calls, batch.id, model.batching, cancel=cancel))
        return found

    return run_to_end(poll_all())
