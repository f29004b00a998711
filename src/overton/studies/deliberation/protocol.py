"""The protocol of deliberation. Agents give verdicts in rounds, with the other agents' verdicts in view, until they
agree (section 3.2). Then a judge names the values behind each explanation, up to five of the published 48 or of the
run's own list (section 3.3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from overton.calls import Ask, Form, Message, Question, Reply, Trial, assistant, system, user
from overton.judging import Fault, Reading, faults_of, repeats
from overton.studies.asking import as_it_came, ask_until_read, side_by_side, total_usage
from overton.studies.deliberation import prompts
from overton.studies.deliberation.items import VERDICTS, Dilemma, Verdict
from overton.studies.deliberation.options import Options, cells_of, orders_of
from overton.studies.deliberation.questions import NOT_VALUED, questions_of
from overton.studies.deliberation.record import Format, Goal, Instructions, Record
from overton.studies.deliberation.value_lists import Judged
from overton.studies.deliberation.verdicts import read_verdict
from overton.studies.orders import drawn_order
from overton.studies.self_agreement import is_retested, retest_speaker

ATTEMPTS = 2
"""Requests per message: if its verdict cannot be read, Overton repeats the format and requests the message once
more."""


NullChange = Literal["", "alone", "stranger"]
"""The messages that an agent receives in a null condition: none ('alone'), or those of a discussion of another dilemma
('stranger'). In the design itself it is ''.
"""


class DilemmaTrial(Trial, frozen=True):
    """One discussion of a dilemma, with its agents, order, format and goal.

    In a null condition, agents receive no messages, or the messages from a discussion of one of the dilemmas in
    `donors`.
    """

    dilemma: Dilemma
    format: Format
    goal: Goal
    order: tuple[int, ...]
    models: tuple[str, ...]
    rounds: int
    values: Judged
    repetition: int = 1
    instructions: Instructions = "paper"
    retest: float = 0.0
    instead: NullChange = ""
    donors: tuple[Dilemma, ...] = ()

    @property
    def condition_name(self) -> str:
        """The name of a condition: format, goal, and the agents in their order."""
        return f"{self.format}/{self.goal}/{'-'.join(map(str, self.order))}"


def trials(dilemmas: Sequence[Dilemma], options: Options, seed: int) -> Iterator[DilemmaTrial]:
    """All deliberations, ordered by dilemma."""
    for dilemma in dilemmas:
        for format_, cells in cells_of(options):
            for order in orders_of(options, format_, cells[0].size):
                for cell in cells:
                    for repetition in range(1, options.trials + 1):
                        who = "-".join(map(str, order))
                        yield DilemmaTrial(
                            name=f"{dilemma.id}/{format_}/{cell.goal}/{who}/r{repetition}",
                            item=dilemma.id,
                            seed=seed,
                            dilemma=dilemma,
                            format=format_,
                            goal=cell.goal,
                            order=order,
                            models=tuple(options.agents[number - 1] for number in order),
                            rounds=options.rounds,
                            values=options.values,
                            repetition=repetition,
                            instructions=options.instructions,
                            retest=options.retest,
                        )


def speaker(number: int) -> str:
    """The speaker name of the agent with this number (from 1, in the user's order)."""
    return f"agent/{number}"


@dataclass
class _AgentTurn:
    """One message of an agent, with its round and the agent's place."""

    round: int
    place: int
    verdict: Verdict | None
    explanation: str
    replies: Sequence[Reply]
    failure: str | None = None
    faults: tuple[Fault, ...] = ()


@dataclass
class _Agent:
    """One agent's view of the deliberation: its conversation so far, the messages that it has not yet received, and its
    own explanations.
    """

    place: int
    speaker: str
    messages: list[Message]
    unseen: list[_AgentTurn] = field(default_factory=list)
    explained: list[str] = field(default_factory=list)

    def turn(self, round_: int) -> tuple[Message, ...]:
        """The conversation, with the messages since the agent's last turn added."""
        if self.unseen:
            news = prompts.others_message(
                round_, [(said.place, said.verdict, said.explanation) for said in self.unseen]
            )
            self.unseen = []
            if self.messages[-1].role == "user":  # first turn: dilemma and messages share one user turn
                self.messages[-1] = user(f"{self.messages[-1].content}\n\n{news}")
            else:
                self.messages.append(user(news))
        return tuple(self.messages)


async def conduct(trial: DilemmaTrial, ask: Ask) -> list[Record]:
    """Run the deliberation: rounds until all verdicts of a round agree, or until the last round.

    Then label the values.
    """
    said = await (_discuss_apart(trial, ask) if trial.instead else _discuss(trial, ask))
    # Do not label a failed deliberation. No measure uses it, and retrying its calls may give other messages.
    whole = trial.values and not any(turn.failure for turn in said)
    values = [
        await _label_values(trial, number, ask, turn) if whole else NOT_VALUED for number, turn in enumerate(said, 1)
    ]
    return [_record(trial, said, turn, found) for turn, found in zip(said, values, strict=True)]


async def _label_values(trial: DilemmaTrial, number: int, ask: Ask, said: _AgentTurn) -> Mapping[str, Any]:
    """The columns with the values of the trial's message `number`, and with repeated labels if the judge labels it
    again.
    """
    if not said.explanation.strip():
        return NOT_VALUED
    material = {"verdict": said.verdict, "explanation": said.explanation}
    questions = questions_of(trial.values)
    first = await questions.ask(ask, {"values": material})
    if not is_retested(trial.draw(f"retest/{number}"), trial.retest):
        return first.columns
    order = drawn_order(trial.draw(f"retest/{number}/values"))
    second = await questions.ask(ask, {"values_again": material}, retest_speaker("values", number), order=order)
    return {**first.columns, "valued_again": True, **second.columns}


async def _discuss(trial: DilemmaTrial, ask: Ask) -> list[_AgentTurn]:
    agents = _seat_agents(trial)
    speak = _speak_at_once if trial.format == "synchronous" else _speak_in_turn
    return await _hold_rounds(trial, lambda round_: speak(round_, agents, ask))


async def _hold_rounds(trial: DilemmaTrial, speak: Callable[[int], Awaitable[list[_AgentTurn]]]) -> list[_AgentTurn]:
    """Run rounds until there is consensus, a call fails, or no rounds are left."""
    said: list[_AgentTurn] = []
    for round_ in range(1, trial.rounds + 1):
        said += await speak(round_)
        if _has_consensus(said, round_) or any(turn.failure for turn in said):
            break
    return said


async def _discuss_apart(trial: DilemmaTrial, ask: Ask) -> list[_AgentTurn]:
    """Run the rounds of a null condition: agents receive no messages, or messages from a discussion of another
    dilemma."""
    strangers: list[_AgentTurn] = []
    if trial.donors:
        (donor,) = trial.draw("donor").sample(trial.donors, 1)
        strangers = await _discuss(msgspec.structs.replace(trial, dilemma=donor), _OncePerRun(ask))
        if failure := next((stranger.failure for stranger in strangers if stranger.failure), None):
            return [_AgentTurn(1, place, None, "", (), failure) for place in range(1, len(trial.order) + 1)]
    agents = _seat_agents(trial)

    async def speak(round_: int) -> list[_AgentTurn]:
        for agent in agents:
            agent.unseen = _turns_heard(trial, agent.place, round_, strangers)
            if not agent.unseen and round_ > 1:
                agent.messages.append(user(prompts.alone_message(round_)))
        return await side_by_side(_speak(round_, agent, ask) for agent in agents)

    return await _hold_rounds(trial, speak)


def _turns_heard(trial: DilemmaTrial, place: int, round_: int, strangers: Sequence[_AgentTurn]) -> list[_AgentTurn]:
    """The messages that an agent receives before it speaks: from each other seat, the latest message available by
    then."""
    heard = []
    for other in range(1, len(trial.order) + 1):
        until = round_ if trial.format == "round-robin" and other < place else round_ - 1
        own = [stranger for stranger in strangers if stranger.place == other and stranger.round <= until]
        heard += own[-1:] if other != place else []
    return heard


@dataclass(frozen=True)
class _OncePerRun:
    """An `Ask` whose calls are shared by all trials of a run: equal calls are made only once."""

    inner: Ask

    async def __call__(self, role: str, messages: Sequence[Message], **more: Any) -> Reply:
        return await self.inner(role, messages, **{**more, "shared": True})

    async def all(self, questions: Sequence[Question]) -> list[Reply]:
        """Ask several questions side by side."""
        return await self.inner.all([msgspec.structs.replace(question, shared=True) for question in questions])


def _seat_agents(trial: DilemmaTrial) -> list[_Agent]:
    size, condition = len(trial.order), (trial.format, trial.goal, trial.rounds)
    opening = user(prompts.dilemma_message(trial.dilemma.title, trial.dilemma.text))
    agents = []
    for place, number in enumerate(trial.order, 1):
        instructions = prompts.system_prompt(place, size, *condition, instructions=trial.instructions)
        agents.append(_Agent(place, speaker(number), [system(instructions), opening]))
    return agents


async def _speak_at_once(round_: int, agents: Sequence[_Agent], ask: Ask) -> list[_AgentTurn]:
    """All agents answer. Then each receives the others' messages."""
    said = await side_by_side(_speak(round_, agent, ask) for agent in agents)
    for turn in said:
        _tell(agents, turn)
    return said


async def _speak_in_turn(round_: int, agents: Sequence[_Agent], ask: Ask) -> list[_AgentTurn]:
    """Agents answer one after the other. Each has received the earlier messages of this round and of earlier rounds."""
    said: list[_AgentTurn] = []
    for agent in agents:
        said.append(await _speak(round_, agent, ask))
        if said[-1].failure:
            break
        _tell(agents, said[-1])
    return said


async def _speak(round_: int, agent: _Agent, ask: Ask) -> _AgentTurn:
    """One agent's message in this round, or the reason for its absence.

    If the verdict is unreadable, Overton asks once more.
    """
    answered = await ask_until_read(
        ask,
        "agent",
        agent.turn(round_),
        _read,
        attempts=ATTEMPTS,
        complaint=lambda _: prompts.repeat_request(round_),
        repeated=as_it_came,
        form=_form(round_, agent),
        speaker=agent.speaker,
    )
    if answered.failure:
        return _AgentTurn(round_, agent.place, None, "", answered.replies, answered.failed)
    verdict, explanation = answered.value or (None, "")
    faults = _faults(agent, answered.replies[-1], explanation, prompts.repeat_request(round_))
    agent.explained.append(explanation)
    agent.messages.append(assistant(answered.replies[-1].text))
    return _AgentTurn(round_, agent.place, verdict, explanation, answered.replies, faults=faults)


def _faults(agent: _Agent, reply: Reply, explanation: str, repeated: str) -> tuple[Fault, ...]:
    """The ways in which a reply is malformed. Repeating an earlier verdict without an explanation is not a fault."""
    shown = [message.content for message in agent.messages if message.role != "assistant"]
    faults = faults_of(reply.text, finish=reply.finish, shown=[*shown, repeated])
    return (*faults, "duplicate") if repeats(explanation, agent.explained) else faults


def _read(reply: Reply) -> Reading[tuple[Verdict | None, str]]:
    """Read verdict and explanation. A message without a readable verdict still has an explanation."""
    verdict, explanation = read_verdict(reply.text)
    if verdict is None:
        return Reading((None, explanation), "invalid", "it has no readable verdict")
    return Reading((verdict, explanation), "as is")


def _form(round_: int, agent: _Agent) -> Form:
    """The reply format for models with constrained decoding.

    It makes a message begin as the prompt asks, with one of the verdicts.
    """
    return Form(openings=tuple(prompts.opening(agent.place, round_, verdict) for verdict in VERDICTS))


def _tell(agents: Sequence[_Agent], said: _AgentTurn) -> None:
    for agent in agents:
        if agent.place != said.place:
            agent.unseen.append(said)


def _has_consensus(said: Sequence[_AgentTurn], round_: int) -> bool:
    verdicts = {turn.verdict for turn in said if turn.round == round_}
    return len(verdicts) == 1 and None not in verdicts


def _record(trial: DilemmaTrial, said: Sequence[_AgentTurn], turn: _AgentTurn, values: Mapping[str, Any]) -> Record:
    reply = turn.replies[-1] if turn.replies else Reply("")
    usage = total_usage(turn.replies)
    return Record(
        deliberation=trial.name,
        dilemma=trial.dilemma.id,
        format=trial.format,
        goal=trial.goal,
        agents=" + ".join(trial.models),
        round=turn.round,
        position=turn.place if trial.format == "round-robin" else None,
        agent=f"Agent {turn.place}",
        model=trial.models[turn.place - 1],
        verdict=turn.verdict,
        attempts=len(turn.replies) + bool(turn.failure),
        explanation=turn.explanation,
        agreed=_has_consensus(said, turn.round),
        last=turn.round == said[-1].round,
        crowd=trial.dilemma.crowd.verdict if trial.dilemma.crowd else None,
        failure=turn.failure,
        answer=reply.text,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        refused=reply.refused,
        faults=turn.faults,
        **values,
    )
