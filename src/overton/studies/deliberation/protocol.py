"""The protocol: agents give verdicts in rounds, seeing each other's, until they agree (section 3.2); then a judge names
the values behind each explanation, up to five of the published 48 (section 3.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from overton.calls import Ask, Form, Message, Question, Reply, Trial, assistant, system, user
from overton.errors import CallFailed
from overton.judging import Fault, Reading, faults_of, parse_json, repeats, schema_of, with_schema
from overton.studies.asking import as_it_came, ask_until_read, side_by_side, total_usage
from overton.studies.deliberation import prompts
from overton.studies.deliberation.items import VERDICTS, Dilemma, Verdict
from overton.studies.deliberation.options import Options, orders_of
from overton.studies.deliberation.record import Format, Goal, Instructions, Record
from overton.studies.deliberation.verdicts import read_verdict
from overton.studies.self_agreement import form_in_order, is_retested, reorder, retest_speaker

ATTEMPTS = 2
"""If a message's verdict cannot be read, the message is asked for once more, with the format repeated."""


Instead = Literal["", "alone", "stranger"]
"""Whom agents hear in a null condition: nobody, or a discussion of another dilemma; '' in the design itself."""


class DilemmaTrial(Trial, frozen=True):
    """One dilemma discussed once: by whom, in which order and format, with which goal; or a null of that, in which
    agents hear nobody, or what was said about one of the `donors`."""

    dilemma: Dilemma
    format: Format
    goal: Goal
    order: tuple[int, ...]
    models: tuple[str, ...]
    rounds: int
    values: bool
    repetition: int = 1
    instructions: Instructions = "paper"
    retest: float = 0.0
    instead: Instead = ""
    donors: tuple[Dilemma, ...] = ()


def trials(dilemmas: Sequence[Dilemma], options: Options, seed: int) -> Iterator[DilemmaTrial]:
    """All deliberations, each dilemma's together."""
    for dilemma in dilemmas:
        for format_ in options.formats:
            for order in orders_of(options, format_):
                for goal in options.goals:
                    for repetition in range(1, options.trials + 1):
                        who = "-".join(map(str, order))
                        yield DilemmaTrial(
                            name=f"{dilemma.id}/{format_}/{goal}/{who}/r{repetition}",
                            item=dilemma.id,
                            seed=seed,
                            dilemma=dilemma,
                            format=format_,
                            goal=goal,
                            order=order,
                            models=tuple(options.agents[number - 1] for number in order),
                            rounds=options.rounds,
                            values=options.values,
                            repetition=repetition,
                            instructions=options.instructions,
                            retest=options.retest,
                        )


def speaker(number: int) -> str:
    """The speaker name of the agent with this number (from 1, in the order given)."""
    return f"agent/{number}"


@dataclass
class _Said:
    """One message: who said what, and when."""

    round: int
    place: int
    verdict: Verdict | None
    explanation: str
    replies: Sequence[Reply]
    failure: str | None = None
    faults: tuple[Fault, ...] = ()


@dataclass
class _Agent:
    """One agent's own view of the deliberation: its conversation so far, the messages it has not yet been shown, and
    its own explanations.
    """

    place: int
    speaker: str
    messages: list[Message]
    unseen: list[_Said] = field(default_factory=list)
    explained: list[str] = field(default_factory=list)

    def turn(self, round_: int) -> tuple[Message, ...]:
        """The conversation with everything said since its last turn."""
        if self.unseen:
            news = prompts.others_message(
                round_, [(said.place, said.verdict, said.explanation) for said in self.unseen]
            )
            self.unseen = []
            if self.messages[-1].role == "user":  # still its first turn: dilemma and others share one user turn
                self.messages[-1] = user(f"{self.messages[-1].content}\n\n{news}")
            else:
                self.messages.append(user(news))
        return tuple(self.messages)


async def conduct(trial: DilemmaTrial, ask: Ask) -> list[Record]:
    """Run the deliberation: rounds until all verdicts agree at the end of a whole round, or no rounds are left."""
    said = await (_apart(trial, ask) if trial.instead else _discussed(trial, ask))
    # A failed deliberation is in no measure, and when its calls are retried it gets other messages in their place.
    whole = trial.values and not any(one.failure for one in said)
    values = [
        await _valued_of(trial, number, ask, one) if whole else (NOT_VALUED, None) for number, one in enumerate(said, 1)
    ]
    return [_record(trial, said, one, *found) for one, found in zip(said, values, strict=True)]


async def _discussed(trial: DilemmaTrial, ask: Ask) -> list[_Said]:
    agents = _table(trial)
    said: list[_Said] = []
    for round_ in range(1, trial.rounds + 1):
        speak = _all_at_once if trial.format == "synchronous" else _in_turn
        said += await speak(round_, agents, ask)
        if _agree(said, round_) or any(one.failure for one in said):
            break
    return said


async def _apart(trial: DilemmaTrial, ask: Ask) -> list[_Said]:
    """The same rounds in which nobody hears anybody, or everybody hears strangers who discuss another dilemma."""
    strangers: list[_Said] = []
    if trial.donors:
        (donor,) = trial.draw("donor").sample(trial.donors, 1)
        strangers = await _discussed(msgspec.structs.replace(trial, dilemma=donor), _OncePerRun(ask))
        if failure := next((stranger.failure for stranger in strangers if stranger.failure), None):
            return [_Said(1, place, None, "", (), failure) for place in range(1, len(trial.order) + 1)]
    agents = _table(trial)
    said: list[_Said] = []
    for round_ in range(1, trial.rounds + 1):
        for agent in agents:
            agent.unseen = _heard(trial, agent.place, round_, strangers)
            if not agent.unseen and round_ > 1:
                agent.messages.append(user(prompts.alone_message(round_)))
        said += await side_by_side(_speak(round_, agent, ask) for agent in agents)
        if _agree(said, round_) or any(one.failure for one in said):
            break
    return said


def _heard(trial: DilemmaTrial, place: int, round_: int, strangers: Sequence[_Said]) -> list[_Said]:
    """What an agent hears before it speaks: from each other seat, the latest message it could have heard by then."""
    heard = []
    for other in range(1, len(trial.order) + 1):
        until = round_ if trial.format == "round-robin" and other < place else round_ - 1
        own = [stranger for stranger in strangers if stranger.place == other and stranger.round <= until]
        heard += own[-1:] if other != place else []
    return heard


@dataclass(frozen=True)
class _OncePerRun:
    """Makes each call once per run, whichever trial makes it first."""

    inner: Ask

    async def __call__(self, role: str, messages: Sequence[Message], **more: Any) -> Reply:
        return await self.inner(role, messages, **{**more, "shared": True})

    async def all(self, questions: Sequence[Question]) -> list[Reply]:
        """Several side by side."""
        return await self.inner.all([msgspec.structs.replace(question, shared=True) for question in questions])


def _table(trial: DilemmaTrial) -> list[_Agent]:
    return [_seated(trial, place) for place in range(1, len(trial.order) + 1)]


def _seated(trial: DilemmaTrial, place: int) -> _Agent:
    agents, condition = len(trial.order), (trial.format, trial.goal, trial.rounds)
    instructions = prompts.system_prompt(place, agents, *condition, instructions=trial.instructions)
    opening = prompts.dilemma_message(trial.dilemma.title, trial.dilemma.text)
    return _Agent(place, speaker(trial.order[place - 1]), [system(instructions), user(opening)])


async def _all_at_once(round_: int, agents: Sequence[_Agent], ask: Ask) -> list[_Said]:
    """All answer; then all are shown what the others said."""
    said = await side_by_side(_speak(round_, agent, ask) for agent in agents)
    for one in said:
        _tell(agents, one)
    return said


async def _in_turn(round_: int, agents: Sequence[_Agent], ask: Ask) -> list[_Said]:
    """Each answers knowing what was said before in this round and in earlier ones."""
    said: list[_Said] = []
    for agent in agents:
        said.append(await _speak(round_, agent, ask))
        if said[-1].failure:
            break
        _tell(agents, said[-1])
    return said


async def _speak(round_: int, agent: _Agent, ask: Ask) -> _Said:
    """One agent's message in this round, or why there is none; an unreadable verdict is asked for once more."""
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
        return _Said(round_, agent.place, None, "", answered.replies, answered.failed)
    verdict, explanation = answered.value or (None, "")
    faults = _faults(agent, answered.replies[-1], explanation, prompts.repeat_request(round_))
    agent.explained.append(explanation)
    agent.messages.append(assistant(answered.replies[-1].text))
    return _Said(round_, agent.place, verdict, explanation, answered.replies, faults=faults)


def _faults(agent: _Agent, reply: Reply, explanation: str, repeated: str) -> tuple[Fault, ...]:
    """A reply's faults of form; repeating only the verdict, with no explanation, is none."""
    shown = [message.content for message in agent.messages if message.role != "assistant"]
    faults = faults_of(reply.text, finish=reply.finish, shown=[*shown, repeated])
    return (*faults, "duplicate") if repeats(explanation, agent.explained) else faults


def _read(reply: Reply) -> Reading[tuple[Verdict | None, str]]:
    """Verdict and explanation; a message without a readable verdict still has an explanation."""
    verdict, explanation = read_verdict(reply.text)
    return Reading((verdict, explanation), "as is", "" if verdict else "it has no readable verdict")


def _form(round_: int, agent: _Agent) -> Form:
    """For answerers that can be held to a form: a message opens as the prompt asks, with one of the verdicts."""
    return Form(openings=tuple(prompts.opening(agent.place, round_, verdict) for verdict in VERDICTS))


def _tell(agents: Sequence[_Agent], said: _Said) -> None:
    for agent in agents:
        if agent.place != said.place:
            agent.unseen.append(said)


def _agree(said: Sequence[_Said], round_: int) -> bool:
    verdicts = {one.verdict for one in said if one.round == round_}
    return len(verdicts) == 1 and None not in verdicts


def _record(
    trial: DilemmaTrial, said: Sequence[_Said], one: _Said, values: ValueLabels, second: ValueLabels | None
) -> Record:
    reply = one.replies[-1] if one.replies else Reply("")
    usage = total_usage(one.replies)
    return Record(
        deliberation=trial.name,
        dilemma=trial.dilemma.id,
        format=trial.format,
        goal=trial.goal,
        agents=" + ".join(trial.models),
        round=one.round,
        position=one.place if trial.format == "round-robin" else None,
        agent=f"Agent {one.place}",
        model=trial.models[one.place - 1],
        verdict=one.verdict,
        attempts=len(one.replies) + bool(one.failure),
        explanation=one.explanation,
        values=values.values,
        values_dropped=values.dropped,
        agreed=_agree(said, one.round),
        last=one.round == said[-1].round,
        crowd=trial.dilemma.crowd.verdict if trial.dilemma.crowd else None,
        failure=one.failure,
        answer=reply.text,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        refused=reply.refused,
        faults=one.faults,
        valued_again=second is not None,
        values_again=second.values if second else None,
    )


MOST = 5
"""The most values that one explanation may be given."""


class ValueLabels(NamedTuple):
    """What the judge found: values from the list, and how many others it named; None if its answer was unusable."""

    values: tuple[str, ...] | None
    dropped: int | None


NOT_VALUED = ValueLabels(None, None)
"""No judge was asked, or its answer was unusable."""


class _ValueAnswer(msgspec.Struct):
    answers: Annotated[list[Annotated[str, with_schema(enum=prompts.VALUES)]], with_schema(maxItems=MOST)]


def schema() -> dict[str, Any]:
    """The judge's output: at most five values from the list."""
    return schema_of(_ValueAnswer)


async def _valued_of(trial: DilemmaTrial, number: int, ask: Ask, said: _Said) -> tuple[ValueLabels, ValueLabels | None]:
    """What the judge finds in the trial's message `number`, and what it finds when asked again, if it is."""
    found = await valued(ask, said.verdict, said.explanation)
    if not said.explanation.strip() or not is_retested(trial.draw(f"retest/{number}"), trial.retest):
        return found, None
    listed = reorder(trial.draw(f"retest/{number}/values"), prompts.LISTED)
    return found, await valued(
        ask, said.verdict, said.explanation, listed=listed, speaker=retest_speaker("values", number)
    )


async def valued(
    ask: Ask,
    verdict: Verdict | None,
    explanation: str,
    *,
    listed: Sequence[str] = prompts.LISTED,
    speaker: str | None = None,
) -> ValueLabels:
    """Ask the judge about one evaluation, its list in the order of `listed`.

    If there is nothing to judge, or the call fails, there are no values.
    """
    if not explanation.strip():
        return NOT_VALUED
    messages = (system(prompts.values_prompt(listed)), user(prompts.evaluation_message(verdict, explanation)))
    form = form_in_order(_FORM, prompts.VALUES, tuple(dict.fromkeys(listed)))
    try:
        return _values_in(await ask("values", messages, form=form, speaker=speaker))
    except CallFailed:
        return NOT_VALUED


def _values_in(reply: Reply) -> ValueLabels:
    """Values exactly as written in the list, each once, at most five; others are dropped and counted."""
    reading = parse_json(reply.text, _ValueAnswer)
    if reading.value is None:
        return NOT_VALUED
    named = reading.value.answers
    kept = [value for value in dict.fromkeys(named) if value in _LISTED][:MOST]
    return ValueLabels(tuple(kept), sum(value not in _LISTED for value in named))


_LISTED = frozenset(prompts.VALUES)
_FORM = Form(schema=schema())
