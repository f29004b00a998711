from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overton.calls import Reply, Request, Settings, user
from overton.errors import InputError
from overton.models import open_model, parse_spec
from overton.models.spec import name_and_spec, public_model_spec
from overton.retrieval import open_search


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
        ("ray/gguf:/models/a b.gguf", "gguf", "/models/a b.gguf", None),
        ("ray/embedded/smollm2-135m", "embedded", "smollm2-135m", None),
    ],
)
def test_a_spec_is_taken_apart(text, provider, name, identity):
    spec = parse_spec(text)
    assert (spec.text, spec.provider, spec.name) == (text, provider, name)
    assert spec.identity == (identity or f"{provider}/{name}")


def test_a_server_s_identity_contains_no_address():
    spec = parse_spec("http://node7:8000/v1/#meta/llama@2")
    assert (spec.base_url, spec.name, spec.identity) == ("http://node7:8000/v1", "meta/llama@2", "http/meta/llama@2")
    assert parse_spec("https://elsewhere.example/v1#meta/llama@2").identity == spec.identity


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("opnai/gpt-4o", "did you mean 'openai'"),
        ("OpenAI/gpt-4o", "did you mean 'openai'"),
        ("nonesuch/x", "known are openai, openrouter"),
        ("gpt-4o", "write a model as provider/name"),
        ("", "write a model as provider/name"),
        ("openai/", "no model is given"),
        ("inspect/google", "inspect/PROVIDER/NAME"),
        ("inspect//x", "inspect/PROVIDER/NAME"),
        ("gguf:", "no file is given"),
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


NAMES = st.from_regex(r"[A-Za-z0-9._-]+", fullmatch=True)
SPECS = st.sampled_from(
    [
        "openai/gpt-4o",
        "simulated/open-minded",
        "inspect/google/gemini-2.0-flash",
        "openrouter/a=b/c",
        "http://host:1/v1#m=2",
        "gguf:/models/x=1.gguf",
        "gguf:x=1.gguf",
        "gguf:a b.gguf",
    ]
)


@given(NAMES, SPECS)
def test_a_name_and_its_spec_come_back(name: str, spec: str) -> None:
    assert name_and_spec(f"{name}={spec}") == (name, spec)


@given(SPECS)
def test_a_spec_alone_names_itself(spec: str) -> None:
    assert name_and_spec(spec) == (public_model_spec(spec), spec)


@given(st.text())
def test_any_text_has_a_name_or_is_an_input_error(text: str) -> None:
    try:
        name, spec = name_and_spec(text)
    except InputError:
        return
    if spec == text:
        assert name == public_model_spec(spec)
    else:
        assert f"{name}={spec}" == text
        assert re.fullmatch(r"[A-Za-z0-9._-]+", name)


@pytest.mark.parametrize("text", ["=openai/gpt-4o", "two words=openai/gpt-4o", "a:b=openai/gpt-4o", "é=openai/gpt-4o"])
def test_invalid_name_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="letters, digits"):
        name_and_spec(text)


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ("gguf:/home/me/model.gguf", "gguf:model.gguf"),
        ("gguf:~/my models/a b.gguf", "gguf:a b.gguf"),
        (r"gguf:C:\models\m.gguf", "gguf:m.gguf"),
        ("gguf:model.gguf", "gguf:model.gguf"),
        ("sentence-transformers//home/me/minilm", "sentence-transformers/minilm"),
        ("sentence-transformers/org/minilm", "sentence-transformers/org/minilm"),
        ("http://host:1/v1#m", "http://host:1/v1#m"),
    ],
)
def test_of_a_local_file_only_its_name_is_published(spec: str, shown: str) -> None:
    assert public_model_spec(spec) == shown


class Answering:
    name = "simulated/one"
    identity = "simulated/one {}"
    holds_form = True

    def __init__(self) -> None:
        self.closed = False

    async def answer(self, request: Request) -> Reply:
        return Reply(request.messages[-1].content)

    async def close(self) -> None:
        self.closed = True


async def test_a_named_model_is_another_answerer_that_answers_the_same() -> None:
    own = Answering()
    plain, named = (open_model("simulated/one", name=name, simulated=lambda *_: own) for name in ("", "careful"))
    assert plain.answerer is own
    assert (named.answerer.name, named.answerer.identity) == ("careful", "careful=simulated/one {}")
    assert named.answerer.holds_form
    assert (await named.answerer.answer(Request((user("so"),), Settings()))).text == "so"
    await named.answerer.close()
    assert own.closed


def test_errors_of_a_named_model_use_its_name() -> None:
    with pytest.raises(InputError, match="--model-arg careful: temprature"):
        open_model("openai/gpt-4o", [("temprature", "1")], name="careful")


def test_named_model_keeps_family_series_and_price_of_its_spec() -> None:
    named, plain = (open_model("openai/gpt-4o", name=name, need_key=False) for name in ("careful", ""))
    assert (named.family, named.series, named.price) == (plain.family, plain.series, plain.price)
    assert plain.answerer.identity == plain.answerer.name == "openai/gpt-4o"


@pytest.mark.parametrize(
    "spec",
    [
        "http://h/v1?api_key=sk-secret#m",
        "http://user:sk-secret@h/v1#m",
        "http://h:1?key=sk-secret",
        "two words=http://h/v1?api_key=sk-secret#m",
        "htp://h/v1?api_key=sk-secret#m",
    ],
)
def test_keys_in_addresses_are_not_repeated(spec: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_spec(name_and_spec(spec)[1])
    assert "sk-secret" not in str(caught.value)
    with pytest.raises(InputError) as caught:
        open_search(f"searx/{spec}")
    assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["ray/", "ray/openai/gpt-4o", "ray/ray/gguf:/m.gguf", "ray/gguf:", "ray/simulated/open-minded"]
)
def test_spec_that_cannot_run_on_ray_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"ray/gguf:/path/to/file|no file is given"):
        parse_spec(text)


def test_public_spec_omits_where_a_model_runs() -> None:
    assert public_model_spec("ray/gguf:/models/m.gguf") == public_model_spec("gguf:/other/m.gguf") == "gguf:m.gguf"
    assert name_and_spec("wide=ray/gguf:/models/m.gguf") == ("wide", "ray/gguf:/models/m.gguf")
    assert parse_spec("ray/gguf:/m.gguf").runs_here
    assert (parse_spec("ray/gguf:/m.gguf").on_ray, parse_spec("gguf:/m.gguf").on_ray) == (True, False)
