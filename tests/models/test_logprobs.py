"""Endpoints' token probabilities, turned into spots of a reply; llama.cpp's own figures are in `llama_cpp`."""

from __future__ import annotations

import re
from math import log

import pytest

from overton.calls import Form, Settings
from overton.models.logprobs import Sampler, TokenLogprobs, sampler_of, spots_of

FORM = Form(choices=("position <<A>>", "position <<B>>"), weigh=("A", "B"))


def told(token: str, **chances: float) -> TokenLogprobs:
    others = [(name, log(chance)) for name, chance in chances.items()]
    return TokenLogprobs.of(token, list(token.encode()), log(chances.get(token, 0.9)), others)


def reply(letter: TokenLogprobs) -> list[TokenLogprobs]:
    return [told("position"), told(" <<"), letter, told(">>")]


def test_only_the_place_where_an_option_falls_is_kept() -> None:
    (spot,) = spots_of(reply(told("A", A=0.6, B=0.3, X=0.1)), "position <<A>>", FORM, Sampler())
    assert (spot.at, spot.token) == (11, "A")
    assert {one.token: one.plain for one in spot.alternatives} == pytest.approx({"A": 0.6, "B": 0.3})


def test_accents_and_a_hidden_first_token_do_not_move_the_spot() -> None:
    tokens = [told("<|start|>"), told("Ça, "), *reply(told("B", A=0.6, B=0.4))]
    (spot,) = spots_of(tokens, "Ça, position <<B>>", FORM, Sampler())
    assert (spot.at, spot.token) == (15, "B")


def test_tokens_that_spell_another_text_tell_nothing() -> None:
    assert spots_of(reply(told("A", A=0.6, B=0.4)), "something else <<A>>", FORM, Sampler()) == ()


def test_article_does_not_count_as_an_answer() -> None:
    tokens = [told("Such"), told(" a"), told(" case")]
    assert spots_of(tokens, "Such a case", FORM, Sampler()) == ()


def chances(sampler: Sampler, *, held: bool = False, **given: float) -> dict[str, float]:
    (spot,) = spots_of(reply(told("A", **given)), "position <<A>>", FORM, sampler, held=held)
    return {one.token: one.drawn for one in spot.alternatives}


def test_a_temperature_is_applied_as_the_endpoint_would() -> None:
    """0.6 and 0.3 at temperature 0.5: their squares, over those of all, the unseen tenth taken for one such token."""
    found = chances(Sampler(temperature=0.5), A=0.6, B=0.3, X=0.1)
    assert found == pytest.approx({"A": 0.36 / 0.46, "B": 0.09 / 0.46}, abs=1e-5)


def test_temperature_0_takes_the_likeliest() -> None:
    assert chances(Sampler(temperature=0), A=0.6, B=0.4) == {"A": 1.0, "B": 0.0}


def test_tokens_truncated_before_the_temperature_have_probability_0() -> None:
    llama = Sampler(0.8, 0.95, 40, 0.05, cuts_first=True)
    assert chances(llama, A=0.97, B=0.03) == {"A": 1.0, "B": 0.0}
    warm = chances(Sampler(0.8, 0.95), A=0.9, B=0.1)
    assert warm["B"] == pytest.approx(0.1**1.25 / (0.1**1.25 + 0.9**1.25), abs=1e-5)


def test_processed_probabilities_are_those_drawn_by_and_are_cooled_down_to_temperature_1() -> None:
    sampler = Sampler(temperature=0.5, processed=True)
    (spot,) = spots_of(reply(told("A", A=0.8, B=0.2)), "position <<A>>", FORM, sampler)
    assert {one.token: (one.plain, one.drawn) for one in spot.alternatives} == {
        "A": (pytest.approx(2 / 3, abs=1e-5), 0.8),
        "B": (pytest.approx(1 / 3, abs=1e-5), 0.2),
    }


def test_a_grammar_leaves_the_options_alone_to_share_all() -> None:
    assert chances(Sampler(), held=True, A=0.3, B=0.1, X=0.6) == pytest.approx({"A": 0.75, "B": 0.25})


def test_llama_applies_the_grammar_only_to_tokens_that_do_not_fit() -> None:
    """Free: A and X are sampled 2 to 3, B is truncated. A token that does not fit is sampled again between A and B."""
    sampler = Sampler(1.0, 0.9, 40, 0.0, cuts_first=True, tries_first=True)
    found = chances(sampler, held=True, A=0.36, B=0.1, X=0.54)
    again = 0.36 / 0.46
    assert found == pytest.approx({"A": 0.4 + 0.6 * again, "B": 0.6 * (1 - again)}, abs=1e-5)


def test_settings_and_extra_fields_say_how_it_is_drawn() -> None:
    found = sampler_of(Settings(temperature=0.3, extra={"top_k": 5, "min_p": 0.2}), Sampler(0.8, 0.95, 40))
    assert (found.temperature, found.top_p, found.top_k, found.min_p) == (0.3, 0.95, 5, 0.2)


def test_json_keeps_the_first_spots_because_the_label_precedes_repetitions() -> None:
    form = Form(schema={"type": "object"}, weigh=("critical",))
    text = '{"stance": "critical", "claims": "' + "critical " * 9 + '"}'
    tokens = [told(one) for one in re.findall(r"\w+|\W+", text)]
    spots = spots_of(tokens, text, form, Sampler())
    assert spots[0].at == text.index("critical")
    assert len(spots) == 8
    last = spots_of(tokens, text, Form(weigh=("critical",)), Sampler())
    assert last[-1].at == text.rindex("critical")
