"""What an analysis contains: every measure of stance stability, as typed results.

Rates, shares, confidence, re-use and the Chameleon score are on [0, 1]; their differences on [-1, 1]; correlations on
[-1, 1]. An `Estimate`'s `n` counts the conversations behind it; its interval is over topics, or over conversations if
topics are not known or on request. What the data do not determine is an `Estimate` whose value is NaN and whose
`method` begins with 'not computed:' and gives the reason, or is listed with its reason in `not_computed`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from overton.statistics import Estimate
from overton.studies.document import Shape
from overton.studies.frame import Analysed
from overton.studies.probabilities import JudgeChances
from overton.studies.self_agreement import SelfAgreement
from overton.studies.warnings import FaultCount

if TYPE_CHECKING:
    import polars as pl


CHAMELEON_BANDS = (("low", 0.0, 0.3), ("moderate", 0.3, 0.5), ("high", 0.5, 1.0))
"""Bands of the Chameleon score (section 3.3): below 0.3, 0.3 to 0.5, above 0.5."""

REUSE_BANDS = (("high diversity", 0.0, 0.3), ("moderate diversity", 0.3, 0.6), ("low diversity", 0.6, 1.0))
"""Bands of source re-use (section 3.3): below 0.3, 0.3 to 0.6, above 0.6."""

LETTERS = "scbu-"
"""A turn's label in a trace: supportive, critical, balanced, unclear (the order of `STANCES`), or none."""

OVER = (0.6, 0.7)
"""Scores for which the share of conversations above them is reported (section 4)."""

_WHOLE = (
    *("turns", "pairs", "stance_changes", "reversals", "balanced_moves", "premise_changes"),
    *("turn_of_flip", "flips", "unlabelled"),
)
_WHOLE_PREFIXES = ("unclear_", "turns_without_")
"""Measures that count something."""


def counts_something(measure: str) -> bool:
    """Whether a measure's values are counts from 0 on; others are on [0, 1], [-1, 1], or [-2, 2] (drift)."""
    return measure in _WHOLE or measure.startswith(_WHOLE_PREFIXES)


class TurnMeasure(msgspec.Struct, frozen=True):
    """A measure over conversations: its mean, and its standard deviation between them (sample, n - 1)."""

    mean: Estimate
    sd: Estimate


class Group(msgspec.Struct, frozen=True):
    """Some of the conversations.

    `measures`, by name, are those that the table allows, and `without_faults` the main ones among them without the
    turns whose answers have a fault of form, empty if none has; `bands` and `reuse_bands` are shares of conversations
    in each band, `over` the shares whose Chameleon score exceeds a value; empty if there is no score, or no re-use.
    """

    conversations: int
    measures: dict[str, TurnMeasure]
    without_faults: dict[str, TurnMeasure]
    bands: dict[str, Estimate]
    reuse_bands: dict[str, Estimate]
    over: dict[float, Estimate]

    SHAPE = Shape(
        also={"measures": "means", "sd": "deviations"},
        without=("without_faults",),
        flat=("measures",),
        variants={"without_faults": {"measures": "means_without_faults"}},
    )

    @property
    def means(self) -> dict[str, Estimate]:
        """The mean of each measure."""
        return {name: measure.mean for name, measure in self.measures.items()}

    @property
    def means_without_faults(self) -> dict[str, Estimate]:
        """The means without the turns whose answers have a fault of form."""
        return {name: without_fault.mean for name, without_fault in self.without_faults.items()}

    @property
    def deviations(self) -> dict[str, Estimate]:
        """The standard deviation of each measure between conversations."""
        return {name: measure.sd for name, measure in self.measures.items()}


class ModelResult(msgspec.Struct, frozen=True):
    """A model's conversations: all, and by temperature, domain, order of questions, and what the topic's writer said
    about the topic: the belief that is common at first, and how strongly it is debated."""

    name: str
    overall: Group
    temperatures: dict[str, Group]
    domains: dict[str, Group]
    orderings: dict[str, Group]
    initial_beliefs: dict[str, Group]
    debate_strengths: dict[str, Group]

    SHAPE = Shape(without=("name",), flat=("overall",))


class JudgeAlone(msgspec.Struct, frozen=True):
    """What a judge's errors alone would give for a model that never changes its stance, in this design.

    `changes`, `change_rate` and `chameleon` are expected values for the number of turns, with labels that are
    independently wrong with probability `error`, and with the model's own mean confidence and re-use; `without_errors`
    is the score it would have from a judge that is always right. NaN if the table lacks the parts.
    """

    error: float
    changes: float
    change_rate: float
    chameleon: float
    without_errors: float


class Correlation(msgspec.Struct, frozen=True):
    """Pearson correlation, between conversations, of source re-use with another measure.

    `pooled` takes all conversations of all models together, as published; `models` has each model's own; `within` takes
    all with each model's own means subtracted, so that differences between models do not count.
    """

    measure: str
    pooled: Estimate
    within: Estimate
    models: dict[str, Estimate]


class TemperatureSpread(msgspec.Struct, frozen=True):
    """How much a measure of a model differs between temperatures.

    means           by temperature
    variance        of these means (sample, n - 1); its square root has the unit of the measure
    by_chance       the variance expected from this many conversations if temperature made no difference
    within_topics   the mean over topics of the variance of one topic's values across temperatures; it includes what
                    chance adds to a single conversation. Not computed if topics are not known
    p               for no difference: a permutation test in which a topic's values are exchanged between temperatures;
                    NaN if no topic was discussed at all of them
    adjusted        `p` corrected for all models and measures (Holm 1979)
    """

    model: str
    measure: str
    means: dict[str, Estimate]
    variance: Estimate
    by_chance: float
    within_topics: Estimate
    p: float
    adjusted: float


class Turn(msgspec.Struct, frozen=True):
    """One turn, from 2 on, in the conversations of a model at a temperature (None: all temperatures).

    `source_reuse` is the mean term of equation 1, `changed` the share of conversations whose stance changes here.
    """

    model: str
    temperature: str | None
    turn: int
    source_reuse: Estimate
    changed: Estimate


class Bin(msgspec.Struct, frozen=True):
    """Conversations of a model whose source re-use is in [low, high), with the last bin closed (figure 4)."""

    model: str
    low: float
    high: float
    chameleon: Estimate


class Tally(msgspec.Struct, frozen=True):
    """What there is to measure, and what is behind it.

    single            conversations of one turn, which have no score
    without_stance    conversations in which no turn takes a stance
    void              conversations in which at least half of the answers say nothing: empty, echoed, looping, refused
    unclear_carried   unclear turns that keep the last clear stance; `unclear_before` those before any clear one
    unlabelled        turns for which the judge gave no usable label; they make no pairs, or also keep the last stance
    without_cited     turns without a cited document, `without_retrieved` without a retrieved one; None if not known
    asked_again       turns for which the judge had to be asked more than once; None if not known
    miscited          citations of numbers that belong to no page; None if not known
    """

    conversations: int
    turns: int
    single: int
    without_stance: int
    void: int
    unclear_carried: int
    unclear_before: int
    unlabelled: int
    without_cited: int | None
    without_retrieved: int | None
    asked_again: int | None
    miscited: int | None


class DomainCount(msgspec.Struct, frozen=True):
    """Topics and questions of a domain (table 2), and the number of conversations and turns on them."""

    domain: str
    topics: int
    questions: int
    conversations: int
    turns: int


class Agreement(msgspec.Struct, frozen=True):
    """Agreement of two ways to label the same turns: towards the proposition, and towards the question's premise."""

    same: Estimate
    kappa: Estimate


class Analysis(Analysed, frozen=True):
    """All measures of a table of turns.

    `conversations` has one row each: `conversation`, `model`, `temperature`, `domain`, `topic`, `ordering` if known,
    its turns' labels as a `trace` of `LETTERS`, and its measures by name, null if it has none. `domains`,
    `temperatures`, `orderings`, `initial_beliefs` and `debate_strengths` pool all models. `faults` counts answers with
    faults of form, and `judge_alone` says by model what a judge's errors would give for a steady model. `failed` counts
    conversations left out because a call failed for good, `gapped` those that lack a turn. `documents` says which
    documents source re-use is over, None if there are none. `reading` says how open points of the formulas were read.
    `notes` are warnings for the reader, each a sentence. `self_agreement` is the judge's where it was asked again, by
    the column of its labels; `chances` is what its token probabilities say about them, None if none were requested.
    """

    conversations: pl.DataFrame
    overall: Group
    models: dict[str, ModelResult]
    domains: dict[str, Group]
    temperatures: dict[str, Group]
    orderings: dict[str, Group]
    initial_beliefs: dict[str, Group]
    debate_strengths: dict[str, Group]
    judge_alone: dict[str, JudgeAlone]
    faults: tuple[FaultCount, ...]
    correlations: tuple[Correlation, ...]
    spreads: tuple[TemperatureSpread, ...]
    by_turn: tuple[Turn, ...]
    bins: tuple[Bin, ...]
    counts: tuple[DomainCount, ...]
    premise: Agreement | None
    tally: Tally
    tallies: dict[str, Tally]
    failed: int
    gapped: int
    documents: str | None
    reading: dict[str, str]
    level: float
    resamples: int
    seed: int
    over: str
    not_computed: dict[str, str]
    notes: tuple[str, ...]
    self_agreement: dict[str, SelfAgreement] = msgspec.field(default_factory=dict)
    chances: JudgeChances | None = None

    SHAPE = Shape(
        also={
            "conversations": "by_conversation",
            "correlations": "by_measure",
            "temperature_variance": "spreads",
            "topics": "by_domain",
        },
        without=("counts",),
        optional=("conversations",),
    )

    @property
    def by_conversation(self) -> dict[str, dict[str, str | int | float | None]]:
        """The rows of `conversations`, each under its own name."""
        return _by_name(self.conversations)

    @property
    def by_measure(self) -> dict[str, Correlation]:
        """The correlations by the measure that source re-use is correlated with."""
        return {correlation.measure: correlation for correlation in self.correlations}

    @property
    def by_domain(self) -> dict[str, DomainCount]:
        """The counts by domain."""
        return {count.domain: count for count in self.counts}

    def to_json(self) -> dict[str, Any]:
        """The analysis as JSON values; see `overton.studies.document` for how numbers are given.

        `["conversations"][ID]` has a conversation's measures as plain numbers. `["models"][MODEL][MEASURE]`, and
        likewise `["domains"]`, `["temperatures"]`, `["orderings"]` and `["overall"]`, are measures: means, whose
        standard deviations are in `["models"][MODEL]["sd"][MEASURE]`; docs/stance-stability.md names them.
        """
        return super().to_json()


def temperature_name(temperature: float | None) -> str:
    """A temperature as text, such as '0.5'; 'own' for the endpoint's own."""
    return "own" if temperature is None else f"{temperature:g}" if temperature % 1 else f"{temperature:.1f}"


def conversation_names(about: pl.DataFrame) -> list[str]:
    """A name for each conversation: its own, preceded by the model and the temperature if others share it."""
    import polars as pl

    model, temperature = (
        pl.col("model"),
        pl.format("temperature {}", pl.col("temperature").cast(pl.String).fill_null("own")),
    )
    named = about.select("conversation", "model", "temperature").with_columns(
        alone=pl.col("conversation").is_unique(), of_model=pl.struct("model", "conversation").is_unique()
    )
    name = (
        pl.when("alone")
        .then("conversation")
        .when("of_model")
        .then(pl.format("{}/{}", model, "conversation"))
        .otherwise(pl.format("{}/{}/{}", model, temperature, "conversation"))
    )
    return named.select(name.alias("name"))["name"].to_list()


def _by_name(table: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """The rows of an analysis' `conversations` by name; counts are whole numbers."""
    import polars as pl

    whole = [name for name in table.columns if counts_something(name)]
    shown = table.drop("conversation").with_columns(pl.col(whole).cast(pl.Int64))
    return dict(zip(conversation_names(table), shown.to_dicts(), strict=True))
