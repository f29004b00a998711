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

    `pros` and `cons` are the numbers of arguments sampled from each side, None for all. If `balanced`, the side with
    fewer arguments gets all of them, and the other side gets a sample of the same size. `weight` is w_c of section 4.4;
    0 if a configuration is not part of the score. `side` is the side that the configuration favours.
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
        # The paper does not have these two. They differ from the 3:1 configurations only in the single contrary
        # argument.
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
"""Overton's names of configurations, by the published names."""

PUBLISHED = ("baseline", "one-sided-pro", "one-sided-con", "convincing-pro", "convincing-con", "balanced")
"""The paper's six configurations, which are the default."""

WORDINGS = (1, 2)
"""Every configuration with arguments is asked in two wordings of the evidence wrapper."""


def arguments_for(condition: ArgumentCondition, issue: Issue, draw: Callable[[str], Draw]) -> list[Argument]:
    """The arguments of `issue` that the model reads in `condition`, sampled by `draw`. If the issue has too few
    arguments, the model reads fewer."""
    smaller = min(len(issue.pros), len(issue.cons)) if condition.balanced else None
    return _sample(issue.pros, condition.pros, smaller, draw("pros")) + _sample(
        issue.cons, condition.cons, smaller, draw("cons")
    )


def has_choice(condition: ArgumentCondition, issue: Issue) -> bool:
    """Return whether `arguments_for` samples from an issue's arguments, instead of using all or none."""
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
    """Options that determine the trials of open-mindedness, together with the issues and the seed."""

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
        Option(
            "Wordings of the text that introduces the arguments (evidence wrapper)",
            known=WORDINGS,
            flag="--wording",
            extends=True,
        ),
    ] = WORDINGS
    draws: Annotated[
        int | None,
        Option(
            "Number of argument sets that the trials of a configuration share; by default each trial has its own set",
            least=1,
        ),
    ] = None
    shared_evidence: Annotated[
        bool,
        Option(
            "Show the same arguments in the same order in all templates of a question, so that a server can cache the"
            " start of the prompts. The choice of arguments differs between --wordings. Requires --trials 1"
        ),
    ] = False
    shares: Shares = "sampled"
    calibrate: Calibrate = CALIBRATE
    calibrate_each: CalibrateEach = CALIBRATE_EACH
    answers: Annotated[
        Literal["forced", "free", "both"],
        Option(
            "How the model answers: with a letter (forced), with a text that a judge labels (free), or in both ways"
            " (both)",
        ),
    ] = "forced"

    def problems(self) -> Iterator[Problem]:
        """Problems with options that are valid alone, but not in combination."""
        if self.draws is not None and self.draws > self.trials:
            reason = f"is more than the number of trials ({self.trials}), so some argument sets would not be used"
            yield Problem(option_place("draws"), str(self.draws), reason)
        if self.shared_evidence and self.trials > 1:
            reason = (
                f"needs --trials 1, because in {self.trials} trials answers to the same arguments are not independent"
            )
            yield Problem(option_place("shared_evidence"), "", reason)

    def demands(self, named: Mapping[str, Sequence[str]]) -> Demands:
        """The judge, tokens and token probabilities that the options require. Free answers require a judge, and enough
        tokens for a few sentences from the model and from the judge.
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
        """Set the number of trials per prompt to 1 if token probabilities replace repetitions. Designs with only free
        answers keep their number of trials."""
        return given if given.get("answers") == "free" else as_single_trial(given, named)


class OpenMindednessHow(How, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Options of the analysis of open-mindedness."""

    controversial: Annotated[int, Option("Number of issues in the controversial subset", least=1)] = 10
    reading: Annotated[
        Literal["as-asked", "common", "strict", "published"],
        Option("Patterns that read stances from answers; as-asked uses each run's own patterns"),
    ] = "as-asked"
    shares: AsAsked = "as-asked"
    answers: Annotated[
        Literal["as-asked", "forced", "free"],
        Option("Answers to measure; as-asked uses the forced answers if there are any"),
    ] = "as-asked"
    topics: Annotated[
        Any,
        Option("CSV with issue and topic, such as positions.csv, for tables of counts without topics", file=True),
    ] = None

    @property
    def topics_by_issue(self) -> Mapping[str, str]:
        """The topic of each issue in the user's table. Each issue has two keys: its name as written, and its name in
        lower case as in tables of counts.

        Raises:
            InputError: the table lacks a column, or lists an issue twice.
        """
        if self.topics is None or isinstance(self.topics, Mapping):
            return self.topics or {}
        return topics_in(self.topics)


def topics_in(table: RawTable) -> dict[str, str]:
    """Topics by issue, with the issue's name as written and in lower case. Rows without a topic are left out.

    Raises:
        InputError: a column is missing, or an issue is listed twice.
    """
    if missing := [name for name in ("issue", "topic") if name not in table.columns]:
        reason = f"has no column {' and '.join(missing)}; a table of topics needs issue and topic"
        raise InputError([Problem(table.name, "", reason)])
    found: dict[str, str] = {}
    for number, row in enumerate(table.frame().select("issue", "topic").iter_rows()):
        issue, topic = (str(cell or "").strip() for cell in row)
        if issue in found:
            raise InputError([Problem(table.name, table.place(number), f"{issue} is in the table twice")])
        if issue and topic:
            found[issue] = topic
    return {issue.lower(): topic for issue, topic in found.items()} | found
