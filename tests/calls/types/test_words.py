"""The shared vocabulary: costs, draws, and how values are stored."""

from __future__ import annotations

import msgspec
import pytest

from overton.calls import Draw, Failure, Message, Price, Reply, Settings, Trial, Usage, assistant, system, user


def test_a_price_is_for_a_million_tokens() -> None:
    assert Price(2.5, 10.0).cost(Usage(1_000_000, 100_000)) == pytest.approx(3.5)
    assert Price(2.5, 10.0).cost(Usage(0, 0)) == 0.0


@pytest.mark.parametrize("usage", [Usage(), Usage(input_tokens=5), Usage(output_tokens=5)])
def test_a_cost_is_unknown_where_the_endpoint_did_not_say(usage: Usage) -> None:
    assert Price(1, 1).cost(usage) is None


def test_a_trial_draws_from_its_seed_its_name_and_the_purpose() -> None:
    trial = Trial(name="buses/balanced/w1/t2/r3", item="buses", seed=7)
    assert trial.draw("order").words(2) == Draw("7/buses/balanced/w1/t2/r3/order").words(2)


def test_messages_say_whose_turn_it_is() -> None:
    assert [system("s"), user("u"), assistant("a")] == [
        Message("system", "s"),
        Message("user", "u"),
        Message("assistant", "a"),
    ]


@pytest.mark.parametrize(
    "outcome",
    [
        Reply("position <<A>>"),
        Reply("", finish="content_filter", refused=True, usage=Usage(3, 0), model="m-1"),
        Reply("<script>\x00\u2028 'é' \U0001f600\n"),
        Failure("too long", "it's too long", 3),
    ],
)
def test_outcomes_survive_json(outcome: Reply | Failure) -> None:
    assert msgspec.json.decode(msgspec.json.encode(outcome), type=type(outcome)) == outcome


def test_settings_refuse_unknown_fields() -> None:
    with pytest.raises(msgspec.ValidationError, match="temprature"):
        msgspec.json.decode(b'{"temprature": 1}', type=Settings)
