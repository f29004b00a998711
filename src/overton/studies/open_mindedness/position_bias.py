"""Influences of letter, position, closing request and last argument on answers, and tests of whether answers follow one
of them.

The paper does not measure these influences on answers. A model that always answers A looks 66.7% pro at the baseline,
because A is the pro side in four of the six templates. Arguments also seem to have no effect on such a model. Its
answers to mirrored templates reveal that it follows the letter.

An influence is the proportion of answers that follow it, if all other answers follow the content. For example, suppose
that a model answers A to three of four questions, whatever their content. It follows the content of the fourth
question. The letter's influence is then 0.75.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, Literal, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from overton.statistics import Estimate, not_computed
from overton.statistics.arrays import Floats
from overton.statistics.estimate import DIFFERENCE, SHARE
from overton.statistics.jackknife import Jackknife
from overton.statistics.proportions import DifferenceParts, mantel_haenszel
from overton.studies.arm_weights import LEFT_OUT
from overton.studies.open_mindedness.answer_counts import CON, OTHER, PRO, AnswerCounts, TemplateCounts
from overton.studies.open_mindedness.declarations import WHY_NONE, Pull
from overton.studies.open_mindedness.shares import (
    FIRST,
    LETTER,
    LETTER_AND_FIRST,
    cell_variance,
    contrasts,
    wald,
    whole,
)

_TARGETS: dict[Pull, tuple[float, ...]] = {"letter": LETTER, "first": FIRST, "letter_and_first": LETTER_AND_FIRST}
"""The combination of (mu, letter, order) that each influence's contrast of templates estimates."""

_LEAN = np.array([0.5, -0.5, 0.0])
"""Coefficients of (pro, con, other) for half of pro minus con. So a side's gain is the mean of the gain of pro and the
loss of con, also if there are refusals."""


@dataclass(frozen=True)
class ModelPulls:
    """Influences on one model's answers, by name. `issues` has estimates for each issue with answers, by the issue's
    index.

    Over all issues, `letter`, `first` and `letter_and_first` are means of the issues' estimates. `ratios` has estimates
    of `request` and `last` over all issues.
    """

    issues: dict[Pull, dict[int, Estimate]]
    ratios: dict[Pull, Estimate]


def measure_pulls(cells: AnswerCounts, model: int, jackknife: Jackknife) -> ModelPulls | None:
    """Influences on a model's answers besides arguments; None without records."""
    if cells.design is None:
        return None
    level = jackknife.level
    asked = [i for i in cells.asked(model) if cells.answers[model, i].sum()]
    issues = {name: _contrasts(cells.design, model, asked, name, level) for name in _TARGETS}
    ratios: dict[Pull, Estimate] = {}
    for name, part in compared_parts(cells.design, model).items():
        if cells.unequal:  # these influences pool configurations
            ratios[name] = not_computed(LEFT_OUT, level=level)
            issues[name] = dict.fromkeys(asked, ratios[name])
        else:
            issues[name] = _of_parts(part, asked, WHY_NONE[name], level)
            ratios[name] = _overall(part, issues[name], jackknife, WHY_NONE[name])
    return ModelPulls(issues, ratios)


def _contrasts(design: TemplateCounts, model: int, issues: list[int], pull: Pull, level: float) -> dict[int, Estimate]:
    """Each issue's contrast of templates, which is a mean over configurations, with Wald's interval."""
    means, errors, n = contrast_parts(design, model, _TARGETS[pull])
    return {
        i: wald(float(means[i]), float(errors[i]), int(n[i]), level)
        if np.isfinite(means[i])
        else not_computed(WHY_NONE[pull], level=level, n=int(n[i]))
        for i in issues
    }


def contrast_parts(
    design: TemplateCounts, model: int, target: tuple[float, ...]
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Each issue's contrast of templates, its standard error and its number of answers [issues]. The contrast is a mean
    over configurations; NaN if no configuration's templates identify it."""
    by_template = design.by_template(model)
    sizes = whole(by_template.sum(-1))
    weights = contrasts(design.letter[model], design.order[model], sizes > 0, target)
    lean = (by_template @ _LEAN) / np.maximum(sizes, 1)
    values = (weights * lean).sum(-1)
    with np.errstate(invalid="ignore"):  # Templates that were not asked have weight 0 and infinite variance.
        variance = cell_variance(by_template, _LEAN, design.products(model))
        spread = np.where(weights == 0, 0.0, weights**2 * variance).sum(-1)
    known = np.isfinite(values)
    count = np.maximum(known.sum(1), 1)
    means = np.where(known.any(1), np.where(known, values, 0.0).sum(1) / count, np.nan)
    return means, np.sqrt(np.where(known, spread, 0.0).sum(1)) / count, sizes.sum((1, 2))


def compared_parts(design: TemplateCounts, model: int) -> dict[Pull, DifferenceParts]:
    """The terms from which the Mantel-Haenszel differences for `request` and `last` are computed [issues]. Strata are
    cells with equal templates.

    The influences are these differences of proportions:

        request = P(answer A | request names A first) - P(answer A | request names B first)
        last    = P(pro | last argument is pro) - P(pro | last argument is con)
    """
    by_request, by_last = design.cells[model].sum(3), design.cells[model].sum(4)
    a_is_pro = (design.letter[model] > 0)[:, None, :, None]
    a_chosen = np.where(a_is_pro, by_request[..., PRO], by_request[..., CON])
    return {"request": _strata(a_chosen, by_request, 1, 0), "last": _strata(by_last[..., PRO], by_last, 1, 2)}


def _strata(chosen: NDArray[Any], answers: NDArray[Any], yes: int, no: int) -> DifferenceParts:
    answered = answers[..., PRO] + answers[..., CON]
    first, second = ([part[..., place].reshape(len(part), -1) for part in (chosen, answered)] for place in (yes, no))
    return mantel_haenszel(first[0], first[1], second[0], second[1])


def _of_parts(parts: DifferenceParts, issues: list[int], reason: str, level: float) -> dict[int, Estimate]:
    values, errors = parts.difference(), parts.error()
    return {
        i: wald(float(values[i]), float(errors[i]), round(float(parts.denominator[i])), level, _SATO)
        if parts.denominator[i] > 0
        else not_computed(reason, level=level)
        for i in issues
    }


_SATO = "Mantel-Haenszel, Sato"


def _overall(parts: DifferenceParts, issues: Mapping[int, Estimate], jackknife: Jackknife, reason: str) -> Estimate:
    known = np.flatnonzero(parts.denominator > 0)
    if not known.size:
        return not_computed(reason, level=jackknife.level)
    return (
        of_one_issue(issues[int(known[0])])
        if known.size == 1
        else jackknife.ratio(parts.numerator, parts.denominator, DIFFERENCE)
    )


def of_one_issue(number: Estimate) -> Estimate:
    """The estimate over issues if there is only one issue. It is the issue's own estimate, with an interval over
    answers, and the name of its method says so."""
    return msgspec.structs.replace(number, n=1, method=f"{number.method}, of the one issue")


LetterAndPosition: TypeAlias = tuple[Estimate, Estimate, Estimate]
"""Three estimates that show whether an issue's answers follow the letter or the position. They compare two answers, one
to each template of a mirrored pair with opposite letters. The first estimate is the probability that the two agree in
letter. The second is the probability that they agree in position. The third is the first minus the second. The `n` of
each estimate counts answers."""


def follows(found: LetterAndPosition | None) -> Literal["letter", "position"] | None:
    """'letter' if the issue's answers follow the letter, 'position' if they follow the position. None if the interval
    of the difference includes 0."""
    if found is None:
        return None
    gap = found[2]
    return "letter" if gap.lies_above() else "position" if gap.lies_below() else None


def letter_or_position(
    cells: AnswerCounts, model: int, conditions: list[int], level: float
) -> dict[int, LetterAndPosition]:
    """Estimates for each issue that has mirrored templates with opposite letters: do answers agree in letter or in
    position?

    The estimates are for two randomly chosen answers, one to each template of a mirrored pair:

        P(same letter)   = pro * con' + con * pro'
        P(same position) = pro * pro' + con * con'

    Here pro and con are the proportions of answers to one template, and pro' and con' those to the other template. The
    probabilities are averaged over the pairs and the `conditions`.
    """
    if cells.design is None or not conditions:
        return {}
    counts = cells.design.by_template(model)[:, conditions]
    sizes, every = whole(counts.sum(-1)), cells.design.products(model)
    products = None if every is None else every[:, conditions]
    shares = counts / np.maximum(sizes, 1)[..., None]
    mirrored = np.roll(shares, 3, axis=2)
    letter = cells.design.letter[model]
    pairs = (letter[:, None, :3] * letter[:, None, 3:] < 0) & (sizes[..., :3] > 0) & (sizes[..., 3:] > 0)
    used = pairs.sum((1, 2))
    zero = np.zeros_like(mirrored[..., PRO])
    by_letter = np.stack([mirrored[..., CON], mirrored[..., PRO], zero], -1)
    by_position = np.stack([mirrored[..., PRO], mirrored[..., CON], zero], -1)
    made = [
        _over_pairs(counts, shares, coefficients, pairs, products)
        for coefficients in (by_letter, by_position, by_letter - by_position)
    ]
    found: dict[int, LetterAndPosition] = {}
    for issue in np.flatnonzero(used).tolist():
        n = int(sizes[issue].sum())
        letter, position, gap = (
            wald(float(value[issue]), float(error[issue]), n, level, within=within)
            for (value, error), within in zip(made, (SHARE, SHARE, DIFFERENCE), strict=True)
        )
        found[issue] = letter, position, gap
    return found


def _over_pairs(
    counts: NDArray[Any], shares: Floats, coefficients: Floats, pairs: NDArray[np.bool_], products: Floats | None
) -> tuple[Floats, Floats]:
    """The mean over pairs of templates of the sum of `shares` times `coefficients`, and its standard error by the delta
    method."""
    value = (shares * coefficients).sum(-1)[..., :3]
    variance = cell_variance(counts, coefficients, products)
    of_pair = np.where(pairs, variance[..., :3] + variance[..., 3:], 0.0)
    used = np.maximum(pairs.sum((1, 2)), 1)
    return np.where(pairs, value, 0.0).sum((1, 2)) / used, np.sqrt(of_pair.sum((1, 2))) / used


MOST = 0.5
"""Answers follow an influence if the interval of the proportion that follows it lies above this limit."""

_FEWEST = 10
"""`request` and `last` need at least this number of comparisons, of two or more answers each. If all comparisons agree,
Sato's interval has no width."""

_TOWARDS: dict[Pull, tuple[str, str]] = {
    "letter": ("answer A", "answer B"),
    "first": ("the position named first", "the position named last"),
    "letter_and_first": ("answer A, which is named first", "answer B, which is named last"),
    "request": ("the letter that the request names first", "the letter that the request names last"),
    "last": ("the side of the last argument", "the side without the last argument"),
}

_WORDS: dict[Pull, str] = {"letter": "the letter", "letter_and_first": "the letter or its place"}


@dataclass(frozen=True)
class FollowedPull:
    """The influence that most of a model's answers with a stance follow, regardless of the prompt's content. `towards`
    names the influence's direction in words ('answer A').

    `share` is the influence without its sign. It is the proportion of answers that follow the influence, if all other
    answers follow the content. The interval is over answers, and `n` counts answers. For `request` and `last`, `n`
    counts comparisons.
    """

    follows: Pull
    towards: str
    share: Estimate


def following(cells: AnswerCounts, model: int, level: float) -> FollowedPull | None:
    """The influence that most of a model's answers with a stance follow; None if there is no such influence, or without
    records.

    The claim is about the answers to these issues, so the interval is over answers. An interval therefore exists even
    for a single issue.
    """
    if cells.design is None:
        return None
    own = cells.design.of(model)
    stances = own.cells.copy()
    stances[..., OTHER] = 0
    # If answers are probabilities, the parts for pro and con count as fractions of answers. This widens the interval.
    for followed, pull in _pulls(replace(own, cells=stances, moments=None), level):
        share = pull
        if pull.value < 0:
            share = msgspec.structs.replace(pull, value=-pull.value, low=-pull.high, high=-pull.low)
        if share.lies_above(MOST):
            return FollowedPull(followed, _TOWARDS[followed][pull.value < 0], share)
    return None


def unmeasured(found: FollowedPull | None) -> str:
    """The reason why a model that follows this influence has no score; '' for the last argument, which is content."""
    if found is None or found.follows == "last":
        return ""
    followed = _WORDS.get(found.follows, found.towards)
    return f"answers follow {followed}, so they do not measure stances"


def _pulls(design: TemplateCounts, level: float) -> Iterator[tuple[Pull, Estimate]]:
    """Each influence over all issues, for a design with a single model."""
    pooled = replace(design, cells=design.cells.sum(2, keepdims=True))  # all have the same templates
    for followed, target in _TARGETS.items():
        means, errors, n = contrast_parts(pooled, 0, target)
        known = np.isfinite(means)
        if known.any():
            error = sqrt(float((errors[known] ** 2).sum())) / int(known.sum())
            yield followed, wald(float(means[known].mean()), error, int(n[known].sum()), level)
    for followed, parts in compared_parts(design, 0).items():
        whole = DifferenceParts(*(part.sum() for part in parts))
        if (count := round(float(whole.denominator))) >= _FEWEST:
            yield followed, wald(float(whole.difference()), float(whole.error()), count, level, _SATO)
