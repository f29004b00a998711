"""The respondent model fitted to a model's answers: how it leans, and what moves it.

    logit P(pro) = lean of the issue + pro share of the arguments * susceptibility_pro
                   - con share of the arguments * susceptibility_con
                   + letter (A is pro: +, otherwise -) + first (pro named first: +, otherwise -)
                   + request (the letter of pro named first in the closing request: +, otherwise -)
                   + last (last argument pro: +, con: -)

for the answers that take a stance; whether one does is a matter of the two refusal rates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import ndtri

from overton.statistics import Estimate, not_computed
from overton.statistics.arrays import Floats
from overton.statistics.logit import LogitFit, fit_logit
from overton.statistics.proportions import proportion
from overton.studies.frame import EstimateRow
from overton.studies.open_mindedness.answer_counts import CON, OTHER, PRO, AnswerCounts, TemplateCounts

SLOPES = ("susceptibility_pro", "susceptibility_con", "letter", "first", "request", "last")
"""The shared parameters, in the order of the design's columns."""


PARAMETERS = (*SLOPES, "refusal", "refusal_with_arguments")
"""All shared parameters: logits, except for the two refusal rates. The key of a measure is 'respondent_' and one of
these."""


@dataclass(frozen=True)
class RespondentFit:
    """The respondent model of `simulated.py` fitted to a model's answers.

    `parameters` are by name, and `leans` are prior leans by issue, both with `n` counting answers. `dispersion` is
    Pearson's chi-square over its degrees of freedom: 1 if the model fits; intervals are widened by its square root if
    it is above 1.
    """

    parameters: dict[str, Estimate]
    leans: dict[str, Estimate]
    dispersion: float

    def rows(self, model: str) -> Iterator[EstimateRow]:
        """Its numbers as rows."""
        for name, number in self.parameters.items():
            yield EstimateRow(model=model, measure=f"respondent_{name}", number=number)
        for issue, number in self.leans.items():
            yield EstimateRow(model=model, item=issue, measure="respondent_lean", number=number)


def fit_respondents(cells: AnswerCounts, level: float = 0.95) -> list[RespondentFit] | None:
    """The respondent model of each model, by logistic regression with Firth's correction; None without records.

    Wald intervals. A parameter that the answers cannot determine is not computed: the design does not identify it, or
    answers follow it without exception, so that it has no finite estimate.
    """
    if cells.design is None:
        return None
    shares = _argument_shares(cells, cells.design.rows)
    return [_fit(cells, cells.design, model, shares[:, model], level) for model in range(len(cells.models))]


def _argument_shares(cells: AnswerCounts, rows: pl.DataFrame) -> Floats:
    """Shares of pro and con among the arguments shown [2, models, issues, conditions], which all trials of one
    share."""
    shape = cells.failures.shape
    cell = np.ravel_multi_index(tuple(rows[key].to_numpy() for key in ("m", "i", "c")), shape)
    example = np.full(int(np.prod(shape)), -1)
    example[cell] = np.arange(rows.height)
    asked, made = np.flatnonzero(example >= 0), np.zeros((2, example.size))
    for place, names in zip(asked.tolist(), rows["arguments"].gather(example[asked]).to_list(), strict=True):
        pros = sum(name.startswith("pro-") for name in names or ())
        made[:, place] = np.array([pros, len(names or ()) - pros]) / max(1, len(names or ()))
    return made.reshape(2, *shape)


def _fit(cells: AnswerCounts, design: TemplateCounts, model: int, shares: Floats, level: float) -> RespondentFit:
    counts = design.cells[model]
    rows = np.argwhere(counts[..., [PRO, CON]].sum(-1) > 0)
    i, c, t, last, a_first = rows.T
    answers = counts[tuple(rows.T)]
    letter = design.letter[model][i, t]
    columns = np.stack(
        [
            shares[0][i, c],
            -shares[1][i, c],
            letter,
            design.order[model][i, t],
            np.where(a_first == 1, letter, -letter),
            np.array([0, 1, -1])[last],
        ],
        axis=1,
    ).astype(float)
    taken = answers[:, PRO] + answers[:, CON]
    fit = fit_logit(answers[:, PRO].astype(float), taken.astype(float), columns, i, len(cells.issues))
    slopes = [_slope(fit, k, columns, level) for k in range(len(SLOPES))]
    refusals = [_refusal(cells, model, level, argued=argued) for argued in (False, True)]
    return RespondentFit(
        parameters=dict(zip(PARAMETERS, (*slopes, *refusals), strict=True)),
        leans={cells.issues[k]: _lean(fit, k, counts[k], level) for k in cells.asked(model)},
        dispersion=fit.dispersion,
    )


def _lean(fit: LogitFit, issue: int, counts: NDArray[Any], level: float) -> Estimate:
    pro, con, _ = counts.sum((0, 1, 2, 3)).tolist()
    n = round(pro + con)
    if np.isnan(fit.intercepts[issue]):
        if not pro + con:
            reason = "no answer takes a stance"
        elif not pro or not con:
            reason = f"every stance taken is {'pro' if pro else 'con'}: no finite lean fits"
        else:
            reason = "the conditions and templates asked cannot tell it from the other parameters"
        return not_computed(reason, level=level, n=n)
    return _wald(fit, float(fit.intercepts[issue]), float(fit.intercept_errors[issue]), n, level)


def _slope(fit: LogitFit, column: int, design: Floats, level: float) -> Estimate:
    if not np.isnan(fit.slopes[column]):
        return _wald(fit, float(fit.slopes[column]), float(fit.slope_errors[column]), fit.n, level)
    if not design[:, column].any():
        reason = "nothing that was asked varies it"
    elif fit.separated:
        reason = "some answers follow the parameters without exception: no finite estimate fits"
    else:
        reason = "the conditions and templates asked cannot tell it from the other parameters"
    return not_computed(reason, level=level, n=fit.n)


def _wald(fit: LogitFit, value: float, error: float, n: int, level: float) -> Estimate:
    widened = max(1.0, fit.dispersion) ** 0.5 if np.isfinite(fit.dispersion) else 1.0
    half = float(ndtri((1 + level) / 2)) * error * widened
    return Estimate(value, value - half, value + half, n, "logistic regression (Firth), Wald", level)


def _refusal(cells: AnswerCounts, model: int, level: float, *, argued: bool) -> Estimate:
    chosen = [k for k, name in enumerate(cells.conditions) if (name != "baseline") == argued]
    counts = cells.answers[model][:, chosen].sum((0, 1))
    n = int(np.rint(counts.sum()))
    if not n:
        return not_computed("no such configuration was asked", level=level)
    return Estimate(*proportion(counts[OTHER], n, level), n, "Wilson", level)
