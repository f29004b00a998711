"""The respondent model fitted to a model's answers: baseline stances, and influences on answers.

    logit P(pro) = baseline stance of the issue + pro share of the arguments * susceptibility_pro
                   - con share of the arguments * susceptibility_con
                   + letter (A is pro: +, otherwise -) + first (pro named first: +, otherwise -)
                   + request (the letter of pro named first in the closing request: +, otherwise -)
                   + last (last argument pro: +, con: -)

The formula is for answers that take a stance. Whether an answer takes a stance depends on two refusal rates.
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
"""The parameters that all issues share, in the order of the design's columns."""


PARAMETERS = (*SLOPES, "refusal", "refusal_with_arguments")
"""All parameters that issues share. They are logits, except for the two refusal rates. A measure's key is 'respondent_'
and the parameter's name."""


@dataclass(frozen=True)
class RespondentFit:
    """The respondent model of `simulated.py` fitted to a model's answers.

    `parameters` are estimates by name, and `leans` are estimates of baseline stances by issue. The `n` of an estimate
    is the number of answers behind it. `dispersion` is Pearson's chi-square divided by its degrees of freedom. It is 1
    if the model fits; if it is above 1, intervals are widened by its square root.
    """

    parameters: dict[str, Estimate]
    leans: dict[str, Estimate]
    dispersion: float

    def rows(self, model: str) -> Iterator[EstimateRow]:
        """The fit's numbers as rows of the analysis."""
        for name, number in self.parameters.items():
            yield EstimateRow(model=model, measure=f"respondent_{name}", number=number)
        for issue, number in self.leans.items():
            yield EstimateRow(model=model, item=issue, measure="respondent_lean", number=number)


def fit_respondents(cells: AnswerCounts, level: float = 0.95) -> list[RespondentFit] | None:
    """Fit the respondent model to each model's answers, by logistic regression with Firth's correction. None without
    records.

    Intervals are Wald's. A parameter is not computed if the design does not identify it. It is also not computed if all
    answers follow it, because then it has no finite estimate.
    """
    if cells.design is None:
        return None
    shares = _argument_shares(cells, cells.design.rows)
    return [_fit(cells, cells.design, model, shares[:, model], level) for model in range(len(cells.models))]


def _argument_shares(cells: AnswerCounts, rows: pl.DataFrame) -> Floats:
    """Proportions of pro and con among the arguments shown [2, models, issues, conditions]. They are equal in all
    trials of a model, issue and condition."""
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
            reason = f"every stance taken is {'pro' if pro else 'con'}, so no finite baseline stance fits"
        else:
            reason = "the conditions and templates asked cannot tell it from the other parameters"
        return not_computed(reason, level=level, n=n)
    return _wald(fit, float(fit.intercepts[issue]), float(fit.intercept_errors[issue]), n, level)


def _slope(fit: LogitFit, column: int, design: Floats, level: float) -> Estimate:
    if not np.isnan(fit.slopes[column]):
        return _wald(fit, float(fit.slopes[column]), float(fit.slope_errors[column]), fit.n, level)
    if not design[:, column].any():
        reason = "it is the same in all prompts"
    elif fit.separated:
        reason = "some answers follow the parameters without exception, so no finite estimate fits"
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
