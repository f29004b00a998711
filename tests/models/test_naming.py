import pytest

from overton.models import parse_spec
from overton.models.naming import family_of, reasons_of, series_of


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
def test_models_that_reason_are_told_by_their_names(spec, reasons):
    assert reasons_of(parse_spec(spec)) == reasons
