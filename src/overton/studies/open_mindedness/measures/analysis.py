"""What an analysis contains: every measure of open-mindedness, as typed results.

Shares are on [0, 1] and differences of shares on [-1, 1]; scores are on [0, 100]. Every number that is an estimate
comes with its interval as an `Estimate`. What the data cannot show is an `Estimate` whose value is NaN and whose
`method` starts with 'not computed:' and says why, or None with the reason under the field's name in `not_computed`.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from overton.statistics import Estimate
from overton.studies.document import Shape
from overton.studies.frame import Analysed
from overton.studies.open_mindedness.measures.free import Freely
from overton.studies.open_mindedness.measures.results import (
    CrossFitted,
    Following,
    IssueResult,
    LikeThese,
    Pulls,
    Scores,
    Shares,
    Wording,
)
from overton.studies.probabilities import JudgeChances, Weighing
from overton.studies.warnings import FaultCount


class Tally(msgspec.Struct, frozen=True):
    """What was asked and how it was read.

    `answers` and `failures` count calls; `stances` counts the answers by stance; `flagged` counts answers that the
    endpoint itself flagged as refusals. `read_differently` is the share of answers that the strict and the published
    patterns read differently, and `readings` their count by (strict, published).
    """

    answers: int
    failures: int
    stances: dict[str, int]
    flagged: int | None
    read_differently: Estimate
    readings: dict[tuple[str, str], int]


class Definition(msgspec.Struct, frozen=True):
    """Definition 1's plain question, as shares of issues; `n` counts the issues for which it can be answered.

    `moved`: some configuration flips the stance. `unmoved_by_one_sided`: neither one-sided configuration does.
    `strong_prior`: 95% or more of the baseline's answers take one side. The tuples name the issues.
    """

    moved: Estimate
    unmoved_by_one_sided: Estimate
    strong_prior: Estimate
    moved_issues: tuple[str, ...]
    unmoved_by_one_sided_issues: tuple[str, ...]
    strong_prior_issues: tuple[str, ...]
    flips_to_other: int


class ContraryArgument(msgspec.Struct, frozen=True):
    """The effect of a single contrary argument (figure 5), means over issues; `n` counts issues.

    `con` is what one con argument among pro ones takes from the pro share; `pro` the mirror image. `above_half` is
    the share of issues on which either exceeds 0.5, which `above_half_issues` names. `clean_con` and `clean_pro`
    compare with three arguments of one side instead of all.
    """

    con: Estimate
    pro: Estimate
    above_half: Estimate
    above_half_issues: tuple[str, ...]
    clean_con: Estimate
    clean_pro: Estimate
    clean_above_half: Estimate


class Refusals(msgspec.Struct, frozen=True):
    """Answers without a stance (figure 7).

    `by_condition` is the mean share of 'other' over issues and `flagged` the share of answers that the endpoint
    flagged. `issues` names those with more than 30% 'other' at the baseline, and `among_these` is their mean share of
    'other' by configuration. `change` is the mean over issues of that share with arguments minus at the baseline.
    """

    by_condition: dict[str, Estimate]
    flagged: dict[str, Estimate]
    issues: tuple[str, ...]
    share_of_issues: Estimate
    among_these: dict[str, Estimate]
    change: Estimate


class CounterShift(msgspec.Struct, frozen=True):
    """One-sided arguments after which the opposite side's share rose; `clear` if the interval excludes 0."""

    issue: str
    condition: str
    shift: Estimate
    clear: bool


class CounterShifts(msgspec.Struct, frozen=True):
    """Counter-argument shifts (table 3): how many of `compared` issue-and-side pairs, and their mean size."""

    shifts: tuple[CounterShift, ...]
    compared: int
    count: int
    clear: int
    mean: Estimate


class DrawDependence(msgspec.Struct, frozen=True):
    """How much results depend on which arguments were drawn.

    Pairs are two answers to the same issue, configuration, wording and template. `flips_other_set` is the probability
    that they differ when different arguments were shown, `flips_same_set` when the same were, and `extra` the first
    minus the second. With repeated sets (`--draws`): `majority_flips` is the share of pairs of sets whose most common
    stances differ, and `variance` the variance of the pro share between sets beyond sampling noise.
    """

    flips_other_set: Estimate
    flips_same_set: Estimate
    extra: Estimate
    majority_flips: Estimate
    variance: Estimate


class RespondentFit(msgspec.Struct, frozen=True):
    """The respondent model of `simulated.py` fitted to a model's answers; logits, except for the two refusal rates.

    `leans` maps issues to their prior lean. `dispersion` is Pearson's chi-square over its degrees of freedom: 1 if the
    model fits; intervals are widened by its square root if it is above 1. `n` counts answers.
    """

    leans: dict[str, Estimate]
    susceptibility_pro: Estimate
    susceptibility_con: Estimate
    letter: Estimate
    first: Estimate
    request: Estimate
    last: Estimate
    refusal: Estimate
    refusal_with_arguments: Estimate
    dispersion: float


class ArgumentShare(msgspec.Struct, frozen=True):
    """The pro share over all trials whose prompt contained one argument."""

    issue: str
    argument: str
    pro: Estimate


class Subset(msgspec.Struct, frozen=True):
    """A model's scores and contrary-argument effects on the controversial issues alone (table 5, figure 5)."""

    issues: tuple[str, ...]
    scores: Scores
    corrected: Scores | None
    contrary: ContraryArgument

    SHAPE = Shape(flat=("scores",), variants={"letter_balanced": {"scores": "corrected"}})


class Raised(msgspec.Struct, frozen=True):
    """How far a score of token probabilities may be too high, in points: by how much higher it is, on average, for
    shares drawn as far from these as these may be from the truth.

    It is `known` if some template has several prompts; if each template has only one, differences between templates are
    taken for chance, and the points say little.
    """

    points: float
    known: bool


class ModelResult(msgspec.Struct, frozen=True):
    """One model.

    `scores` are means over the issues that have a score, `cross_fitted` the same without the upward bias of few
    answers, and `like_these` the first with an interval for wordings like these as well; `wordings` has each of the six
    by itself (None if the table does not distinguish them). `undefined` names the issues whose baseline is all 'other',
    and `incomplete` those that lack answers in a configuration. `leaning_pro` is the share of issues with more pro than
    con answers at the baseline (table 1). `shares` are mean shares by configuration, `shifts` the mean change of the
    pro share from the baseline (figure 2), `con_shifts` and `other_shifts` those of the other two shares, `topics`
    scores by topic (figure 4). `following` is what most answers follow whatever it says, None if nothing: unless that
    is the last argument, the model has no score. `without_faults` are the scores without answers that have a fault of
    form, None if faults were not looked for. `letter_followers` names the issues whose answers follow the letter rather
    than the position, at the baseline or over all configurations. `raised` says how far the score may be too high
    because its shares are means of few prompts' token probabilities, None if answers are counted: then `cross_fitted`
    shows it.
    """

    name: str
    tally: Tally
    issues: dict[str, IssueResult]
    scores: Scores
    corrected: Scores | None
    without_faults: Scores | None
    cross_fitted: CrossFitted
    like_these: LikeThese | None
    wordings: tuple[Wording, ...] | None
    scored: int
    undefined: tuple[str, ...]
    incomplete: tuple[str, ...]
    definition: Definition
    leaning_pro: Estimate
    corrected_leaning_pro: Estimate
    shares: dict[str, Shares]
    corrected_shares: dict[str, Shares]
    shifts: dict[str, Estimate]
    con_shifts: dict[str, Estimate]
    other_shifts: dict[str, Estimate]
    corrected_shifts: dict[str, Estimate]
    topics: dict[str, Scores]
    contrary: ContraryArgument
    refusals: Refusals
    counter_shifts: CounterShifts
    pulls: Pulls | None
    following: Following | None
    letter_followers: tuple[str, ...]
    draws: DrawDependence | None
    respondent: RespondentFit | None
    arguments: tuple[ArgumentShare, ...] | None
    subset: Subset | None
    not_computed: dict[str, str]
    raised: Raised | None = None

    SHAPE = Shape(
        flat=("scores",),
        variants={
            "letter_balanced": {
                "scores": "corrected",
                "leaning_pro": "corrected_leaning_pro",
                "shares": "corrected_shares",
                "shifts": "corrected_shifts",
            },
            "without_faults": {"scores": "without_faults"},
            "cross_fitted": {"scores": "cross_fitted"},
            "wordings_like_these": {"scores": "like_these"},
        },
        leading={"scores": "cross_fitted"},
    )


class Disagreement(msgspec.Struct, frozen=True):
    """How far models differ on one issue at the baseline (tables 2, 6 and 7).

    `mpd` is the maximum pairwise difference of pro shares, between the two models of `pair`; its interval is that
    pair's and does not allow for having picked it. `pro`, `con` and `other` are mean shares over models. `unanimous`:
    below 0.1. `consistent_90` (table 2) and `consistent_95` (table 6): unanimous, and every model gives the same side
    more than 90% or 95%. `controversial`: above 0.8. `refused_by` names the models for which 'other' is the most common
    answer.
    """

    issue: str
    mpd: Estimate
    pair: tuple[str, str]
    pro: float
    con: float
    other: float
    unanimous: bool
    consistent_90: bool
    consistent_95: bool
    controversial: bool
    refused_by: tuple[str, ...]


class Agreement(msgspec.Struct, frozen=True):
    """Pearson correlation of single arguments' effects on two models (figure 6); `n` counts arguments.

    `correlation` is the paper's: of pro shares over all arguments. Most of it comes from differences between issues;
    `within` removes each issue's and side's mean, so that only differences between the arguments of one side remain.
    """

    first: str
    second: str
    same_family: bool | None
    correlation: Estimate
    within: Estimate


class Comparison(msgspec.Struct, frozen=True):
    """Several models side by side, over the issues that all of them answered at the baseline.

    The estimates are shares of these issues. `subset` names the controversial issues chosen for table 5 and figures 3
    and 5. `within_families` and `between_families` are medians of `agreements`.
    """

    models: tuple[str, ...]
    issues: dict[str, Disagreement]
    unanimous: Estimate
    consistent_90: Estimate
    consistent_95: Estimate
    controversial: Estimate
    subset: tuple[str, ...]
    agreements: tuple[Agreement, ...]
    within_families: Estimate
    between_families: Estimate
    not_computed: dict[str, str]


class Analysis(Analysed, frozen=True):
    """All measures of one or more models.

    `source` says what it was made from; `reading` which patterns read the stances. `faults` counts answers with a fault
    of form, empty if faults were not looked for. `warnings` have to be read before any number, `notes` with the
    numbers; each is a sentence. `resamples` and `seed` make the intervals repeatable. `weighing` says whether shares
    are means of token probabilities, None if none were requested; measures that count single answers count them as
    drawn. Everything is about forced answers, or about free ones by their judge's labels, as `answers` says; `free` has
    what models write when they may answer as they like, beside what they choose when they must, None if no answer is
    free; `chances` what the judge's token probabilities say about its labels of these, None if none were requested.
    """

    models: dict[str, ModelResult]
    comparison: Comparison | None
    source: Literal["records", "counts"]
    reading: Literal["strict", "published"]
    level: float
    resamples: int
    seed: int
    faults: tuple[FaultCount, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    weighing: Weighing | None = None
    answers: Literal["forced", "free"] = "forced"
    free: dict[str, Freely] | None = None
    chances: JudgeChances | None = None

    def to_json(self) -> dict[str, Any]:
        """The analysis as JSON values; see `overton.studies.document` for how numbers are given.

        `["models"][NAME]` has the measures `open_mindedness`, `open_mindedness_as_published`, `open_mindedness_even`
        and `open_mindedness_even_as_published`, and `issues`, in which each issue has them too, beside `baseline` with
        `stance` and `share`. The variant `as_published` of the first and of the third is the second and the fourth, as
        observed; `letter_balanced` is called 'corrected' here.
        """
        return super().to_json()
