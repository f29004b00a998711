"""Findings about deliberations: how they end, who changes, and how order, format and goal affect it; parts of profiles;
and notes to be read with the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from overton.statistics import Estimate
from overton.statistics.proportions import wilson_limits
from overton.studies.claims import Claim, Claims, ProfileEntry
from overton.studies.deliberation.items import VERDICTS
from overton.studies.findings import EITHER, CandidateFinding, Said, either, most
from overton.studies.frame import Analysis, Cells, EstimateRow
from overton.studies.numbers import number
from overton.studies.warnings import names_of_faulty, warn_few_items

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.deliberation.deliberations import Setting


@dataclass(frozen=True)
class SettingNames:
    """The settings of an analysis, and those with their orders of speaking pooled, in the order of reports.

    `goals` says whether there are several goals, so that settings have to name theirs. `short` are models without their
    providers, if that leaves different models with different names: for settings, which name several in a row.
    """

    settings: Sequence[Setting]
    pooled: Sequence[Setting]
    goals: bool
    short: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, analysis: Analysis) -> SettingNames:
        """The names for an analysis."""
        from overton.studies.deliberation.deliberations import Setting

        settings: dict[str, list[Setting]] = {"setting": [], "pooled": []}
        for row in analysis.counts["settings"]:
            goal = row["goal"]
            agents = tuple(str(row["agents"]).split(" + "))
            made = Setting(str(row["format"]), None if goal is None else str(goal), agents)
            settings[str(row["facet"])].append(made)
        goals = {setting.goal for setting in settings["setting"]}
        return cls(settings["setting"], settings["pooled"], len(goals) > 1, _without_providers(analysis.models))

    def agents(self, setting: Setting, *, pooled: bool = False) -> str:
        """The models; with arrows if they speak in this order."""
        in_turn = setting.format == "round-robin" and not pooled
        return (" → " if in_turn else " + ").join(self.short.get(name, name) for name in setting.agents)

    def condition(self, setting: Setting) -> str:
        """Format and goal."""
        goal = f", {setting.goal}" if self.goals and setting.goal else ""
        return f"{'both formats' if setting.format == 'both' else setting.format}{goal}"

    def whole(self, setting: Setting, *, pooled: bool = False) -> str:
        """Models, format and goal."""
        return f"{self.agents(setting, pooled=pooled)} ({self.condition(setting)})"

    def goal(self, setting: Setting) -> str:
        """The goal, if there are several."""
        return (setting.goal or "") if self.goals else ""

    @property
    def formats(self) -> list[str]:
        """The different formats, in the order of the settings."""
        return list(dict.fromkeys(setting.format for setting in self.settings))


def _without_providers(models: Sequence[str]) -> dict[str, str]:
    short = {name: name.partition("#")[2] or name.partition("/")[2] or name for name in models}
    return short if len(set(short.values())) == len(short) else {}


def pairs_of_models(analysis: Analysis, measure: str, facet: str, setting: Setting) -> Iterator[EstimateRow]:
    """The differences of a measure between the models of a setting."""
    rows = analysis.rows_of(measure, facet, condition=setting.name)
    yield from (row for row in rows if row.against is not None)


_UNITS = "dilemmas"
_SMALL = 0.1
"""'About equally often' is reported only if the interval excludes differences above this share."""
_TELLING = 0.33
"""That a difference could not be told is reported only up to differences of this share."""
_ALL = ""
"""The model of a sentence that is about all of them."""


def effects(analysis: Analysis) -> list[Said]:
    """What may make a difference: differences between groups of deliberations, and the choice model."""
    return list(_candidates(analysis, SettingNames.of(analysis)))


def _dilemmas(analysis: Analysis) -> int:
    return int(analysis.counts["counts"][0]["dilemmas"] or 0)


def _candidates(analysis: Analysis, names: SettingNames) -> Iterator[CandidateFinding]:
    yield from _compare_conditions(analysis, names)
    yield from _order_effects(analysis, names)
    yield from _goal_effects(analysis, names)
    yield from _crowd_effects(analysis)
    for fit in analysis.counts["fits"]:
        if fit["variant"] == "plain":
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
        clusters=_dilemmas(analysis),
        n=_dilemmas(analysis),
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


def _by(row: EstimateRow) -> str:
    return f"by {number(abs(row.number.value), 'points').lstrip('+')} points"


def _difference_key(measure: str, setting: Setting | None, second: str | None, first: str | None) -> str:
    """The key of a difference, in one setting or in all."""
    where = [] if setting is None else [setting.format, setting.goal or "", *setting.agents]
    return "/".join(filter(None, [measure, *where, f"{second} minus {first}"]))


def _compare_conditions(analysis: Analysis, names: SettingNames) -> Iterator[CandidateFinding]:
    """Formats by consensus, and models that deliberate together by their changes of verdict."""
    from overton.studies.deliberation.deliberations import pairs_of_formats

    for both, *_ in pairs_of_formats(names.pooled):
        where = {"facet": "format", "condition": f"{both.name} / round-robin", "against": "synchronous"}
        row = analysis.row("consensus", **where)
        if row is not None:
            said = (
                f"{names.agents(both, pooled=True)} reached consensus {EITHER} often in round-robin than in"
                f" synchronous deliberations, {_by(row)}."
            )
            measure = _difference_key("consensus", both, "round-robin", "synchronous")
            sides = either(said, "more", "less")
            yield _candidate(analysis, _ALL, row.number, "consensus", sides, measure=measure, about="format")
    for setting in names.settings:
        for row in pairs_of_models(analysis, "changed", "setting", setting):
            yield _models_compared(analysis, row, setting, names.whole(setting))


def _models_compared(analysis: Analysis, row: EstimateRow, setting: Setting, where: str) -> CandidateFinding:
    first, second = row.against, row.model
    said = f"{second} changed its verdict {EITHER} often than {first}, {_by(row)} ({where})."

    def within(found: Estimate) -> str:
        differ = most(found, "points")
        return (
            f"{first} and {second} changed their verdicts about equally often: no difference above {differ} points "
            f"({where})."
        )

    return _candidate(
        analysis,
        _ALL,
        row.number,
        "changes",
        either(said, "more", "less"),
        measure=_difference_key("changed", setting, second, first),
        about="model",
        within=within,
        unclear=f"Whether {first} or {second} changed its verdict more often could not be told ({where}).",
    )


def _order_effects(analysis: Analysis, names: SettingNames) -> Iterator[CandidateFinding]:
    for setting in names.pooled:
        for row in pairs_of_models(analysis, "led_to_consensus_at_once", "pooled", setting):
            said = (
                f"When {row.model} speaks first, round 1 ends in consensus {EITHER} often than when {row.against} does,"
                f" {_by(row)}."
            )
            measure = _difference_key("consensus_at_once", None, row.model, row.against)
            sides = either(said, "more", "less")
            yield _candidate(analysis, _ALL, row.number, "order", sides, measure=measure, about="order")
    for setting in names.pooled:
        condition = f"{setting.name} / later"
        for row in analysis.rows_of("changed", "pooled / speaks", condition=condition, against="first"):
            said = (
                f"{row.model} changes its verdict {EITHER} often when it speaks later than when it speaks first, "
                f"{_by(row)} ({names.agents(setting, pooled=True)})."
            )
            measure = _difference_key("changed", setting, "later", "first")
            sides = either(said, "more", "less")
            yield _candidate(analysis, row.model or _ALL, row.number, "order", sides, measure=measure, about="order")


def _goal_effects(analysis: Analysis, names: SettingNames) -> Iterator[CandidateFinding]:
    from overton.studies.deliberation.deliberations import pairs_of_goals

    for shared, first, second in pairs_of_goals(names.pooled):
        where = {"condition": f"{shared.name} / {second.goal}", "against": first.goal or ""}
        for measure, what in (("changed", "{} changed its verdict"), ("consensus", "deliberations reached consensus")):
            for row in analysis.rows_of(measure, "goal", **where):
                said = (
                    f"With the goal '{second.goal}', {what.format(row.model)} {EITHER} often than with '{first.goal}', "
                    f"{_by(row)} ({names.whole(shared, pooled=True)})."
                )
                key = _difference_key(measure, shared, second.goal, first.goal)
                sides = either(said, "more", "less")
                yield _candidate(analysis, row.model or _ALL, row.number, "steering", sides, measure=key, about="goal")


def _crowd_effects(analysis: Analysis) -> Iterator[CandidateFinding]:
    for row in analysis.rows_of("verdict_is_crowds", "goal / round", against="round 1"):
        said = f"Deliberating made {row.model} agree {EITHER} often with the crowd's verdict, {_by(row)}."
        sides = either(said, "more", "less")
        measure = _difference_key("crowd", None, "last round", "round 1")
        yield _candidate(analysis, row.model or _ALL, row.number, "crowd", sides, measure=measure, about="deliberation")


def _choice_effects(analysis: Analysis, fit: Cells) -> Iterator[CandidateFinding]:
    """What the choice model separates: keeping one's own last verdict, and going along with the others'.

    Unless each model's tastes are in the fit, a lasting taste for a verdict looks like inertia, and hides conformity.
    The tastes of a single model are the effects of the dilemmas.
    """
    several = sum(row["variant"] == "plain" for row in analysis.counts["fits"]) > 1
    goal = f" (goal: {fit['goal']})" if several and fit["goal"] else ""
    where = {"condition": str(fit["condition"]), "variant": "plain"}
    inertia = analysis.rows_of("inertia", "goal", **where)
    separated = fit["estimator"] == "taste_by_model" or len(inertia) == 1
    for row in inertia:
        above = f"{row.model} sticks to its own last verdict, whatever the others said{goal}."
        below = f"{row.model} tends to abandon its own last verdict, whatever the others said{goal}."
        if not separated:
            above = (
                f"{row.model} repeats its own last verdict, whether out of inertia or a lasting preference for"
                f" it{goal}."
            )
        measure = f"{'inertia' if separated else 'inertia or taste'}{goal}"
        yield _candidate(
            analysis,
            row.model or _ALL,
            row.number,
            "choice",
            (above, below),
            measure=measure,
            about="own last verdict",
        )
    for said_when, name in (("in earlier rounds", "conformity_previous"), ("in the same round", "conformity_within")):
        measure = f"conformity {said_when}{goal}"
        for row in analysis.rows_of(name, "goal", **where):
            sides = _conformity(row.model, said_when, goal, separated=separated)
            yield _candidate(
                analysis,
                row.model or _ALL,
                row.number,
                "choice",
                sides,
                measure=measure,
                about="others' verdicts",
            )


def _conformity(model: str | None, said_when: str, goal: str, *, separated: bool) -> tuple[str, str]:
    who, verb = (model, "goes") if model else ("Agents", "go")
    above = f"{who} {verb} along with the verdicts that others gave {said_when}{goal}."
    below = f"{who} {verb} against the verdicts that others gave {said_when}{goal}."
    if not separated:
        keep = "keeps to lasting preferences of its own" if model else "keep to lasting preferences of their own"
        below = f"{who} {verb} against the verdicts that others gave {said_when}, or {keep}{goal}."
    return above, below


CLAIMS = Claims(
    (
        Claim(
            "consensus",
            together=True,
            section="consensus",
            level="{value} of deliberations ended in consensus.",
        ),
        Claim(
            "rounds_to_consensus",
            together=True,
            section="consensus",
            level="Agents that reached consensus took {value} rounds on average.",
        ),
        Claim(
            "first_verdict_at_fault",
            section="verdicts",
            units="deliberations",
            profile=ProfileEntry(
                aspect="stands",
                title="First verdicts that the one who asks is at fault",
                sentence="In its first verdict, {model} finds the one who asks at fault in {value} of deliberations.",
            ),
        ),
        Claim(
            "changed",
            section="changes",
            units="deliberations",
            level="{model} changed its verdict in {value} of its deliberations.",
            missing="{model} gave no readable verdict, so it has no rate of change.",
            void="There is nothing to measure.",
            profile=ProfileEntry(
                aspect="moved",
                title="By other models: deliberations in which it changes its verdict",
                sentence="Among other models, {model} changes its verdict in {value} of its deliberations.",
                missing="{model} gave no verdict that others could change.",
                by_item="deliberations in which its verdict changes",
            ),
        ),
        Claim(
            "unreadable",
            section="changes",
            units="messages",
            profile=ProfileEntry(
                aspect="refuses",
                title="Messages without a readable verdict",
                sentence="{model} gives no readable verdict in {value} of its messages.",
            ),
        ),
    ),
    items="dilemmas",
    counts="",
    more=effects,
)


def notes(counts: Sequence[Cells]) -> Iterator[str]:
    """What is left out of numbers, or odd about them, from the table 'counts'."""
    total, *models = (row for row in counts if row["facet"] is None)
    failed, unfinished, continued, dilemmas = (
        int(total[name] or 0) for name in ("failed", "unfinished", "continued", "dilemmas")
    )
    if failed:
        yield f"{_some(failed)} left out entirely because a call failed for good."
    for row in models:
        invalid, messages = int(row["invalid"] or 0), int(row["messages"] or 0)
        if 0 < invalid < messages:
            yield f"{row['model']}: {invalid:,} of {messages:,} verdicts could not be read; they agree with nothing."
    if unfinished:
        yield (
            f"{_some(unfinished)} without consensus although shorter than others of the same models: if they "
            "were cut off, the share of consensus is too low."
        )
    if continued:
        yield (
            f"{continued:,} deliberations went on after all agents had agreed; consensus is counted in the round "
            "where it was first reached, last verdicts in the last round."
        )
    yield from warn_few_items(dilemmas, "dilemmas")


def _some(count: int) -> str:
    return f"{count:,} deliberation{' was' if count == 1 else 's were'}"


def warnings_of(decisions: pl.DataFrame, analysis: Analysis) -> Iterator[str]:
    """Models that in effect take no part, malformed messages with a verdict, and models that open every dilemma with
    one verdict."""
    for row in analysis.counts["counts"]:
        if row["model"] and row["invalid"] == row["messages"]:
            yield (
                f"{row['model']}: none of its {row['messages']:,} verdicts could be read. It has no rate of change, no"
                " inertia and no conformity, and its deliberations do not count towards consensus."
            )
    yield from _read_anyway(decisions, analysis)
    yield from _regardless(decisions, analysis)


def _read_anyway(decisions: pl.DataFrame, analysis: Analysis) -> Iterator[str]:
    """How many verdicts were read in malformed messages, which a truncated explanation does not prevent."""
    import polars as pl

    came = pl.col("failure").is_null() if "failure" in decisions.columns else pl.lit(value=True)
    for name in names_of_faulty(analysis.faults):
        own = decisions.filter(pl.col("model") == name, came, pl.col("faults").list.len() > 0)
        if read := own["verdict"].count():
            yield (
                f"{name}: Overton read the verdict in {read:,} of its {own.height:,} malformed messages; these verdicts"
                " count in the headlines."
            )


_ALIKE, _ALL_BUT = 0.75, 0.02
"""A model gives its verdict regardless of the dilemma if at least 98% of its first verdicts are the same. The lower
limit of their share over dilemmas must be above 75%, too, which takes 12 dilemmas without an exception."""


def _regardless(decisions: pl.DataFrame, analysis: Analysis) -> Iterator[str]:
    """Models that open every dilemma with one verdict."""
    for row in analysis.counts["openings"]:
        given, dilemmas = int(row["given"] or 0), int(row["dilemmas"] or 0)
        counts = [int(row[verdict] or 0) for verdict in VERDICTS]
        share = max(counts) / max(given, 1)
        if share >= 1 - _ALL_BUT and float(wilson_limits(share, dilemmas, analysis.level)[0]) > _ALIKE:
            verdict = VERDICTS[counts.index(max(counts))]
            yield (
                f"{row['model']}: its verdict does not depend on the dilemma. It opens with {verdict} in"
                f" {max(counts):,} of {given:,} deliberations, on {dilemmas:,} dilemmas: keeping to it is"
                " not inertia, and others coming round to it is not persuasion."
            )
