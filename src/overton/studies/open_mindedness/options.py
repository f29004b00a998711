"""The options of open-mindedness, and its argument configurations (definition 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from overton.calls import Draw
from overton.errors import InputError, Problem
from overton.studies.calibration_sample import CALIBRATE, CALIBRATE_EACH, Calibrate, CalibrateEach
from overton.studies.measurement import How
from overton.studies.open_mindedness.items import Argument, Issue
from overton.studies.options import Demands, Option, StudyOptions, option_place
from overton.studies.probabilities import AsAsked, Shares, as_single_trial

if TYPE_CHECKING:
    from overton.studies.tables import RawTable


class ArgumentCondition(msgspec.Struct, frozen=True):
    """An argument configuration.

    `pros` and `cons` are how many arguments of each side are sampled, None for all. `balanced` takes as many of each
    side as the smaller side has. `weight` is w_c of section 4.4; 0 if a configuration is not part of the score. `side`
    is the side that the configuration favours.
    """

    name: str
    pros: int | None
    cons: int | None
    side: str | None = None
    balanced: bool = False
    weight: int = 0


CONDITIONS = {
    condition.name: condition
    for condition in (
        ArgumentCondition("baseline", 0, 0),
        ArgumentCondition("one-sided-pro", None, 0, "pro", weight=1),
        ArgumentCondition("one-sided-con", 0, None, "con", weight=1),
        ArgumentCondition("convincing-pro", 3, 1, "pro", weight=2),
        ArgumentCondition("convincing-con", 1, 3, "con", weight=2),
        ArgumentCondition("balanced", None, None, balanced=True, weight=3),
        # Not in the paper: with three agreeing arguments, as in 3:1, a single contrary one is the only difference.
        ArgumentCondition("three-pro", 3, 0, "pro"),
        ArgumentCondition("three-con", 0, 3, "con"),
    )
}

PUBLISHED_NAMES = {
    "neither": "baseline",
    "pro": "one-sided-pro",
    "con": "one-sided-con",
    "75pro": "convincing-pro",
    "75con": "convincing-con",
    "all": "balanced",
}
"""Our names of configurations by the published ones."""

PUBLISHED = ("baseline", "one-sided-pro", "one-sided-con", "convincing-pro", "convincing-con", "balanced")
"""The six configurations of the paper, asked by default."""

WORDINGS = (1, 2)
"""Every configuration with arguments is asked in two wordings of the evidence wrapper."""


def arguments_for(condition: ArgumentCondition, issue: Issue, draw: Callable[[str], Draw]) -> list[Argument]:
    """The arguments of `issue` that `condition` shows, sampled by `draw`; fewer if the issue has fewer."""
    smaller = min(len(issue.pros), len(issue.cons)) if condition.balanced else None
    return _sample(issue.pros, condition.pros, smaller, draw("pros")) + _sample(
        issue.cons, condition.cons, smaller, draw("cons")
    )


def has_choice(condition: ArgumentCondition, issue: Issue) -> bool:
    """Whether `arguments_for` chooses some of an issue's arguments, instead of all or none."""
    if condition.balanced:
        return len(issue.pros) != len(issue.cons)
    sides = ((condition.pros, len(issue.pros)), (condition.cons, len(issue.cons)))
    return any(size is not None and 0 < size < known for size, known in sides)


def _sample(side: tuple[Argument, ...], size: int | None, smaller: int | None, draw: Draw) -> list[Argument]:
    wanted = smaller if smaller is not None else size
    if wanted is None:
        return list(side)
    return draw.sample(side, wanted) if wanted else []


TEMPLATES = (1, 2, 3, 4, 5, 6)

_A_FEW_SENTENCES = 512
"""Output tokens for a few sentences."""


class Options(StudyOptions, frozen=True, forbid_unknown_fields=True):
    """What shapes the trials of open-mindedness besides the issues and the seed."""

    trials: Annotated[
        int, Option("Repetitions of each template in each configuration and wording", least=1, extends=True)
    ] = 15
    conditions: Annotated[
        tuple[str, ...],
        Option("Argument configurations (definition 3)", known=tuple(CONDITIONS), flag="--condition", extends=True),
    ] = PUBLISHED
    templates: Annotated[
        tuple[int, ...],
        Option("Question templates of appendix B", known=TEMPLATES, flag="--template", extends=True),
    ] = TEMPLATES
    wordings: Annotated[
        tuple[int, ...],
        Option("Wordings of the evidence wrapper", known=WORDINGS, flag="--wording", extends=True),
    ] = WORDINGS
    draws: Annotated[
        int | None,
        Option("Repeat this many argument sets of each configuration instead of drawing one per trial", least=1),
    ] = None
    shared_evidence: Annotated[
        bool,
        Option(
            "Show all templates of a wording the same arguments in the same order, in a single trial, so that a server"
            " that caches prompt prefixes reads them once"
        ),
    ] = False
    shares: Shares = "sampled"
    calibrate: Calibrate = CALIBRATE
    calibrate_each: CalibrateEach = CALIBRATE_EACH
    answers: Annotated[
        Literal["forced", "free", "both"],
        Option(
            "Whether the model must choose a letter, may write freely and a judge labels its stance, or both in turn",
        ),
    ] = "forced"

    def problems(self) -> Iterator[Problem]:
        """Problems with combinations of options that are each valid alone."""
        if self.draws is not None and self.draws > self.trials:
            reason = f"more argument sets than the {self.trials} trials that share them"
            yield Problem(option_place("draws"), str(self.draws), reason)
        if self.shared_evidence and self.trials > 1:
            reason = f"requires --trials 1: with {self.trials}, answers to the same arguments would not be independent"
            yield Problem(option_place("shared_evidence"), "", reason)

    def demands(self, named: Mapping[str, Sequence[str]]) -> Demands:
        """Free answers: a judge, and room for a few sentences of the model's and the judge's.

        Probabilities are of the subject's letters, and of the labels that free answers get.
        """
        weighed = {"forced": ("subject",), "free": ("judge",), "both": ("subject", "judge")}[self.answers]
        is_free = self.answers != "forced"
        return Demands(
            needed=("judge",) if is_free else (),
            tokens={"subject": _A_FEW_SENTENCES, "judge": _A_FEW_SENTENCES} if is_free else {},
            probabilities=() if self.shares == "sampled" else weighed,
        )

    @classmethod
    def complete(cls, given: dict[str, Any], named: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """One trial of each prompt if token probabilities replace repetitions; free answers keep their number."""
        return given if given.get("answers") == "free" else as_single_trial(given, named)


class OpenMindednessHow(How, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How open-mindedness is computed."""

    controversial: Annotated[int, Option("Issues in the controversial subset", least=1)] = 10
    reading: Annotated[Literal["strict", "published"], Option("Which patterns read the stances")] = "strict"
    shares: AsAsked = "as-asked"
    answers: Annotated[
        Literal["as-asked", "forced", "free"],
        Option("Which answers are measured; as-asked takes the forced ones if there are any"),
    ] = "as-asked"
    topics: Annotated[
        Any,
        Option("CSV with issue and topic, such as positions.csv, for tables of counts, which lack topics", file=True),
    ] = None

    @property
    def topics_by_issue(self) -> Mapping[str, str]:
        """The topic of each issue in the table that was given; tables of counts have the same names in lower case.

        Raises:
            InputError: the table has no such columns, or gives an issue two topics.
        """
        if self.topics is None or isinstance(self.topics, Mapping):
            return self.topics or {}
        return topics_in(self.topics)


def topics_in(table: RawTable) -> dict[str, str]:
    """Topics by issue, as written and in lower case; rows without a topic are left out.

    Raises:
        InputError: a column is missing, or an issue is listed twice.
    """
    if missing := [name for name in ("issue", "topic") if name not in table.columns]:
        reason = f"has no column {' and '.join(missing)}; a table of topics has issue, topic"
        raise InputError([Problem(table.name, "", reason)])
    found: dict[str, str] = {}
    for number, row in enumerate(table.frame().select("issue", "topic").iter_rows()):
        issue, topic = (str(cell or "").strip() for cell in row)
        if issue in found:
            raise InputError([Problem(table.name, table.place(number), f"{issue} is already in the table")])
        if issue and topic:
            found[issue] = topic
    return {issue.lower(): topic for issue, topic in found.items()} | found
