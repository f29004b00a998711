import pytest
from hypothesis import given
from hypothesis import strategies as st

from overton.errors import InputError
from overton.models import parse_spec


@pytest.mark.parametrize(
    ("text", "provider", "name", "identity"),
    [
        ("openai/gpt-4o", "openai", "gpt-4o", "openai/gpt-4o"),
        ("openrouter/meta-llama/llama-3.1-8b-instruct", "openrouter", "meta-llama/llama-3.1-8b-instruct", None),
        ("anthropic/claude-opus-4-20250514", "anthropic", "claude-opus-4-20250514", None),
        ("inspect/google/gemini-2.0-flash", "inspect", "google/gemini-2.0-flash", None),
        ("ollama/llama3.1:8b", "ollama", "llama3.1:8b", None),
        ("embedded/smollm2-135m", "embedded", "smollm2-135m", None),
        ("simulated/open-minded", "simulated", "open-minded", None),
        ("wordllama/l2_supercat", "wordllama", "l2_supercat", None),
        ("sentence-transformers/org/all-mini", "sentence-transformers", "org/all-mini", None),
        ("gguf:/models/a b.gguf", "gguf", "/models/a b.gguf", None),
    ],
)
def test_a_spec_is_taken_apart(text, provider, name, identity):
    spec = parse_spec(text)
    assert (spec.text, spec.provider, spec.name) == (text, provider, name)
    assert spec.identity == (identity or f"{provider}/{name}")


def test_a_server_s_identity_holds_no_address():
    spec = parse_spec("http://node7:8000/v1/#meta/llama@2")
    assert (spec.base_url, spec.name, spec.identity) == ("http://node7:8000/v1", "meta/llama@2", "http/meta/llama@2")
    assert parse_spec("https://elsewhere.example/v1#meta/llama@2").identity == spec.identity


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("opnai/gpt-4o", "did you mean 'openai'"),
        ("OpenAI/gpt-4o", "did you mean 'openai'"),
        ("nonesuch/x", "known are openai, openrouter"),
        ("gpt-4o", "written provider/name"),
        ("", "written provider/name"),
        ("openai/", "no model is named"),
        ("inspect/google", "inspect/PROVIDER/NAME"),
        ("inspect//x", "inspect/PROVIDER/NAME"),
        ("gguf:", "no file is named"),
        ("http://host/v1", "write it after a '#'"),
        ("http://host:port/v1#m", "not a base URL"),
        ("http:///v1#m", "not a base URL"),
        ("http://host/v1?key=a#m", "no '?'"),
        ("openai/gpt 4o", "no spaces"),
        ("openai/gpt-4o\x1b[31m", "no spaces or control"),
    ],
)
def test_a_wrong_spec_is_refused_with_the_reason(text, reason):
    with pytest.raises(InputError, match="--model") as caught:
        parse_spec(text)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "http://user:hunter2@host/v1#m",
        "https://hunter2@host/v1#m",
        "http://user:hun#hunter2@host/v1#m",
        "http://user:x/hunter2@host/v1#m",
    ],
)
def test_credentials_in_a_url_are_refused_and_not_repeated(text):
    with pytest.raises(InputError) as caught:
        parse_spec(text)
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in repr(caught.value.problems)


@given(st.text())
def test_any_text_is_a_spec_or_an_input_error(text):
    try:
        spec = parse_spec(text)
    except InputError:
        return
    assert spec.text == text
    assert spec.name
