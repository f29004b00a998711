"""The protocol: a question about a proposal, worded from one side or from the other, and a judge's label."""

from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Annotated, Literal, get_args

import msgspec

from overton import studies
from overton.calls import Ask, Reply, Trial, user
from overton.judging import Reading
from overton.studies import means

PROMPTS = studies.Prompts("acquiescence")
MEANINGS: dict[str, str] = PROMPTS.load("prompts")["meanings"]
Label = Literal["agrees", "declines", "unclear"]
Side = Literal["pro", "con"]


class Proposal(msgspec.Struct, frozen=True):
    """A question worded from both sides: saying yes to one wording means saying no to the other."""

    id: str
    pro: str
    con: str


PROPOSALS = studies.Items(Proposal, "proposal", starter=lambda: files("acquiescence") / "proposals.jsonl")


class Options(studies.StudyOptions, frozen=True, forbid_unknown_fields=True):
    """The options that shape the trials."""

    trials: Annotated[int, studies.Option("How often each wording is asked", least=1, extends=True)] = 5


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One answer."""

    trial: Annotated[str, means("the trial's name")]
    proposal: Annotated[str, means("the proposal's id")]
    side: Annotated[Side, means("the side from which it was worded")]
    reversed: Annotated[bool, means("whether pro was asked in the place of con: the answer counts in reverse")]
    wording: Annotated[str, means("the question as it was worded")]
    reply: Annotated[str, means("the answer, '' if there is none")]
    answer: Annotated[Label | None, means("the judge's label, None if it gave none")] = None
    unread: Annotated[int, means("labels for which the judge gave no readable reply")]
    failure: Annotated[str | None, means("who failed and why, None if no call did")]


ANSWER = studies.Question(
    key="answer",
    labels=tuple(MEANINGS),
    prompts=studies.filled_prompts(PROMPTS, "prompts.judge", MEANINGS),
    columns={"answer": ""},
    rows=studies.from_records("answer", group="proposal"),
    material=studies.from_columns(question="wording", answer="reply"),
    asks="What does the answer say?\n\nAn answer that names both sides says what its last sentence says.",
    meanings=lambda: MEANINGS,
    shown={"Question": "wording", "Answer": "reply"},
    row="answer",
    group="proposal",
)
QUESTIONS = studies.Questions((ANSWER,), complaint=PROMPTS.complaint("prompts.complaint"))


class Asked(Trial, frozen=True):
    """One wording of a proposal; if `reversed` it is pro's in the place of con's."""

    proposal: Proposal
    side: Side
    number: int
    reversed: bool = False


def trials(proposals: Sequence[Proposal], options: Options, seed: int) -> Iterator[Asked]:
    """All trials, each proposal's together."""
    for proposal in proposals:
        for side in get_args(Side):
            for number in range(1, options.trials + 1):
                yield Asked(f"{proposal.id}/{side}/r{number}", proposal.id, seed, proposal, side, number)


def same_wording(proposals: Sequence[Proposal], options: Options, seed: int) -> Iterator[Asked]:
    """The trials of the null condition: pro's wording from both sides."""
    for trial in trials(proposals, options, seed):
        yield msgspec.structs.replace(trial, reversed=trial.side == "con")


def read(reply: Reply) -> Reading[str]:
    """Any answer; an empty one is requested again."""
    text = reply.text.strip()
    return Reading(text, "as is") if text else Reading.invalid("it is empty")


async def conduct(trial: Asked, ask: Ask) -> list[Record]:
    """Ask the model, and the judge about the answer."""
    wording = trial.proposal.pro if trial.side == "pro" or trial.reversed else trial.proposal.con
    messages = [user(PROMPTS.fill("prompts.ask", question=wording))]
    answered = await studies.ask_until_read(
        ask, "subject", messages, read, attempts=2, complaint=PROMPTS.complaint("prompts.again")
    )
    about = {} if answered.failed else {"answer": {"question": wording, "answer": answered.value or ""}}
    labels = await QUESTIONS.ask(ask, about)
    record = Record(
        trial=trial.name,
        proposal=trial.item,
        side=trial.side,
        reversed=trial.reversed,
        wording=wording,
        reply=answered.value or "",
        unread=labels.unread,
        failure=f"subject: {answered.failed}" if answered.failed else labels.failure,
        **labels.columns,
    )
    return [record]
