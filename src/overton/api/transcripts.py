"""Conversations that exist already, labelled turn by turn by the judge of stance stability."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from overton.api.runs import Arguments, Prices, Run, fresh_folder, model_requests
from overton.errors import InputError, Problem
from overton.hosts import local
from overton.hosts.local import Limits, Patience, RunFolder, Watch

if TYPE_CHECKING:
    from overton.studies.stance_stability.transcripts import JudgingOptions, Transcript

__all__ = ["judge", "transcripts_at"]


def transcripts_at(path: str | Path, propositions: str | Path | None = None) -> list[Transcript]:
    """The conversations in a table or a run folder; see `overton.corpora.transcripts.read_transcripts`.

    Those of a run of stance stability are judged towards the propositions of the run's topics.

    Raises:
        InputError: every problem, with file, row and column.
    """
    from overton.corpora.transcripts import read_transcripts

    folder = Path(path)
    found = read_transcripts(folder, None if propositions is None else Path(propositions))
    return _with_propositions(found, _topics_of(folder)) if (folder / "items.jsonl").is_file() else found


def judge(
    transcripts: str | Path | Sequence[Transcript],
    *,
    judge: str,
    out: str | Path | None = None,
    propositions: str | Path | None = None,
    seed: int = 0,
    model_args: Arguments | None = None,
    prices: Prices | None = None,
    max_cost: float | None = None,
    max_calls: int | None = None,
    patience: Patience | None = None,
    watch: Watch | None = None,
    **options: Any,
) -> Run:
    """Label every turn of `transcripts` (a path, or transcripts) with the model `judge`, in a new run folder.

    `options` are the fields of `JudgingOptions`: `judge_prompts`, `judged_characters`. The run's records have the
    columns that `overton.analyze` reads for stance stability.

    Raises:
        InputError: see `transcripts_at`, and `run`.
    """
    from overton.studies.stance_stability.transcripts import JUDGING

    given = transcripts
    items = transcripts_at(given, propositions) if isinstance(given, str | Path) else given
    folder = fresh_folder(JUDGING.name) if out is None else Path(out)
    manifest = local.start(
        JUDGING,
        items,
        model_requests({"judge": [judge]}, model_args, prices),
        folder,
        options=_converted(options),
        seed=seed,
        limits=Limits(max_cost, max_calls),
        patience=patience,
        watch=watch,
    )
    return Run(folder, manifest)


def _converted(options: dict[str, Any]) -> JudgingOptions:
    from overton.studies.stance_stability.transcripts import JudgingOptions

    known = {key: value for key, value in options.items() if value is not None}
    try:
        return msgspec.convert(known, JudgingOptions)
    except msgspec.ValidationError as error:
        raise InputError([Problem("options", "", str(error))]) from error


def _topics_of(folder: Path) -> dict[str, tuple[str, str]]:
    """Heading and proposition of a run's topics by id; none where it asked about something else."""
    from overton.studies.stance_stability import STUDY

    run = RunFolder(folder)
    if run.manifest().study != STUDY.name:
        return {}
    return {topic.id: (topic.topic, topic.proposition) for topic in run.items(STUDY.item)}


def _with_propositions(transcripts: Sequence[Transcript], topics: dict[str, tuple[str, str]]) -> list[Transcript]:
    return [
        msgspec.structs.replace(one, topic=topics[one.topic][0], proposition=one.proposition or topics[one.topic][1])
        if one.topic in topics
        else one
        for one in transcripts
    ]
