"""How deliberations end: consensus and changes of verdict (figure 2), verdicts before and after (figure 3), archetypes
(table 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

from overton.studies.charts import Axis, Bar, BarPart, Dot, Series, bars, dots, series_of
from overton.studies.deliberation.figures.names import SHARE, SettingNames, contrast_table, formats, ordinal, twice
from overton.studies.deliberation.items import VERDICTS
from overton.studies.deliberation.measures.analysis import INVALID_NAME, Analysis, Archetype, Archetypes
from overton.studies.sections import Callout, Cell, Chart, Column, Drawing, Exhibit, Method, Section, Table


def consensus(analysis: Analysis, names: SettingNames) -> Section:
    """Rounds to consensus, and how often there is none."""
    exhibits: list[Exhibit] = []
    if analysis.notes:
        exhibits.append(Callout("\n".join(analysis.notes), "warning", summary=True))
    settings = [setting for setting, _ in analysis.consensus.settings]
    exhibits += [_endings(analysis, names, format_) for format_ in formats(settings)]
    exhibits.append(_consensus_table(analysis, names))
    if analysis.consensus.formats:
        rows = [((names.whole(setting, pooled=True),), contrast) for setting, contrast in analysis.consensus.formats]
        title = "Consensus in either format"
        exhibits.append(
            contrast_table(
                title, ["Models"], rows, sides=("Synchronous", "Round-robin"), source="section 4.3", note=_POOLED
            )
        )
    return Section("consensus", "Consensus", [*exhibits, Method(_CONSENSUS)])


_POOLED = "Orders of speaking are pooled."
_MAJORITY = (
    "The authors' code counts it as consensus if more than half of the last round's valid verdicts are the same."
)
_NO_OTHER_MAJORITY = (
    "Counting consensus as the authors do, by a majority of the last round's valid verdicts, gives the same shares."
)
_CONSENSUS = (
    "A deliberation reaches consensus in the first complete round in which all agents give the same verdict; "
    "unreadable verdicts agree with nothing. Shares are of all deliberations; the mean number of rounds is over those "
    "that reach consensus. Intervals are over dilemmas."
)


def _endings(analysis: Analysis, names: SettingNames, format_: str) -> Chart:
    found = [(setting, outcome) for setting, outcome in analysis.consensus.settings if setting.format == format_]
    rounds = len(found[0][1].by_round)
    parts = [BarPart(f"Round {number}", str(number)) for number in range(1, rounds + 1)]
    parts.append(BarPart("No consensus", "none", rest=True))
    drawn = [
        Bar(names.agents(setting), (*outcome.by_round.values(), outcome.without), names.goal(setting))
        for setting, outcome in found
    ]
    panels = [fromkey for fromkey in dict.fromkeys(bar.panel for bar in drawn) if fromkey]
    about = (
        "For each set of models, the share of deliberations that reach consensus in each round, and in none. Intervals "
        "are in the table and in each part's tooltip."
    )
    title = f"Rounds to consensus, {format_}"
    drawing = partial(bars, drawn, parts, "Share of deliberations (%)", panels=panels)
    return Chart(f"consensus-{format_}", title, about, drawing, source="figure 2, a and c")


def _drawn(points: list[Dot], series: list[Series], axis: Axis = SHARE) -> Drawing:
    """One row per set of models; one panel per goal if there are several."""
    rows, panels = (list(dict.fromkeys(names)) for names in zip(*((p.row, p.panel) for p in points), strict=True))
    return partial(dots, points, rows, series, axis, panels=panels if any(panels) else [], wrap=True)


def _consensus_table(analysis: Analysis, names: SettingNames) -> Table:
    columns = [Column("Models"), Column("Format"), Column("Deliberations", "count"), Column("Consensus", "share")]
    columns += [Column("In round 1", "share"), Column("No consensus", "share"), Column("Rounds to consensus", "value")]
    differ = any(outcome.majority.value != outcome.reached.value for _, outcome in analysis.consensus.settings)
    columns += [Column("Consensus by majority", "share")] if differ else []
    rows: list[list[Cell]] = [
        [
            names.agents(setting),
            names.condition(setting),
            outcome.deliberations,
            outcome.reached,
            outcome.by_round.get(1),
            outcome.without,
            outcome.rounds,
            *([outcome.majority] if differ else []),
        ]
        for setting, outcome in analysis.consensus.settings
    ]
    goals = {setting.goal for setting, _ in analysis.consensus.settings if setting.goal}
    note = f"The goal is {', '.join(goals)}." if len(goals) == 1 else ""
    note = f"{note} {_MAJORITY if differ else _NO_OTHER_MAJORITY}".strip()
    return Table("Consensus by models and format", columns, rows, note=note, source="section 4.1", summary=True)


def changes(analysis: Analysis, names: SettingNames) -> Section:
    """Change-of-verdict rates."""
    exhibits: list[Exhibit] = [_by_model(analysis)]
    exhibits += [
        _rates(analysis, names, format_) for format_ in formats(change.setting for change in analysis.changes.settings)
    ]
    exhibits.append(_rate_table(analysis, names))
    if analysis.changes.contrasts:
        rows = [
            ((names.whole(setting), contrast.first_name, contrast.second_name), contrast)
            for setting, contrast in analysis.changes.contrasts
        ]
        title = "Models that deliberate together, compared"
        exhibits.append(contrast_table(title, ["Deliberation", "First model", "Second model"], rows))
    return Section("changes", "Changes of verdict", [*exhibits, Method(_CHANGES)])


_CHANGES = (
    "The rate is the share of an agent's deliberations in which any later verdict differs from its first. All its "
    "deliberations count, also those that end in round 1, where nobody has occasion to change. Unreadable verdicts are "
    "skipped."
)


def _by_model(analysis: Analysis) -> Table:
    rows: list[list[Cell]] = [[model, rate] for model, rate in analysis.changes.by_model.items()]
    title = "Changes of verdict over all deliberations"
    return Table(title, [Column("Model"), Column("Changed its verdict", "share")], rows, summary=True)


def _rates(analysis: Analysis, names: SettingNames, format_: str) -> Chart:
    points = [
        Dot(
            names.agents(setting.setting),
            analysis.models.index(setting.model),
            setting.rate,
            panel=names.goal(setting.setting),
            more=ordinal(setting.position),
        )
        for setting in analysis.changes.settings
        if setting.setting.format == format_
    ]
    about = "For each set of models, the share of deliberations in which each changes its verdict."
    title = f"Change-of-verdict rates, {format_}"
    anchored = replace(SHARE, anchors=((0.0, "never changes"), (1.0, "always changes")))
    spec = _drawn(points, series_of(analysis.models), anchored)
    return Chart(f"changes-{format_}", title, about, spec, source="figure 2, b and d")


def _rate_table(analysis: Analysis, names: SettingNames) -> Table:
    columns = [Column("Models"), Column("Format"), Column("Model"), Column("Place"), Column("Changed", "share")]
    rows: list[list[Cell]] = [
        [
            names.agents(setting.setting),
            names.condition(setting.setting),
            setting.model,
            ordinal(setting.position),
            setting.rate,
        ]
        for setting in analysis.changes.settings
    ]
    return Table("Change-of-verdict rates", columns, rows, source="figure 2, b and d")


_NONE = "No consensus"
_PANELS = 6
_TOP = 2


def verdicts(analysis: Analysis, names: SettingNames) -> Section:
    """Distributions of verdicts in round 1 and at the end."""
    charts = [
        _verdict_chart(analysis, names, format_) for format_ in formats(found.setting for found in analysis.verdicts)
    ]
    return Section("verdicts", "Verdicts before and after", [*charts, _verdict_table(analysis, names)])


def _verdict_chart(analysis: Analysis, names: SettingNames, format_: str) -> Chart:
    found = [in_setting for in_setting in analysis.verdicts if in_setting.setting.format == format_]
    shown = found[:_PANELS]
    series = series_of([*analysis.models, "Consensus at the end"])
    points = []
    for in_setting in shown:
        panel = names.whole(in_setting.setting)
        points += [
            Dot(verdict, analysis.models.index(speaker.model), estimate, panel, ordinal(speaker.position))
            for speaker in in_setting.speakers
            for verdict, estimate in speaker.first.items()
        ]
        ends = {**in_setting.agreed, _NONE: in_setting.without}
        points += [Dot(verdict, len(analysis.models), estimate, panel) for verdict, estimate in ends.items()]
    rows = [*VERDICTS, *([INVALID_NAME] if any(point.row == INVALID_NAME for point in points) else []), _NONE]
    spec = partial(dots, points, rows, series, SHARE, panels=[names.whole(in_setting.setting) for in_setting in shown])
    about = "Each model's verdicts in round 1, and the verdicts that deliberations agree on."
    if len(found) > len(shown):
        about += f" Shown are {len(shown)} of {len(found)} sets of models; the table has all."
    title = f"Verdicts before and after deliberation, {format_}"
    return Chart(f"verdicts-{format_}", title, about, spec, source="figure 3")


def _verdict_table(analysis: Analysis, names: SettingNames) -> Table:
    columns = [Column("Deliberation"), Column("Model"), Column("Verdict"), Column("Round 1", "share")]
    columns += [Column("Last round", "share"), Column("Agreed on", "share")]
    rows: list[list[Cell]] = [
        [
            names.whole(in_setting.setting),
            f"{speaker.model} ({place})" if (place := ordinal(speaker.position)) else speaker.model,
            verdict,
            estimate,
            speaker.last.get(verdict),
            in_setting.agreed.get(verdict),
        ]
        for in_setting in analysis.verdicts
        for speaker in in_setting.speakers
        for verdict, estimate in speaker.first.items()
        if twice(estimate) or twice(speaker.last.get(verdict))
    ]
    title = "Verdicts in round 1 and in the last round"
    note = "Verdicts that a model gave at most once in each of the two rounds are left out (the JSON has all)."
    return Table(title, columns, rows, note=note, source="figure 3")


def archetypes(analysis: Analysis, names: SettingNames) -> Section:
    """The most common changes, holdouts and unresolved first verdicts of each model (table 2)."""
    many = [archetype for archetype in analysis.archetypes if archetype.deliberations >= _MANY]
    few = [archetype for archetype in analysis.archetypes if 0 < archetype.deliberations < _MANY]
    exhibits: list[Exhibit] = []
    if many:
        columns = [Column("Models"), Column("Model"), Column("Archetype"), Column("What happened")]
        columns += [Column("Deliberations", "count"), Column("Share", "share")]
        rows = [row for archetype in many for row in _archetype_rows(archetype, names)]
        exhibits.append(Table("Deliberation archetypes", columns, rows, note=_NOTE, source="table 2"))
    if few:
        exhibits.append(_few_archetypes(few, names))
    if not exhibits:
        exhibits.append(Callout("Archetypes are not computed: no deliberation went beyond round 1."))
    return Section("archetypes", "Archetypes", [*exhibits, Method(_KINDS)])


_MANY = 30
"""Deliberations beyond round 1. With fewer, the share of one kind among many says next to nothing."""

_NOTE = (
    "The two most common of each kind that occur at least twice. Shares are of deliberations that went beyond round 1,"
    f" for models with {_MANY} or more of them; orders are pooled."
)
_KINDS = (
    "A change goes from a model's first verdict to its last. A holdout never changed its verdict and there was no "
    "consensus, as the caption of table 2 says. Two of the table's holdouts are more common than that allows: beyond "
    "round 1, Claude kept its verdict against GPT in at most 57 deliberations (339 less 282), but the table has it "
    "hold out in 82 (0.136 and 0.106 of 339). Its numbers are possible for 'no consensus, whether or not it changed', "
    "which is shown too."
)


def _archetype_rows(archetype: Archetypes, names: SettingNames) -> list[list[Cell]]:
    kinds = (
        (archetype.changes, "changed its verdict"),
        (archetype.holdouts, "held out: no change, no consensus"),
        (archetype.unresolved, "no consensus, changed or not"),
    )
    head: list[Cell] = [names.whole(archetype.setting, pooled=True), archetype.model]
    return [
        [*head, _path(found), kind, found.count, found.share]
        for several, kind in kinds
        for found in islice((found for found in several if found.count > 1), _TOP)
    ]


def _few_archetypes(few: Sequence[Archetypes], names: SettingNames) -> Table:
    """One row per model of each set, with counts of all kinds."""
    columns = [Column("Models"), Column("Model"), Column("Beyond round 1", "count")]
    columns += [Column("Changed its verdict"), Column("Held out"), Column("No consensus, changed or not")]
    rows: list[list[Cell]] = [
        [
            names.whole(archetype.setting, pooled=True),
            archetype.model,
            archetype.deliberations,
            *(_summarize_counts(several) for several in (archetype.changes, archetype.holdouts, archetype.unresolved)),
        ]
        for archetype in few
    ]
    note = f"Counts, since each model has fewer than {_MANY} deliberations beyond round 1; orders are pooled."
    return Table("Archetypes of few deliberations", columns, rows, note=note, source="table 2")


def _summarize_counts(several: Sequence[Archetype]) -> str:
    """How often any occurred, and the most common one."""
    if not several:
        return "0"
    return f"{sum(archetype.count for archetype in several)}, most often {_path(several[0])} ({several[0].count})"


def _path(archetype: Archetype) -> str:
    return f"{archetype.first} → {archetype.last or 'none'}"
