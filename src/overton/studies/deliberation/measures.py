"""Every measure of deliberation, declared once, and by what there are numbers of it.

`rows` makes the units and their values; `endings`, `values` and `choice` have the numbers that are no means of units.
Formulas, choices and their reasons are in docs/deliberation.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from math import inf
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from overton.calls import Trial
from overton.statistics.jackknife import ANYTHING, Range
from overton.studies.arm_weights import LEFT_OUT
from overton.studies.deliberation.findings import notes, warnings_of
from overton.studies.deliberation.items import DILEMMAS, Dilemma
from overton.studies.deliberation.options import DeliberationHow
from overton.studies.deliberation.protocol import NullChange, trials
from overton.studies.deliberation.questions import QUESTIONS
from overton.studies.frame import Analysis, EstimateKey, EstimateRow
from overton.studies.measures import WHOLE, Contribution, Grouping, Measure, Sides, of_pairs
from overton.studies.null_conditions import Null
from overton.studies.self_agreement import SelfAgreement, of_questions
from overton.studies.study_measures import OtherNumbers, Rows, StudyMeasures, TableRow

if TYPE_CHECKING:
    import polars as pl

    from overton.statistics.cluster_sums import ClusterSums
    from overton.statistics.jackknife import Resampling
    from overton.studies.deliberation.contrasts import Contrast
    from overton.studies.deliberation.deliberations import Deliberations, Setting
    from overton.studies.grouping import Frame
    from overton.studies.people_labels import People
    from overton.studies.results import Results

Shown = EstimateRow | TableRow

UNREAD = "no verdict could be read"
NEVER = "no deliberation reached consensus"
NOTHING = "nothing was observed"
NO_CROWD = "no deliberation on a dilemma whose crowd is known reached consensus"
NOT_BEYOND = "no deliberation went beyond round 1"
NO_VALUES = "the values of round 1 are not known in any deliberation"

ROUNDS: Range = (1.0, inf)
"""The range of the number of rounds until consensus, which is reached in the first one or later."""

Deliberated = partial(Measure, units="deliberations", nothing=UNREAD)
Openings = partial(Measure, units="openings", nothing=NOTHING)

CONSENSUS = Deliberated("consensus", "Consensus", margin=0.1, leads=True, compared=True)
ROUNDS_TO_CONSENSUS = Deliberated(
    "rounds_to_consensus",
    "Rounds to consensus",
    within=ROUNDS,
    margin=0.25,
    kind="value",
    gap="value",
    leads=True,
    compared=True,
    nothing=NEVER,
)
ENDINGS: tuple[Measure, ...] = (
    CONSENSUS,
    Deliberated("no_consensus", "No consensus"),
    # Consensus by the authors' code: more than half of the valid verdicts of the last round are the same.
    Deliberated("consensus_by_majority", "Consensus by majority"),
    ROUNDS_TO_CONSENSUS,
    Deliberated(
        "consensus_on_new", "Consensus on a new verdict", nothing="no deliberation has all verdicts of round 1"
    ),
)
"""How deliberations end (figure 2 a and c)."""
IN_ROUND = Measure("consensus_in_round", "Consensus in this round", nothing=UNREAD)
CHANGED = Measure("changed", "Changes of verdict", units="agents", nothing=UNREAD, leads=True, compared=True)
AT_ONCE = Openings("led_to_consensus_at_once", "Consensus in round 1")
FIRST_SPEAKERS: tuple[Measure, ...] = (
    AT_ONCE,
    Openings("led_to_consensus", "Consensus"),
    Openings("prevailed", "On its verdict"),
    Openings("yielded", "On another"),
)
"""How round-robin deliberations end, of the model that speaks first: its verdict of round 1 prevails, or it yields."""
IS_CROWDS = Measure("verdict_is_crowds", "Verdicts that are the crowd's", units="verdicts", nothing=NOTHING)
CONSENSUS_IS_CROWDS = Deliberated("consensus_is_crowds", "Consensus verdicts that are the crowd's", nothing=NO_CROWD)

GROUPINGS = (
    Grouping(ENDINGS),
    Grouping((CHANGED,)),
    Grouping(ENDINGS, {"setting": "setting"}),
    Grouping((CHANGED,), {"setting": "setting"}),
    Grouping((CHANGED,), {"setting": "setting", "place": "place"}),
    Grouping(FIRST_SPEAKERS, {"pooled": "pooled"}),
    Grouping((IS_CROWDS,), {"goal": "goal", "round": "round"}),
    Grouping((CONSENSUS_IS_CROWDS,), {"setting": "setting"}),
)


def _well_formed(measures: Sequence[Measure]) -> tuple[Measure, ...]:
    """The measures without malformed messages: their verdicts were read, but are left out."""
    why = "no well-formed message has a verdict"
    return tuple(replace(measure, nothing=why) if measure.nothing == UNREAD else measure for measure in measures)


_Verdicts = partial(Measure, nothing=NOTHING)
VERDICTS_GIVEN = (
    _Verdicts("agreed_verdict", "Agreed on"),
    _Verdicts("first_verdict", "Round 1"),
    _Verdicts("last_verdict", "Last round"),
    _Verdicts("first_verdict_at_fault", "First verdicts that the one who asks is at fault"),
    _Verdicts("unreadable", "Messages without a readable verdict"),
    *(
        Measure(name, title, nothing=NOT_BEYOND)
        for name, title in (
            ("ended_elsewhere", "Changed its verdict"),
            ("held_out", "Held out"),
            ("unresolved", "No consensus, changed or not"),
            ("returned", "Came back to its first verdict"),
        )
    ),
)
"""Shares of deliberations by verdict (figure 3), and of archetypes (table 2)."""

_Valued = partial(Measure, judge="values", nothing=NOTHING)
SIMILARITY = _Valued(
    "similarity", "Value similarity, last messages", compared=True, nothing="no two messages with values"
)
INHERITED = _Valued(
    "inherited",
    "New values taken over from partners",
    margin=0.1,
    compared=True,
    nothing="no new value after a change",
)
VALUES_USED = (
    _Valued("value_used", "Value occurrence"),
    _Valued("inherited_value", "Inherited", nothing=NO_VALUES),
    _Valued("inherited_as_published", "As the authors count"),
    *(
        _Valued(name, title, kind="value", gap="value", source="equation 1")
        for name, title in (
            ("similarity_by_agreement", "Value similarity by agreement"),
            ("similarity_with_consensus", "Value similarity, consensus"),
            ("similarity_without_consensus", "Value similarity, no consensus"),
            ("similarity_in_round", "Value similarity by round"),
        )
    ),
    SIMILARITY,
    INHERITED,
)

_LogOdds = partial(Measure, within=ANYTHING, margin=0.25, kind="value", gap="value", source="equation 2")
INERTIA, CONFORMITY = _LogOdds("inertia", "Inertia (log-odds)"), _LogOdds("conformity", "Conformity (log-odds)")
PARAMETERS = (
    INERTIA,
    CONFORMITY,
    _LogOdds("conformity_previous", "Conformity to earlier rounds"),
    _LogOdds("conformity_within", "Conformity to the same round"),
    _LogOdds("preference", "Preference"),
    _LogOdds("dilemma_spread", "Spread of dilemmas' effects", within=(0.0, inf)),
    _LogOdds("taste_spread", "Spread of tastes", within=(0.0, inf)),
)
_NOT_ADDITIVE = (
    "it is a parameter of a model fitted to all decisions together, not a sum over dilemmas: two fits over the same"
    " dilemmas are dependent, and how often a comparison by refitting without each dilemma would be wrong has not been"
    " measured; 'overton analyze' reports each with its own interval"
)


def _rows() -> Rows[DeliberationHow]:
    from overton.studies.deliberation import rows

    return rows


def _resampling(frame: Frame) -> tuple[Deliberations, Resampling]:
    from overton.studies.deliberation.rows import talks_of

    talks = talks_of(frame)
    return talks, frame.jackknife.over(len(talks.dilemmas))


def _round_numbers(results: Results, frame: Frame, how: DeliberationHow) -> Iterator[Shown]:
    from overton.studies.deliberation.rows import round_rows

    for row in round_rows(*_resampling(frame), IN_ROUND.nothing):
        yield msgspec.structs.replace(row, variant=frame.variant)


def _verdict_numbers(results: Results, frame: Frame, how: DeliberationHow) -> Iterator[Shown]:
    from overton.studies.deliberation.deliberations import split
    from overton.studies.deliberation.rows import archetypes, at_fault_rows, unreadable_rows, verdict_rows

    talks, resampling = _resampling(frame)
    verdicts = list(verdict_rows(split(talks), resampling))
    yield from verdicts
    yield from at_fault_rows(verdicts, talks)
    yield from unreadable_rows(talks)
    yield from archetypes(split(talks, pooled=True), resampling)


def _compared_groups(results: Results, frame: Frame, how: DeliberationHow) -> Iterator[Shown]:
    """Groups of deliberations against each other: formats, models, places in the order, goals, and first verdicts
    against last ones. The tests of each kind are corrected for their number. Numbers of the groups have rows, too."""
    from overton.studies.deliberation.contrasts import compare, sides_of, together
    from overton.studies.deliberation.deliberations import split

    talks, _ = _resampling(frame)
    by_setting, pooled = ([part.setting for part in split(talks, pooled=also)] for also in (False, True))
    in_turn = [setting for setting in pooled if setting.format == "round-robin"]
    known = set[EstimateKey]()
    for contrasts in (
        list(_formats(frame, pooled)),
        list(_models(frame, CHANGED, "setting", by_setting)),
        list(_models(frame, AT_ONCE, "pooled", in_turn)),
        list(_places(frame, in_turn)),
        list(_goals(frame, pooled)),
        list(_rounds(frame)),
    ):
        if contrasts:
            differences = compare(frame.jackknife.over(len(contrasts[0].first.below)), contrasts)
            for row in sides_of(contrasts, differences):
                if row.key not in known:
                    known.add(row.key)
                    yield row
            yield from together(differences)


def _formats(frame: Frame, settings: Sequence[Setting]) -> Iterator[Contrast]:
    """The two formats, if the same models had both with the same goal."""
    from overton.studies.deliberation.contrasts import Contrast, Where
    from overton.studies.deliberation.deliberations import pairs_of_formats

    pairs = list(pairs_of_formats(settings))
    sums = frame.sums(CONSENSUS, {"pooled": "pooled"}) if pairs else {}
    for both, *pair in pairs:
        where = Where("consensus", None, "format", f"{both.name} / round-robin", "synchronous")
        first, second = (Where("consensus", None, "pooled", setting.name) for setting in pair)
        before, after = (sums["", "", setting.name] for setting in pair)
        yield Contrast([where], before, after, (first, second))


def _models(frame: Frame, measure: Measure, facet: str, settings: Sequence[Setting]) -> Iterator[Contrast]:
    """The models of each setting."""
    from overton.studies.deliberation.contrasts import Contrast, Where

    sums = frame.sums(measure, {facet: facet}) if settings else {}
    for setting in settings:
        for first, second in combinations(sorted(set(setting.agents)), 2):
            both = [sums.get((model, "", setting.name)) for model in (first, second)]
            if both[0] is not None and both[1] is not None:
                yield Contrast([Where(measure.name, second, facet, setting.name, first)], both[0], both[1])


def _places(frame: Frame, settings: Sequence[Setting]) -> Iterator[Contrast]:
    """A model's changes of verdict when it speaks first, and when it speaks later."""
    from overton.studies.deliberation.contrasts import Contrast, Where

    facet = "pooled / speaks"
    sums = frame.sums(CHANGED, {"pooled": "pooled", "speaks": "speaks"}) if settings else {}
    for setting in settings:
        for model in sorted(set(setting.agents)):
            both = [sums.get((model, "", setting.name, place)) for place in ("first", "later")]
            if both[0] is not None and both[1] is not None and both[0].below.any() and both[1].below.any():
                first, later = (
                    Where("changed", model, facet, f"{setting.name} / {place}") for place in ("first", "later")
                )
                yield Contrast([later._replace(against="first")], both[0], both[1], (first, later))


def _goals(frame: Frame, settings: Sequence[Setting]) -> Iterator[Contrast]:
    """Each other goal against the first, if the same models had both: changes of verdict by model, then consensus."""
    from overton.studies.deliberation.contrasts import Contrast, Where
    from overton.studies.deliberation.deliberations import pairs_of_goals

    pairs = list(pairs_of_goals(settings))
    sums = {measure.name: frame.sums(measure, {"pooled": "pooled"}) for measure in (CHANGED, CONSENSUS) if pairs}
    for shared, *pair in pairs:
        goal, against = (setting.goal or "" for setting in reversed(pair))
        for measure, model in (*(("changed", model) for model in sorted(set(shared.agents))), ("consensus", None)):
            where = Where(measure, model, "goal", f"{shared.name} / {goal}", against)
            first, second = (Where(measure, model, "pooled", setting.name) for setting in pair)
            before, after = (sums[measure][model or "", "", setting.name] for setting in pair)
            yield Contrast([where], before, after, (first, second))


def _rounds(frame: Frame) -> Iterator[Contrast]:
    """How often each model's verdicts are the crowd's in round 1, and in the last round."""
    from overton.studies.deliberation.contrasts import Contrast, Where
    from overton.studies.deliberation.deliberations import in_order

    names, facet = ("round 1", "last round"), "goal / round"
    sums = frame.sums(IS_CROWDS, {"goal": "goal", "round": "round"})
    models = sorted({model for model, *_ in sums})
    for goal in in_order(goal for _, _, goal, _ in sums):
        for model in models:
            both = [sums.get((model, "", goal or "", name)) for name in names]
            if both[0] is not None and both[1] is not None:
                where = Where(IS_CROWDS.name, model, facet, f"{goal} / {names[1]}", names[0])
                yield Contrast([where], both[0], both[1])


def _value_numbers(results: Results, frame: Frame, how: DeliberationHow) -> Iterator[Shown]:
    """Numbers of values, if any are known, and of deliberations that count alike."""
    from overton.studies.deliberation.contrasts import Where, rows_of
    from overton.studies.deliberation.deliberations import split
    from overton.studies.deliberation.values import inheritance, inherited, pair_similarity, similarity, value_use

    talks, resampling = _resampling(frame)
    if talks.masks is None or talks.weight is not None:
        return
    pooled = split(talks, pooled=True)
    yield from value_use(pooled, resampling)
    yield from pair_similarity(pooled, resampling)
    yield from inheritance(pooled, resampling)
    yield from rows_of(resampling, [([Where("similarity")], similarity(talks))], SIMILARITY.nothing)
    sums = [([Where("inherited", model)], inherited(talks, model)) for model in talks.models]
    yield from rows_of(resampling, sums, INHERITED.nothing)


def _choice_numbers(results: Results, frame: Frame, how: DeliberationHow) -> Iterator[Shown]:
    from overton.studies.deliberation.choice import Fitting, choice_numbers, fit_again, fit_choices
    from overton.studies.deliberation.deliberations import talks_from
    from overton.studies.deliberation.rows import without_faults

    talks, _ = _resampling(frame)
    fitting = Fitting(how.estimator, how.conformity, how.goals, how.others)
    fits = fit_choices(talks, fitting, how.level)
    yield from choice_numbers(fits, how.level)
    left = without_faults(results)
    if left is not results and talks.weight is None:
        again = fit_again(talks_from(left.records), fits, fitting, how.level)
        yield from choice_numbers(again, how.level)


def _missing(results: Results, frame: Frame, how: DeliberationHow) -> Iterator[Shown]:
    """Why there are no numbers of some kinds, and what is to be said with numbers."""
    from overton.studies.deliberation.rows import counts_of

    talks, _ = _resampling(frame)
    settings = {setting.pooled._replace(goal=None): set[str | None]() for setting in talks.settings}
    for setting in talks.settings:
        settings[setting.pooled._replace(goal=None)].add(setting.goal)
    reasons = {
        "values": LEFT_OUT
        if talks.weight is not None and talks.masks is not None
        else _NO_VALUES
        if talks.masks is None
        else "",
        "order": "" if any(setting.format == "round-robin" for setting in talks.settings) else _NO_ORDER,
        "steering": "" if any(len(goals) > 1 for goals in settings.values()) else _NO_GOALS,
        "crowd": "" if (talks.crowd >= 0).any() else _CROWD_UNKNOWN,
    }
    for what, why in reasons.items():
        if why:
            yield TableRow("not_computed", {"what": what, "why": why})
    for note in notes(counts_of(frame, ())["counts"]):
        yield TableRow("notes", {"note": note})


_NO_VALUES = "no message has values: let a judge name them"
_NO_ORDER = "no deliberation is round-robin"
_NO_GOALS = "no models deliberated with more than one goal"
_CROWD_UNKNOWN = "no dilemma's crowd verdict is known"


def _value_sides(results: Results, how: DeliberationHow) -> Sides:
    from overton.studies.deliberation.deliberations import talks_from

    return _of_values(talks_from(results.records))


def _by_chance(results: Results, rows: pl.DataFrame | None, how: DeliberationHow) -> Sides:
    """Similarity and inheritance with partners drawn at random; empty if no values are known."""
    from overton.studies.deliberation.deliberations import talks_from

    talks = talks_from(results.records)
    return _of_values(talks, np.random.default_rng((how.seed, len(talks))))


def _of_values(talks: Deliberations, rng: np.random.Generator | None = None) -> Sides:
    from overton.studies.deliberation.values import inherited, similarity

    if talks.masks is None or not talks.known.any():
        return {}
    if talks.weight is not None:
        whole = [_none(SIMILARITY, LEFT_OUT)]
        return {WHOLE: whole, **{model: [_none(INHERITED, LEFT_OUT)] for model in talks.models}}
    whole = [_made(SIMILARITY, talks, similarity(talks, rng))]
    return {
        WHOLE: whole,
        **{model: [_made(INHERITED, talks, inherited(talks, model, rng))] for model in talks.models},
    }


def _made(measure: Measure, talks: Deliberations, sums: ClusterSums) -> Contribution:
    found = of_pairs(measure, talks.dilemmas, sums.above.reshape(-1), sums.below.reshape(-1))
    return found if found.items else _none(measure, measure.nothing)


def _none(measure: Measure, why: str) -> Contribution:
    return Contribution(measure, (), np.empty((0, 2)), why=why)


def _parameter_sides(results: Results, how: DeliberationHow) -> Sides:
    """Nothing: two fits cannot be compared dilemma by dilemma."""
    models = results.records["model"].unique().sort().to_list()
    return {model: [_none(measure, _NOT_ADDITIVE) for measure in (INERTIA, CONFORMITY)] for model in models}


def _agreement(results: Results, frame: Frame, how: DeliberationHow) -> dict[str, SelfAgreement]:
    return of_questions(QUESTIONS, results.records, "dilemma", how.level)


def _case(results: Results, what: str, people: People, how: DeliberationHow) -> Any:
    from overton.studies.deliberation.errors import ValueCase
    from overton.studies.deliberation.prompts import VALUES

    return ValueCase(results.records, people, VALUES, (how.level, 100, how.seed))


def _null_trials(instead: NullChange, dilemmas: Sequence[Dilemma], options: Any, seed: int) -> Iterator[Trial]:
    """Every deliberation of the design once more; strangers' words need a second dilemma."""
    if instead == "stranger" and len(dilemmas) < 2:
        return
    for trial in trials(dilemmas, options, seed):
        others = tuple(dilemma for dilemma in dilemmas if dilemma.id != trial.item) if instead == "stranger" else ()
        yield msgspec.structs.replace(trial, instead=instead, donors=others, values=False, retest=0.0)


def _null(name: NullChange, help_: str) -> Null:
    of = ("changed", "consensus", "rounds_to_consensus")
    return Null(name, help_, of, trials=partial(_null_trials, name), column="deliberation")


NULLS = (
    _null("alone", "each agent asked again in every round, hearing nobody"),
    _null("stranger", "the others' verdicts and explanations taken from a discussion of another dilemma"),
    Null(
        "permuted",
        "the values of partners from discussions of other dilemmas, drawn at random",
        ("similarity", "inherited"),
        _by_chance,
    ),
)
"""'alone' comes first: a verdict that changes there changes without conformity."""


def _warnings(results: Results, how: DeliberationHow, analysis: Analysis) -> Iterator[str]:
    yield from warnings_of(results.records, analysis)


STUDY_MEASURES = StudyMeasures(
    study="deliberation",
    how=DeliberationHow,
    rows=_rows,
    items=DILEMMAS,
    groupings=GROUPINGS,
    by_facet=GROUPINGS[:4],
    others=(
        OtherNumbers((IN_ROUND,), _round_numbers, faultless=True),
        OtherNumbers(VERDICTS_GIVEN, _verdict_numbers),
        OtherNumbers((), _compared_groups),
        OtherNumbers(VALUES_USED, _value_numbers, _value_sides),
        OtherNumbers(PARAMETERS, _choice_numbers, _parameter_sides),
        OtherNumbers((), _missing),
    ),
    faultless=(Grouping(_well_formed(ENDINGS)), Grouping(_well_formed((CHANGED,)))),
    questions=QUESTIONS,
    case=_case,
    agreement=_agreement,
    nulls=NULLS,
    notes=_warnings,
)


analyze = STUDY_MEASURES.analyze_records
"""Every number from decisions, one row per agent and round; see `StudyMeasures.analyze_records` and `DeliberationHow`.

Columns are `deliberation`, `dilemma`, `format`, `round`, `position` (null if all speak at once), `model` and `verdict`
(null if it could not be read), and optionally `agent` (by default the model), `goal`, `values` (lists; null if not
known), `crowd` and `failure`. The order of rows does not matter.
"""
