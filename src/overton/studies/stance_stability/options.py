"""The choices that shape the conversations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from overton.errors import InputError, Problem
from overton.studies.calibration_sample import CALIBRATE, CALIBRATE_EACH, Calibrate, CalibrateEach
from overton.studies.measurement import How
from overton.studies.options import Demands, Option, StudyOptions, option_place
from overton.studies.probabilities import Shares
from overton.studies.self_agreement import RETEST, Retest
from overton.studies.stance_stability.record import Ordering

Queries = Literal["own", "shared"]

MOST_PAGES = 100
FEWEST_CHARACTERS = 200
"""The smallest budget of text: less has no room for a sentence."""
JUDGED_CHARACTERS = 12_000
JudgedCharacters = Annotated[
    int, Option("Most characters of earlier turns shown to the judge", least=FEWEST_CHARACTERS)
]
JudgePrompts = Annotated[
    Literal["topic", "published", "both"],
    Option(
        "Stances towards the topic's proposition (topic); towards the question's premise (published), without certainty"
        " and so without Chameleon score; or both",
        flag="--judge-prompt",
    ),
]
AskCertainty = Annotated[
    bool,
    Option(
        "After the published judge prompt, which asks for none, ask for the answer's certainty in a call of its own"
    ),
]
_PAGES_OF_STARTER = 3
"""Pages per turn from the starter collection, which has twenty per domain; for the web, the published number."""


class Options(StudyOptions, frozen=True, forbid_unknown_fields=True):
    """What shapes the conversations besides the topics and the seed."""

    temperatures: Annotated[
        tuple[float | None, ...],
        Option(
            "Of the measured model's queries and answers; own: the endpoint's default",
            flag="--temperature",
            least=0,
            most=2,
            none="own",
            extends=True,
        ),
    ] = (0.0, 0.5, 1.0)
    orderings: Annotated[
        tuple[Ordering, ...],
        Option(
            "Order of questions: fixed as in the topic, shuffled, or grouped by kind",
            flag="--ordering",
            extends=True,
        ),
    ] = ("fixed",)
    trials: Annotated[int, Option("Repetitions of each conversation", least=1, extends=True)] = 1
    turns: Annotated[int | None, Option("Ask only the first N of a topic's questions", least=1, extends=True)] = None
    pages_per_turn: Annotated[
        int,
        Option(
            "Pages read for each question: those that the search ranks first; 3 with the starter pages",
            least=1,
            most=MOST_PAGES,
        ),
    ] = 20
    page_characters: Annotated[int, Option("Most characters shown of a page", least=FEWEST_CHARACTERS)] = 3_000
    context_characters: Annotated[
        int, Option("Most characters shown of all pages of a turn together", least=FEWEST_CHARACTERS)
    ] = 40_000
    history_characters: Annotated[
        int | None,
        Option(
            "Most characters of earlier turns shown to the model; all by default, as published", least=FEWEST_CHARACTERS
        ),
    ] = None
    judged_characters: JudgedCharacters = JUDGED_CHARACTERS
    queries: Annotated[
        Queries,
        Option("Whether the measured model writes its own queries, or one model writes them for all", follows=True),
    ] = "own"
    judge_prompts: JudgePrompts = "topic"
    ask_certainty: AskCertainty = False
    retest: Retest = RETEST
    shares: Shares = "sampled"
    calibrate: Calibrate = CALIBRATE
    calibrate_each: CalibrateEach = CALIBRATE_EACH

    def problems(self) -> Iterator[Problem]:
        """Problems with combinations of options that are each valid alone."""
        return problems_with(self)

    def remarks(self) -> Iterator[str]:
        """A remark on the published judge prompt (appendix A.3), if the judge gets no other."""
        return remarks_on(self)

    def demands(self, named: Mapping[str, Sequence[str]]) -> Demands:
        """Probabilities of the judge's labels of stances; as many hits of a search as there are pages to read."""
        return Demands(
            probabilities=judge_weighed(self.shares), arguments={"search": {"top": str(self.pages_per_turn)}}
        )

    @classmethod
    def complete(cls, given: dict[str, Any], named: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """Fewer pages from the starter collection, and whose queries: a model named to write them does so for all.

        Raises:
            InputError: shared queries without a model that writes them, or such a model without shared queries.
        """
        written = bool(named.get("queries"))
        queries = given.get("queries", "shared" if written else "own")
        if written != (queries == "shared"):
            reason = (
                "shared queries need a model that writes them" if not written else "the named model would write none"
            )
            raise InputError([Problem("role queries", queries, reason)])
        fewer = {"pages_per_turn": _PAGES_OF_STARTER} if list(named.get("search", ())) == ["starter"] else {}
        return {**fewer, **given, "queries": queries}


def judge_weighed(shares: Shares) -> tuple[str, ...]:
    """The roles asked for token probabilities: the judge, for its labels of stances."""
    return () if shares == "sampled" else ("judge",)


def problems_with(options: Options | JudgingOptions) -> Iterator[Problem]:
    """Certainty is asked for only where no prompt asks for it already."""
    if options.ask_certainty and options.judge_prompts != "published":
        reason = "applies to the published judge prompt alone: the other one asks for certainty itself"
        yield Problem(option_place("ask_certainty"), "", reason)


def remarks_on(options: Options | JudgingOptions) -> Iterator[str]:
    """A remark on the published judge prompt (appendix A.3), if the judge gets no other."""
    if options.judge_prompts == "published":
        scored = "" if options.ask_certainty else " It does not ask for certainty, so there is no Chameleon score."
        yield (
            "The published judge prompt labels agreement with each question's premise: a model that keeps its view"
            " agrees with a question that leans its way and disagrees with the next, which counts as a change of"
            f" stance.{scored} With both prompts the labels can be compared."
        )


class JudgingOptions(StudyOptions, frozen=True, forbid_unknown_fields=True):
    """Which prompts the judge gets, and how much of the earlier turns; see `Options`."""

    judge_prompts: JudgePrompts = "topic"
    ask_certainty: AskCertainty = False
    judged_characters: JudgedCharacters = JUDGED_CHARACTERS
    retest: Retest = RETEST
    shares: Shares = "sampled"
    calibrate: Calibrate = CALIBRATE
    calibrate_each: CalibrateEach = CALIBRATE_EACH

    def problems(self) -> Iterator[Problem]:
        """See `problems_with`."""
        return problems_with(self)

    def remarks(self) -> Iterator[str]:
        """See `remarks_on`."""
        return remarks_on(self)

    def demands(self, named: Mapping[str, Sequence[str]]) -> Demands:
        """Probabilities of the judge's labels of stances."""
        return Demands(probabilities=judge_weighed(self.shares))


class StanceHow(How, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the measures of stance stability are computed: the formulas leave some points open."""

    no_change: Annotated[
        Literal["zero", "mean"], Option("Confidence at changes if there are none: zero, or the mean of all turns")
    ] = "zero"
    no_documents: Annotated[
        Literal["left out", "zero"], Option("Term of a turn without documents: left out of the mean, or zero")
    ] = "left out"
    unclear: Annotated[
        Literal["carry", "stance"], Option("An unclear turn keeps the last stance (carry), or is one itself (stance)")
    ] = "carry"
    unlabelled: Annotated[
        Literal["none", "carry"],
        Option("A turn without a label makes no pairs (none), or keeps the last stance (carry)"),
    ] = "none"
    labels: Annotated[
        Literal["proposition", "premise"] | None,
        Option("Stances towards the proposition, or towards the question's premise; by default those available"),
    ] = None
    target: Annotated[
        Literal["supportive", "critical", "balanced", "first"],
        Option("Flips are against this stance, or against each conversation's first"),
    ] = "supportive"
    over: Annotated[
        Literal["topics", "conversations"] | None,
        Option("What intervals are over: topics (the default if the table has them) or conversations"),
    ] = None
