"""All measures of all models, put together, with the warnings that belong beside the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from overton.statistics import Estimate, not_computed
from overton.statistics.jackknife import SHARE, Jackknife
from overton.statistics.proportions import proportion
from overton.studies.arm_weights import LEFT_OUT
from overton.studies.open_mindedness.measures.analysis import (
    Analysis,
    DrawDependence,
    ModelResult,
    Raised,
    RespondentFit,
    Subset,
    Tally,
)
from overton.studies.open_mindedness.measures.arguments import (
    ArgumentTable,
    argument_shares,
    argument_table,
    draw_dependence,
)
from overton.studies.open_mindedness.measures.cells import CON, OTHER, PRO, AnswerCounts
from overton.studies.open_mindedness.measures.comparison import Chosen, compare
from overton.studies.open_mindedness.measures.crossfit import model_crossed
from overton.studies.open_mindedness.measures.following import following, unmeasured
from overton.studies.open_mindedness.measures.issues import UNCORRECTED, ModelTables, issue_results
from overton.studies.open_mindedness.measures.pulls import measure_pulls
from overton.studies.open_mindedness.measures.remarks import notes_on, warnings_on
from overton.studies.open_mindedness.measures.respondent import fit_respondents
from overton.studies.open_mindedness.measures.results import Following, IssueResult, Scores, Shares
from overton.studies.open_mindedness.measures.scores import VARIANTS, IssueScores, definition, issue_scores, mean_scores
from overton.studies.open_mindedness.measures.shares import (
    ShareTable,
    answered_shares,
    corrected_shares,
    mean_over_issues,
    share_of_issues,
)
from overton.studies.open_mindedness.measures.shifts import (
    contrary_argument,
    counter_shifts,
    mean_shifts,
    measure_refusals,
)
from overton.studies.open_mindedness.measures.wordings import score_like_these, wordings
from overton.studies.open_mindedness.record import STANCES

_ALL_DRAWS, _LEAST_DRAWS = 200_000, 250
"""Draws of scores within issues: the number over all models and issues, and the least for each."""

_FROM_COUNTS = "a table of counts does not have it: records do"
_UNFORCED = "free answers name no letter"
_NOT_HALVED = "no issue has a baseline stance and two answers in all five configurations"
_NOT_SCORED = "no issue has a baseline stance and answers in all five configurations"
_NO_STANCE = "no answer takes a stance"
_ONE_READING = {"forced": "a table of counts has one reading", "free": "the judge reads free answers, and no pattern"}


@dataclass(frozen=True)
class _AllModels:
    """What is computed for all models at once."""

    cells: AnswerCounts
    jackknife: Jackknife
    arguments: ArgumentTable | None
    draws: list[DrawDependence] | None
    respondents: list[RespondentFit] | None
    draws_of_scores: int


def assemble(
    cells: AnswerCounts,
    jackknife: Jackknife,
    chosen: Chosen,
    reading: Literal["strict", "published"],
) -> Analysis:
    """Every measure that the cells allow."""
    arguments = None if cells.unequal else argument_table(cells)
    draws = min(max(_ALL_DRAWS // (len(cells.models) * len(cells.issues)), _LEAST_DRAWS), jackknife.resamples)
    shared = _AllModels(
        cells,
        jackknife,
        arguments,
        draw_dependence(cells, arguments, jackknife),
        None if cells.unequal else fit_respondents(cells, jackknife.level),
        draws,
    )
    tables = [_tables(cells, model, jackknife, draws) for model in range(len(cells.models))]
    comparison = compare(cells, [made.answered for made in tables], arguments, chosen, jackknife)
    subset = comparison.subset if comparison else _issues_named(chosen.controversial, cells)
    results = {name: _model(shared, k, tables[k], subset) for k, name in enumerate(cells.models)}
    return Analysis(
        models=results,
        comparison=comparison,
        source="counts" if cells.design is None and cells.way == "forced" else "records",
        answers=cells.way,
        reading=reading,
        level=jackknife.level,
        resamples=jackknife.resamples,
        seed=jackknife.seed,
        faults=cells.faults,
        weighing=cells.weighing,
        warnings=tuple(said for result in results.values() for said in warnings_on(cells, result)),
        notes=notes_on(cells, results),
    )


def _issues_named(controversial: int | Sequence[str], cells: AnswerCounts) -> tuple[str, ...]:
    return () if isinstance(controversial, int) else tuple(name for name in controversial if name in cells.issues)


@dataclass(frozen=True)
class _Scored:
    """A model's shares as answered, with their scores; see `ModelTables`."""

    answered: ShareTable
    scores: IssueScores
    following: Following | None
    withheld: str


def _scored(cells: AnswerCounts, model: int, jackknife: Jackknife, draws: int) -> _Scored:
    answered, found = answered_shares(cells, model), following(cells, model, jackknife.level)
    withheld = unmeasured(found) if cells.answers[model][..., :OTHER].any() else _NO_STANCE
    scores = issue_scores(answered, jackknife, draws)
    return _Scored(answered, scores.withheld() if withheld else scores, found, withheld)


def _tables(cells: AnswerCounts, model: int, jackknife: Jackknife, draws: int) -> ModelTables:
    made, fixed = _scored(cells, model, jackknife, draws), corrected_shares(cells, model)
    if fixed is not None and not np.isfinite(fixed.share).any():
        fixed = None
    corrected = issue_scores(fixed, jackknife, draws) if fixed else None
    return ModelTables(
        **vars(made),
        corrected=fixed,
        corrected_scores=corrected.withheld() if corrected and made.withheld else corrected,
    )


def _model(shared: _AllModels, model: int, tables: ModelTables, subset: tuple[str, ...]) -> ModelResult:
    cells, jackknife = shared.cells, shared.jackknife
    pulls = measure_pulls(cells, model, jackknife)
    results = issue_results(cells, model, tables, pulls.issues if pulls else {}, jackknife)
    asked, issues = list(results), list(results.values())
    scored = [i for i in asked if np.isfinite(tables.scores.value[i, 0])]
    undefined = tuple(issue.issue for issue in issues if issue.baseline and issue.baseline.stance is None)
    unscored = [results[i].issue for i in asked if i not in scored and not tables.withheld]
    scores = _mean_scores(tables, asked, jackknife)
    return ModelResult(
        name=cells.models[model],
        tally=_tally(cells, model, jackknife.level),
        issues={issue.issue: issue for issue in issues},
        scores=scores,
        corrected=_corrected_scores(tables, asked, jackknife),
        without_faults=_without_faults(shared, model, asked, scores),
        cross_fitted=model_crossed(
            cells, model, [] if tables.withheld else asked, jackknife, tables.withheld or _NOT_HALVED
        ),
        like_these=score_like_these(cells, model, asked, scores.open_mindedness),
        wordings=wordings(cells, model, asked, jackknife, tables.withheld),
        scored=len(scored),
        undefined=undefined,
        incomplete=tuple(name for name in unscored if name not in undefined),
        definition=definition(issues, jackknife, tables.withheld),
        leaning_pro=_leaning_pro(tables.answered, asked, jackknife),
        corrected_leaning_pro=_leaning_pro(tables.corrected, asked, jackknife),
        shares=_mean_shares(issues, cells.conditions, jackknife, corrected=False),
        corrected_shares=_mean_shares(issues, cells.conditions, jackknife, corrected=True) if tables.corrected else {},
        shifts=mean_shifts(tables.answered, asked, jackknife),
        con_shifts=mean_shifts(tables.answered, asked, jackknife, CON),
        other_shifts=mean_shifts(tables.answered, asked, jackknife, OTHER),
        corrected_shifts=mean_shifts(tables.corrected, asked, jackknife) if tables.corrected else {},
        topics=_topics(cells, tables, asked, jackknife),
        contrary=contrary_argument(issues, jackknife),
        refusals=measure_refusals(cells, model, issues, jackknife),
        counter_shifts=counter_shifts(tables.answered, cells.issues, asked, jackknife),
        pulls=pulls.overall if pulls else None,
        following=None if cells.unequal else tables.following,
        letter_followers=tuple(issue.issue for issue in issues if _follows_letter(issue)),
        draws=shared.draws[model] if shared.draws else None,
        respondent=shared.respondents[model] if shared.respondents else None,
        arguments=argument_shares(cells, shared.arguments, model, jackknife.level) if shared.arguments else None,
        subset=_subset(cells, results, tables, subset, jackknife),
        not_computed=_absent(shared, tables, subset),
        raised=_raised(cells, model, tables.scores) if cells.weighed and scored else None,
    )


def _raised(cells: AnswerCounts, model: int, scores: IssueScores) -> Raised | None:
    if cells.design is None:
        return None
    several = cells.design.by_template(model).sum(-1) > 1.5  # sums of probabilities are whole but for rounding
    return Raised(scores.raised, bool(several.any()))


def _mean_scores(tables: ModelTables | _Scored, issues: list[int], jackknife: Jackknife) -> Scores:
    return mean_scores(tables.scores, issues, jackknife, tables.withheld or _NOT_SCORED)


def _corrected_scores(tables: ModelTables, issues: list[int], jackknife: Jackknife) -> Scores | None:
    if (scores := tables.corrected_scores) is None:
        return None
    return mean_scores(scores, issues, jackknife, tables.withheld or _NOT_SCORED)


def _without_faults(shared: _AllModels, model: int, asked: list[int], scores: Scores) -> Scores | None:
    """The scores without answers that have a fault of form: the same if there are none, None if not looked for."""
    cells, jackknife = shared.cells, shared.jackknife
    own = [fault for fault in cells.faults if fault.model == cells.models[model]]
    if cells.faultless is None or not any(fault.faulty for fault in own):
        return scores if own else None
    if not cells.faultless.answers[model].any():
        return Scores(*(not_computed("every answer has a fault of form", level=jackknife.level) for _ in VARIANTS))
    return _mean_scores(_scored(cells.faultless, model, jackknife, shared.draws_of_scores), asked, jackknife)


def _leaning_pro(table: ShareTable | None, issues: list[int], jackknife: Jackknife) -> Estimate:
    if table is None or "baseline" not in table.conditions:
        return not_computed("the baseline was not asked, or cannot be corrected", level=jackknife.level)
    baseline = table.share[:, table.conditions.index("baseline")]
    leaning = np.round(baseline[:, PRO] - baseline[:, CON], 9)
    flags = [None if np.isnan(leaning[i]) else bool(leaning[i] > 0) for i in issues]
    return share_of_issues(flags, jackknife, "no issue has baseline answers")


def _mean_shares(
    issues: list[IssueResult], conditions: tuple[str, ...], jackknife: Jackknife, *, corrected: bool
) -> dict[str, Shares]:
    made = {}
    for name in conditions:
        found = [issue.conditions[name] for issue in issues if name in issue.conditions]
        shares = [
            share for condition in found if (share := condition.corrected_shares if corrected else condition.shares)
        ]
        made[name] = Shares(
            *(
                mean_over_issues(
                    (getattr(share, stance) for share in shares), jackknife, f"no answers in {name}", SHARE
                )
                for stance in ("pro", "con", "other")
            )
        )
    return made


def _topics(cells: AnswerCounts, tables: ModelTables, asked: list[int], jackknife: Jackknife) -> dict[str, Scores]:
    by_topic: dict[str, list[int]] = {}
    for issue in asked:
        topic = cells.topics[issue]
        if topic is not None:
            by_topic.setdefault(topic, []).append(issue)
    return {topic: _mean_scores(tables, by_topic[topic], jackknife) for topic in sorted(by_topic)}


def _follows_letter(issue: IssueResult) -> bool:
    return any(found is not None and found.follows == "letter" for found in (issue.letter_baseline, issue.letter_all))


def _subset(
    cells: AnswerCounts,
    results: dict[int, IssueResult],
    tables: ModelTables,
    names: tuple[str, ...],
    jackknife: Jackknife,
) -> Subset | None:
    chosen = [i for i in results if cells.issues[i] in names]
    if not chosen:
        return None
    return Subset(
        issues=tuple(cells.issues[i] for i in chosen),
        scores=_mean_scores(tables, chosen, jackknife),
        corrected=_corrected_scores(tables, chosen, jackknife),
        contrary=contrary_argument([results[i] for i in chosen], jackknife),
    )


def _absent(shared: _AllModels, tables: ModelTables, subset: tuple[str, ...]) -> dict[str, str]:
    absent: dict[str, str] = {}
    if shared.cells.design is None:
        names = ("corrected", "pulls", "draws", "respondent", "arguments")
        why = _FROM_COUNTS if shared.cells.way == "forced" else _UNFORCED
        absent |= dict.fromkeys((*names, "letter_followers", "corrected_shares", "corrected_shifts"), why)
    elif tables.corrected is None:
        absent |= dict.fromkeys(("corrected", "corrected_shares", "corrected_shifts"), UNCORRECTED)
    if shared.cells.unequal:
        absent |= dict.fromkeys(("draws", "respondent", "arguments", "following"), LEFT_OUT)
    elif shared.cells.design is not None and shared.arguments is None:
        absent |= dict.fromkeys(("draws", "arguments"), "no prompt contained arguments")
    if not shared.cells.topics or not any(shared.cells.topics):
        absent["topics"] = "the issues have no topics"
    if not subset:
        absent["subset"] = "no controversial issues: name some, or compare several models"
    return absent


def _tally(cells: AnswerCounts, model: int, level: float) -> Tally:
    """What was asked of a model and how its answers were read."""
    by_stance = cells.answers[model].sum((0, 1)) if cells.sampled is None else cells.sampled[model]
    readings = _readings(cells, model)
    answers = int(by_stance.sum())
    differ = sum(count for (strict, published), count in readings.items() if strict != published)
    return Tally(
        answers=answers,
        failures=int(cells.failures[model].sum()),
        stances=dict(zip(STANCES, by_stance.tolist(), strict=True)),
        flagged=None if cells.design is None else int(cells.design.readings[model][..., 1].sum()),
        read_differently=not_computed(LEFT_OUT if cells.unequal else _ONE_READING[cells.way], level=level)
        if cells.design is None or cells.unequal
        else Estimate(*proportion(differ, answers, level), answers, "Wilson", level),
        readings=readings,
    )


def _readings(cells: AnswerCounts, model: int) -> dict[tuple[str, str], int]:
    if cells.design is None:
        return {}
    counted = cells.design.readings[model].sum((0, 3))
    return {(STANCES[a], STANCES[b]): int(counted[a, b]) for a, b in np.argwhere(counted)}
