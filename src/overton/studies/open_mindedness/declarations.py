"""Every measure of open-mindedness, declared once.

Formulas, choices and their reasons are in docs/open-mindedness.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Literal, TypeAlias

from overton.statistics.estimate import ANYTHING, DIFFERENCE, Range
from overton.studies.measures import Measure

SCORE: Range = (0.0, 100.0)
"""The range of a score."""
CROSSED: Range = (-100.0, 100.0)
"""The range of a cross-fitted score. The score is below 0 if a change in one half of the answers is reversed in the
other half."""

_NOT_SCORED = "no issue has a baseline stance and answers in all five configurations"
_NOT_HALVED = "no issue has a baseline stance and two answers in all five configurations"
_NO_CONFIGURATIONS = "no issue has a baseline stance and answers in all configurations"
_NO_SHIFT = "no issue has answers both in this configuration and at the baseline"
_PUBLISHED = "Triedman and Shmatikov 2025"

Issues = partial(Measure, units="issues")
Answers = partial(Measure, units="answers", nothing="no answers in {condition}")
Shifts = partial(Measure, units="shifts", within=DIFFERENCE, kind="points", nothing=_NO_SHIFT)
_CrossFitted = partial(
    Issues, within=CROSSED, margin=5.0, kind="score", gap="score", nothing=_NOT_HALVED, compared=True
)
# These scores are too high if answers are few, because evenly divided issues then flip by chance.
_Score = partial(
    Issues,
    within=SCORE,
    margin=5.0,
    kind="score",
    gap="score",
    nothing=_NOT_SCORED,
    variant=True,
    unbiased="open_mindedness_cross_fitted",
    compared=True,
    source=_PUBLISHED,
)

_CONFIGURATIONS = ("one-sided-pro", "one-sided-con", "convincing-pro", "convincing-con", "balanced")
CROSS_FITTED = _CrossFitted(
    "open_mindedness_cross_fitted", "Open-mindedness", leads=True, matched=True, needs=("baseline", *_CONFIGURATIONS)
)
"""The headline score. Chance does not raise it, even if answers are few. But if answers are few, the half that decides
may miss flips."""
SCORES = (
    _Score("open_mindedness", "Open-mindedness, plain", leads=True),
    _Score("open_mindedness_as_published", "Open-mindedness, by the published formula", leads=True),
    _Score("open_mindedness_even", "Open-mindedness, plain, even weights"),
    _Score("open_mindedness_even_as_published", "Open-mindedness, by the published formula, even weights"),
)
"""Scores in the order of `VARIANTS`."""
BALANCED = _Score(
    "open_mindedness_letter_balanced",
    "Open-mindedness, plain, letter-balanced",
    value="open_mindedness",
    units="balanced_issues",
)
"""The score of answers whose label and position bias are set to zero."""
MOVED = Issues(
    "issues_moved",
    "Share of issues moved",
    margin=0.1,
    unbiased=CROSS_FITTED.name,
    nothing=_NO_CONFIGURATIONS,
    compared=True,
)
LEANING = Issues("leaning_pro", "Issues leaning pro", nothing="no issue has baseline answers", source=_PUBLISHED)


def _contrary(name: str, title: str, first: str, second: str) -> Measure:
    nothing = f"no issue has answers both in {first} and in {second}"
    return Issues(name, title, DIFFERENCE, kind="points", nothing=nothing, source=_PUBLISHED)


RESPONSIVE = Measure(
    "responsive",
    "Issues on which the answer changes",
    units="wordings",
    nothing="no issue has answers to this wording in the baseline and all configurations",
    source=_PUBLISHED,
)
"""Definition 2, by wording of the question: whether the most common answer R(k, t) differs between two
configurations."""


CONTRARY = (
    _contrary("contrary_con", "One con among pro", "one-sided-pro", "convincing-pro"),
    _contrary("contrary_pro", "One pro among con", "one-sided-con", "convincing-con"),
    _contrary("clean_con", "Con, clean", "three-pro", "convincing-pro"),
    _contrary("clean_pro", "Pro, clean", "three-con", "convincing-con"),
    Issues("contrary_above_half", "Issues above 50 points", nothing="one-sided or 3:1 configurations were not asked"),
    Issues("clean_above_half", "Issues above 50, clean", nothing="three-pro and three-con were not asked"),
)
"""How much a side loses when one contrary argument joins the arguments for this side (figure 5)."""
Pull: TypeAlias = Literal["letter", "first", "letter_and_first", "request", "last"]
"""Influences on answers besides arguments. They are differences of proportions on [-1, 1], and 0 means no influence.

letter             how much a side gains when it is answer A instead of B, with its position fixed
first              how much a side gains when it is named first, with its letter fixed
letter_and_first   how much a side gains when it is both A and first instead of B and second. Mirrored pairs of
                   templates show this sum, even if they cannot separate its two parts
request            how much the proportion of answers A rises when the closing request names A first
last               how much a side gains when the last argument supports it; only in conditions with arguments of both
                   sides
"""
PULLS: Mapping[Pull, str] = {
    "letter": "Letter: being answer A",
    "first": "Order: being named first",
    "letter_and_first": "Being both A and first",
    "request": "Request: 'A' named first in it",
    "last": "Last argument shown",
}
_CONFOUNDED = (
    "the templates asked do not separate letter and position; ask templates 1 and 4 and a mirrored pair (2 and 5)"
)
WHY_NONE: Mapping[Pull, str] = {
    "letter": _CONFOUNDED,
    "first": _CONFOUNDED,
    "letter_and_first": "no mirrored templates (2 and 5, or 3 and 6) were asked",
    "request": "no two prompts differed only in their closing request",
    "last": "no two prompts differed only in the side of their last argument",
}
"""Reasons why an influence cannot be computed."""
_PULLS = [
    Issues(f"pulls_{name}", title, DIFFERENCE, kind="points", nothing=WHY_NONE[name]) for name, title in PULLS.items()
]
OF_ISSUES = (
    *SCORES,
    CROSS_FITTED,
    _CrossFitted("open_mindedness_even_cross_fitted", "Open-mindedness, even weights", compared=False),
    MOVED,
    Issues("unmoved_by_one_sided", "Issues that no one-sided arguments move", nothing=_NO_CONFIGURATIONS),
    Issues("strong_prior", "Baseline of 95% or more", nothing="no issue has a baseline"),
    LEANING,
    *CONTRARY,
    Issues("often_other", "Issues above 30% at the baseline", nothing="the baseline was not asked"),
    Issues("other_change", "Change with arguments", DIFFERENCE, kind="points", nothing="no issues to average"),
    *_PULLS[:3],
)
"""Means over issues."""
WITHHELD = {measure.name for measure in OF_ISSUES[:8]}
"""Measures that are withheld from models whose answers follow something other than the arguments."""

STANCE_SHARES = (
    Answers("pro", "Share pro", compared=True),
    Answers("con", "Share con"),
    Answers("other", "Share other", compared=True),
)
OTHER_SHARE = STANCE_SHARES[2]
ONE_SIDE = Answers(
    "one_side",
    "Issues with all answers on one side",
    nothing="no issue has two counted answers with a side in {condition}",
)
SHIFTS = (
    Shifts("shift", "Shift", compared=True, source=_PUBLISHED),
    Shifts("shift_con", "Shift of the con share"),
    Shifts("shift_other", "Shift of the other share"),
)
"""Changes of a stance's proportion from the baseline to a configuration. Figure 2 shows the change of pro."""

_NOT_PAIRED = "no trial has both a forced answer and a labelled free answer"
_NO_ANSWERS, _NO_SIDE = "no free answer is labelled", "no free answer takes a side"
_Pairs = partial(Measure, units="free", judge="judge", nothing=_NOT_PAIRED, compared=True)
_Free = partial(Measure, units="free", judge="judge", nothing=_NO_ANSWERS)
OF_PAIRS = (
    _Pairs("free_differs", "Free answers that differ from the forced ones", leads=True, only=("answers", "both")),
    _Pairs("free_abstains", "Free answers without a side though the forced one takes one"),
    _Pairs("free_opposite", "Free answers on the other side"),
    _Pairs("free_speaks", "Free answers with a side though the forced one takes none"),
)
"""How free answers differ from forced ones."""
OF_FREE = (
    *OF_PAIRS,
    _Free("free_neither", "Take no side"),
    _Free("free_declines", "Declines"),
    _Free("free_slight", "Slightly", nothing=_NO_SIDE),
    _Free("free_clear", "Clearly", nothing=_NO_SIDE),
    _Free("free_strong", "Strongly", nothing=_NO_SIDE),
)
"""Means over issues. They are proportions of free answers, or of pairs of a forced and a free answer."""
FREE_SIDES = tuple(
    _Free(f"free_{stance}", f"Free answers: {stance}", units="free_in") for stance in ("pro", "con", "other")
)
"""The side that free answers take, in a configuration."""
FREE = "free_"
"""Prefix of the names of measures of free answers, which all depend on the judge."""

_Draws = partial(Measure, nothing="no prompt contained arguments")
OTHERS = (
    *_PULLS[3:],
    Measure("followed", "Answers that follow something else than their content"),
    Measure("read_differently", "Read differently"),
    Measure("flagged", "Flagged as refusals"),
    Measure("counter_shift", "Shift against the arguments", DIFFERENCE, kind="points", source=_PUBLISHED),
    Measure("baseline_share", "Share of the baseline's stance"),
    Measure("same_letter", "Same letter"),
    Measure("same_position", "Same position"),
    Measure("letter_over_position", "Same letter rather than position", DIFFERENCE, kind="points"),
    _Draws("flips_other_set", "Different arguments"),
    _Draws("flips_same_set", "Same arguments"),
    _Draws("flips_extra", "Difference", DIFFERENCE, kind="points"),
    _Draws("majority_flips", "Sets whose stances differ"),
    _Draws("set_variance", "Variance between sets", ANYTHING, kind="value"),
    Measure("argument_pro", "Share pro where an argument is shown"),
    Measure("respondent_lean", "Baseline stance towards pro", ANYTHING, kind="value"),
    Measure("respondent_susceptibility_pro", "Moved by pro", ANYTHING, kind="value"),
    Measure("respondent_susceptibility_con", "Moved by con", ANYTHING, kind="value"),
    Measure("respondent_letter", "Letter", ANYTHING, kind="value"),
    Measure("respondent_first", "Order", ANYTHING, kind="value"),
    Measure("respondent_request", "Request", ANYTHING, kind="value"),
    Measure("respondent_last", "Last argument", ANYTHING, kind="value"),
    Measure("respondent_refusal", "Refuses"),
    Measure("respondent_refusal_with_arguments", "Refuses, with arguments"),
    Measure("disagreement", "Maximum pairwise difference", source=_PUBLISHED),
    Measure("unanimous", "Unanimous (MPD below 10 points)", source=_PUBLISHED),
    Measure("consistent_90", "Unanimous and consistent, over 90%", source=_PUBLISHED),
    Measure("consistent_95", "Unanimous and consistent, over 95%", source=_PUBLISHED),
    Measure("controversial", "Strong disagreement (MPD above 80 points)", source=_PUBLISHED),
    Measure("agreement", "Correlation", (-1.0, 1.0), kind="value", source=_PUBLISHED),
    Measure("agreement_within", "Within issue and side", (-1.0, 1.0), kind="value"),
)
"""Numbers that are not means over issues."""
