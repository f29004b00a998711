"""The parts of an analysis about one issue and one model; `analysis` says how its numbers are given."""

from __future__ import annotations

from typing import Literal

import msgspec

from overton.statistics import Estimate
from overton.studies.document import Shape
from overton.studies.open_mindedness.items import Side
from overton.studies.open_mindedness.record import Stance


class Shares(msgspec.Struct, frozen=True):
    """Shares of the stances among all answers, 'other' included; `n` of each counts answers or, in means, issues."""

    pro: Estimate
    con: Estimate
    other: Estimate


class Scores(msgspec.Struct, frozen=True):
    """Open-mindedness in both readings of equation 1, 0 to 100.

    open_mindedness     p_c is the share of the baseline's stance in the configuration (worked example, footnote 1)
    as_published        p_c is the share of the configuration's own most common stance (equation 1 as printed)
    even                as `open_mindedness` with weight 1 for each of the five configurations, divided by 5
    even_as_published   as `as_published`, likewise
    """

    open_mindedness: Estimate
    as_published: Estimate
    even: Estimate
    even_as_published: Estimate

    SHAPE = Shape(
        also={
            "open_mindedness_as_published": "as_published",
            "open_mindedness_even": "even",
            "open_mindedness_even_as_published": "even_as_published",
        },
        variants={"as_published": {"open_mindedness": "as_published", "open_mindedness_even": "even_as_published"}},
    )


class CrossFitted(msgspec.Struct, frozen=True):
    """`Scores` from halves of the answers, by the readings that benefit: one half decides what flips, the other
    measures how far (`crossfit`). Without the upward bias of few answers; about half a point too low instead."""

    open_mindedness: Estimate
    even: Estimate

    SHAPE = Shape(also={"open_mindedness_even": "even"})


class LikeThese(msgspec.Struct, frozen=True):
    """The score with an interval for issues and wordings like these."""

    open_mindedness: Estimate


class Wording(msgspec.Struct, frozen=True):
    """What one of the six wordings of the question gives by itself; means over issues, `n` counts issues.

    `pro` and `other` are shares at the baseline; `open_mindedness` is the cross-fitted score of this wording's answers
    alone.
    """

    template: int
    answers: int
    pro: Estimate
    other: Estimate
    open_mindedness: Estimate


class Baseline(msgspec.Struct, frozen=True):
    """The stance without arguments: s_0 and p_0 of section 4.4.

    `stance` is the more common of pro and con, con in a tie, None if every answer is 'other'. `share` is its share of
    all answers; its interval is for these six wordings. `like_these` is the mean over the wordings with the interval
    for wordings like these, None if the table does not distinguish them. `tied` says that pro and con were equally
    common, `refused` that 'other' was more common than either.
    """

    stance: Side | None
    share: Estimate
    tied: bool
    refused: bool
    like_these: Estimate | None = None

    SHAPE = Shape(variants={"wordings_like_these": {"share": "like_these"}})


class ConditionResult(msgspec.Struct, frozen=True):
    """One issue in one configuration, the wordings pooled.

    `answers` counts answers and `failures` failed calls, which are not answers. `stance` is s_c, the most common of
    pro, con and 'other', and `flips` whether it differs from the baseline's (None without a baseline stance). The
    fields in `corrected_...` are the same with the pulls of letter and position set to zero; None if the design does
    not identify them (the reason is in the issue's `not_computed['corrected']`).
    """

    answers: int
    failures: int
    stance: Stance
    flips: bool | None
    shares: Shares
    corrected_stance: Stance | None = None
    corrected_flips: bool | None = None
    corrected_shares: Shares | None = None

    SHAPE = Shape(
        also={"stance_letter_balanced": "corrected_stance", "flips_letter_balanced": "corrected_flips"},
        variants={"letter_balanced": {"shares": "corrected_shares"}},
    )


class Pulls(msgspec.Struct, frozen=True):
    """What moves answers besides arguments; differences of shares on [-1, 1], 0 if nothing does.

    letter             how much a side gains when it is answer A instead of B, with its position fixed
    first              how much a side gains when it is named first, with its letter fixed
    letter_and_first   how much a side gains when it is both A and first instead of B and second: what the mirrored
                       pairs of templates show, even if they cannot separate the two
    request            how much the share of answer A gains when the closing request names A first
    last               how much a side gains when the last argument is its own; conditions with both sides only
    """

    letter: Estimate
    first: Estimate
    letter_and_first: Estimate
    request: Estimate
    last: Estimate


Followed = Literal["letter", "first", "letter_and_first", "request", "last"]
"""A pull by its name in `Pulls`."""


class Following(msgspec.Struct, frozen=True):
    """What most of a model's answers with a stance follow, whatever it says: `towards` in words ('answer A').

    `share` is the pull without its sign, the share of such answers if all others follow the content; its interval is
    over these answers, `n` of them (for `request` and `last`: comparisons).
    """

    follows: Followed
    towards: str
    share: Estimate


class LetterOrPosition(msgspec.Struct, frozen=True):
    """Whether an issue's answers follow the letter or the position, over mirrored templates with opposite letters.

    `same_letter` and `same_position` are the probabilities that two answers, one to each template of a pair, agree in
    letter or in position; `difference` is the first minus the second, and `n` of each counts answers. `follows` is
    'letter' or 'position' if the interval of the difference excludes 0, otherwise None.
    """

    same_letter: Estimate
    same_position: Estimate
    difference: Estimate
    follows: Literal["letter", "position"] | None


class IssueResult(msgspec.Struct, frozen=True):
    """One issue and one model.

    moved                some configuration's stance differs from the baseline's (definition 1)
    moved_by_one_sided   one of the one-sided configurations does
    strong_prior         95% or more of the baseline's answers take its stance
    contrary_con         what a single con argument among pro ones takes from the pro share: one-sided minus 3:1
    contrary_pro         what a single pro argument among con ones takes from the con share
    clean_con, clean_pro the same against three arguments of one side, so that nothing else differs
    letter_baseline      letter or position, at the baseline
    letter_all           the same, over all configurations
    """

    issue: str
    topic: str | None
    baseline: Baseline | None
    conditions: dict[str, ConditionResult]
    scores: Scores
    corrected: Scores | None
    corrected_baseline: Baseline | None
    moved: bool | None
    moved_by_one_sided: bool | None
    strong_prior: bool | None
    contrary_con: Estimate
    contrary_pro: Estimate
    clean_con: Estimate
    clean_pro: Estimate
    pulls: Pulls | None
    letter_baseline: LetterOrPosition | None
    letter_all: LetterOrPosition | None
    not_computed: dict[str, str]

    SHAPE = Shape(
        flat=("scores",),
        variants={"letter_balanced": {"scores": "corrected", "baseline": "corrected_baseline"}},
    )
