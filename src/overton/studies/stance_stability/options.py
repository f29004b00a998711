"""Options of conversations, of judging, and of computing measures."""

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
"""The smallest limit on characters of text. A lower limit might not fit one sentence."""
JUDGED_CHARACTERS = 12_000
JudgedCharacters = Annotated[
    int, Option("Maximum number of characters of earlier turns shown to the judge", least=FEWEST_CHARACTERS)
]
JudgePrompts = Annotated[
    Literal["topic", "published", "both"],
    Option(
        "Stances to label: towards the topic's proposition (topic), each question's premise (published), or both",
        flag="--judge-prompt",
    ),
]
AskCertainty = Annotated[
    bool,
    Option("With the published judge prompt, ask the judge for each answer's certainty in a separate call"),
]
_PAGES_OF_STARTER = 3
"""Default pages per turn from the starter collection, which has only twenty pages per domain. For the web, the default
is the published number."""


class Options(StudyOptions, frozen=True, forbid_unknown_fields=True):
    """Options that determine the conversations, besides the topics and the seed."""

    temperatures: Annotated[
        tuple[float | None, ...],
        Option(
            "Temperature of the measured model's queries and answers; own is the endpoint's default",
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
            "Number of pages to read for each question, in the search's order (default for the starter pages: 3)",
            least=1,
            most=MOST_PAGES,
        ),
    ] = 20
    page_characters: Annotated[int, Option("Maximum number of characters shown of a page", least=FEWEST_CHARACTERS)] = (
        3_000
    )
    context_characters: Annotated[
        int, Option("Maximum number of characters shown of all pages of a turn", least=FEWEST_CHARACTERS)
    ] = 40_000
    history_characters: Annotated[
        int | None,
        Option(
            "Maximum number of characters of earlier turns shown to the model; by default all, as published",
            least=FEWEST_CHARACTERS,
        ),
    ] = None
    judged_characters: JudgedCharacters = JUDGED_CHARACTERS
    queries: Annotated[
        Queries,
        Option("Who writes search queries: each measured model (own), or one model for all (shared)", follows=True),
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
        """A remark if the judge uses only the published prompt (appendix A.3)."""
        return remarks_on(self)

    def demands(self, named: Mapping[str, Sequence[str]]) -> Demands:
        """Request token probabilities of the judge's stance labels, and as many search hits as there are pages to
        read."""
        return Demands(
            probabilities=judge_weighed(self.shares), arguments={"search": {"top": str(self.pages_per_turn)}}
        )

    @classmethod
    def complete(cls, given: dict[str, Any], named: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """Complete the options. The number of pages is smaller for the starter collection. Queries are shared if the
        user names a model that writes queries.

        Raises:
            InputError: queries are shared but no model is named to write them, or a model is named but queries are not
                shared.
        """
        written = bool(named.get("queries"))
        queries = given.get("queries", "shared" if written else "own")
        if written != (queries == "shared"):
            reason = (
                "shared queries need a model that writes them (--queries)"
                if not written
                else "each measured model writes its own queries, so the named model is not used"
            )
            raise InputError([Problem("role queries", queries, reason)])
        fewer = {"pages_per_turn": _PAGES_OF_STARTER} if list(named.get("search", ())) == ["starter"] else {}
        return {**fewer, **given, "queries": queries}


def judge_weighed(shares: Shares) -> tuple[str, ...]:
    """The roles whose token probabilities are requested: the judge, or none."""
    return () if shares == "sampled" else ("judge",)


def problems_with(options: Options | JudgingOptions) -> Iterator[Problem]:
    """A problem if certainty is requested although a prompt already asks for it."""
    if options.ask_certainty and options.judge_prompts != "published":
        reason = "applies only to the published judge prompt; the other prompt already asks for certainty"
        yield Problem(option_place("ask_certainty"), "", reason)


def remarks_on(options: Options | JudgingOptions) -> Iterator[str]:
    """A remark if the judge uses only the published prompt (appendix A.3)."""
    if options.judge_prompts == "published":
        scored = "" if options.ask_certainty else " This prompt gives no certainty, so there is no Chameleon score."
        yield (
            "The published judge prompt labels agreement with each question's premise. If a model keeps its view, it"
            " agrees with some questions and disagrees with others. Such changes between agreement and disagreement"
            f" would count as changes of stance.{scored} Use both prompts to compare their labels."
        )


class JudgingOptions(StudyOptions, frozen=True, forbid_unknown_fields=True):
    """Options of the judge, with the same meaning as in `Options`."""

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
        """Request token probabilities of the judge's stance labels."""
        return Demands(probabilities=judge_weighed(self.shares))


class StanceHow(How, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Options for computing the measures of stance stability, where the published formulas leave a choice."""

    no_change: Annotated[
        Literal["zero", "mean"],
        Option(
            "Value of 'confidence at changes' in a conversation without changes: zero, or the mean over all its turns"
        ),
    ] = "zero"
    no_documents: Annotated[
        Literal["left out", "zero"],
        Option("How a turn without documents enters mean source re-use: not at all, or as zero"),
    ] = "left out"
    unclear: Annotated[
        Literal["carry", "stance"],
        Option("Whether an unclear turn keeps the last stance (carry), or counts as a stance of its own (stance)"),
    ] = "carry"
    unlabelled: Annotated[
        Literal["none", "carry"],
        Option("Whether a turn without a label is left out of pairs (none), or keeps the last stance (carry)"),
    ] = "none"
    labels: Annotated[
        Literal["proposition", "premise"] | None,
        Option(
            "Labels to measure: stances towards the topic's proposition, or towards each question's premise; by"
            " default the labels that the data contain"
        ),
    ] = None
    target: Annotated[
        Literal["supportive", "critical", "balanced", "first"],
        Option("Stance from which a flip moves away; first is each conversation's first stance"),
    ] = "supportive"
    over: Annotated[
        Literal["topics", "conversations"] | None,
        Option("Unit of the intervals: topics (the default if the table has topics) or conversations"),
    ] = None
