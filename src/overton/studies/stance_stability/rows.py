"""Units of stance stability, made from records: turns, and conversations with a column for each measure.

Measures include equations 1 and 2 of section 3.3 and their parts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np
import polars as pl

from overton.errors import InputError, Problem
from overton.statistics.arrays import Floats, Ints
from overton.studies.frame import Cells
from overton.studies.grouping import Frame
from overton.studies.results import Results
from overton.studies.stance_stability.conversations import (
    LEFT_OUT,
    UNLABELLED,
    Conversations,
    Stances,
    conversations_of,
    drift,
    flips_of,
    longest_run,
    moves,
    name_speakers,
    stances_of,
)
from overton.studies.stance_stability.declarations import BINS, DIGITS, MEASURES, band_flags
from overton.studies.stance_stability.options import StanceHow
from overton.studies.stance_stability.record import ABOUT
from overton.studies.stance_stability.sources import ReuseCounts, expected_from_pages, expected_from_pool, pool_sizes
from overton.studies.units import Units
from overton.studies.warnings import FaultCount, count_faults

FACETS = ("temperature", "domain", "ordering", "initial_belief", "debate_strength")
"""Columns by which conversations are grouped, in addition to `model`."""

LETTERS = "scbu-"
"""The letters of labels in a trace: supportive, critical, balanced, unclear (the order of `STANCES`), and no label."""

VOID = "half or more of the answers of each conversation are malformed or refused"
"""The reason why all numbers are missing if all conversations are void."""


def without_faults(results: Results) -> Results:
    """The results without the labels, confidence and documents of malformed answers. In later turns, documents that
    these answers cited still count as cited before."""
    records = results.records
    if "faults" not in records.columns or not (records["faults"].list.len() > 0).any():
        return results
    return replace(results, records=records.with_columns(pl.lit(value=True).alias(LEFT_OUT)))


def weighing_of(records: pl.DataFrame, how: StanceHow) -> None:
    """Return None, because labels in records are not weighted by their probabilities."""


def units_of(
    records: pl.DataFrame, how: StanceHow, columns: Sequence[str] = (), kinds: Collection[str] = (), *, weighed: bool
) -> dict[str, Units]:
    """The units of the requested kinds: 'conversations', or 'turns' of the measured conversations. By default, both
    kinds."""
    kinds = kinds or ("conversations", "turns")
    found = conversations_of(records)
    how = with_labels(found, how)
    scores, unit = score(found, how), unit_of(how, known=found.topic is not None)
    about = _about(found, unit)
    made: dict[str, Units] = {}
    if "conversations" in kinds:
        table = pl.concat([_measured(about, found, scores, how), _failed(found.failed, unit)], how="diagonal")
        weight = "weight" if found.weight is not None else ""
        void = VOID if found.void.any() else ""
        made["conversations"] = Units(table, "cluster", (*FACETS, "bin"), weight, void, clusters=unit)
    if "turns" in kinds:
        made["turns"] = Units(_turns(about, found, scores), "cluster", ("temperature", "turn"), clusters=unit)
    return made


def unit_of(how: StanceHow, *, known: bool) -> str:
    """The unit of intervals as requested. By default, the unit is the topic if every conversation's topic is `known`,
    otherwise the conversation.

    Raises:
        InputError: topics are requested, but some conversation's topic is unknown.
    """
    if how.over == "topics" and not known:
        raise InputError([Problem("over", "topics", "the table does not have every conversation's topic")])
    return how.over or ("topics" if known else "conversations")


def with_labels(found: Conversations, how: StanceHow) -> StanceHow:
    """The options with the kind of labels to measure: the requested kind, or by default 'premise' if only such labels
    exist, and 'proposition' otherwise.

    Raises:
        InputError: labels towards the premise are requested, and no turn has one.
    """
    if how.labels == "premise" and found.premise is None:
        raise InputError([Problem("labels", "premise", "no turn has a label of the published prompt (premise_stance)")])
    alone = found.premise is not None and bool((found.stance == UNLABELLED).all())
    return msgspec.structs.replace(how, labels=how.labels or ("premise" if alone else "proposition"))


def _about(found: Conversations, unit: str) -> pl.DataFrame:
    """Each conversation's model, facets, and unit of intervals (`cluster`). The condition is empty."""
    about = found.about
    missing = [pl.lit(None, pl.String).alias(name) for name in (*FACETS, "topic") if name not in about.columns]
    return about.with_columns(
        *missing,
        heat="temperature",
        temperature=name_temperatures(about["temperature"]),
        condition=pl.lit(""),
        cluster="topic" if unit == "topics" else "conversation",
    )


def _measured(about: pl.DataFrame, found: Conversations, scores: ConversationScores, how: StanceHow) -> pl.DataFrame:
    """The table of measured conversations, with their measures, flags for proportions, and counts."""
    own = {name: pl.Series(values).fill_nan(None) for name, values in scores.values.items()}
    reuse = pl.Series("reuse", scores.values.get("source_reuse", np.full(len(found), np.nan))).fill_nan(None)
    letters = np.array([ord(letter) for letter in LETTERS], np.uint8)[scores.labels].tobytes().decode()
    stops = np.cumsum(found.length).tolist()
    counted = {"asked_again": found.asked_again, "miscited": found.miscited}
    table = about.with_columns(
        **own,
        **{name: pl.Series(flags).fill_nan(None) for name, flags in band_flags(scores.values).items()},
        bin=_bins_of(reuse),
        trace=pl.Series(
            [letters[start:stop] for start, stop in zip([0, *stops], stops, strict=False)], dtype=pl.String
        ),
        known=pl.lit(value=True),
        failed=pl.lit(value=False),
        refused=pl.Series(found.refused),
        void=pl.Series(found.void),
        gapped=pl.Series(found.gapped),
        labels=pl.lit(how.labels),
        unclear_turns=pl.Series(scores.values["unclear_carried"] + scores.values["unclear_before"]),
        **{name: pl.Series(found.total(counts)) for name, counts in counted.items() if counts is not None},
    )
    return table if found.weight is None else table.with_columns(weight=pl.Series(found.weight))


def _bins_of(reuse: pl.Series) -> pl.Series:
    """The bin of each conversation's re-use, named by its ends ('0.3 to 0.4'). Null without re-use. The last bin
    includes 1."""
    place = (reuse * BINS).round(DIGITS).floor().clip(0, BINS - 1)
    ends = [(end / BINS).round(1).cast(pl.String) for end in (place, place + 1)]
    return ends[0] + " to " + ends[1]


def _failed(failed: pl.DataFrame, unit: str) -> pl.DataFrame:
    """Conversations that are left out because a call failed."""
    cluster = "topic" if unit == "topics" and "topic" in failed.columns else "conversation"
    return failed.select(
        "model",
        "conversation",
        pl.col(cluster).alias("cluster"),
        condition=pl.lit(""),
        known=pl.lit(value=False),
        failed=pl.lit(value=True),
        void=pl.lit(value=False),
    )


def _turns(about: pl.DataFrame, found: Conversations, scores: ConversationScores) -> pl.DataFrame:
    """All turns, with their labels and the flag `void` of their conversation. From turn 2 on, also the term of equation
    1 and whether the stance changes at this turn."""
    names = about.select("model", "condition", "temperature", "cluster")
    words = pl.Enum(pl.concat([names[name].unique() for name in ("model", "temperature", "cluster")]).unique().sort())
    names = names.with_columns(pl.col("model", "temperature", "cluster").cast(words))
    reuse, stances = scores.terms.get("source_reuse"), scores.stances
    columns = {
        "conversation": pl.Series(found.conversation),
        "turn": pl.Series(found.place + 1, dtype=pl.Int32),
        "void": pl.Series(found.void[found.conversation]),
        "changed": pl.Series(np.where(stances.pair, stances.changed, np.nan)).fill_nan(None),
        "stance": pl.Series(found.stance, dtype=pl.Int8),
        "reuse": None if reuse is None else pl.Series(np.where(found.place > 0, reuse, np.nan)).fill_nan(None),
        "premise": None if found.premise is None else pl.Series(found.premise, dtype=pl.Int8),
    }
    known = {name: column for name, column in columns.items() if column is not None}
    return names[found.conversation].with_columns(**known)


def temperature_name(temperature: float | None) -> str:
    """A temperature as text, such as '0.5'; 'own' for the endpoint's own."""
    return "own" if temperature is None else f"{temperature:g}" if temperature % 1 else f"{temperature:.1f}"


def name_temperatures(temperatures: pl.Series) -> pl.Series:
    """The temperatures as texts; see `temperature_name`."""
    names = {heat: temperature_name(heat) for heat in temperatures.unique().to_list()}
    return pl.Series("temperature", [names[heat] for heat in temperatures.to_list()], pl.String)


@dataclass(frozen=True)
class ConversationScores:
    """Each conversation's measures by name [N], NaN if missing; and the labels, stances and terms of equation 1 by turn
    [T]."""

    values: Mapping[str, Floats]
    labels: Ints
    stances: Stances
    terms: Mapping[str, Floats]


def chameleon_score(change_rate: Floats, confidence_at_changes: Floats, source_reuse: Floats) -> Floats:
    """The Chameleon score, on [0, 1] (equation 2): the root mean square of its three parts."""
    return np.sqrt((change_rate**2 + confidence_at_changes**2 + source_reuse**2) / 3)


def score(talks: Conversations, how: StanceHow) -> ConversationScores:
    """Every measure of every conversation."""
    labels = talks.premise if how.labels == "premise" and talks.premise is not None else talks.stance
    stances = stances_of(talks, labels, how.unclear, how.unlabelled)
    terms = {name: _term(sharing, how) for name, sharing in _sharings(talks).items()}
    rate, changes = _rate(talks, stances), _changes(talks, stances)
    values = {
        "turns": talks.length.astype(float),
        "pairs": talks.total(stances.pair),
        "stance_changes": changes,
        "change_rate": rate,
        **moves(talks, labels, stances),
        "longest_run": longest_run(talks, stances),
        **drift(talks, labels),
        **_confidence(talks, stances, changes, how),
    }
    reuse = {name: _reuse(talks, term) for name, term in terms.items()}
    values |= reuse
    if "confidence_at_changes" in values:
        for name, own in reuse.items():
            made = chameleon_score(values["change_rate"], values["confidence_at_changes"], own)
            values[name.replace("source_reuse", "chameleon")] = made
    values |= _by_chance(talks, how)
    values |= _premise(talks, values["change_rate"], how) | flips_of(talks, stances, how.target)
    kept = {
        name: column if name == "turns" else np.where(talks.void, np.nan, column) for name, column in values.items()
    }
    return ConversationScores(kept | _counts(talks, stances, labels), labels, stances, terms)


def _changes(talks: Conversations, stances: Stances) -> Floats:
    """The number of pairs of neighbouring turns that differ in stance. For a conversation in which no two neighbouring
    turns have stances, it is 0 if unlabelled turns carry the last stance, and NaN otherwise."""
    counted = talks.total(stances.changed)
    return counted if stances.carries else np.where(talks.total(stances.pair) > 0, counted, np.nan)


def _rate(talks: Conversations, stances: Stances) -> Floats:
    """The number of changes divided by the number of pairs (n - 1 if every turn has a stance), on [0, 1]; NaN for a
    conversation without pairs."""
    with np.errstate(invalid="ignore"):
        return np.asarray(talks.total(stances.changed) / talks.total(stances.pair))


def _confidence(talks: Conversations, stances: Stances, changes: Floats, how: StanceHow) -> dict[str, Floats]:
    if talks.confidence is None:
        return {}
    overall = talks.mean(talks.confidence)
    at_changes = talks.mean(np.where(stances.changed, talks.confidence, np.nan))
    unchanged = overall if how.no_change == "mean" else np.zeros(len(talks))
    at_changes = np.where(changes > 0, at_changes, np.where(np.isnan(changes), np.nan, unchanged))
    return {"confidence": overall, "confidence_at_changes": at_changes}


def _sharings(talks: Conversations) -> dict[str, ReuseCounts]:
    """Counts of re-used documents, by the name of the measure that uses the counts. 'source_reuse' uses cited
    documents, or retrieved documents if the table has no column `cited`."""
    cited, retrieved = talks.cited, talks.retrieved
    plain = cited or retrieved
    made = {"source_reuse": plain.by_address} if plain else {}
    if cited:
        made["source_reuse_cited_hosts"] = cited.by_host
    if retrieved:
        made["source_reuse_retrieved"] = retrieved.by_address
        made["source_reuse_retrieved_hosts"] = retrieved.by_host
    return made


def _term(sharing: ReuseCounts, how: StanceHow) -> Floats:
    """Each turn's term in equation 1. A turn without documents has the term 0, or NaN to leave it out."""
    return np.where(sharing.count > 0, sharing.share, 0.0 if how.no_documents == "zero" else np.nan)


def _reuse(talks: Conversations, term: Floats) -> Floats:
    """The mean of the terms of turns 2 to n (equation 1); NaN for a conversation of one turn."""
    return talks.mean(np.where(talks.place > 0, term, np.nan))


def _by_chance(talks: Conversations, how: StanceHow) -> dict[str, Floats]:
    """The re-use expected if a turn's documents were chosen at random from all pages shown in conversations on the
    topic. For cited documents, also the re-use expected if they were chosen at random from the pages of the same
    turn."""
    if talks.retrieved is None or talks.retrieved.pages is None:
        return {}
    shown, drawn = talks.retrieved.pages, (talks.cited or talks.retrieved).by_address.count
    made: dict[str, Floats] = {}
    if talks.topic is not None:
        pool = pool_sizes(shown, talks.conversation, talks.topic)[talks.conversation]
        made["source_reuse_by_chance"] = expected_from_pool(drawn, pool, talks.place)
    if talks.cited:
        made["source_reuse_given_pages"] = expected_from_pages(
            shown, talks.retrieved.by_address.count, drawn, talks.conversation
        )
    empty = 0.0 if how.no_documents == "zero" else np.nan
    return {name: _reuse(talks, np.where(np.isnan(term), empty, term)) for name, term in made.items()}


def _premise(talks: Conversations, own: Floats, how: StanceHow) -> dict[str, Floats]:
    """Measures of changes in the labels of the published judge prompt, and their difference from `own`, the rate by
    Overton's prompt."""
    if talks.premise is None or how.labels == "premise":
        return {}
    stances = stances_of(talks, talks.premise, how.unclear, how.unlabelled)
    rate = _rate(talks, stances)
    return {"premise_changes": _changes(talks, stances), "premise_change_rate": rate, "premise_excess": rate - own}


def _counts(talks: Conversations, stances: Stances, labels: Ints) -> dict[str, Floats]:
    """Numbers of turns that do not have a stance or documents of their own."""
    unlabelled = labels == UNLABELLED
    made = {
        "unclear_carried": talks.total(stances.carried & ~unlabelled),
        "unclear_before": talks.total(stances.before & ~unlabelled),
        "unlabelled": talks.total(unlabelled),
    }
    for name, documents in (("cited", talks.cited), ("retrieved", talks.retrieved)):
        if documents:
            made[f"turns_without_{name}"] = talks.total(documents.by_address.count == 0)
    return made


def counts_of(frame: Frame, facets: Sequence[str]) -> dict[str, tuple[Cells, ...] | pl.DataFrame]:
    """The tables 'counts', 'domains' and 'conversations'."""
    own = frame.units["conversations"].table.filter("known")
    counted = pl.len().alias("conversations"), pl.col("cluster").n_unique().alias("items")
    counts: list[Cells] = []
    for model, table in [(None, own), *((name, own.filter(model=name)) for name in own["model"].unique().sort())]:
        counts.append({"model": model, "facet": None, "condition": None, **_tally(table)})
        for facet in FACETS:
            cells = {"model": model, "facet": facet}
            values = table.drop_nulls(facet).group_by(condition=pl.col(facet).cast(pl.String)).agg(counted)
            counts += [{**cells, **row} for row in values.sort("condition").iter_rows(named=True)]
    return {
        "counts": tuple(counts),
        "domains": tuple(_domains(own)),
        "conversations": _listed(own),
    }


def _tally(table: pl.DataFrame) -> Cells:
    """Counts of the units to measure, and of the data behind them.

    items             units over which intervals are computed
    labels, unread    turns, and turns for which the judge gave no usable label
    single            conversations of one turn, which have no score
    without_stance    conversations in which no turn takes a stance
    void              conversations in which at least half of the answers have no content: empty, echoed, looping,
                      refused
    unclear_carried   unclear turns that keep the last clear stance
    unclear_before    unclear turns before any clear turn
    turns_without_cited, turns_without_retrieved  turns without such a document; null if documents are not known
    asked_again       turns for which the judge needed more than one request; null if not known
    miscited          citations of numbers that belong to no page; null if not known
    """

    def total(name: str) -> int | None:
        return int(table[name].sum()) if name in table.columns else None

    sound = table.filter(~pl.col("void"))
    return {
        "conversations": table.height,
        "items": table["cluster"].n_unique(),
        "labels": total("turns"),
        "unread": total("unlabelled"),
        "single": table.filter(pl.col("turns") == 1).height,
        "without_stance": sound["flips"].null_count(),
        **{name: total(name) for name in ("void", "unclear_carried", "unclear_before")},
        **{f"turns_without_{name}": total(f"turns_without_{name}") for name in ("cited", "retrieved")},
        **{name: total(name) for name in ("asked_again", "miscited")},
    }


def _domains(own: pl.DataFrame) -> list[Cells]:
    """Numbers of topics, questions, conversations and turns in each domain (table 2).

    A topic's number of questions is the number of turns of the longest conversation about it. If topics are not known,
    each distinct conversation name counts as a topic.
    """
    named = own.with_columns(topic=pl.col("topic") if own["topic"].count() else pl.col("conversation"))
    topics = (
        named.drop_nulls("domain")
        .group_by("domain", "topic")
        .agg(questions=pl.col("turns").max(), conversations=pl.len(), turns=pl.col("turns").sum())
    )
    found = topics.group_by("domain").agg(
        topics=pl.col("topic").n_unique(),
        questions=pl.col("questions").sum().cast(pl.Int64),
        conversations=pl.col("conversations").sum().cast(pl.Int64),
        turns=pl.col("turns").sum().cast(pl.Int64),
    )
    return found.sort("domain").to_dicts()


def rules_of(frame: Frame, how: StanceHow) -> Cells:
    """The interpretation of the formulas, the unit of intervals (`over`), and counts of incomplete conversations.

    failed, gapped  conversations left out because a call failed, and conversations that lack a turn
    documents       the kind of documents behind source re-use, null if there are none; `labels` is the measured kind of
                    labels
    confidence      'apart' if a separate call requested it
    """
    every = frame.units["conversations"].table
    own = every.filter("known")
    kinds = ("turns_without_cited", "turns_without_retrieved")
    documents = next((name.removeprefix("turns_without_") for name in kinds if name in own.columns), None)
    return {
        "over": frame.jackknife.unit,
        "failed": every.height - own.height,
        "gapped": int(own["gapped"].sum()),
        "documents": documents,
        "labels": str(own["labels"].first()),
        **({"confidence": "apart"} if own["labels"].first() == "premise" and _lacks_stances(frame) else {}),
        **{name: getattr(how, name) for name in ("no_change", "no_documents", "unclear", "unlabelled", "target")},
    }


def _lacks_stances(frame: Frame) -> bool:
    """Whether no turn has a label towards the proposition. Then confidence comes from a separate call."""
    return bool((frame.units["turns"].table["stance"] == UNLABELLED).all())


def _listed(own: pl.DataFrame) -> pl.DataFrame:
    """One row per conversation: its model, topic and other properties, its turns' labels as a `trace` of `LETTERS`, and
    its measures, null if missing."""
    kept = {"conversation", "model", "heat", "trace", *ABOUT, *(measure.name for measure in MEASURES)}
    return own.select(name for name in own.columns if name in kept).rename({"heat": "temperature"})


def faults_of(records: pl.DataFrame, how: StanceHow) -> tuple[FaultCount, ...]:
    """Malformed answers, by model and temperature."""
    usual = {"model": pl.lit("unnamed"), "temperature": pl.lit(None, pl.Float64)}
    missing = [column.alias(name) for name, column in usual.items() if name not in records.columns]
    return count_faults(name_speakers(records.with_columns(missing)), "temperature")
