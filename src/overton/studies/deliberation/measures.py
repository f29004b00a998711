"""The declarations of all measures of deliberation, and of the groups for which they are computed.

`rows` makes the units and their values. `other_numbers` and `choice` compute all other numbers. docs/deliberation.md
has the formulas, the choices and their reasons.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

import msgspec

from overton.calls import Trial
from overton.statistics.estimate import ANYTHING, Range
from overton.studies.deliberation.findings import warnings_of
from overton.studies.deliberation.items import DILEMMAS, Dilemma
from overton.studies.deliberation.options import DeliberationHow
from overton.studies.deliberation.protocol import NullChange, trials
from overton.studies.deliberation.questions import QUESTIONS
from overton.studies.deliberation.run_lists import list_in
from overton.studies.deliberation.value_lists import names_of
from overton.studies.frame import Analysis, EstimateRow
from overton.studies.measures import Grouping, Measure
from overton.studies.null_conditions import Null
from overton.studies.self_agreement import SelfAgreement, of_questions
from overton.studies.study import import_named
from overton.studies.study_measures import OtherNumbers, Rows, StudyMeasures, TableRow

if TYPE_CHECKING:
    from overton.studies.contributions import Contribution, Sides
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
"""The range of the number of rounds until consensus: 1 or more."""

Deliberated = partial(Measure, units="deliberations", nothing=UNREAD)
Openings = partial(Measure, units="openings", nothing=NOTHING)

CONSENSUS = Deliberated(
    "consensus", "Consensus", phrase="Share of deliberations with consensus", margin=0.1, leads=True, compared=True
)
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
    # The authors' code counts consensus if more than half of the last round's valid verdicts are the same.
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
"""How round-robin deliberations end for the model that speaks first: its verdict of round 1 prevails, or the model
yields."""
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
    """The measures for the view without malformed messages.

    There, a number is missing because verdicts are left out, not because they are unreadable.
    """
    why = "no well-formed message has a verdict"
    return tuple(replace(measure, nothing=why) if measure.nothing == UNREAD else measure for measure in measures)


_Verdicts = partial(Measure, nothing=NOTHING)
VERDICTS_GIVEN = (
    _Verdicts("agreed_verdict", "Agreed on"),
    _Verdicts("first_verdict", "Round 1"),
    _Verdicts("last_verdict", "Last round"),
    _Verdicts("first_verdict_at_fault", "First verdicts that blame the poster"),
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
"""Proportions of deliberations by verdict (figure 3), and of archetypes (table 2)."""

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
    "it is a parameter of a model that is fitted to all decisions jointly, so two fits over the same dilemmas are"
    " dependent. The error rate of comparisons of such fits has not been measured. 'overton analyze' reports each fit"
    " with its own interval"
)


def _rows() -> Rows[DeliberationHow]:
    from overton.studies.deliberation import rows

    return rows


def _numbers(path: str) -> Any:
    """The function that 'MODULE:NAME' names. Its module is imported on the first call."""

    def numbers(results: Results, *choices: Any) -> Any:
        return import_named(f"overton.studies.deliberation.{path}")(results, *choices)

    return numbers


def no_contribution(measure: Measure, why: str) -> Contribution:
    """The empty contribution of a model that has no value for a measure, with the reason."""
    import numpy as np

    from overton.studies.contributions import Contribution

    return Contribution(measure, (), np.empty((0, 2)), why=why)


def _parameter_sides(results: Results, how: DeliberationHow) -> Sides:
    """Empty contributions of all models, because two fits cannot be compared dilemma by dilemma."""
    models = results.records["model"].unique().sort().to_list()
    return {model: [no_contribution(measure, _NOT_ADDITIVE) for measure in (INERTIA, CONFORMITY)] for model in models}


def _agreement(results: Results, frame: Frame, how: DeliberationHow) -> dict[str, SelfAgreement]:
    return of_questions(QUESTIONS, results.records, "dilemma", how.level)


def _case(results: Results, what: str, people: People, how: DeliberationHow) -> Any:
    from overton.studies.deliberation.errors import ValueCase

    return ValueCase(results.records, people, names_of(list_in(results)), (how.level, 100, how.seed))


def _null_trials(instead: NullChange, dilemmas: Sequence[Dilemma], options: Any, seed: int) -> Iterator[Trial]:
    """Every deliberation of the design again, as a null condition. 'stranger' needs at least two dilemmas."""
    if instead == "stranger" and len(dilemmas) < 2:
        return
    for trial in trials(dilemmas, options, seed):
        others = tuple(dilemma for dilemma in dilemmas if dilemma.id != trial.item) if instead == "stranger" else ()
        yield msgspec.structs.replace(trial, instead=instead, donors=others, values=False, retest=0.0)


def _null(name: NullChange, help_: str) -> Null:
    of = ("changed", "consensus", "rounds_to_consensus")
    return Null(name, help_, of, trials=partial(_null_trials, name), column="deliberation")


NULLS = (
    _null("alone", "each agent asked again in every round, without the others' messages"),
    _null("stranger", "the others' verdicts and explanations, taken from a discussion of another dilemma"),
    Null(
        "permuted",
        "the values of partners from randomly chosen discussions of other dilemmas",
        ("similarity", "inherited"),
        _numbers("other_numbers:value_sides_by_chance"),
    ),
)
"""'alone' comes first, because verdicts that change in this condition change without conformity."""


def _warnings(results: Results, how: DeliberationHow, analysis: Analysis) -> Iterator[str]:
    yield from warnings_of(results.records, analysis)


_MEASURES = StudyMeasures(
    study="deliberation",
    how=DeliberationHow,
    rows=_rows,
    items=DILEMMAS,
    groupings=GROUPINGS,
    by_facet=GROUPINGS[:4],
    others=(
        OtherNumbers((IN_ROUND,), _numbers("other_numbers:round_numbers"), faultless=True),
        OtherNumbers(VERDICTS_GIVEN, _numbers("other_numbers:verdict_numbers")),
        OtherNumbers((), _numbers("other_numbers:compared_groups")),
        OtherNumbers(VALUES_USED, _numbers("other_numbers:value_numbers"), _numbers("other_numbers:value_sides")),
        OtherNumbers(PARAMETERS, _numbers("choice:choice_numbers"), _parameter_sides),
        OtherNumbers((), _numbers("rows:missing")),
    ),
    faultless=(Grouping(_well_formed(ENDINGS)), Grouping(_well_formed((CHANGED,)))),
    questions=QUESTIONS,
    case=_case,
    agreement=_agreement,
    nulls=NULLS,
    notes=_warnings,
)


def _measures_in(results: Results) -> StudyMeasures[DeliberationHow]:
    """The measures of these runs. Measures are the same for every list of values.

    Raises:
        InputError: the runs have different lists.
    """
    list_in(results)
    return _MEASURES


STUDY_MEASURES = replace(_MEASURES, of_run=_measures_in)

analyze = STUDY_MEASURES.analyze_records
"""Compute every number from a table of decisions with one row per agent and round; see `StudyMeasures.analyze_records`
and `DeliberationHow`.

Columns are `deliberation`, `dilemma`, `format`, `round`, `position` (null if all speak at once), `model` and `verdict`
(null if it could not be read), and optionally `agent` (by default the model), `goal`, `values` (lists; null if not
known), `crowd` and `failure`. The order of rows does not matter.
"""
