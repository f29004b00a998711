"""What to say about deliberations: how they end, who changes, and how order, format and goal affect it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isnan

from overton.statistics import Estimate
from overton.studies.deliberation.figures.names import SettingNames
from overton.studies.deliberation.measures.analysis import Analysis
from overton.studies.deliberation.measures.results import Choice, Contrast, Parameter, Setting
from overton.studies.findings import EITHER, CandidateFinding, Finding, Said, either, level_finding, most
from overton.studies.numbers import number

_UNITS = "dilemmas"
_SMALL = 0.1
"""'About equally often' is reported only if the interval excludes differences above this share."""
_TELLING = 0.33
"""That a difference could not be told is reported only up to differences of this share."""
_ALL = ""
"""The model of a sentence that is about all of them."""


def findings(analysis: Analysis) -> list[Said]:
    """How deliberations end and who changes; what may make a difference."""
    return [*_standing(analysis), *_candidates(analysis, SettingNames.of(analysis))]


def _standing(analysis: Analysis) -> Iterator[Finding]:
    overall = analysis.consensus.overall
    n = analysis.tally.dilemmas
    if not isnan(overall.reached.value):
        said = f"{number(overall.reached.value, 'share')} of deliberations ended in consensus."
        yield level_finding(
            _ALL, said, n, _UNITS, "consensus", number=overall.reached, kind="share", measure="consensus"
        )
    if not isnan(overall.rounds.value):
        rounds = overall.rounds
        said = f"Agents that reached consensus took {number(rounds.value, 'value')} rounds on average."
        yield level_finding(
            _ALL, said, min(n, rounds.n), _UNITS, "consensus", number=rounds, measure="rounds_to_consensus"
        )
    for model, rate in analysis.changes.by_model.items():
        if isnan(rate.value):
            void = "There is nothing to measure."
            said = f"{model} gave no readable verdict, so it has no rate of change."
            yield level_finding(model, said, min(n, rate.n), _UNITS, "changes", void=void, measure="changed")
        else:
            said = f"{model} changed its verdict in {number(rate.value, 'share')} of its deliberations."
            yield level_finding(
                model, said, min(n, rate.n), _UNITS, "changes", number=rate, kind="share", measure="changed"
            )


def _candidates(analysis: Analysis, names: SettingNames) -> Iterator[CandidateFinding]:
    yield from _compare_conditions(analysis, names)
    yield from _order_effects(analysis, names)
    yield from _goal_effects(analysis, names)
    yield from _crowd_effects(analysis)
    for fit in analysis.choice:
        yield from _choice_effects(analysis, fit)


def _candidate(
    analysis: Analysis,
    model: str,
    estimate: Estimate,
    exhibit: str,
    sides: tuple[str, str],
    *,
    measure: str,
    about: str,
    within: Callable[[Estimate], str] | None = None,
    unclear: str | None = None,
) -> CandidateFinding:
    """`sides` are the sentences for an effect above zero and below. All intervals are over dilemmas."""
    return CandidateFinding(
        model=model,
        number=estimate,
        clusters=analysis.tally.dilemmas,
        n=analysis.tally.dilemmas,
        units=_UNITS,
        exhibit=exhibit,
        above=sides[0],
        below=sides[1],
        within=within,
        unclear=unclear,
        small=_SMALL,
        telling=_TELLING,
        measure=measure,
        about=about,
        kind="value" if exhibit == "choice" else "points",
    )


def _by(contrast: Contrast) -> str:
    return f"by {number(abs(contrast.difference.value), 'points').lstrip('+')} points"


def _compare_conditions(analysis: Analysis, names: SettingNames) -> Iterator[CandidateFinding]:
    """Formats by consensus, and models that deliberate together by their changes of verdict."""
    for setting, contrast in analysis.consensus.formats:
        who = names.agents(setting, pooled=True)
        said = (
            f"{who} reached consensus {EITHER} often in {contrast.second_name} than in {contrast.first_name} "
            f"deliberations, {_by(contrast)}."
        )
        sides = either(said, "more", "less")
        measure = _contrast("consensus", setting, contrast)
        yield _candidate(analysis, _ALL, contrast.difference, "consensus", sides, measure=measure, about="format")
    for setting, contrast in analysis.changes.contrasts:
        where = names.whole(setting)
        said = (
            f"{contrast.second_name} changed its verdict {EITHER} often than {contrast.first_name}, {_by(contrast)} "
            f"({where})."
        )
        sides = either(said, "more", "less")
        yield _candidate(
            analysis,
            _ALL,
            contrast.difference,
            "changes",
            sides,
            measure=_contrast("changed", setting, contrast),
            about="model",
            within=_alike(contrast, where),
            unclear=(
                f"Whether {contrast.first_name} or {contrast.second_name} changed its verdict more often could not be"
                f" told ({where})."
            ),
        )


def _contrast(measure: str, setting: Setting | None, contrast: Contrast) -> str:
    """The key of a difference, in one setting or in all."""
    where = [] if setting is None else [setting.format, setting.goal or "", *setting.agents]
    return "/".join(filter(None, [measure, *where, f"{contrast.second_name} minus {contrast.first_name}"]))


def _alike(contrast: Contrast, where: str) -> Callable[[Estimate], str]:
    def within(found: Estimate) -> str:
        differ = most(found, "points")
        return (
            f"{contrast.first_name} and {contrast.second_name} changed their verdicts about equally often: no "
            f"difference above {differ} points ({where})."
        )

    return within


def _order_effects(analysis: Analysis, names: SettingNames) -> Iterator[CandidateFinding]:
    if analysis.order is None:
        return
    for _, contrast in analysis.order.at_once:
        said = (
            f"When {contrast.second_name} speaks first, round 1 ends in consensus {EITHER} often than when "
            f"{contrast.first_name} does, {_by(contrast)}."
        )
        sides = either(said, "more", "less")
        measure = _contrast("consensus_at_once", None, contrast)
        yield _candidate(analysis, _ALL, contrast.difference, "order", sides, measure=measure, about="order")
    for setting, model, contrast in analysis.order.changes:
        where = names.agents(setting, pooled=True)
        said = (
            f"{model} changes its verdict {EITHER} often when it speaks later than when it speaks first, "
            f"{_by(contrast)} ({where})."
        )
        sides = either(said, "more", "less")
        measure = _contrast("changed", setting, contrast)
        yield _candidate(analysis, model, contrast.difference, "order", sides, measure=measure, about="order")


def _goal_effects(analysis: Analysis, names: SettingNames) -> Iterator[CandidateFinding]:
    for effect in analysis.steering:
        what = f"{effect.model} changed its verdict" if effect.model else "deliberations reached consensus"
        goal, by = effect.contrast.second_name, _by(effect.contrast)
        where = names.whole(effect.setting, pooled=True)
        said = (
            f"With the goal '{goal}', {what} {EITHER} often than with '{effect.contrast.first_name}', {by} ({where})."
        )
        sides = either(said, "more", "less")
        measure = _contrast("changed" if effect.model else "consensus", effect.setting, effect.contrast)
        yield _candidate(
            analysis,
            effect.model or _ALL,
            effect.contrast.difference,
            "steering",
            sides,
            measure=measure,
            about="goal",
        )


def _crowd_effects(analysis: Analysis) -> Iterator[CandidateFinding]:
    for model in analysis.crowd.models if analysis.crowd else ():
        said = f"Deliberating made {model.model} agree {EITHER} often with the crowd's verdict, {_by(model.contrast)}."
        sides = either(said, "more", "less")
        measure = _contrast("crowd", None, model.contrast)
        yield _candidate(
            analysis, model.model, model.contrast.difference, "crowd", sides, measure=measure, about="deliberation"
        )


def _choice_effects(analysis: Analysis, fit: Choice) -> Iterator[CandidateFinding]:
    """What the choice model separates: keeping one's own last verdict, and going along with the others'.

    Unless each model's tastes are in the fit, a lasting taste for a verdict looks like inertia, and hides conformity.
    The tastes of a single model are the effects of the dilemmas.
    """
    goal = f" (goal: {fit.goal})" if len(analysis.choice) > 1 and fit.goal else ""
    separated = fit.estimator == "taste_by_model" or len(fit.inertia) == 1
    for model, parameter in fit.inertia.items():
        above = f"{model} sticks to its own last verdict, whatever the others said{goal}."
        below = f"{model} tends to abandon its own last verdict, whatever the others said{goal}."
        if not separated:
            above = (
                f"{model} repeats its own last verdict, whether out of inertia or a lasting preference for it{goal}."
            )
        measure = f"{'inertia' if separated else 'inertia or taste'}{goal}"
        yield _candidate(
            analysis, model, parameter.number, "choice", (above, below), measure=measure, about="own last verdict"
        )
    for said_when, found in (("in earlier rounds", fit.previous), ("in the same round", fit.within)):
        measure = f"conformity {said_when}{goal}"
        for model, parameter in _by_model(found):
            who, verb = (model, "goes") if model else ("Agents", "go")
            above = f"{who} {verb} along with the verdicts that others gave {said_when}{goal}."
            below = f"{who} {verb} against the verdicts that others gave {said_when}{goal}."
            if not separated:
                keep = (
                    "keeps to lasting preferences of its own" if model else "keep to lasting preferences of their own"
                )
                below = f"{who} {verb} against the verdicts that others gave {said_when}, or {keep}{goal}."
            yield _candidate(
                analysis, model, parameter.number, "choice", (above, below), measure=measure, about="others' verdicts"
            )


def _by_model(found: Parameter | dict[str, Parameter]) -> Iterator[tuple[str, Parameter]]:
    if isinstance(found, Parameter):
        yield _ALL, found
    else:
        yield from found.items()
