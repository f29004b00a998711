"""Simulated agents and a simulated judge of values with known parameters.

An agent's verdicts follow equation 2 of the paper (section 3.4):

    logit P(v) = preference for v + the dilemma's effect on v + its own lasting taste for v in this dilemma
                 + inertia (minus `yielding` if the goals are balanced), if v is its own last verdict
                 + conformity_previous * number of the others' verdicts in earlier rounds that are v
                 + conformity_within   * number of the others' verdicts in this round that are v

An agent knows only the messages of the conversation. The judge reads its list in the prompt, and finds the values that
an explanation contains word for word. Explanations of simulated agents name values in this way. The randomness of
agents and judge follows from the request's seed.
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
    """Parameters of a simulated agent: the terms of equation 2 in logits, and some probabilities.

    `preference` is theta, the agent's preference for each verdict. `values` has the probability that an explanation
    names each value. In `preference` and `values`, a missing key counts as 0. Agents with the same `dilemma_spread` and
    `seed` have the same effects of dilemmas, which depend only on a dilemma's id and the seed. An agent's own tastes
    depend on its name, the dilemma's id and `taste_seed`.
    """

    preference: dict[Verdict, float] = msgspec.field(default_factory=_PREFERENCE.copy)
    dilemma_spread: Annotated[
        float, Option("Standard deviation of phi, dilemmas' own effects on verdicts", least=0)
    ] = 1.0
    inertia: Annotated[float, Option("alpha: added to the logit of its own verdict from the round before")] = 1.5
    conformity_previous: Annotated[
        float, Option("gamma_prev: added to a verdict's logit for each time that others gave it in earlier rounds")
    ] = 0.15
    conformity_within: Annotated[
        float, Option("gamma_within: added to a verdict's logit for each time that others gave it in this round")
    ] = 0.9
    yielding: Annotated[float, Option("Subtracted from inertia if the goal in its prompt is balanced")] = 0.0
    taste: Annotated[float, Option("Standard deviation of its lasting tastes on a dilemma", least=0)] = 0.0
    invalid: Annotated[float, probability("a reply to a first request states no verdict")] = 0.0
    invalid_again: Annotated[float, probability("a reply to a repeated request states no verdict")] = 0.0
    values: dict[str, float] = msgspec.field(default_factory=_VALUES.copy)
    seed: Annotated[int, Option("Seed of the dilemmas' effects")] = 0
    taste_seed: Annotated[int, Option("Seed of its own tastes")] = 0

    def leaning(self, name: str, dilemma: str) -> tuple[float, ...]:
        """The logits with which the agent `name` chooses each verdict before any message. `dilemma` is the dilemma's
        id."""
        effects = _normals(f"{self.seed}/dilemma/{dilemma}")
        tastes = _normals(f"{self.taste_seed}/taste/{name}/{dilemma}")
        return tuple(
            self.preference.get(verdict, 0.0) + self.dilemma_spread * effect + self.taste * taste
            for verdict, effect, taste in zip(VERDICTS, effects, tastes, strict=True)
        )


class JudgeParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of a simulated judge of values; with all parameters 0 the judge is exact."""

    miss: Annotated[float, probability("it overlooks a value which an explanation names")] = 0.0
    outside: Annotated[float, probability("it names a value not in the list")] = 0.0
    invalid: Annotated[float, probability("its answer is not JSON")] = 0.0


def _normals(name: str) -> list[float]:
    """Random standard normal numbers, one for each verdict."""
    # Move the numbers off the ends of [0, 1), where the quantile is infinite.
    words = Draw(name).words(len(VERDICTS))
    return [_NORMAL.inv_cdf(((word >> 11) + 0.5) / (2**53 + 1)) for word in words]


class Deliberator(SeededAnswerer):
    """An `Answerer` that deliberates as an agent with known parameters.

    `name` is 'simulated/deliberator', optionally followed by a further name ('simulated/deliberator/firm'), so that one
    run can have several different agents.

    Raises:
        InputError: two dilemmas have the same title and text, so that a message would not identify its dilemma.
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
        """Reply with a verdict and an explanation in the requested format, or without a verdict.

        Raises:
            RejectedError: these are not the messages of a deliberation on a dilemma that the agent knows.
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
        """The probability of each verdict, given that the reply has one."""
        return dict(zip(VERDICTS, self._chances(self._read(messages)), strict=True))

    def _read(self, messages: Sequence[Message]) -> AgentView:
        seen = _read_conversation(messages)
        if seen is None:
            raise RejectedError(
                "unknown prompt", f"{self.name} answers only prompts that name its agent. This prompt does not"
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
        """Random values for the agent to name.

        Each value is included with its own probability. If more than five values are included, five of them are chosen
        at random.
        """
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
    """The state of a deliberation, as far as one agent's messages show it.

    `opening` is the message with the dilemma. `agent` is the agent's own number and `round` the round, both from 1.
    `own` is the agent's verdict in the round before, or None. `previous` counts the others' verdicts in earlier rounds,
    and `within` their verdicts in this round, in the order of `VERDICTS`. `balanced` is True if consensus is as
    important as correctness. `again` is True if the agent's reply could not be read.
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
    """Counts of the others' verdicts in earlier rounds and in this round, from the messages that the agent received in
    each round."""
    # An agent that receives messages in round 1 speaks in turn, after agents with lower numbers.
    in_turn = bool(said[0])
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
    """A pattern for the text that introduces another agent's explanation, with that agent's number and verdict."""
    agent, verdict = "\0", "\1"
    before = re.escape(prompts.fill("messages.entry", agent=agent, verdict=verdict, explanation=""))
    return "^" + before.replace(agent, r"(?P<agent>\d+)", 1).replace(agent, "(?P=agent)").replace(verdict, r"([\w ]+)")


_FIRST = f"\n\n{prompts.fill('messages.first_round')}"
_REPEAT = re.compile(re.escape(prompts.fill("messages.repeat_request", round="\0").partition("\0")[0]))
_BALANCED = prompts.fill("system.published.balanced").strip().splitlines()[1]  # one line identifies these goals
_NAME = re.compile(r"Your NAME is Agent (\d+)\.")
_OWN = re.compile(r"^My current verdict: (\w+)\.$", re.MULTILINE)
_ENTRY = re.compile(_entry(), re.MULTILINE)


_OUTSIDE = "Being right"


class ValuesJudge(SeededAnswerer):
    """An `Answerer` that names values from the prompt's list, at most five, if they occur in the last message."""

    name = "simulated/values-judge"
    parameters: JudgeParameters
    draws = "mistakes"

    def __init__(self, parameters: JudgeParameters | None = None) -> None:
        self.parameters = parameters or JudgeParameters()

    def reply(self, request: Request) -> Reply:
        """Name the values, in the format that the judge's prompt requests."""
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
    """The values of a judge's prompt in a fixed order, whatever the prompt's order.

    Published values come first. A prompt without a list has the published values.
    """
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
    """Make an agent from parameters given as text:

    'value.NAME' for published values, 'own_value.NAME' for other values.
    """
    called = f"simulated/{name}"
    own = [word.removeprefix(_OWN_VALUE) for word in arguments if word.startswith(_OWN_VALUE)]
    by_key = _BY_KEY | {_OWN_VALUE[:-1]: NumbersByKey("values", own, 0, 1)}
    return Deliberator(dilemmas, called, parameters_of(Parameters, called, arguments, by_key))


def values_judge(dilemmas: Sequence[Dilemma], name: str, arguments: Mapping[str, str]) -> ValuesJudge:
    """Make a judge from parameters given as text."""
    return ValuesJudge(parameters_of(JudgeParameters, ValuesJudge.name, arguments))
