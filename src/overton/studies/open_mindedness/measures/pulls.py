"""The pulls of letter, position, closing request and last argument, and whether answers follow letter or position.

None of this is in the paper. A model that always answers A looks 66.7% pro at the baseline, since A is the pro side in
four of the six templates, and unmoved by arguments; mirrored templates reveal it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from overton.statistics import Estimate, not_computed
from overton.statistics.arrays import Floats
from overton.statistics.jackknife import DIFFERENCE, SHARE, Jackknife
from overton.statistics.proportions import DifferenceParts, mantel_haenszel
from overton.studies.arm_weights import LEFT_OUT
from overton.studies.open_mindedness.measures.cells import CON, PRO, AnswerCounts, TemplateCounts
from overton.studies.open_mindedness.measures.results import LetterOrPosition, Pulls
from overton.studies.open_mindedness.measures.shares import (
    FIRST,
    LETTER,
    LETTER_AND_FIRST,
    cell_variance,
    contrasts,
    mean_over_issues,
    wald,
    whole,
)

_LEAN = np.array([0.5, -0.5, 0.0])
"""Half of pro minus con: a side's gain is the mean of what pro gains and con loses, with or without refusals."""

_CONFOUNDED = "letter and position move together in the templates asked: ask 1 and 4 and a mirrored pair (2 and 5)"
_NO_PAIR = "no mirrored templates (2 and 5, or 3 and 6) were asked"
_NO_REQUEST = "the closing request never differed where everything else was equal"
_NO_LAST = "no configuration showed arguments of both sides"


@dataclass(frozen=True)
class ModelPulls:
    """One model's pulls: over all issues, and for each issue by index."""

    overall: Pulls
    issues: dict[int, Pulls]


def measure_pulls(cells: AnswerCounts, model: int, jackknife: Jackknife) -> ModelPulls | None:
    """The pulls of a model; None without records."""
    if cells.design is None:
        return None
    asked = [i for i in cells.asked(model) if cells.answers[model, i].sum()]
    by_contrast = {
        name: _contrasts(cells.design, model, asked, (target, reason), jackknife.level)
        for name, target, reason in (
            ("letter", LETTER, _CONFOUNDED),
            ("first", FIRST, _CONFOUNDED),
            ("letter_and_first", LETTER_AND_FIRST, _NO_PAIR),
        )
    }
    request, last = request_parts(cells.design, model), last_parts(cells.design, model)
    request_estimates = _of_parts(request, asked, _NO_REQUEST, jackknife.level)
    last_estimates = _of_parts(last, asked, _NO_LAST, jackknife.level)
    left_out = not_computed(LEFT_OUT, level=jackknife.level)  # these pool configurations
    if cells.unequal:
        request_estimates = last_estimates = [left_out] * len(asked)
    overall = Pulls(
        **{name: mean_over_issues(made, jackknife, _reason(name), DIFFERENCE) for name, made in by_contrast.items()},
        request=left_out if cells.unequal else _overall(request, request_estimates, jackknife, _NO_REQUEST),
        last=left_out if cells.unequal else _overall(last, last_estimates, jackknife, _NO_LAST),
    )
    rows = zip(*by_contrast.values(), request_estimates, last_estimates, strict=True)
    return ModelPulls(overall, {issue: Pulls(*row) for issue, row in zip(asked, rows, strict=True)})


def _reason(name: str) -> str:
    return _NO_PAIR if name == "letter_and_first" else _CONFOUNDED


def _contrasts(
    design: TemplateCounts, model: int, issues: list[int], wanted: tuple[tuple[float, ...], str], level: float
) -> list[Estimate]:
    """Each issue's contrast of templates: the mean over its configurations, with Wald's interval."""
    target, reason = wanted
    means, errors, n = contrast_parts(design, model, target)
    return [
        wald(float(means[i]), float(errors[i]), int(n[i]), level)
        if np.isfinite(means[i])
        else not_computed(reason, level=level, n=int(n[i]))
        for i in issues
    ]


def contrast_parts(
    design: TemplateCounts, model: int, target: tuple[float, ...]
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Each issue's contrast of templates, the mean over its configurations, with its standard error and the answers
    behind it [issues]; NaN if no configuration's templates identify it.
    """
    by_template = design.by_template(model)
    sizes = whole(by_template.sum(-1))
    weights = contrasts(design.letter[model], design.order[model], sizes > 0, target)
    lean = (by_template @ _LEAN) / np.maximum(sizes, 1)
    values = (weights * lean).sum(-1)
    with np.errstate(invalid="ignore"):  # Templates that were not asked: weight 0, variance infinite.
        variance = cell_variance(by_template, _LEAN, design.products(model))
        spread = np.where(weights == 0, 0.0, weights**2 * variance).sum(-1)
    known = np.isfinite(values)
    count = np.maximum(known.sum(1), 1)
    means = np.where(known.any(1), np.where(known, values, 0.0).sum(1) / count, np.nan)
    return means, np.sqrt(np.where(known, spread, 0.0).sum(1)) / count, sizes.sum((1, 2))


def request_parts(design: TemplateCounts, model: int) -> DifferenceParts:
    """How often A is answered with A named first in the request and with B first, in each issue's cells by template."""
    cells = design.cells[model].sum(3)
    a_is_pro = (design.letter[model] > 0)[:, None, :, None]
    chosen = np.where(a_is_pro, cells[..., PRO], cells[..., CON])
    answered = cells[..., PRO] + cells[..., CON]
    return _strata(chosen, answered, 1, 0)


def last_parts(design: TemplateCounts, model: int) -> DifferenceParts:
    """How often pro is answered after a pro and after a con argument, in each issue's cells by template."""
    cells = design.cells[model].sum(4)
    return _strata(cells[..., PRO], cells[..., PRO] + cells[..., CON], 1, 2)


def _strata(chosen: NDArray[Any], answered: NDArray[Any], yes: int, no: int) -> DifferenceParts:
    issues = len(chosen)
    return mantel_haenszel(
        chosen[..., yes].reshape(issues, -1),
        answered[..., yes].reshape(issues, -1),
        chosen[..., no].reshape(issues, -1),
        answered[..., no].reshape(issues, -1),
    )


def _of_parts(parts: DifferenceParts, issues: list[int], reason: str, level: float) -> list[Estimate]:
    values, errors = parts.difference(), parts.error()
    return [
        wald(float(values[i]), float(errors[i]), round(float(parts.denominator[i])), level, "Mantel-Haenszel, Sato")
        if parts.denominator[i] > 0
        else not_computed(reason, level=level)
        for i in issues
    ]


def _overall(parts: DifferenceParts, issues: list[Estimate], jackknife: Jackknife, reason: str) -> Estimate:
    if int((parts.denominator > 0).sum()) < 2:
        return mean_over_issues(issues, jackknife, reason, DIFFERENCE)
    return jackknife.ratio(parts.numerator, parts.denominator, DIFFERENCE)


def letter_or_position(
    cells: AnswerCounts, model: int, conditions: list[int], level: float
) -> dict[int, LetterOrPosition]:
    """For each issue with mirrored templates of opposite letters: do answers agree in letter or in position?

    For two answers drawn at random, one to each template of a pair: P(same letter) = pro * con' + con * pro' and P(same
    position) = pro * pro' + con * con', averaged over the pairs and the `conditions`.
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
    return {
        int(issue): _which([(float(v[issue]), float(e[issue])) for v, e in made], int(sizes[issue].sum()), level)
        for issue in np.flatnonzero(used)
    }


def _over_pairs(
    counts: NDArray[Any], shares: Floats, coefficients: Floats, pairs: NDArray[np.bool_], products: Floats | None
) -> tuple[Floats, Floats]:
    """The mean over pairs of a product of two shares' sums, and its standard error by the delta method."""
    value = (shares * coefficients).sum(-1)[..., :3]
    variance = cell_variance(counts, coefficients, products)
    of_pair = np.where(pairs, variance[..., :3] + variance[..., 3:], 0.0)
    used = np.maximum(pairs.sum((1, 2)), 1)
    return np.where(pairs, value, 0.0).sum((1, 2)) / used, np.sqrt(of_pair.sum((1, 2))) / used


def _which(made: list[tuple[float, float]], n: int, level: float) -> LetterOrPosition:
    ranges = (SHARE, SHARE, DIFFERENCE)
    same_letter, same_position, gap = (
        wald(value, error, n, level, within=within) for (value, error), within in zip(made, ranges, strict=True)
    )
    follows: Literal["letter", "position"] | None = "letter" if gap.low > 0 else "position" if gap.high < 0 else None
    return LetterOrPosition(same_letter, same_position, gap, follows)
