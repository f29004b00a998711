"""A test of whether a model's token probabilities equal the proportions of its answers to the same prompts.

At prompt j the model gave an option the probability p_j, and x_j of n_j single answers chose it. Cox's line (1958,
Biometrika 45:562) is

    logit P(option at j) = a + b logit p_j

In Cox's line, a = 0 and b = 1 if probabilities equal proportions. The calibration slope b is below 1 if the model is
overconfident. The line is fitted with a normal prior of standard deviation 1 around a = 0 and b = 1. The prior carries
as much information as a few answers, and keeps the line finite if all answers are the same. Standard errors are
binomial, or cluster-robust with prompts as clusters (Liang and Zeger 1986), whichever is larger. Limits use Student's
t. Differences are on the scale of proportions.

A line cannot represent differences that cancel out between prompts or are not monotone. So each prompt's squared
difference d^2 is estimated as well, without the part that is due to chance. Let d = q - p, where q is the true
proportion of answers at a prompt. Then, for n >= 2,

    E[x (x - 1) / (n (n - 1)) - 2 p x / n + p^2] = d^2

Prompts with a single answer do not determine d^2. For several options, half the sum of d^2 over options replaces d^2.
If probability merely moves from one option to another, this half-sum is the square of the moved probability. The mean
over prompts weights each prompt by the standard deviation of one answer. Otherwise prompts with a nearly certain answer
would hide differences at other prompts.
"""

from __future__ import annotations

from math import ceil, sqrt
from typing import Literal, NamedTuple

import msgspec
import numpy as np
import scipy
from numpy.typing import ArrayLike

from overton.statistics.arrays import Floats
from overton.statistics.estimate import Estimate, not_computed
from overton.statistics.proportions import wilson_limits

Verdict = Literal["agree", "differ", "cannot tell"]

BAND = 0.1
"""A difference of at most this between proportion and probability counts as agreement, whatever the probability."""

_LEVEL = 0.95
"""The coverage of all intervals."""
_FEWEST = 5
"""The minimum number of prompts for a line."""
_POWER = 0.8
"""If there is no difference, the number of answers in `needed` shows agreement with this probability."""
_HIGHEST_PROBABILITY = 0.995
"""Before logits are taken, probabilities are clipped to at most this, and to at least 1 minus this."""


_NO_TYPICAL = not_computed(f"fewer than {_FEWEST} prompts have two answers or more", level=0.95, n=0)


class Calibration(msgspec.Struct, frozen=True):
    """A comparison of a model's probabilities with its answers.

    `slope` is the calibration slope b. `offset` is the line's mean difference over prompts (proportion minus
    probability). `outward` is the mean difference in the direction away from one half. It is above 0 if answers are
    more extreme than the probabilities. `typical` is the root mean square difference of single prompts, weighted by the
    standard deviation of an answer. The part that is due to chance is removed. `typical` is not computed if prompts
    have one answer each. `largest` is the largest difference at a single prompt, including noise. Its limits hold for
    all prompts jointly (Bonferroni). `other` is the proportion of answers that name no option, minus the proportion
    implied by the probabilities. It is None if unknown. Differences are on [-1, 1]. `prompts` and `answers` are counts.

    The verdict is 'differ' if the line's difference clearly exceeds `band` somewhere along the line (Scheffé), or if
    the interval of `other` or `typical` lies beyond the band. It is 'agree' if the intervals of `offset`, `outward`,
    `typical` and `other` lie within the band. Otherwise it is 'cannot tell', and `why` gives the reason. If there is no
    difference, about `needed` answers would show agreement with probability 0.8. `needed` is None if unknown.
    """

    prompts: int
    answers: int
    slope: Estimate
    offset: Estimate
    outward: Estimate
    largest: Estimate
    other: Estimate | None
    band: float
    verdict: Verdict
    why: str = ""
    typical: Estimate = _NO_TYPICAL
    needed: int | None = None


def calibration(
    probabilities: ArrayLike,
    counted: ArrayLike,
    other: tuple[ArrayLike, ArrayLike] | None = None,
) -> Calibration:
    """Compare probabilities with single answers.

    `probabilities` and `counted` [prompts, options] cover all options. If there are two options, only the first is
    used, because the probabilities sum to 1. Prompts without probabilities (NaN), or without an answer that names an
    option, are left out. `other` has, for every prompt, the probability that an answer names no option, and the
    proportion of such answers.
    """
    p, x = np.atleast_2d(np.asarray(probabilities, float)), np.atleast_2d(np.asarray(counted, float))
    known = np.isfinite(p).all(1) & (x.sum(1) > 0)
    p, x = p[known], x[known]
    n = np.broadcast_to(x.sum(1, keepdims=True), x.shape)
    answers, apart = int(x.sum()), None if other is None else _other_difference(other)
    if len(p) < _FEWEST:
        nothing = not_computed(f"fewer than {_FEWEST} prompts have both", n=len(p))
        why = f"only {len(p)} prompts have probabilities and answers, and {_FEWEST} are needed"
        return Calibration(
            len(p), answers, nothing, nothing, nothing, nothing, apart, band=BAND, verdict="cannot tell", why=why
        )
    if p.shape[1] == 2:
        p, x, n = p[:, :1], x[:, :1], n[:, :1]
    line = _CalibrationLine.fitted(p, x, n)
    slope, offset, outward = (
        line.slope(),
        line.mean(1.0),
        line.mean(np.sign(line.probabilities - 0.5)),
    )
    single = _PromptDifferences.of(p, x, n)
    tested = _BandTest([estimate for estimate in (offset, outward, apart) if estimate is not None], apart, single)
    verdict, why = tested.verdict(line)
    return Calibration(
        len(p),
        answers,
        slope,
        offset,
        outward,
        _largest_difference(p, x, n),
        apart,
        BAND,
        verdict,
        why,
        _NO_TYPICAL if single is None else single.typical(),
        tested.needed(answers) if verdict == "cannot tell" else None,
    )


class _CalibrationLine(NamedTuple):
    """A fitted line: its coefficients [a, b], their binomial and cluster-robust covariances, and its data."""

    coefficients: Floats
    binomial: Floats
    robust: Floats
    probabilities: Floats
    prompts: int

    @classmethod
    def fitted(cls, p: Floats, x: Floats, n: Floats) -> _CalibrationLine:
        z = scipy.special.logit(np.clip(p, 1 - _HIGHEST_PROBABILITY, _HIGHEST_PROBABILITY))
        design = np.stack([np.ones_like(z), z], -1)
        found = np.array([0.0, 1.0])
        for _ in range(50):
            share = scipy.special.expit(design @ found)
            slope = np.einsum("jk,jka->a", x - n * share, design) - (found - [0.0, 1.0])
            bent = np.einsum("jk,jka,jkb->ab", n * share * (1 - share), design, design) + np.eye(2)
            step = np.linalg.solve(bent, slope)
            found = found + step
            if np.abs(step).max() < 1e-9:
                break
        score = np.einsum("jk,jka->ja", x - n * scipy.special.expit(design @ found), design)
        covariance = np.linalg.inv(bent)
        several = p.shape[1] / (p.shape[1] - 1) if p.shape[1] > 1 else 1.0  # options of a prompt determine one another
        scale = len(p) / max(len(p) - 2, 1)
        return cls(found, several * covariance, scale * covariance @ score.T @ score @ covariance, p.ravel(), len(p))

    def _errors(self, at: Floats) -> tuple[float, float]:
        first, second = (sqrt(max(float(at @ covariance @ at), 0.0)) for covariance in (self.binomial, self.robust))
        return first, second

    def _estimate(self, value: float, at: Floats) -> Estimate:
        cut, (first, second) = (1 + _LEVEL) / 2, self._errors(at)
        half = max(
            float(scipy.special.ndtri(cut)) * first, float(scipy.special.stdtrit(self.prompts - 2, cut)) * second
        )
        return Estimate(value, value - half, value + half, self.prompts, "Cox's line over prompts", _LEVEL)

    def _differences_and_slopes(self) -> tuple[Floats, Floats]:
        """The line's differences from the probabilities, and their derivatives with respect to a and b."""
        z = scipy.special.logit(np.clip(self.probabilities, 1 - _HIGHEST_PROBABILITY, _HIGHEST_PROBABILITY))
        share = scipy.special.expit(self.coefficients[0] + self.coefficients[1] * z)
        # Probabilities beyond the range of logits are compared with the line's value at the end of that range.
        return share - np.clip(self.probabilities, 1 - _HIGHEST_PROBABILITY, _HIGHEST_PROBABILITY), (
            share * (1 - share)
        )[:, None] * np.stack([np.ones_like(z), z], -1)

    def slope(self) -> Estimate:
        """The calibration slope."""
        if np.ptp(self.probabilities) < 1e-9:
            return not_computed("the probability is the same at every prompt", n=self.prompts)
        return self._estimate(float(self.coefficients[1]), np.array([0.0, 1.0]))

    def mean(self, ways: ArrayLike) -> Estimate:
        """The mean of the differences over prompts and options, each multiplied by its sign in `ways` (1 or -1)."""
        values, slopes = self._differences_and_slopes()
        way = np.broadcast_to(np.asarray(ways, float), values.shape)
        return self._estimate(float((way * values).mean()), (way[:, None] * slopes).mean(0))

    def surely_beyond(self) -> bool:
        """Whether some difference clearly exceeds the band, anywhere along the line."""
        wide = sqrt(2 * float(scipy.special.fdtri(2, max(self.prompts - 2, 1), _LEVEL)))
        return any(
            abs(value) - wide * max(self._errors(at)) > BAND
            for value, at in zip(*self._differences_and_slopes(), strict=True)
        )


def _largest_difference(p: Floats, x: Floats, n: Floats) -> Estimate:
    d = x / n - p
    at = np.unravel_index(int(np.abs(d).argmax()), d.shape)
    low, high = wilson_limits((x / n)[at], n[at], 1 - (1 - _LEVEL) / d.size)
    at_prompt, value = float(p[at]), float(d[at])
    return Estimate(
        value, float(low) - at_prompt, float(high) - at_prompt, int(n[at]), "Wilson, Bonferroni over prompts", _LEVEL
    )


def _other_difference(other: tuple[ArrayLike, ArrayLike]) -> Estimate:
    """The mean difference over prompts: the proportion of answers that name no option, minus the probability of such
    answers. The standard error is never 0, because it includes the effect of half an answer."""
    probabilities, shares = (np.asarray(values, float) for values in other)
    d = shares - probabilities
    if len(d) < _FEWEST:
        return not_computed(f"fewer than {_FEWEST} prompts", n=len(d))
    error = sqrt(float(d.var(ddof=1)) / len(d) + (0.5 / (len(d) + 1)) ** 2)
    half = float(scipy.special.stdtrit(len(d) - 1, (1 + _LEVEL) / 2)) * error
    return Estimate(float(d.mean()), float(d.mean()) - half, float(d.mean()) + half, len(d), "Student's t", _LEVEL)


class _PromptDifferences(NamedTuple):
    """Differences of single prompts. `square` is their mean square, and `error` its standard error. `error_if_alike` is
    the standard error if probabilities and true proportions are equal. `prompts` is the number of prompts with at least
    two answers."""

    square: float
    error: float
    error_if_alike: float
    prompts: int

    @classmethod
    def of(cls, p: Floats, x: Floats, n: Floats) -> _PromptDifferences | None:
        """The differences of single prompts, None if too few prompts have several answers. `p` and `x` have a column
        for each option. Of two options, only the first may have a column."""
        several = n[:, 0] > 1
        if several.sum() < _FEWEST:
            return None
        p, x, n = p[several], x[several], n[several, :1]
        if p.shape[1] == 1:
            p, x = np.hstack([p, 1 - p]), np.hstack([x, n - x])
        squares = (x * (x - 1) / (n * (n - 1)) - 2 * p * x / n + p**2).sum(1) / 2
        kept = np.clip(p, 1 - _HIGHEST_PROBABILITY, _HIGHEST_PROBABILITY)
        weight = np.sqrt((kept * (1 - kept)).sum(1) / 2)
        weight /= weight.sum()
        # The covariance of one answer is diag(p) - p p'; the sum of its squared entries:
        spread = (p**2).sum(1) - 2 * (p**3).sum(1) + (p**2).sum(1) ** 2
        mean, many = float(weight @ squares), len(p)
        alike = float(weight**2 @ (spread / (2 * n[:, 0] * (n[:, 0] - 1))))
        seen = many / (many - 1) * float(weight**2 @ (squares - mean) ** 2)
        return cls(mean, sqrt(max(alike, seen)), sqrt(alike), many)

    def _square_limit(self, cut: float) -> float:
        return self.square + float(scipy.special.stdtrit(self.prompts - 1, cut)) * self.error

    def typical(self) -> Estimate:
        """The root mean square, with a two-sided interval."""
        value, low, high = (
            sqrt(max(square, 0.0))
            for square in (self.square, self._square_limit((1 - _LEVEL) / 2), self._square_limit((1 + _LEVEL) / 2))
        )
        return Estimate(value, low, high, self.prompts, "Student's t over prompts, of the mean square", _LEVEL)

    def prompts_needed(self) -> int:
        """The number of prompts that would show, with probability `_POWER`, that the typical difference is below the
        band. This assumes that there is no difference, and that each prompt has as many answers as now."""
        wide = float(scipy.special.ndtri((1 + _LEVEL) / 2)) + float(scipy.special.ndtri(_POWER))
        return ceil(self.prompts * (wide * self.error_if_alike / BAND**2) ** 2)


class _BandTest(NamedTuple):
    """Estimates to compare with the band: mean differences (`means`), and differences of single prompts (`single`).
    `other` is the mean difference for answers without an option. If it is known, `means` includes it."""

    means: list[Estimate]
    other: Estimate | None
    single: _PromptDifferences | None

    def verdict(self, line: _CalibrationLine) -> tuple[Verdict, str]:
        """The verdict, and the reason if it is 'cannot tell', otherwise ''."""
        apart = self.other is not None and (self.other.low > BAND or self.other.high < -BAND)
        one_by_one = self.single is not None and self.single.typical().low > BAND
        if line.surely_beyond() or apart or one_by_one:
            return "differ", ""
        if self.single is None:
            return "cannot tell", "each prompt has one answer, so differences of single prompts cannot be estimated"
        reach = max(max(abs(mean.low), abs(mean.high)) for mean in self.means)
        if reach > BAND:
            return "cannot tell", f"the mean difference may reach {reach:.2f}, and the band is {BAND:g}"
        if (most := self.single.typical().high) > BAND:
            return (
                "cannot tell",
                f"the typical difference of a prompt may reach {most:.2f}, and the band is {BAND:g}",
            )
        return "agree", ""

    def needed(self, answers: int) -> int | None:
        """The approximate number of answers that would show agreement if there is no difference. None if this number
        cannot be estimated, or does not exceed the present number."""
        if self.single is None:
            return None
        made = ceil(self.single.prompts_needed() * answers / self.single.prompts / 100) * 100
        return made if made > answers else None
