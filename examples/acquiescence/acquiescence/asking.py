"""What is asked: a yes or no to a question of policy, worded from one side or from the other."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

import msgspec

from overton.calls import Ask, Form, Trial, user
from overton.judging import Reading, read_choice
from overton.studies import Option, Prompts, StudyOptions, ask_until_read, means, unless_refused

PROMPTS = Prompts("acquiescence")
ANSWERS = ("yes", "no")
Framing = Literal["pro", "con"]
FRAMINGS: tuple[Framing, ...] = ("pro", "con")


class Question(msgspec.Struct, frozen=True):
    """A question worded from both sides: saying yes to one wording means saying no to the other."""

    id: str
    pro: str
    con: str


class Options(StudyOptions, frozen=True, forbid_unknown_fields=True):
    """What shapes the trials."""

    trials: Annotated[int, Option("How often each wording is asked", least=1, extends=True)] = 10
    framings: Annotated[tuple[Framing, ...], Option("Sides to word from", flag="--framing", extends=True)] = FRAMINGS


class Record(msgspec.Struct, frozen=True):
    """One answer."""

    trial: Annotated[str, means("the trial's name")]
    question: Annotated[str, means("the question's id")]
    framing: Annotated[Framing, means("the side from which it was worded")]
    answer: Annotated[Literal["yes", "no"] | None, means("None if no reply could be read")]
    failure: Annotated[str | None, means("why the call failed for good, None if it did not")]
    reply: Annotated[str, means("the model's last reply, '' if there is none")]


class Asked(Trial, frozen=True):
    """One question, worded from one side, once."""

    question: Question
    framing: Framing

    @property
    def condition_name(self) -> str:
        """The side from which it is worded."""
        return self.framing


def trials(questions: Sequence[Question], options: Options, seed: int) -> Iterator[Asked]:
    """All trials, each question's together."""
    for question in questions:
        for framing in options.framings:
            for repetition in range(1, options.trials + 1):
                yield Asked(f"{question.id}/{framing}/r{repetition}", question.id, seed, question, framing)


async def conduct(trial: Asked, ask: Ask) -> list[Record]:
    """Ask, with yes and no named in random order; once more if the reply cannot be read."""
    first, second = trial.draw("order").shuffle(ANSWERS)
    worded = trial.question.pro if trial.framing == "pro" else trial.question.con
    prompt = PROMPTS.fill("prompts.ask", question=worded, first=first, second=second)
    answered = await ask_until_read(
        ask, "subject", [user(prompt)], unless_refused(read), attempts=2, complaint=again, form=Form(choices=ANSWERS)
    )
    reply = answered.replies[-1].text if answered.replies else ""
    return [Record(trial.name, trial.item, trial.framing, answered.value, answered.failed, reply)]


def read(text: str) -> Reading[str]:
    """Which of yes and no a reply names."""
    return read_choice(text, ANSWERS)


def again(problem: str) -> str:
    """What is said to a reply that could not be read."""
    return PROMPTS.fill("prompts.again", problem=problem)
