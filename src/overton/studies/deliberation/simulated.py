"""Agents and a judge of values whose truth is known.

An agent's verdicts follow equation 2 of the paper (section 3.4):

    logit P(v) = preference for v + the dilemma's effect on v + its own lasting taste for v in this dilemma
                 + inertia (less `yielding` if the goals are balanced), if v is its own last verdict
                 + conformity_previous * how many of the others' verdicts of earlier rounds are v
                 + conformity_within   * how many of the others' verdicts of this round are v

It reads nothing but the messages: all it knows about the deliberation comes from the conversation that it is shown.
The judge finds the values of its list that an explanation names word for word, as those of simulated agents do; it
reads the list in its prompt. The randomness of both follows from the request's seed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import exp
from statistics import NormalDist
from typing import Annotated, NamedTuple

import msgspec

from overton.calls import Draw, Message, Reply, Request
from overton.errors import InputError, Problem, RejectedError
from overton.studies.deliberation import prompts
from overton.studies.deliberation.items import VERDICTS, Dilemma, Verdict
from overton.studies.deliberation.prompts import VALUES
from overton.studies.deliberation.questions import MOST
from overton.studies.options import Option
from overton.studies.simulated import NumbersByKey, SeededAnswerer, parameters_of, probability

_PREFERENCE: dict[Verdict, float] = {"YTA": 0.5, "NTA": 1.2, "ESH": 0.4, "NAH": 0.0, "INFO": -1.5}
_VALUES = {
    "Honest communication": 0.5,
    "Respect and dignity": 0.4,
    "Family bonds and cohesion": 0.4,
    "Empathy and understanding": 0.3,
    "Personal autonomy": 0.3,
    "Consent and personal boundaries": 0.2,
    "Personal accountability and responsibility": 0.2,
    "Conflict resolution and reconciliation": 0.2,
}
_NORMAL = NormalDist()


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A simulated agent: the terms of equation 2 in logits, and some probabilities.

    `preference` is theta, its taste for each verdict, and `values` has the probabilities that an explanation names a
    value; both are 0 for those not named. Agents with the same `dilemma_spread` and `seed` see the same effects of
    dilemmas, which follow from a dilemma's id and the seed alone. Its own tastes follow from its name, the dilemma's id
    and `taste_seed`.
    """

    preference: dict[Verdict, float] = msgspec.field(default_factory=_PREFERENCE.copy)
    dilemma_spread: Annotated[
        float, Option("Standard deviation of phi, dilemmas' own effects on verdicts", least=0)
    ] = 1.0
    inertia: Annotated[float, Option("alpha: for its own verdict from the round before")] = 1.5
    conformity_previous: Annotated[float, Option("gamma_prev: for each other's verdict in earlier rounds")] = 0.15
    conformity_within: Annotated[float, Option("gamma_within: for each other's verdict in this round")] = 0.9
    yielding: Annotated[float, Option("Subtracted from inertia if the goals in its prompt are balanced")] = 0.0
    taste: Annotated[float, Option("Standard deviation of its lasting tastes on a dilemma", least=0)] = 0.0
    invalid: Annotated[float, probability("a reply to a first request states no verdict")] = 0.0
    invalid_again: Annotated[float, probability("a reply to a repeated request states no verdict")] = 0.0
    values: dict[str, float] = msgspec.field(default_factory=_VALUES.copy)
    seed: Annotated[int, Option("Seed of the dilemmas' effects")] = 0
    taste_seed: Annotated[int, Option("Seed of its own tastes")] = 0

    def leaning(self, name: str, dilemma: str) -> tuple[float, ...]:
        """How the agent `name` leans to each verdict on a dilemma (its id) before anybody has spoken, in logits."""
        effects = _normals(f"{self.seed}/dilemma/{dilemma}")
        tastes = _normals(f"{self.taste_seed}/taste/{name}/{dilemma}")
        return tuple(
            self.preference.get(verdict, 0.0) + self.dilemma_spread * effect + self.taste * taste
            for verdict, effect, taste in zip(VERDICTS, effects, tastes, strict=True)
        )


class JudgeParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A simulated judge of values; all 0 is an exact one."""

    miss: Annotated[float, probability("it overlooks a value which an explanation names")] = 0.0
    outside: Annotated[float, probability("it names a value not in the list")] = 0.0
    invalid: Annotated[float, probability("its answer is not JSON")] = 0.0


def _normals(name: str) -> list[float]:
    """A standard normal number for each verdict."""
    # Moved off the ends of [0, 1), where the quantile is infinite.
    words = Draw(name).words(len(VERDICTS))
    return [_NORMAL.inv_cdf(((word >> 11) + 0.5) / (2**53 + 1)) for word in words]


class Deliberator(SeededAnswerer):
    """Deliberates as an agent with known parameters would; an `Answerer`.

    `name` is 'simulated/deliberator', optionally followed by a name of its own ('simulated/deliberator/firm'), so that
    one run can have several different ones.

    Raises:
        InputError: two dilemmas have the same title and text, so that a message would not say which is meant.
    """

    parameters: Parameters

    def __init__(
        self, dilemmas: Sequence[Dilemma], name: str = "simulated/deliberator", parameters: Parameters | None = None
    ) -> None:
        self.name = name
        self.parameters = parameters or Parameters()
        self._values = sorted(self.parameters.values.items())
        self._dilemmas: dict[str, str] = {}
        self._leanings: dict[str, tuple[float, ...]] = {}
        for dilemma in dilemmas:
            other = self._dilemmas.setdefault(prompts.dilemma_message(dilemma.title, dilemma.text), dilemma.id)
            if other != dilemma.id:
                raise InputError([Problem(dilemma.id, "text", f"title and text are the same as those of {other}")])

    def reply(self, request: Request) -> Reply:
        """Give a verdict and an explanation in the requested format, or a reply without a verdict.

        Raises:
            RejectedError: these are not the messages of a deliberation on a dilemma that it knows.
        """
        seen = self._read(request.messages)
        unread, choice, *mentions = Draw(f"{request.seed}/answer").words(2 + 2 * len(self._values))
        opening = f"I am Agent {seen.agent}. This is Round {seen.round}."
        invalid = self.parameters.invalid_again if seen.again else self.parameters.invalid
        if unread / 2**64 < invalid:
            return Reply(f"{opening}\nI cannot bring myself to name one verdict here.")
        verdict = _chosen(self._chances(seen), choice / 2**64)
        thinking = _thinking(seen, verdict, self._mentioned(mentions))
        return Reply(f"{opening}\nMy current verdict: {verdict}.\n\nHere's my thinking: {thinking}")

    def chances(self, messages: Sequence[Message]) -> dict[Verdict, float]:
        """The probability of each verdict, given that the reply states one."""
        return dict(zip(VERDICTS, self._chances(self._read(messages)), strict=True))

    def _read(self, messages: Sequence[Message]) -> AgentView:
        seen = _read_conversation(messages)
        if seen is None:
            raise RejectedError(
                "unknown prompt", f"{self.name} answers only prompts that say which agent it is, and this does not"
            )
        if seen.opening not in self._dilemmas:
            raise RejectedError("unknown prompt", f"{self.name} does not know the dilemma in the prompt")
        return seen

    def _chances(self, seen: AgentView) -> list[float]:
        parameters = self.parameters
        leaning = self._leaning(self._dilemmas[seen.opening])
        inertia = parameters.inertia - parameters.yielding * seen.balanced
        logits = [
            lean
            + inertia * (verdict == seen.own)
            + parameters.conformity_previous * before
            + parameters.conformity_within * now
            for verdict, lean, before, now in zip(VERDICTS, leaning, seen.previous, seen.within, strict=True)
        ]
        most = max(logits)
        weights = [exp(logit - most) for logit in logits]
        total = sum(weights)
        return [weight / total for weight in weights]

    def _leaning(self, dilemma: str) -> tuple[float, ...]:
        if dilemma not in self._leanings:
            self._leanings[dilemma] = self.parameters.leaning(self.name, dilemma)
        return self._leanings[dilemma]

    def _mentioned(self, words: Sequence[int]) -> list[str]:
        """The values that it names: each with its own probability, then at most five of these, at random."""
        draws = zip(self._values, words, words[len(self._values) :], strict=False)
        named = [(rank, value) for (value, chance), word, rank in draws if word / 2**64 < chance]
        return [value for _, value in sorted(named)[:MOST]]


def _chosen(chances: Sequence[float], uniform: float) -> Verdict:
    below = accumulate(chances)
    return next((verdict for verdict, sum_ in zip(VERDICTS, below, strict=True) if uniform < sum_), VERDICTS[-1])


def _thinking(seen: AgentView, verdict: Verdict, values: Sequence[str]) -> str:
    stand = "" if seen.own is None else f"I stay with {verdict}. " if seen.own == verdict else f"I move to {verdict}. "
    weighed = f"What weighs most here: {'; '.join(values)}." if values else "Nothing in particular weighs most here."
    return stand + weighed


class AgentView(NamedTuple):
    """The state of a deliberation as one agent sees it when asked.

    `opening` is the message with the dilemma; `agent` is its own number and `round` the round, both from 1; `own` is
    its verdict from the round before, None if there is none. `previous` and `within` count the others' verdicts in
    earlier rounds and in this one, in the order of `VERDICTS`. `balanced` is True if consensus is as important as
    correctness, `again` if its reply could not be read.
    """

    opening: str
    agent: int
    round: int
    own: Verdict | None
    previous: tuple[int, ...]
    within: tuple[int, ...]
    balanced: bool
    again: bool


def _read_conversation(messages: Sequence[Message]) -> AgentView | None:
    """The state of the deliberation; None if these are not the messages of an agent."""
    again = _REPEAT.match(messages[-1].content) is not None
    turns = messages[:-2] if again else messages
    named = _NAME.search(turns[0].content)
    shown = [turn.content for turn in turns if turn.role == "user"]
    if named is None or not shown:
        return None
    opening, _, first = shown[0].partition(_FIRST)
    said = [_ENTRY.findall(text) for text in (first, *shown[1:])]
    own = [turn.content for turn in turns if turn.role == "assistant"]
    agent = int(named[1])
    previous, within = _counted(agent, said)
    balanced = _BALANCED in turns[0].content
    return AgentView(opening, agent, len(shown), _own_verdict(own), previous, within, balanced, again)


def _counted(agent: int, said: Sequence[Sequence[tuple[str, str]]]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The others' verdicts in earlier rounds and in this one, from what the agent was shown in each round."""
    in_turn = bool(said[0])  # somebody spoke before it in round 1, so those before it have spoken in this round too
    within = [int(other) < agent and in_turn for other, _ in said[-1]]
    earlier = [verdict for shown in said[:-1] for _, verdict in shown]
    earlier += [verdict for (_, verdict), now in zip(said[-1], within, strict=True) if not now]
    just_now = [verdict for (_, verdict), now in zip(said[-1], within, strict=True) if now]
    return _by_verdict(earlier), _by_verdict(just_now)


def _by_verdict(verdicts: Sequence[str]) -> tuple[int, ...]:
    return tuple([verdicts.count(verdict) for verdict in VERDICTS])


def _own_verdict(own: Sequence[str]) -> Verdict | None:
    stated = _OWN.search(own[-1]) if own else None
    return next((verdict for verdict in VERDICTS if stated and stated[1] == verdict), None)


def _entry() -> str:
    """A pattern for what precedes another agent's explanation, with its number and its verdict."""
    agent, verdict = "\0", "\1"
    before = re.escape(prompts.fill("messages.entry", agent=agent, verdict=verdict, explanation=""))
    return "^" + before.replace(agent, r"(?P<agent>\d+)", 1).replace(agent, "(?P=agent)").replace(verdict, r"([\w ]+)")


_FIRST = f"\n\n{prompts.fill('messages.first_round')}"
_REPEAT = re.compile(re.escape(prompts.fill("messages.repeat_request", round="\0").partition("\0")[0]))
_BALANCED = prompts.fill("system.published.balanced").strip().splitlines()[1]  # whatever else the goals say
_NAME = re.compile(r"Your NAME is Agent (\d+)\.")
_OWN = re.compile(r"^My current verdict: (\w+)\.$", re.MULTILINE)
_ENTRY = re.compile(_entry(), re.MULTILINE)


_OUTSIDE = "Being right"


class ValuesJudge(SeededAnswerer):
    """Names the values from the prompt's list that occur in the last message, at most five; an `Answerer`."""

    name = "simulated/values-judge"
    parameters: JudgeParameters
    draws = "mistakes"

    def __init__(self, parameters: JudgeParameters | None = None) -> None:
        self.parameters = parameters or JudgeParameters()

    def reply(self, request: Request) -> Reply:
        """The values as the judge's prompt asks for them."""
        text = request.messages[-1].content
        found = [value for value in _listed(request.messages[0].content) if value in text]
        invalid, outside, *misses = Draw(f"{request.seed}/values").words(2 + len(found))
        if invalid / 2**64 < self.parameters.invalid:
            return Reply("The writer does not say.")
        named = [value for value, word in zip(found, misses, strict=True) if word / 2**64 >= self.parameters.miss]
        added = [_OUTSIDE] if outside / 2**64 < self.parameters.outside else []
        return Reply(msgspec.json.encode({"answers": (added + named)[:MOST]}).decode())


_PROMPT = prompts.PROMPTS.pattern("values.system")
_LINES = prompts.PROMPTS.pattern("own_values.defined")
_PLACES = {value: place for place, value in enumerate(VALUES)}


def _listed(prompt: str) -> list[str]:
    """The values of a judge's prompt, in the same order however the prompt lists them: the published ones first, and
    just these if it has no list."""
    found = _PROMPT.fullmatch(prompt.strip())
    if found is None:
        return list(VALUES)
    defined = _LINES.fullmatch(found["values"])
    lines = (found["values"] if defined is None else defined["lines"]).split("\n")
    names = {line.partition(": ")[0] for line in lines}
    return sorted(names, key=lambda name: (_PLACES.get(name, len(_PLACES)), name))


_OWN_VALUE = "own_value."
_BY_KEY = {"preference": NumbersByKey("preference", VERDICTS), "value": NumbersByKey("values", VALUES, 0, 1)}


def deliberator(dilemmas: Sequence[Dilemma], name: str, arguments: Mapping[str, str]) -> Deliberator:
    """An agent with parameters given as text: 'value.NAME' for published values, 'own_value.NAME' for any other."""
    called = f"simulated/{name}"
    own = [word.removeprefix(_OWN_VALUE) for word in arguments if word.startswith(_OWN_VALUE)]
    by_key = _BY_KEY | {_OWN_VALUE[:-1]: NumbersByKey("values", own, 0, 1)}
    return Deliberator(dilemmas, called, parameters_of(Parameters, called, arguments, by_key))


def values_judge(dilemmas: Sequence[Dilemma], name: str, arguments: Mapping[str, str]) -> ValuesJudge:
    """A judge with parameters given as text."""
    return ValuesJudge(parameters_of(JudgeParameters, ValuesJudge.name, arguments))
