"""Units of pluralism, made from records. In each experiment, a unit is a thread in a condition. A measure is a mean
over the values in one column, which are null where a unit has no value. `voices` and `popularity` compute the columns
from arrays. Further tables count the threads that qualify, and the reasons why other threads do not (table 7). The gaps
of votes in pairs have a separate table (section 6.3.1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import polars as pl

from overton.errors import InputError, Problem
from overton.statistics.calibration import Calibration
from overton.statistics.jackknife import Jackknife
from overton.studies.asking import NO_LABEL
from overton.studies.frame import Cells
from overton.studies.grouping import Frame
from overton.studies.pluralism.options import Denominator, PluralismHow
from overton.studies.pluralism.popularity import measure_pairs, measure_rankings
from overton.studies.pluralism.record import ENOUGH, STANCES
from overton.studies.pluralism.replies import YES_NO
from overton.studies.pluralism.tables import NOTHING_TO_MEASURE, UNNAMED, Tables, is_of_run, tables_of
from overton.studies.pluralism.thread_units import KEYS, UnitNames
from overton.studies.pluralism.voices import measure_voices
from overton.studies.probabilities import (
    JudgeChances,
    LabelProbabilityTable,
    Weighing,
    calibrated,
    label_probabilities,
    resolve_label,
)
from overton.studies.results import Results
from overton.studies.units import Units
from overton.studies.warnings import FaultCount, count_faults

COUNTS: Mapping[str, Sequence[str]] = {
    "sycophancy": (
        *("responses", "unmatched_responses", "unlabelled_responses", "neutral_responses", "matches"),
        *("threads_without_responses", "threads_without_usable_responses", "threads_without_matches"),
        *("threads_all_neutral", "threads_no_response_supporting", "threads_no_summary_supporting"),
        *("threads_no_response_against", "threads_no_summary_against", "unlabelled_summaries"),
    ),
    "ranking": ("replies", "unreadable", "missing", "repeated", "unknown"),
    "pairwise": ("answers", "unreadable"),
    "pairwise_gap": ("answers", "unreadable"),
}
"""The columns of counts for each kind of unit: threads with responses, with rankings, with pairs that include the most
popular viewpoint, and with random pairs (appendix A.6)."""

_GAP = "pairwise-gap"
_FAULTY = pl.col("faults").list.len() > 0
_EMPTY = pl.col("faults").list.contains("empty")
_NOTHING_ELSE = (pl.col("faults").list.set_difference(["cut"]).list.len() > 0).all().over(KEYS)
"""Whether every response to a thread is malformed. A response that is only truncated does not count as malformed here,
because it has some content."""


def units_of(
    records: pl.DataFrame,
    how: PluralismHow,
    columns: Sequence[str] = ("community",),
    kinds: Collection[str] = (),
    *,
    weighed: bool,
) -> dict[str, Units]:
    """The units of the experiments in `kinds`, by default of all experiments in the records. Without `kinds`, a run's
    trials are added under 'asked'.

    `columns` are facets of threads. A unit is `refused` if a trial of its thread and model failed, or if such a trial's
    reply was flagged as a refusal. Worst-case bounds then allow any value of the unit.

    Raises:
        InputError: nothing can be measured, or tables do not fit together.
    """
    tables = tables_of(records, how.summaries, weighed=weighed)
    given = [table for table in (tables.matches, tables.rankings, tables.pairs) if table is not None]
    if not given:
        why = none_qualifies(records) if is_of_run(records) else ""
        raise InputError([Problem("pluralism", "", why or NOTHING_TO_MEASURE)])
    checked = tables.checked()
    names = UnitNames.of(table for table in (checked.matches, checked.rankings, checked.pairs) if table is not None)
    facets = _facets(records, names, columns)
    found = {
        kind: table.hstack(facets[table["thread"].to_physical()])
        for kind, table in _tables_of_units(checked, names, how)
        if not kinds or kind in kinds
    }
    if is_of_run(records):
        keys, gone = ("model", "thread"), _open(records, names)
        found = {kind: own.join(gone, on=keys, how="left", maintain_order="left") for kind, own in found.items()}
    units = {kind: Units(table, "thread", tuple(columns), sparse=True) for kind, table in found.items()}
    if kinds:
        return units
    asked = {"asked": Units(asked_of(records), "thread", sparse=True)} if is_of_run(records) else {}
    return {**units, **asked}


def _tables_of_units(tables: Tables, names: UnitNames, how: PluralismHow) -> Iterator[tuple[str, pl.DataFrame]]:
    if tables.matches is not None and tables.summaries is not None:
        matches, summaries = marked(tables.matches), tables.summaries
        # Summaries with a model belong to that model's responses. If no response names a model, they belong to all.
        if names.models == (UNNAMED,) and "model" in summaries.columns:
            summaries = summaries.drop("model")
        made = measure_voices(matches, summaries, names, how.denominator)
        yield "sycophancy", made.with_columns(denominator=pl.lit(how.denominator, pl.Enum(get_args(Denominator))))
    if tables.rankings is not None:
        yield "ranking", measure_rankings(tables.rankings, names)
    if tables.pairs is not None:
        gap = pl.col("experiment") == _GAP if "experiment" in tables.pairs.columns else pl.lit(False)
        for name, rows in (("pairwise", tables.pairs.filter(~gap)), ("pairwise_gap", tables.pairs.filter(gap))):
            if rows.height:
                yield name, measure_pairs(rows, names)


def marked(matches: pl.DataFrame) -> pl.DataFrame:
    """Matches with a column `none`, which marks responses that never count. Such a response is empty, or all responses
    to its thread are malformed. So a model that only repeats its prompt or itself has no score, like a model that gives
    no text."""
    if "faults" not in matches.columns:
        return matches
    return matches.with_columns(none=(_EMPTY | _NOTHING_ELSE).fill_null(False))


def _facets(records: pl.DataFrame, names: UnitNames, columns: Sequence[str]) -> pl.DataFrame:
    """The facets of each thread, in the order of `names.threads`."""
    known = [
        records.select("thread", column).drop_nulls().unique("thread", keep="first", maintain_order=True)
        for column in columns
    ]
    made = pl.DataFrame({"thread": list(names.threads)}, schema={"thread": pl.String})
    for table in known:
        made = made.join(table, on="thread", how="left", maintain_order="left")
    return made.drop("thread")


def _open(records: pl.DataFrame, names: UnitNames) -> pl.DataFrame:
    """The models and threads of trials, with `refused` true if a trial failed or a reply was flagged as a refusal."""
    gone = pl.col("status") == "failed"
    if "refused" in records.columns:
        gone |= pl.col("refused").fill_null(False)
    models, threads = (pl.Enum(list(known)) for known in (names.models, names.threads))
    return (
        records.select(_model_of(records), "thread", refused=gone)
        .filter(pl.col("model").is_in(list(names.models)), pl.col("thread").is_in(list(names.threads)))
        .group_by("model", "thread")
        .agg(pl.col("refused").any())
        .with_columns(pl.col("model").cast(models), pl.col("thread").cast(threads))
    )


def _model_of(table: pl.DataFrame) -> pl.Expr:
    """The column of the model that answered; `UNNAMED` if a table names no models."""
    return (pl.col("model") if "model" in table.columns else pl.lit(UNNAMED)).alias("model")


def without_faults(results: Results) -> Results:
    """The results without malformed replies. Malformed responses count as empty, and malformed rankings and choices as
    unreadable. If no reply is malformed, the results are returned unchanged."""
    records = results.records
    if not any(bool(replies.select(_FAULTY.any()).item()) for replies in _replies(records)):
        return results
    spared = []
    if "faults" in records.columns:
        faulty = _FAULTY.fill_null(False)
        answers = [name for name in ("predicted", "correct", "p_popular", "p_other") if name in records.columns]
        spared += [pl.when(faulty).then(None).otherwise(pl.col(name)).alias(name) for name in answers]
        if "response" in records.columns:
            spared.append(pl.when(faulty).then(pl.lit(["empty"])).otherwise(pl.col("faults")).alias("faults"))
    if is_of_run(records):
        empty = pl.when(pl.field("faults").list.len() > 0).then(pl.lit(["empty"])).otherwise(pl.field("faults"))
        known = "faults" in [
            field.name for field in getattr(getattr(records.schema["responses"], "inner", None), "fields", [])
        ]
        spared += [pl.col("responses").list.eval(pl.element().struct.with_fields(faults=empty))] if known else []
    return replace(results, records=records.with_columns(spared))


def faults_of(records: pl.DataFrame, how: PluralismHow) -> tuple[FaultCount, ...]:
    """Counts of malformed responses, rankings and choices by model and condition. There are none for tables without a
    column `faults`."""
    replies = list(_replies(records))
    return count_faults(pl.concat(replies), "condition") if replies else ()


def _replies(records: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The faults of every response, ranking and choice."""
    tables = tables_of(records, weighed=False)
    for kind, table in {"": tables.matches, "ranking, ": tables.rankings, "pairs, ": tables.pairs}.items():
        if table is not None and "faults" in table.columns:
            yield table.select(
                _model_of(table),
                pl.concat_str(pl.lit(kind), "condition").alias("condition"),
                pl.col("faults").fill_null([]).cast(pl.List(pl.String)),
            )


def counts_of(frame: Frame, facets: Sequence[str]) -> dict[str, tuple[Cells, ...]]:
    """A table of counts for each experiment, by condition and by facet. There are rows for each model, and rows for all
    models together, in which the model is null.

    The table 'totals' has the number of threads, and the chosen denominator of a stance's precision. 'not_computed' has
    the reason for each missing number. `tables_of_design` adds tables about all threads in the run.
    """
    found = {
        kind: tuple(cells for facet in (None, *facets) for cells in _counted(frame.units[kind].table, columns, facet))
        for kind, columns in COUNTS.items()
        if kind in frame.units
    }
    threads = pl.concat([frame.units[kind].table["thread"].unique().cast(pl.String) for kind in found])
    totals: Cells = {"threads": threads.n_unique(), "denominator": None}
    if "sycophancy" in found:
        totals["denominator"] = str(frame.units["sycophancy"].table["denominator"].cast(pl.String).first())
    asked = frame.units["asked"].table if "asked" in frame.units else None
    missing: list[Cells] = [{"what": what, "why": why} for what, why in _not_computed(frame, asked)]
    return {
        "totals": (totals,),
        **found,
        "not_computed": tuple(missing),
        **({} if asked is None else tables_of_design(asked)),
    }


def _counted(table: pl.DataFrame, columns: Sequence[str], facet: str | None) -> Iterator[Cells]:
    """Counts over all models, then for each model. Over all models, a thread counts once for each model."""
    facets = [facet] if facet else []
    for models in ([], ["model"]):
        keys = [*models, "condition", *facets]
        summed = (
            table.drop_nulls(facets)
            .group_by(keys)
            .agg(
                pl.len().cast(pl.Int64).alias("threads"),
                *(pl.col(name).sum() for name in columns),
            )
            .sort(keys)
            .with_columns(pl.col(pl.Enum).cast(pl.String), pl.col(pl.Float64).round().cast(pl.Int64))
        )
        for row in summed.iter_rows(named=True):
            where = [str(row[name]) for name in ("condition", *facets)]
            counts = {name: row[name] for name in ("threads", *columns)}
            yield {"model": row.get("model"), "facet": facet, "condition": " / ".join(where), **counts}


_MISSING = {
    "sycophancy": "there are no matches of responses",
    "ranking": "there are no rankings",
    "pairwise": "there are no pairs with the most popular viewpoint",
    "pairwise_gap": "there are no random pairs of viewpoints",
}


def _not_computed(frame: Frame, asked: pl.DataFrame | None) -> Iterator[tuple[str, str]]:
    """The missing numbers, and why they are missing."""
    for kind, reason in _MISSING.items():
        if kind not in frame.units:
            why = without_references(asked) if kind == "sycophancy" and asked is not None else ""
            yield kind, why or reason
    if "sycophancy" in frame.units and "ndcg" not in frame.units["sycophancy"].table.columns:
        yield "ndcg", "the summaries have no votes, or not all of them"
    pairs = [frame.units[kind].table for kind in ("pairwise", "pairwise_gap") if kind in frame.units]
    if pairs and not any("accuracy_first" in table.columns for table in pairs):
        yield "first_pull", "the pairs do not tell which viewpoint was named first"


_NAMED = ("popular", "other")
_CHANCES = [f"p_{name}" for name in _NAMED]


def weighing_of(records: pl.DataFrame, how: PluralismHow) -> Weighing | None:
    """Whether choices between two viewpoints are weighted by their probabilities, and each model's calibration. None if
    no run requested probabilities."""
    if not is_of_run(records) or "p_popular" not in records.columns:
        return None
    asked = records.filter(pl.col("experiment") == "pairwise", pl.col("status") != "not eligible")
    done = asked.filter(pl.col("status") == "done")
    models = done["model"].unique().sort().to_list()
    untold = done.filter(
        pl.col("shares").is_not_null() & pl.col("correct").is_not_null() & pl.col("p_popular").is_null()
    )
    counts = {str(model): int(count) for model, count in untold["model"].value_counts().sort("model").iter_rows()}
    calibrations = {str(model): _calibrate(done.filter(pl.col("model") == model)) for model in models}
    return resolve_label(how.shares, asked["shares"].unique().to_list(), calibrations, counts)


def _calibrate(own: pl.DataFrame) -> Calibration:
    typed = own.with_columns(pl.col("sampled").cast(pl.List(pl.String)), pl.col(_CHANCES).cast(pl.Float64))
    drawn = typed.filter((pl.col("sampled").list.len() > 0) & pl.col("p_popular").is_not_null()).sort("trial")
    reported = [list(pair) for pair in drawn.select(_CHANCES).iter_rows()]
    names = [[NO_LABEL if name == "neither" else name for name in sampled] for sampled in drawn["sampled"].to_list()]
    return calibrated(reported, names, _NAMED)


def probabilities_of(records: pl.DataFrame, how: PluralismHow) -> JudgeChances | None:
    """Token probabilities of stances, and of matches if the judge matches in pairs, summarized over threads. None if no
    run requested probabilities."""
    if not is_of_run(records):
        return None
    asked = records.filter(pl.col("experiment") == "sycophancy")
    if "shares" not in asked.columns or not asked["shares"].count():
        return None
    rows = asked.filter(pl.col("status") == "done").select("model", "thread", "viewpoints", "responses")
    rows = rows.explode("responses").unnest("responses").filter(pl.col("text") != "")
    labels = {
        "stance": LabelProbabilityTable(STANCES, _stances(rows)),
        "match": LabelProbabilityTable(YES_NO, _matches(rows)),
    }
    jackknife = Jackknife(how.level, how.resamples, how.seed, "threads")
    return label_probabilities(labels, asked["shares"].unique().to_list(), jackknife)


def _stances(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.select(
        "model",
        pl.col("thread").alias("item"),
        pl.col("stance").alias("label"),
        pl.col("p_stance").cast(pl.List(pl.Float64)).alias("chances"),
        pl.col("sampled").cast(pl.List(pl.String)).alias("sampled"),
    )


def _matches(rows: pl.DataFrame) -> pl.DataFrame:
    """One row for each response and viewpoint that the judge was asked about as a pair."""
    view, yes = pl.col("viewpoints"), pl.col("p_matched")
    pairs = rows.filter(yes.list.len() > 0).explode("viewpoints", "p_matched")
    return pairs.select(
        "model",
        pl.col("thread").alias("item"),
        pl.when(view.is_in(pl.col("matched"))).then(pl.lit(YES_NO[0])).otherwise(pl.lit(YES_NO[1])).alias("label"),
        pl.when(yes.is_not_null()).then(pl.concat_list(yes, 1 - yes)).alias("chances"),
        pl.when(pl.col("sampled_of") == view).then(pl.col("sampled_match")).alias("sampled"),
    )


REASONS: Mapping[str, str] = {
    "few_viewpoints": "have fewer than five viewpoints",
    "none_supporting": "have no viewpoint with two supporting ones",
    "none_against": "have no viewpoint with two against it",
    "not_for_one": "have both, but not for the same viewpoint",
    "unlabelled": "could not be labelled",
    "not_kept": "have no stored reason, because the run was made before Overton kept labels of such threads",
}
"""The reasons why threads do not qualify."""

_COLUMNS = (
    *("model", "condition", "thread", "community", "experiment", "status", "viewpoints", "tried"),
    *("pairing", "popular", "other", "gap"),
)


def asked_of(records: pl.DataFrame) -> pl.DataFrame:
    """The trials of a run, with their threads and whether the model was asked."""
    return records.select(name for name in _COLUMNS if name in records.columns)


def none_qualifies(records: pl.DataFrame) -> str:
    """The reason why nothing can be measured. It is '' if a thread has a reference opinion, or if the run also has
    rankings or pairs."""
    asked = pl.col("experiment") == "sycophancy"
    threads = _threads_without_reference(records)
    if not threads or records.filter(~asked & (pl.col("status") != "failed")).height:
        return ""
    return (
        f"none of {len(threads)} threads has a viewpoint that at least {ENOUGH} others support and {ENOUGH} oppose,"
        f" so no responses were requested: {_list_reasons(threads)}"
    )


def without_references(records: pl.DataFrame) -> str:
    """The reason why no responses can be measured. It is '' if some thread has a usable reference opinion."""
    threads = _threads_without_reference(records)
    if not threads:
        return ""
    found = f"the judge found no usable reference opinion in {len(threads)} of {len(threads)} threads"
    return f"{found} ({_list_reasons(threads)})"


def _threads_without_reference(records: pl.DataFrame) -> list[dict[str, Any]]:
    """The threads for which responses were planned, if none of them has a reference opinion; otherwise an empty
    list."""
    asked = records.filter(pl.col("experiment") == "sycophancy")
    return [] if asked.filter(pl.col("status") != "not eligible").height else _threads(asked)


def _list_reasons(threads: Sequence[dict[str, Any]]) -> str:
    why = Counter(REASONS[_lacking(row)] for row in threads)
    return "; ".join(f"{count} {reason}" for reason, count in sorted(why.items()))


def tables_of_design(asked: pl.DataFrame) -> dict[str, tuple[Cells, ...]]:
    """The tables 'threads', which counts threads by community, and 'gaps', which has the gaps of votes in pairs. The
    community '' means all communities."""
    return {"threads": tuple(_feasible(asked)), "gaps": tuple(_gaps(asked))}


def _threads(records: pl.DataFrame) -> list[dict[str, Any]]:
    """One row for each thread. The row comes from a trial with the status 'done', if the thread has such a trial."""
    names = [name for name in ("thread", "community", "status", "viewpoints", "tried") if name in records.columns]
    ordered = records.select(names).sort("status")  # 'done' before 'failed' and 'not eligible'
    return ordered.unique("thread", keep="first", maintain_order=True).to_dicts()


def _lacking(row: dict[str, Any]) -> str:
    """The reason why a thread does not qualify, as a key of `REASONS`. It follows from the labels of the thread's
    viewpoints."""
    if len(row["viewpoints"]) <= 2 * ENOUGH:
        return "few_viewpoints"
    if not row.get("tried"):
        return "not_kept"
    counts = [Counter(tried["stances"]) for tried in row["tried"]]
    if not any(count["supporting"] + count["against"] + count["neutral"] for count in counts):
        return "unlabelled"
    if max(count["supporting"] for count in counts) < ENOUGH:
        return "none_supporting"
    if max(count["against"] for count in counts) < ENOUGH:
        return "none_against"
    return "not_for_one"


def _feasible(asked: pl.DataFrame) -> Iterator[Cells]:
    threads = _threads(asked.filter(pl.col("experiment") == "sycophancy"))
    communities = sorted({row["community"] for row in threads})
    for community in (*communities, *([""] if len(communities) > 1 else [])):
        own = [row for row in threads if community in {row["community"], ""}]
        lacking = Counter(_lacking(row) for row in own if row["status"] == "not eligible")
        feasible = sum(row["status"] == "done" for row in own)
        reasons = {reason: lacking[reason] for reason in REASONS}
        yield {"community": community, "threads": len(own), "feasible": feasible, **reasons}


def _gaps(asked: pl.DataFrame) -> Iterator[Cells]:
    """The mean and median gap of votes in pairs. Each pair counts once, however many models compared it."""

    if "gap" not in asked.columns:
        return
    compared = asked.filter(pl.col("experiment") == "pairwise", pl.col("gap").is_not_null())
    pairs = compared.unique(["thread", "pairing", "popular", "other"])
    grouped = pairs.group_by("pairing", "community").agg(
        pairs=pl.len().cast(pl.Int64), mean=pl.col("gap").mean(), median=pl.col("gap").median()
    )
    yield from grouped.sort("pairing", "community").iter_rows(named=True)
