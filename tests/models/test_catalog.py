import tomllib
from datetime import date
from importlib.resources import files

import pytest

from overton.calls import Price, Usage
from overton.models import parse_spec, price_of, prices_as_of
from overton.models.catalog import family_of, price_table, reasons_of, series_named, series_of


@pytest.mark.parametrize(
    ("spec", "family"),
    [
        ("openai/gpt-4o", "openai"),
        ("openai/o3-mini", "openai"),
        ("groq/openai/gpt-oss-120b", "openai"),
        ("anthropic/claude-opus-4-1", "anthropic"),
        ("openrouter/anthropic/claude-3.5-haiku", "anthropic"),
        ("together/meta-llama/Meta-Llama-3.1-405B-Instruct-Turbo", "llama"),
        ("ollama/llama3.1:8b", "llama"),
        ("groq/deepseek-r1-distill-llama-70b", "deepseek"),
        ("google/gemini-2.0-flash", "gemini"),
        ("ollama/gemma2:9b", "gemma"),
        ("xai/grok-3-mini", "grok"),
        ("mistral/open-mixtral-8x7b", "mistral"),
        ("vllm/Qwen/QwQ-32B", "qwen"),
        ("embedded/smollm2-135m", "smollm"),
        ("gguf:/models/Llama-3.2-1B.Q4_K_M.gguf", "llama"),
        ("inspect/google/gemini-2.0-flash", "gemini"),
        ("simulated/open-minded", "simulated"),
        ("http://host/v1#house-model", "house-model"),
    ],
)
def test_the_family_is_guessed_from_the_name(spec, family):
    assert family_of(parse_spec(spec)) == family


@pytest.mark.parametrize(
    ("one", "other", "related"),
    [
        # MillStone, section 6.2 and figure 6
        ("openai/gpt-4o-2024-08-06", "openai/gpt-4o-mini-2024-07-18", True),
        ("xai/grok-3", "xai/grok-3-mini", True),
        ("together/meta-llama/Llama-3.1-8B", "openrouter/meta-llama/llama-3.1-405b-instruct", True),
        ("anthropic/claude-3-5-haiku-20241022", "anthropic/claude-opus-4-20250514", False),
        # others
        ("anthropic/claude-3-5-haiku-20241022", "openrouter/anthropic/claude-3.5-sonnet", True),
        ("openai/o3-mini", "openai/gpt-3.5-turbo", False),
        ("openai/gpt-4.1", "openai/gpt-4o", False),
        ("ollama/llama3.1:8b", "together/meta-llama/Llama-3.1-8B", True),
    ],
)
def test_series_are_related_as_in_the_paper(one, other, related):
    assert (series_of(parse_spec(one)) == series_of(parse_spec(other))) == related


@pytest.mark.parametrize(
    ("name", "series"),
    [
        ("openai/gpt-4o-mini", "openai 4o"),
        ("gpt-4o", "openai 4o"),
        ("o3-mini", "openai o3"),
        ("claude-3-5-haiku-20241022", "anthropic 3.5"),
        ("openrouter/meta-llama/llama-3.1-8b-instruct", "llama 3.1"),
        ("gguf:Llama-3.2-1B.Q4_K_M.gguf", "llama 3.2"),
        ("simulated/open-minded", "simulated"),
        ("careful", "careful"),
    ],
)
def test_the_series_of_a_name_in_a_table_is_that_of_the_model(name, series):
    assert series_named(name) == series


@pytest.mark.parametrize(
    ("spec", "reasons"),
    [
        ("openai/o3-mini", True),
        ("openai/gpt-5-mini", True),
        ("openai/gpt-4o", False),
        ("anthropic/claude-3-5-haiku-20241022", False),
        ("anthropic/claude-opus-4-20250514", False),
        ("anthropic/claude-opus-5", True),
        ("xai/grok-3", False),
        ("xai/grok-3-mini", True),
        ("google/gemini-2.0-flash", False),
        ("google/gemini-2.5-flash", True),
        ("deepseek/deepseek-reasoner", True),
        ("openrouter/qwen/qwen3-32b", True),
    ],
)
def test_models_that_reason_are_recognised_by_their_names(spec, reasons):
    assert reasons_of(parse_spec(spec)) == reasons


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
    found = price_of(parse_spec(spec))
    assert found is not None
    assert (found.input, found.output) == (price.input, price.output)


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
