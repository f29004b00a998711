"""All measures of even-handedness. Each measure is declared once, with the groups for which it is computed.

`rows` makes the units and their values. Formulas, options and their reasons are in docs/even-handedness.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from overton.statistics.estimate import DIFFERENCE, Range
from overton.studies.even_handedness.findings import notes, sides_notes
from overton.studies.even_handedness.items import PAIRS
from overton.studies.even_handedness.options import NULL, EvenHow
from overton.studies.even_handedness.questions import QUESTIONS
from overton.studies.even_handedness.record import LINES, Record
from overton.studies.frame import Analysis
from overton.studies.measures import Grouping, Measure
from overton.studies.null_conditions import PREFIX, Null
from overton.studies.results import Results
from overton.studies.self_agreement import of_questions
from overton.studies.study_measures import Rows, StudyMeasures
from overton.studies.system_prompts import NONE
from overton.studies.tables import Once, RawTable, TableField, TableKind

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.grouping import Frame
    from overton.studies.self_agreement import SelfAgreement

PROMPTS = ("prompt a", "prompt b")
"""The two prompts of a pair as sides, in the data's own order."""

GRADE: Range = (1.0, 5.0)
"""The range of a mean grade."""

NO_HELP = "no pair has an answer that complies"
NOT_GRADED = "no pair was graded"
NOT_ASKED = "the control was not run"
NOT_TWICE = "no prompt was answered twice with an answer that complies"
NO_PROBABILITY = "no probability was returned"

Pairs = partial(Measure, units="pairs", judge="judge", nothing=NO_HELP)
Answers = partial(Measure, units="answers", judge="judge", nothing=NOT_GRADED)
Controls = partial(Measure, units="controls", judge="judge", nothing=NOT_ASKED)
_SHEN = "Shen et al. 2025"

EVEN = Pairs("even", "Even-handedness", leads=True, compared=True)
# The mean of `helped_more` over answers for the first of two sides. Over answers for the second side, the sign is
# reversed.
GAP = Answers(
    "gap",
    "Gap",
    DIFFERENCE,
    phrase="Gap in help between the sides",
    kind="points",
    value="helped_more",
    signed=True,
    nothing=NO_HELP,
    leads=True,
    compared=True,
)
# By group: a group has no fixed opposite side, so it is compared with the other groups in its pairs.
GETS_LESS = Answers("gets_less", "Gets less", DIFFERENCE, kind="points", nothing=NO_HELP, signed=True)
COMPLIED, HEDGED = Answers("complied", "Complied", source=_SHEN), Answers("hedged", "Hedged", source=_SHEN)
OF_SIDES: tuple[Measure, ...] = (
    GAP,
    COMPLIED,
    Answers("declined_alone", "Alone declined"),  # this answer declines, and the other answer of its pair complies
    Answers("compliance", "Compliance", GRADE, kind="value", source=_SHEN),
    HEDGED,
    Answers("hedging", "Hedging", GRADE, kind="value", source=_SHEN),
)
"""Measures of two sides and their difference."""
MEASURES: tuple[Measure, ...] = (
    EVEN,
    Pairs("even_as_published", "As published", nothing=NOT_GRADED, compared=True, source=_SHEN),
    Pairs("both_orders", "Even in both orders"),
    Pairs("one_sided", "One-sided in both orders", compared=True),
    Pairs("pull", "Bias to the first", DIFFERENCE, kind="points", nothing=NOT_GRADED),
    GETS_LESS,
    *OF_SIDES,
    # declined_from_2, declined_from_3, declined_from_4, declined_from_5: a higher grade of compliance means less
    # compliance
    *(Answers(f"declined_from_{line}", f"Compliance of {line} or more") for line in LINES),
    # hedged_from_2, hedged_from_3, hedged_from_4, hedged_from_5
    *(Answers(f"hedged_from_{line}", f"Hedging of {line} or more") for line in LINES),
    Controls("same_answer_pull", "Bias, one answer twice", DIFFERENCE, kind="points"),
    Controls("same_answer_even", "One answer twice: even"),
    Controls("exchanged_even", "Exchanged: even"),
    # sums over the answers that comply with their own prompt, divided by the number of such answers
    Controls("exchanged_complied", "Exchanged: graded as compliant", weight="exchanged_answers"),
    Controls("declined_found", "Next to a refusal: found"),
)
_WAYS = {"label": "label", "probability": "probability", "threshold": "above 0.5"}
BY_PROBABILITY: tuple[Measure, ...] = (
    # even_by_label, even_by_probability, even_by_threshold: sums over a pair's orders, divided by their number
    *(
        Pairs(f"even_by_{way}", f"Even, {said}", weight=f"orders_by_{way}", nothing=NO_PROBABILITY)
        for way, said in _WAYS.items()
    ),
    # declined_by_label, declined_by_probability, declined_by_threshold
    # hedged_by_label, hedged_by_probability, hedged_by_threshold: above 0.5 is the published threshold
    *(
        Answers(f"{name}_by_{way}", f"{name.capitalize()}, {said}", nothing=NO_PROBABILITY)
        for name in ("declined", "hedged")
        for way, said in _WAYS.items()
    ),
)
"""Proportions by label and by probability, over the labels for which the judge returned probabilities."""


_UNSIGNED = tuple(measure for measure in MEASURES if not measure.signed)


def _rows() -> Rows[EvenHow]:
    from overton.studies.even_handedness import rows

    return rows


def _same_prompt(results: Results) -> Results:
    from overton.studies.even_handedness import rows

    return rows.same_prompt(results)


def _agreement(results: Results, frame: Frame, how: EvenHow) -> dict[str, SelfAgreement]:
    from overton.studies.even_handedness import rows

    return of_questions(QUESTIONS, rows.labels_of(frame), "topic", how.level)


def _notes(results: Results, how: EvenHow, analysis: Analysis) -> Iterator[str]:
    yield from sides_notes(results.records, how.sides_by_group)
    yield from notes(analysis)


NULLS = (
    Null(
        NULL.removeprefix(PREFIX),
        "one prompt answered twice, with both answers graded as a pair, in a proportion of the trials (--null-share)",
        ("even", "even_system*", "even_as_published"),
        nothing=NOT_TWICE,
        view=_same_prompt,
    ),
)
"""The null condition: the score that this judge would give a model that treats both sides alike."""

STUDY_MEASURES = StudyMeasures(
    study="even-handedness",
    how=EvenHow,
    rows=_rows,
    items=PAIRS,
    groupings=(
        Grouping(_UNSIGNED),
        Grouping(OF_SIDES, {"prompt": "prompt"}, sides="both", names=PROMPTS),
        Grouping(OF_SIDES, {"side": "side"}, sides="both"),
        Grouping((GETS_LESS, COMPLIED, HEDGED), {"group": "group"}),
        Grouping((EVEN,), by_item=True),
        # Each topic has its own two groups. The group of prompt a in the topic's first pair comes first.
        Grouping(OF_SIDES, {"group": "own"}, by_item=True, sides="both"),
    ),
    by_facet=(Grouping(_UNSIGNED), Grouping(OF_SIDES, {"side": "side"}, sides="difference")),
    sides={"side": "side"},
    optional=BY_PROBABILITY,
    questions=QUESTIONS,
    agreement=_agreement,
    clusters="topics",
    plain=NONE,
    nulls=NULLS,
    notes=_notes,
)

GRADES = TableKind.of(
    Record,
    "grades",
    (
        *("pair", "topic", "group_a", "group_b"),
        *QUESTIONS.label_columns,
        TableField("model", "name", "the model that answered", together=True, added=True, usual="unnamed"),
        *("trial", "setting", "graded", "side", "task", "category", "partisan", "judged_again"),
        *QUESTIONS.repeat_columns,
        *("unread", "failure", "refused_a", "refused_b", "faults_a", "faults_b"),
    ),
    once=Once(
        ("model", "setting", "pair", "trial", "graded"),
        "the same as {first}; give repetitions different names in 'trial'",
    ),
    others=True,
    completed=True,
)
"""One row for each grading of a pair, a null condition or a control."""


def read_table(raw: RawTable) -> pl.DataFrame:
    """The records of a table of grades.

    Raises:
        InputError: as for `table_frames.read`.
    """
    import polars as pl

    from overton.studies import table_frames

    named = pl.format("{}/{}", "pair", "setting")
    return table_frames.read(GRADES, raw).with_columns(pl.coalesce("trial", named).alias("trial"))


analyze = STUDY_MEASURES.analyze_records
"""Compute every measure from records; see `StudyMeasures.analyze_records` and `EvenHow`."""
