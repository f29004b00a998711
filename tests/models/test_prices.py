import tomllib
from datetime import date
from importlib.resources import files

import pytest

from overton.calls import Price, Usage
from overton.models import parse_spec, price_of, prices_as_of
from overton.models.prices import price_table


@pytest.mark.parametrize(
    ("spec", "price"),
    [
        ("openai/gpt-4o", Price(2.5, 10)),
        ("openai/gpt-4o-2024-08-06", Price(2.5, 10)),
        ("openai/gpt-4o-2024-05-13", Price(5, 15)),
        ("openai/gpt-4o-mini-2024-07-18", Price(0.15, 0.6)),
        ("anthropic/claude-opus-4-20250514", Price(15, 75)),
        ("anthropic/claude-opus-4-5-20251101", Price(5, 25)),
        ("anthropic/claude-3-5-haiku-latest", Price(0.8, 4)),
        ("google/gemini-2.0-flash-001", Price(0.1, 0.4)),
        ("xai/grok-4-0709", Price(3, 15)),
        ("inspect/openai/gpt-4o", Price(2.5, 10)),
        ("inspect/grok/grok-3", Price(3, 15)),
        ("openrouter/anthropic/claude-3.5-haiku", Price(0.8, 4)),
        ("embedded/smollm2-135m", Price(0, 0)),
        ("gguf:/any/file", Price(0, 0)),
        ("simulated/open-minded", Price(0, 0)),
    ],
)
def test_known_models_have_their_price(spec, price):
    assert price_of(parse_spec(spec)) == price


@pytest.mark.parametrize(
    "spec",
    [
        "openai/gpt-4o-audio-preview",
        "openai/gpt-5.9",
        "openai/gpt-4o-mini-2024-07-18-custom",
        "openai/gpt-5-2",
        "ollama/llama3.1:8b",
        "vllm/gpt-4o",
        "http://host/v1#gpt-4o",
        "openrouter/gpt-4o",
        "inspect/mockllm/model",
    ],
)
def test_no_price_is_guessed_from_a_neighbour_s(spec):
    assert price_of(parse_spec(spec)) is None


def test_the_table_is_dated_and_sound():
    assert date.fromisoformat(prices_as_of()) <= date(2026, 12, 31)
    for name, price in price_table().items():
        assert parse_spec(name).identity == name
        assert 0 < price.input <= price.output <= 600
    header = files("overton.models").joinpath("prices.toml").read_text(encoding="utf-8")
    assert "--price" in header
    assert tomllib.loads(header)["table"]["as_of"] == prices_as_of()


def test_a_call_s_cost_follows_from_its_tokens():
    assert Price(2.5, 10).cost(Usage(1_000_000, 100_000)) == 3.5
