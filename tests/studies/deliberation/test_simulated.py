"""Simulated agents and the simulated judge: they read the protocol as it is, and answer as equation 2 says."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp
from statistics import fmean, stdev
from typing import Any

import msgspec
import numpy as np
import pytest

from overton.calls import Answerer, Message, Request, Settings, assistant, system, user
from overton.errors import AccessError, InputError, RejectedError
from overton.studies.deliberation import STUDY, Options, Record, prompts
from overton.studies.deliberation.items import VERDICTS, Dilemma, Verdict
from overton.studies.deliberation.protocol import conduct, trials
from overton.studies.deliberation.record import Format, Goal, Instructions
from overton.studies.deliberation.simulated import (
    Deliberator,
    JudgeParameters,
    Parameters,
    ValuesJudge,
    deliberator,
    values_judge,
)
from overton.studies.deliberation.verdicts import read_verdict

MODELS = ("firm", "even", "soft")
TRUTH = {
    "firm": Parameters({"NTA": 1.0, "YTA": 0.3}, inertia=1.98, conformity_previous=0.14, conformity_within=0.87),
    "even": Parameters({"ESH": 0.8}, inertia=1.42, conformity_previous=0.14, conformity_within=0.87, taste=0.7),
    "soft": Parameters(
        {"NAH": 0.6}, inertia=1.19, conformity_previous=0.14, conformity_within=0.87, invalid=0.05, invalid_again=0.2
    ),
}


def dilemma(name: str = "roof") -> Dilemma:
    return Dilemma(name, f"AITA for the {name}?", f"It was about the {name}.\n\nWas I wrong?")


def request(messages: Sequence[Message], seed: int | None = 1) -> Request:
    return Request(tuple(messages), Settings(), seed=seed)


def softmax(logits: Mapping[Verdict, float]) -> dict[Verdict, float]:
    weights = {verdict: exp(logit) for verdict, logit in logits.items()}
    return {verdict: weight / sum(weights.values()) for verdict, weight in weights.items()}


@dataclass
class Decision:
    """A record, with what equation 2 says that it depends on, and the probabilities that follow."""

    record: Record
    own: Verdict | None
    previous: Counter[Verdict | None]
    within: Counter[Verdict | None]

    @property
    def leaning(self) -> tuple[float, ...]:
        return TRUTH[self.record.model].leaning(f"simulated/deliberator/{self.record.model}", self.record.dilemma)

    @property
    def chances(self) -> dict[Verdict, float]:
        one = TRUTH[self.record.model]
        return softmax(
            {
                verdict: lean
                + one.inertia * (verdict == self.own)
                + one.conformity_previous * self.previous[verdict]
                + one.conformity_within * self.within[verdict]
                for verdict, lean in zip(VERDICTS, self.leaning, strict=True)
            }
        )


def decisions(records: Sequence[Record]) -> Iterator[Decision]:
    """Each record of a deliberation, with the earlier messages, counted from the records."""
    for one in records:
        others = [r for r in records if r.agent != one.agent]
        own = [r.verdict for r in records if r.agent == one.agent and r.round == one.round - 1]
        previous = Counter(r.verdict for r in others if r.round < one.round)
        within = Counter(
            r.verdict for r in others if r.round == one.round and one.position and r.position < one.position
        )
        yield Decision(one, own[0] if own else None, previous, within)


@dataclass
class Held:
    """Deliberations that were run: their decisions, and the chances that each agent gave its verdicts when asked."""

    decisions: list[Decision]
    given: list[dict[Verdict, float]]

    def of(self, model: str) -> list[Decision]:
        return [one for one in self.decisions if one.record.model == model and one.record.verdict is not None]


def deviation(happened: Sequence[tuple[bool, float]]) -> float:
    """How far events are from what their probabilities promise, in standard errors."""
    spread = sum(chance * (1 - chance) for _, chance in happened) ** 0.5
    return (sum(event for event, _ in happened) - sum(chance for _, chance in happened)) / float(spread)


@pytest.fixture(scope="module")
def held(simulation: Any, dilemmas: Any) -> Held:
    """Sixty dilemmas in both formats, two and three agents, all orders."""
    items = dilemmas(60)
    agents = {
        f"agent/{number}": Deliberator(items, f"simulated/deliberator/{model}", TRUTH[model])
        for number, model in enumerate(MODELS, start=1)
    }
    options = Options(agents=MODELS, formats=("synchronous", "round-robin"), sizes=(2, 3))
    made = Held([], [])

    async def hold() -> None:
        ask = simulation(agents)
        for trial in trials(items, options, 0):
            begin = len(ask.asked)
            records = await conduct(trial, ask)
            made.decisions += decisions(records)
            first = {
                (one.speaker, sum(message.role == "user" for message in one.messages)): one.messages
                for one in ask.asked[begin:]
                if not one.messages[-1].content.startswith("Your verdict could not be read")
            }
            speakers = [f"agent/{MODELS.index(one.model) + 1}" for one in records]
            made.given += [
                agents[who].chances(first[who, one.round]) for who, one in zip(speakers, records, strict=True)
            ]

    asyncio.run(hold())
    return made


# Held through the real protocol


def test_agents_read_from_messages_the_verdicts_in_the_records(held: Held) -> None:
    assert len(held.decisions) > 4_000
    for one, given in zip(held.decisions, held.given, strict=True):
        assert given == pytest.approx(one.chances)


def test_every_situation_occurs(held: Held) -> None:
    kinds = Counter((one.own is None, sum(one.previous.values()), sum(one.within.values())) for one in held.decisions)
    assert {(True, 0, 0), (True, 0, 1), (True, 0, 2), (False, 1, 0), (False, 1, 1), (False, 2, 2), (False, 6, 0)} <= {
        *kinds
    }
    assert {one.record.verdict for one in held.decisions} == {*VERDICTS, None}


@pytest.mark.parametrize("model", MODELS)
def test_own_verdicts_are_repeated_as_often_as_equation_2_says(held: Held, model: str) -> None:
    told = [(one.record.verdict == one.own, one.chances[one.own]) for one in held.of(model) if one.own]
    assert len(told) > 500
    assert abs(deviation(told)) < 4


@pytest.mark.parametrize("model", MODELS)
def test_verdicts_heard_are_followed_as_often_as_equation_2_says(held: Held, model: str) -> None:
    for heard in ("within", "previous"):
        told = [
            (
                one.record.verdict in getattr(one, heard),
                sum(one.chances[verdict] for verdict in getattr(one, heard) if verdict),
            )
            for one in held.of(model)
            if getattr(one, heard)
        ]
        assert len(told) > 500
        assert abs(deviation(told)) < 4


@pytest.mark.parametrize("model", MODELS)
def test_each_verdict_is_given_as_often_as_equation_2_says(held: Held, model: str) -> None:
    for verdict in VERDICTS:
        assert abs(deviation([(one.record.verdict == verdict, one.chances[verdict]) for one in held.of(model)])) < 4


def test_replies_without_verdict_are_as_frequent_as_the_parameter_says(held: Held) -> None:
    soft = [one.record for one in held.decisions if one.record.model == "soft"]
    again = [one for one in soft if one.attempts == 2]
    assert abs(deviation([(one.attempts == 2, 0.05) for one in soft])) < 4
    assert abs(deviation([(one.verdict is None, 0.2) for one in again])) < 4
    assert {one.record.attempts for one in held.decisions if one.record.model != "soft"} == {1}


@pytest.mark.parametrize("model", MODELS)
def test_parameters_are_recovered_by_maximum_likelihood(held: Held, model: str) -> None:
    estimates, errors = fitted(held.of(model))
    truth = [TRUTH[model].inertia, TRUTH[model].conformity_previous, TRUTH[model].conformity_within]
    assert (errors < [0.15, 0.1, 0.15]).all()
    assert (abs(estimates - truth) < 3 * errors).all()


def fitted(told: Sequence[Decision]) -> tuple[Any, Any]:
    """Inertia and both conformities with standard errors, by Newton's method, what agents lean to being known."""
    chosen = np.array([VERDICTS.index(one.record.verdict) for one in told if one.record.verdict])
    leaning = np.array([one.leaning for one in told])
    design = np.array([[[v == one.own, one.previous[v], one.within[v]] for v in VERDICTS] for one in told], float)
    estimates = np.zeros(3)
    for _ in range(8):
        weights = np.exp(leaning + design @ estimates)
        shares = weights / weights.sum(1, keepdims=True)
        centred = design - np.einsum("nv,nvk->nk", shares, design)[:, None]
        information = np.einsum("nv,nvj,nvk->jk", shares, centred, centred)
        estimates += np.linalg.solve(information, centred[np.arange(len(told)), chosen].sum(0))
    return estimates, np.sqrt(np.diag(np.linalg.inv(information)))


# One answer


def conversation(
    agent: int = 1,
    *turns: Message,
    format_: Format = "round-robin",
    goal: Goal = "correctness",
    about: Dilemma | None = None,
    instructions: Instructions = "paper",
) -> list[Message]:
    asked = about or dilemma()
    opening = user(prompts.dilemma_message(asked.title, asked.text))
    return [system(prompts.system_prompt(agent, 3, format_, goal, instructions=instructions)), opening, *turns]


def spoken(verdict: str) -> Message:
    return assistant(f"I am Agent 1. This is Round 1.\nMy current verdict: {verdict}.\n\nHere's my thinking: so.")


def test_each_parameter_adds_its_value() -> None:
    one = Deliberator(
        [dilemma()],
        parameters=Parameters(
            {"NTA": 0.3}, dilemma_spread=0, inertia=2, conformity_previous=0.1, conformity_within=0.7
        ),
    )
    assert one.chances(conversation()) == pytest.approx(softmax(dict.fromkeys(VERDICTS, 0.0) | {"NTA": 0.3}))
    second = conversation(
        2,
        user(prompts.others_message(1, [(1, "ESH", "so")])),
        spoken("NTA"),
        user(prompts.others_message(2, [(3, "YTA", "so"), (1, "YTA", "so")])),
    )
    second[1:3] = [user(f"{second[1].content}\n\n{second[2].content}")]
    expected: dict[Verdict, float] = {"YTA": 0.1 + 0.7, "NTA": 0.3 + 2, "ESH": 0.1, "NAH": 0, "INFO": 0}
    assert one.chances(second) == pytest.approx(softmax(expected))


def test_all_at_once_the_others_verdicts_are_of_earlier_rounds() -> None:
    one = Deliberator([dilemma()], parameters=Parameters({}, dilemma_spread=0, inertia=0, conformity_previous=1))
    told = user(prompts.others_message(2, [(1, "YTA", "so"), (3, "YTA", "so")]))
    second = conversation(2, spoken("NTA"), told, format_="synchronous")
    assert one.chances(second)["YTA"] == pytest.approx(exp(2) / (exp(2) + 4))


@pytest.mark.parametrize("instructions", ["paper", "code"])
def test_balanced_goals_subtract_yielding_from_inertia(instructions: Instructions) -> None:
    one = Deliberator([dilemma()], parameters=Parameters({}, dilemma_spread=0, inertia=2, yielding=1.5))
    told = (spoken("NTA"), user(prompts.others_message(2, [])))
    for goal, inertia in (("correctness", 2.0), ("balanced", 0.5)):
        chances = one.chances(conversation(1, *told, goal=goal, instructions=instructions))
        assert chances["NTA"] == pytest.approx(exp(inertia) / (exp(inertia) + 4))


def test_agents_neither_keep_nor_follow_unreadable_verdicts() -> None:
    one = Deliberator([dilemma()], parameters=Parameters({}, dilemma_spread=0))
    told = user(prompts.others_message(2, [(2, None, "My current verdict: NTA."), (3, None, "so")]))
    assert one.chances(conversation(1, assistant("Hard."), told)) == pytest.approx(dict.fromkeys(VERDICTS, 0.2))


async def test_asked_again_it_decides_as_before_and_in_the_format() -> None:
    one = Deliberator([dilemma()], parameters=Parameters(invalid=1, inertia=3))
    first = conversation(1, spoken("ESH"), user(prompts.others_message(2, [(2, "NTA", "so"), (3, "NTA", "so")])))
    unread = (await one.answer(request(first))).text
    assert read_verdict(unread)[0] is None
    again = [*first, assistant(unread), user(prompts.repeat_request(2))]
    assert one.chances(again) == one.chances(first)
    assert read_verdict((await one.answer(request(again))).text)[0] is not None
    never = Deliberator([dilemma()], parameters=Parameters(invalid=1, invalid_again=1))
    assert read_verdict((await never.answer(request(again))).text)[0] is None


async def test_it_says_who_it_is_which_round_it_is_and_names_values_word_for_word() -> None:
    values = {"Accessibility": 1.0, "Social etiquette": 1.0}
    one = Deliberator([dilemma()], parameters=Parameters(values=values))
    text = (await one.answer(request(conversation(3, spoken("NTA"), user(prompts.others_message(2, [])))))).text
    assert text.startswith("I am Agent 3. This is Round 2.\nMy current verdict: ")
    assert all(value in read_verdict(text)[1] for value in values)


async def test_values_are_named_with_their_probabilities_at_most_five() -> None:
    chances = {"Accessibility": 0.3, "Social etiquette": 0.0, "Parental care": 1.0}
    one = Deliberator([dilemma()], parameters=Parameters(values=chances))
    texts = [(await one.answer(request(conversation(), seed))).text for seed in range(1_000)]
    counts = {value: sum(value in text for text in texts) for value in chances}
    assert (counts["Social etiquette"], counts["Parental care"]) == (0, 1_000)
    assert counts["Accessibility"] == pytest.approx(300, abs=60)
    many = Deliberator([dilemma()], parameters=Parameters(values=dict.fromkeys(prompts.VALUES[:9], 1.0)))
    named = [
        [v for v in prompts.VALUES if v in (await many.answer(request(conversation(), s))).text] for s in range(50)
    ]
    assert {len(values) for values in named} == {5}
    assert {value for values in named for value in values} == {*prompts.VALUES[:9]}


async def test_the_seed_decides_the_answer_and_nothing_else_does() -> None:
    one, again = (Deliberator([dilemma()]) for _ in range(2))
    first = [(await one.answer(request(conversation(), seed))).text for seed in range(60)]
    second = [(await again.answer(request(conversation(), seed))).text for seed in reversed(range(60))]
    assert first == second[::-1]
    assert len({read_verdict(text)[0] for text in first}) > 2


async def test_without_a_seed_it_stops_the_run() -> None:
    with pytest.raises(AccessError, match="seed"):
        await Deliberator([dilemma()]).answer(request(conversation(), None))
    with pytest.raises(AccessError, match="seed"):
        await ValuesJudge().answer(request([user("?")], None))


async def test_other_messages_than_those_of_a_deliberation_it_knows_are_rejected() -> None:
    one = Deliberator([dilemma()])
    with pytest.raises(RejectedError, match="does not know the dilemma"):
        await one.answer(request(conversation(about=dilemma("car"))))
    with pytest.raises(RejectedError, match="that name its agent"):
        await one.answer(request([user("Who was wrong?")]))


# Parameters


def test_a_dilemma_has_the_same_effects_for_all_agents() -> None:
    plain = Parameters({}, dilemma_spread=1.5)
    assert plain.leaning("a", "roof") == plain.leaning("b", "roof")
    assert plain.leaning("a", "roof") == Parameters({}, dilemma_spread=1.5, inertia=9).leaning("a", "roof")
    assert plain.leaning("a", "roof") != plain.leaning("a", "car")
    assert plain.leaning("a", "roof") != Parameters({}, dilemma_spread=1.5, seed=1).leaning("a", "roof")


def test_tastes_are_an_agents_own() -> None:
    own = Parameters({}, dilemma_spread=0, taste=0.5)
    assert own.leaning("a", "roof") != own.leaning("b", "roof")
    assert own.leaning("a", "roof") != own.leaning("a", "car")
    assert own.leaning("a", "roof") != Parameters({}, dilemma_spread=0, taste=0.5, taste_seed=1).leaning("a", "roof")
    assert own.leaning("a", "roof") == Parameters({}, dilemma_spread=0, taste=0.5, seed=1).leaning("a", "roof")


def test_effects_and_tastes_have_the_given_spread() -> None:
    parameters = Parameters({}, dilemma_spread=1.5, taste=2.0)
    leanings = [lean for number in range(1_000) for lean in parameters.leaning("a", str(number))]
    assert fmean(leanings) == pytest.approx(0, abs=0.15)
    assert stdev(leanings) == pytest.approx(2.5, abs=0.1)


def test_parameters_come_from_words() -> None:
    one = STUDY.simulate
    words = {
        "inertia": "1.98",
        "preference.NTA": "1.2",
        "value.Parental care": "0.5",
        "taste_seed": "3",
        "invalid": "0.1",
    }
    made = one([dilemma()], "deliberator/firm", words)
    assert isinstance(made, Deliberator)
    assert made.name == "simulated/deliberator/firm"
    assert made.parameters == Parameters(
        {"NTA": 1.2}, inertia=1.98, values={"Parental care": 0.5}, taste_seed=3, invalid=0.1
    )


def test_unknown_parameters_are_all_named() -> None:
    wrong = {
        "inerta": "1",
        "inertia": "much",
        "invalid": "1.2",
        "taste": "-1",
        "dilemma_spread": "nan",
        "seed": "1.5",
        "preference.NOT": "1",
        "preference.NTA": "x",
        "value.Fairness": "0.5",
        "value.Accessibility": "2",
        "preference": "1",
        "values": "1",
    }
    with pytest.raises(InputError) as caught:
        deliberator([dilemma()], "deliberator", wrong)
    assert {problem.place.rpartition(", ")[2] for problem in caught.value.problems} == set(wrong)
    with pytest.raises(InputError) as caught:
        values_judge([], "values-judge", {"miss": "2", "inertia": "1"})
    assert {problem.place.rpartition(", ")[2] for problem in caught.value.problems} == {"miss", "inertia"}


@pytest.mark.parametrize("name", ["deliberater", "deliberator/", "values-judge/x", "open-minded"])
def test_other_names_are_refused_with_those_that_there_are(name: str) -> None:
    with pytest.raises(InputError, match="known are simulated/deliberator"):
        STUDY.simulate([dilemma()], name, {})


def test_the_identity_tells_name_and_every_parameter() -> None:
    parameters = [Parameters(), Parameters({}), Parameters(taste=0.1), Parameters(seed=1), Parameters(values={})]
    identities = {Deliberator([dilemma()], parameters=one).identity for one in parameters}
    assert len(identities | {Deliberator([dilemma()], "simulated/deliberator/b").identity}) == 6
    first, second = (Parameters(dict(pairs)) for pairs in ([("YTA", 1.0), ("NTA", 2.0)], [("NTA", 2.0), ("YTA", 1.0)]))
    assert Deliberator([], parameters=first).identity == Deliberator([], parameters=second).identity
    assert ValuesJudge().identity != ValuesJudge(JudgeParameters(miss=0.1)).identity


def test_both_are_answerers() -> None:
    answerers: list[Answerer] = [Deliberator([dilemma()]), ValuesJudge()]
    assert [(one.name, one.holds_form) for one in answerers] == [
        ("simulated/deliberator", False),
        ("simulated/values-judge", False),
    ]


def test_two_dilemmas_with_the_same_words_are_refused() -> None:
    with pytest.raises(InputError, match="are the same as those of roof"):
        Deliberator([dilemma(), msgspec.structs.replace(dilemma(), id="copy")])


# The judge


async def test_the_judge_finds_the_values_that_agents_name(simulation: Any, trial: Any, dilemmas: Any) -> None:
    parameters = Parameters(values={"Accessibility": 0.5, "Parental care": 0.5, "Personal growth": 0.5})
    agent = Deliberator(dilemmas(1), parameters=parameters)
    ask = simulation({"agent/1": agent, "agent/2": agent, "agent/3": agent, "values": ValuesJudge()})
    records = await conduct(trial("round-robin", 3, values=True), ask)
    for one in records:
        assert one.values == tuple(value for value in prompts.VALUES if value in one.explanation)
        assert one.values_dropped == 0
    assert any(one.values for one in records)


async def test_the_judge_errs_as_often_as_its_parameters_say(simulation: Any) -> None:
    text = prompts.evaluation_message("NTA", "It is about Accessibility; Parental care; Personal growth.")
    judge = ValuesJudge(JudgeParameters(miss=0.25, outside=0.1))
    found: defaultdict[str, int] = defaultdict(int)
    for seed in range(1_000):
        for value in msgspec.json.decode((await judge.answer(request([user(text)], seed))).text)["answers"]:
            found[value] += 1
    outside = {value for value in found if value not in prompts.VALUES}
    assert {*found} - outside == {"Accessibility", "Parental care", "Personal growth"}
    assert all(found[value] == pytest.approx(750, abs=60) for value in {*found} - outside)
    assert sum(found[value] for value in outside) == pytest.approx(100, abs=40)
    unreadable = ValuesJudge(JudgeParameters(invalid=1))
    assert "{" not in (await unreadable.answer(request([user(text)]))).text


def test_no_value_stands_in_another_so_that_finding_one_is_naming_it() -> None:
    assert not [(a, b) for a in prompts.VALUES for b in prompts.VALUES if a != b and a in b]
