"""Findings about deliberations: how they end, who changes their verdict, and how order, format and goal affect this.

Also parts of profiles, and notes to be read with the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from overton.statistics import Estimate
from overton.studies.claims import Claim, Claims, ProfileEntry
from overton.studies.deliberation.items import VERDICTS
from overton.studies.findings import EITHER, CandidateFinding, either, most
from overton.studies.frame import Analysis, Cells, EstimateRow
from overton.studies.numbers import brief_number
from overton.studies.warnings import names_of_faulty, warn_few_items

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.deliberation.deliberations import Setting


@dataclass(frozen=True)
class SettingNames:
    """The settings of an analysis and their names in reports. `pooled` are the settings with orders of speaking pooled.

    `goals` is True if there are several goals, so that names of settings must include the goal. `short` are the models'
    names without their providers, used in names of settings. `short` is empty if two models would have the same name.
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
        short = {name: name.partition("#")[2] or name.partition("/")[2] or name for name in analysis.models}
        different = len(set(short.values())) == len(short)
        return cls(settings["setting"], settings["pooled"], len(goals) > 1, short if different else {})

    @cached_property
    def _known(self) -> dict[str, Setting]:
        """All settings by name. The settings of comparisons, with 'both' formats or without a goal, are included."""
        shared = [setting._replace(format="both") for setting in self.pooled]
        shared += [setting._replace(goal=None) for setting in self.pooled]
        return {setting.name: setting for setting in (*shared, *self.pooled, *self.settings)}

    def setting_of(self, row: EstimateRow) -> Setting:
        """The setting of a row or, if the row compares two settings, the setting that they share."""
        name = str(row.condition)
        while name not in self._known:
            name = name[: name.rindex(" / ")]
        return self._known[name]

    def where(self, row: EstimateRow) -> str:
        """The setting of a row in words."""
        return self.whole(self.setting_of(row), pooled=not str(row.facet).startswith("setting"))

    def agents(self, setting: Setting, *, pooled: bool = False) -> str:
        """The models' names, with arrows between them if the models speak in this order."""
        in_turn = setting.format == "round-robin" and not pooled
        return (" → " if in_turn else " + ").join(self.short.get(name, name) for name in setting.agents)

    def condition(self, setting: Setting) -> str:
        """Format, and the goal if there are several."""
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


def differences(analysis: Analysis, facet: str, *measures: str) -> list[EstimateRow]:
    """The rows with differences in these measures, between two models or two values of the facet, in the analysis'
    order."""
    return [row for row in analysis.rows if row.facet == facet and row.against is not None and row.measure in measures]


def last_part(row: EstimateRow) -> str:
    """The value of the last facet of a row."""
    return str(row.condition).rpartition(" / ")[2]


_UNITS = "dilemmas"
_SMALL = 0.1
"""'About equally often' is reported only if the interval excludes differences larger than this proportion."""
_TELLING = 0.33
"""The finding that data do not show a difference appears only if the interval excludes differences larger than this
proportion."""
_ALL = ""
"""In place of the model, if a sentence is about all models."""


@dataclass(frozen=True)
class _Effect:
    """The sentences for a difference in a measure.

    They may contain {model}, and {first} and {second}, which are two models or two values of a facet. {by} is the size
    of the difference. {agents} are the models of the setting, and {where} is its name. The finding's key starts with
    `key`, followed by the setting if `setting` is True.
    """

    exhibit: str
    about: str
    said: str
    key: str
    setting: bool = True
    within: str = ""
    unclear: str = ""


_EFFECTS = {
    ("consensus", "format"): _Effect(
        "consensus",
        "format",
        f"{{agents}} reached consensus {EITHER} often in round-robin than in synchronous deliberations, {{by}}.",
        "consensus",
    ),
    ("changed", "setting"): _Effect(
        "changes",
        "model",
        f"{{second}} changed its verdict {EITHER} often than {{first}}, {{by}} ({{where}}).",
        "changed",
        within="{first} and {second} changed their verdicts about equally often, within {most} points ({where}).",
        unclear="The data do not show whether {first} or {second} changed its verdict more often ({where}).",
    ),
    ("led_to_consensus_at_once", "pooled"): _Effect(
        "order",
        "order",
        f"When {{second}} speaks first, round 1 ends in consensus {EITHER} often than when {{first}} does, {{by}}.",
        "consensus_at_once",
        setting=False,
    ),
    ("changed", "pooled / speaks"): _Effect(
        "order",
        "order",
        f"{{model}} changes its verdict {EITHER} often when it speaks later than when it speaks first, {{by}}"
        " ({agents}).",
        "changed",
    ),
    ("changed", "goal"): _Effect(
        "steering",
        "goal",
        f"With the goal '{{second}}', {{model}} changed its verdict {EITHER} often than with '{{first}}', {{by}}"
        " ({where}).",
        "changed",
    ),
    ("consensus", "goal"): _Effect(
        "steering",
        "goal",
        f"With the goal '{{second}}', deliberations reached consensus {EITHER} often than with '{{first}}', {{by}}"
        " ({where}).",
        "consensus",
    ),
    ("verdict_is_crowds", "goal / round"): _Effect(
        "crowd",
        "deliberation",
        f"Deliberating made {{model}} agree {EITHER} often with the crowd's verdict, {{by}}.",
        "crowd",
        setting=False,
    ),
}
"""The sentences by measure and facet, in the order of findings. Intervals are over dilemmas."""


def effects(analysis: Analysis) -> Iterator[CandidateFinding]:
    """Candidate findings on differences between groups of deliberations, and on the choice model."""
    names = SettingNames.of(analysis)
    for facet in dict.fromkeys(facet for _, facet in _EFFECTS):
        for row in differences(analysis, facet, *(measure for measure, own in _EFFECTS if own == facet)):
            yield _difference(analysis, names, row, _EFFECTS[row.measure, facet])
    for fit in analysis.counts["fits"]:
        if fit["variant"] == "plain":
            yield from _choice_effects(analysis, fit)


def _difference(analysis: Analysis, names: SettingNames, row: EstimateRow, effect: _Effect) -> CandidateFinding:
    of_models = row.facet in {"setting", "pooled"}
    second = row.model if of_models else last_part(row)
    told = {"model": row.model, "first": row.against, "second": second}
    told["by"] = f"by {brief_number(abs(row.number.value), 'points', row.number.n)} points"
    key = [effect.key]
    if row.facet != "goal / round":
        setting = names.setting_of(row)
        told |= {"agents": names.agents(setting, pooled=True), "where": names.where(row)}
        key += [setting.format, setting.goal or "", *setting.agents] if effect.setting else []
    within, unclear = effect.within, effect.unclear
    return _candidate(
        analysis,
        row,
        effect.exhibit,
        either(effect.said.format_map(told), "more", "less"),
        measure="/".join(filter(None, [*key, f"{second} minus {row.against}"])),
        about=effect.about,
        model=_ALL if of_models else row.model or _ALL,
        within=(lambda found: within.format_map({**told, "most": most(found, "points")})) if within else None,
        unclear=unclear.format_map(told) if unclear else None,
    )


def _candidate(
    analysis: Analysis,
    row: EstimateRow,
    exhibit: str,
    sides: tuple[str, str],
    *,
    measure: str,
    about: str,
    model: str,
    within: Callable[[Estimate], str] | None = None,
    unclear: str | None = None,
) -> CandidateFinding:
    """A candidate finding. `sides` are the sentences for an effect above zero and for one below zero."""
    dilemmas = int(analysis.counts["counts"][0]["dilemmas"] or 0)
    return CandidateFinding(
        model=model,
        number=row.number,
        clusters=dilemmas,
        n=dilemmas,
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


def _choice_effects(analysis: Analysis, fit: Cells) -> Iterator[CandidateFinding]:
    """Candidate findings on the two effects of the choice model: keeping one's own last verdict, and following the
    others.

    If the fit does not include each model's tastes, a lasting taste for a verdict looks like inertia, and hides
    conformity. A single model needs no tastes, because its tastes are the effects of the dilemmas.
    """
    several = sum(row["variant"] == "plain" for row in analysis.counts["fits"]) > 1
    goal = f" (goal: {fit['goal']})" if several and fit["goal"] else ""
    where = {"condition": str(fit["condition"]), "variant": "plain"}
    inertia = analysis.rows_of("inertia", "goal", **where)
    separated = fit["estimator"] == "taste_by_model" or len(inertia) == 1
    for row in inertia:
        above = f"{row.model} tends to keep its own last verdict, whatever the others said{goal}."
        below = f"{row.model} tends to abandon its own last verdict, whatever the others said{goal}."
        if not separated:
            above = (
                f"{row.model} tends to repeat its own last verdict, out of inertia or a lasting preference for"
                f" it{goal}."
            )
        key, model = f"{'inertia' if separated else 'inertia or taste'}{goal}", row.model or _ALL
        yield _candidate(analysis, row, "choice", (above, below), measure=key, about="own last verdict", model=model)
    for said_when, name in (("in earlier rounds", "conformity_previous"), ("in the same round", "conformity_within")):
        key = f"conformity {said_when}{goal}"
        for row in analysis.rows_of(name, "goal", **where):
            sides, model = _conformity(row.model, said_when, goal, separated=separated), row.model or _ALL
            yield _candidate(analysis, row, "choice", sides, measure=key, about="others' verdicts", model=model)


def _conformity(model: str | None, said_when: str, goal: str, *, separated: bool) -> tuple[str, str]:
    who, verb = (model, "tends") if model else ("Agents", "tend")
    above = f"{who} {verb} to follow the verdicts that others gave {said_when}{goal}."
    below = f"{who} {verb} to go against the verdicts that others gave {said_when}{goal}."
    if not separated:
        keep = "to keep its own lasting preferences" if model else "to keep their own lasting preferences"
        below = f"{who} {verb} to go against the verdicts that others gave {said_when}, or {keep}{goal}."
    return above, below


CLAIMS = Claims(
    (
        Claim("consensus", together=True, section="consensus", level="{value} of deliberations ended in consensus."),
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
                title="First verdicts that blame the poster",
                sentence="{model} blames the poster in its first verdict in {value} of deliberations.",
            ),
        ),
        Claim(
            "changed",
            section="changes",
            units="deliberations",
            level="{model} changed its verdict in {value} of deliberations.",
            missing="{model} gave no readable verdict, so it has no rate of change.",
            void="There is nothing to measure.",
            profile=ProfileEntry(
                aspect="moved",
                title="By other models: deliberations in which it changes its verdict",
                sentence="Among other models, {model} changes its verdict in {value} of deliberations.",
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
    """Notes on data that numbers leave out, and on unusual data, from the table 'counts'."""
    total, *models = (row for row in counts if row["facet"] is None)
    failed, unfinished, continued, dilemmas = (
        int(total[name] or 0) for name in ("failed", "unfinished", "continued", "dilemmas")
    )
    if failed:
        yield f"{_some(failed)} left out because a call failed permanently."
    for row in models:
        invalid, messages = int(row["invalid"] or 0), int(row["messages"] or 0)
        if 0 < invalid < messages:
            yield (
                f"{row['model']}: {invalid:,} of {messages:,} verdicts could not be read. An unreadable verdict"
                " agrees with no other verdict."
            )
    if unfinished:
        yield (
            f"{_some(unfinished)} without consensus and shorter than other deliberations of the same models. If these"
            " deliberations stopped early, the share of consensus is too low."
        )
    if continued:
        yield (
            f"{continued:,} deliberations went on after all agents had agreed. Their consensus counts from the"
            " first round in which all agreed. Their last verdicts come from the last round."
        )
    yield from warn_few_items(dilemmas, "dilemmas")


def _some(count: int) -> str:
    return f"{count:,} deliberation{' was' if count == 1 else 's were'}"


def warnings_of(decisions: pl.DataFrame, analysis: Analysis) -> Iterator[str]:
    """Warnings about models without a readable verdict, malformed messages with a verdict, and models that open every
    dilemma with the same verdict."""
    for row in analysis.counts["counts"]:
        if row["model"] and row["invalid"] == row["messages"]:
            yield (
                f"{row['model']}: none of its {row['messages']:,} verdicts could be read. It has no rate of change, no"
                " inertia and no conformity, and its deliberations do not count towards consensus."
            )
    yield from _read_anyway(decisions, analysis)
    yield from _regardless(decisions, analysis)


def _read_anyway(decisions: pl.DataFrame, analysis: Analysis) -> Iterator[str]:
    """Warn of malformed messages with a readable verdict, such as those with a truncated explanation."""
    import polars as pl

    came = pl.col("failure").is_null() if "failure" in decisions.columns else pl.lit(value=True)
    for name in names_of_faulty(analysis.faults):
        own = decisions.filter(pl.col("model") == name, came, pl.col("faults").list.len() > 0)
        if read := own["verdict"].count():
            yield (
                f"{name}: Overton could read the verdict in {read:,} of its {own.height:,} malformed messages. These"
                " verdicts count in the headlines."
            )


_ALIKE, _ALL_BUT = 0.75, 0.02
"""A model gives its verdict regardless of the dilemma if two conditions hold.

At least 98% of its first verdicts are the same, and the lower limit of this proportion over dilemmas is above 75%. If
all first verdicts are the same, the second condition holds from 12 dilemmas on.
"""


def _regardless(decisions: pl.DataFrame, analysis: Analysis) -> Iterator[str]:
    """Warn of models that open every dilemma with the same verdict."""
    from overton.statistics.proportions import wilson_limits

    for row in analysis.counts["openings"]:
        given, dilemmas = int(row["given"] or 0), int(row["dilemmas"] or 0)
        counts = [int(row[verdict] or 0) for verdict in VERDICTS]
        share = max(counts) / max(given, 1)
        if share >= 1 - _ALL_BUT and float(wilson_limits(share, dilemmas, analysis.level)[0]) > _ALIKE:
            verdict = VERDICTS[counts.index(max(counts))]
            yield (
                f"{row['model']}: its first verdict does not depend on the dilemma. It is {verdict} in"
                f" {max(counts):,} of {given:,} deliberations, on {dilemmas:,} dilemmas. A model that keeps such a"
                " verdict does not show inertia, and other models that adopt the verdict are not persuaded by"
                " arguments."
            )
