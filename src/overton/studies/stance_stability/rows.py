"""Records of stance stability made into units: conversations with a column for each measure, and turns.

A conversation's measures are equations 1 and 2 and their parts (section 3.3).
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
"""What conversations are grouped by, besides models."""

LETTERS = "scbu-"
"""A turn's label in a trace: supportive, critical, balanced, unclear (the order of `STANCES`), or none."""

VOID = "half or more of the answers of each conversation say nothing"
"""Why there is no number of anything if all conversations are void."""


def without_faults(results: Results) -> Results:
    """The view in which answers with a fault of form have no label, no confidence and no documents of their own; what
    they cited still counts as cited before."""
    records = results.records
    if "faults" not in records.columns or not (records["faults"].list.len() > 0).any():
        return results
    return replace(results, records=records.with_columns(pl.lit(value=True).alias(LEFT_OUT)))


def weighing_of(records: pl.DataFrame, how: StanceHow) -> None:
    """Nothing: labels count as written."""


def units_of(
    records: pl.DataFrame, how: StanceHow, columns: Sequence[str] = (), kinds: Collection[str] = (), *, weighed: bool
) -> dict[str, Units]:
    """The units of some kinds, by default all: 'conversations', and the 'turns' of those that are measured."""
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
    """What intervals are over: as requested, otherwise topics if every conversation's is `known`.

    Raises:
        InputError: topics are requested, and not every conversation's is known.
    """
    if how.over == "topics" and not known:
        raise InputError([Problem("over", "topics", "the table does not have every conversation's topic")])
    return how.over or ("topics" if known else "conversations")


def with_labels(found: Conversations, how: StanceHow) -> StanceHow:
    """The same choices with the kind of labels to measure: that requested, otherwise the premise's only if there are no
    others.

    Raises:
        InputError: labels towards the premise are requested, and no turn has one.
    """
    if how.labels == "premise" and found.premise is None:
        raise InputError([Problem("labels", "premise", "no turn has a label of the published prompt (premise_stance)")])
    alone = found.premise is not None and bool((found.stance == UNLABELLED).all())
    return msgspec.structs.replace(how, labels=how.labels or ("premise" if alone else "proposition"))


def _about(found: Conversations, unit: str) -> pl.DataFrame:
    """Each conversation's model, facets, and what intervals are over; they have no conditions."""
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
    """The conversations that are measured: their values, shares' flags, and what is counted."""
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
    """The bin of each conversation's re-use by its ends ('0.3 to 0.4'), null without any; the last includes 1."""
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
    """The turns of conversations that are not void, with their labels; from turn 2 on, the term of equation 1 and
    whether the stance changes there."""
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
    """The same temperatures as texts."""
    names = {heat: temperature_name(heat) for heat in temperatures.unique().to_list()}
    return pl.Series("temperature", [names[heat] for heat in temperatures.to_list()], pl.String)


@dataclass(frozen=True)
class ConversationScores:
    """Each conversation's measures by name [N], NaN if it has none; and their parts, by turn [T]."""

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
    """How many pairs of neighbouring turns differ in stance; NaN for a conversation without any pair, unless all turns
    were to carry a stance: it is then without change."""
    counted = talks.total(stances.changed)
    return counted if stances.carries else np.where(talks.total(stances.pair) > 0, counted, np.nan)


def _rate(talks: Conversations, stances: Stances) -> Floats:
    """Changes over pairs (n - 1 if every turn has a stance), on [0, 1]; NaN for a conversation without pairs."""
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
    """By the name of the measure. The plain one is over cited documents, or retrieved ones if none are cited."""
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
    """Each turn's term in equation 1; a turn without documents re-uses none, or is left out."""
    return np.where(sharing.count > 0, sharing.share, 0.0 if how.no_documents == "zero" else np.nan)


def _reuse(talks: Conversations, term: Floats) -> Floats:
    """The mean of the terms of turns 2 to n (equation 1); NaN for a conversation of one turn."""
    return talks.mean(np.where(talks.place > 0, term, np.nan))


def _by_chance(talks: Conversations, how: StanceHow) -> dict[str, Floats]:
    """What re-use would be if documents were drawn at random: from all pages shown in conversations on the topic, and,
    for cited documents, from the turn's own pages."""
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
    """Changes of the label by the published judge prompt, beside our own."""
    if talks.premise is None or how.labels == "premise":
        return {}
    stances = stances_of(talks, talks.premise, how.unclear, how.unlabelled)
    rate = _rate(talks, stances)
    return {"premise_changes": _changes(talks, stances), "premise_change_rate": rate, "premise_excess": rate - own}


def _counts(talks: Conversations, stances: Stances, labels: Ints) -> dict[str, Floats]:
    """How many turns have no stance or no documents of their own."""
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
    """What there is to measure, and what is behind it.

    items             what intervals are over
    labels, unread    turns, and those for which the judge gave no usable label: they make no pairs, or also keep the
                      last stance
    single            conversations of one turn, which have no score
    without_stance    conversations in which no turn takes a stance
    void              conversations in which at least half of the answers say nothing: empty, echoed, looping, refused
    unclear_carried   unclear turns that keep the last clear stance; `unclear_before` those before any clear one
    turns_without_cited, turns_without_retrieved  turns without such a document; null if documents are not known
    asked_again       turns for which the judge had to be asked more than once; null if not known
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
    """Table 2: a topic has as many questions as the longest conversation on it has turns.

    If topics are not known, each distinct conversation name counts as one.
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
    """How formulas were read, and what intervals are over.

    failed, gapped  conversations that are left out because a call failed, and those that lack a turn
    documents       which documents source re-use is over, null if there are none; `labels` says which are measured
    confidence      'apart' if it was asked for in a call of its own
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
    """Whether no turn has a label towards the proposition, so that confidence was asked for in a call of its own."""
    return bool((frame.units["turns"].table["stance"] == UNLABELLED).all())


def _listed(own: pl.DataFrame) -> pl.DataFrame:
    """A row for each conversation: who held it about what, its turns' labels as a `trace` of `LETTERS`, and its
    measures, null if it has none."""
    kept = {"conversation", "model", "heat", "trace", *ABOUT, *(measure.name for measure in MEASURES)}
    return own.select(name for name in own.columns if name in kept).rename({"heat": "temperature"})


def faults_of(records: pl.DataFrame, how: StanceHow) -> tuple[FaultCount, ...]:
    """Malformed answers, by model and temperature."""
    usual = {"model": pl.lit("unnamed"), "temperature": pl.lit(None, pl.Float64)}
    missing = [column.alias(name) for name, column in usual.items() if name not in records.columns]
    return count_faults(name_speakers(records.with_columns(missing)), "temperature")
