"""Conversations that exist already, labelled turn by turn by the judge of stance stability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from overton.api.items import read_items
from overton.api.runs import Arguments, Prices, Run, fresh_folder, items_of, model_requests
from overton.api.studies import Binding, Exhibits
from overton.errors import InputError, Problem
from overton.hosts import local
from overton.hosts.local import Limits, Patience, Watch
from overton.studies.stance_stability import JUDGING, Topic
from overton.studies.stance_stability.transcripts import JudgingOptions

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.stance_stability.measures import Analysis
    from overton.studies.stance_stability.transcripts import Transcript

__all__ = ["BINDING", "judge", "transcripts_at"]


def transcripts_at(path: str | Path, propositions: str | Path | None = None) -> list[Transcript]:
    """The conversations in a table or a run folder; see `read_items`.

    Those of a run of stance stability are judged towards the propositions of the run's topics.

    Raises:
        InputError: every problem, with file, row and column.
    """
    return read_items(JUDGING, path, propositions=propositions)


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
    given = transcripts
    items = transcripts_at(given, propositions) if isinstance(given, str | Path) else given
    chosen = _converted(options)
    folder = fresh_folder(JUDGING.name) if out is None else Path(out)
    manifest = local.start(
        JUDGING,
        items,
        model_requests({"judge": [judge]}, model_args, prices),
        folder,
        options=chosen,
        seed=seed,
        limits=Limits(max_cost, max_calls),
        patience=patience,
        watch=watch,
    )
    return Run(folder, manifest)


def _converted(options: dict[str, Any]) -> JudgingOptions:
    known = {key: value for key, value in options.items() if value is not None}
    try:
        return msgspec.convert(known, JudgingOptions)
    except msgspec.ValidationError as error:
        raise InputError([Problem("options", "", str(error))]) from error


def _check(options: JudgingOptions) -> None:
    """Nothing more: `JudgingOptions` refuses by itself what no trial can be made of."""


def _analyze_file(path: Path, **how: Any) -> Analysis:
    from overton.api import stance_stability

    return stance_stability.analyze_file(path, **how)


def _analyze_runs(runs: Sequence[Run], **how: Any) -> Analysis:
    from overton.api import stance_stability

    return stance_stability.analyze_runs(runs, **how)


def _exhibits(runs: Sequence[Run], **how: Any) -> Exhibits:
    """What a report of labelled transcripts shows."""
    from overton.api import stance_stability as measured
    from overton.studies.stance_stability import figures, measures

    records = measured.records_of(runs)
    analysis = measures.analyze(records, **how)
    told = {one.proposition: one.topic for one in items_of(runs) if one.proposition}
    return Exhibits(
        title="Stance stability of transcripts",
        summary=(
            "Whether the speakers of conversations that exist already keep their view, how surely they change it, and"
            " from how few sources."
        ),
        items="Conversations",
        models=sorted(records["model"].unique()),
        sections=figures.sections(analysis, "\n".join(measured.judges_of(runs))),
        trials=figures.conversation_table(_by_proposition(records), analysis, _headings(told)),
        data=analysis.to_json(conversations=analysis.conversations.height <= measured.MOST_LISTED),
        warnings=list(measured.warnings_of(runs)),
    )


def _by_proposition(records: pl.DataFrame) -> pl.DataFrame:
    """The records with the proposition as topic where there is one, to be shown beside the conversation."""
    import polars as pl

    proposed = pl.col("proposition")
    return records.with_columns(topic=pl.when(proposed != "").then(proposed).otherwise("topic"))


def _headings(told: Mapping[str, str]) -> list[Topic]:
    return [
        Topic(proposition, "", heading or "Transcript", proposition, "balanced", "moderate", ())
        for proposition, heading in told.items()
    ]


def _starter() -> list[Transcript]:
    raise InputError([Problem("transcripts", "", "none come with Overton: name a table or a run")])


BINDING = Binding(
    study=JUDGING,
    read=transcripts_at,
    starter=_starter,
    check_options=_check,
    analyze_file=_analyze_file,
    analyze_runs=_analyze_runs,
    exhibits=_exhibits,
)
