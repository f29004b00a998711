import asyncio
import gc

import pytest

from overton.calls import Request, Settings, Usage, assistant, system, user
from overton.errors import AccessError, InputError, MissingExtra, RejectedError, UnavailableError
from overton.models import open_model

inspect_model = pytest.importorskip("inspect_ai.model")


class Client:
    """Stands in for a provider's own client, which would retry by itself."""

    max_retries = 2


class ProviderError(Exception):
    def __init__(self, words, status_code=None):
        self.status_code = status_code
        super().__init__(words)


@inspect_model.modelapi("overton_test")
class Provider(inspect_model.ModelAPI):
    """A provider that does what the test says, and records its requests."""

    def __init__(self, model_name, base_url=None, api_key=None, config=None, **more):
        super().__init__(model_name, base_url, api_key, [], config or inspect_model.GenerateConfig())
        self.asked = []
        self.client = Client()
        self.outcome = inspect_model.ModelOutput.from_content("m", "fine")

    async def generate(self, input, tools, tool_choice, config):
        self.asked.append((input, config))
        if isinstance(self.outcome, Exception):
            raise self.outcome
        if self.outcome == "hang":
            await asyncio.sleep(30)
        return self.outcome

    def should_retry(self, ex):
        if not isinstance(ex, ProviderError):
            return False
        if ex.status_code == 429:
            return inspect_model._model.RetryDecision(retry=True, kind="rate_limit", retry_after=4.0)
        return ex.status_code in (500, 503)

    def is_auth_failure(self, ex):
        return getattr(ex, "status_code", None) == 401


def opened(*args):
    model = open_model("inspect/overton_test/m", args)
    return model.answerer, model.answerer._model.api


async def test_inspect_s_own_mock_model_answers(monkeypatch, question):
    from inspect_ai.model._providers.mockllm import MockLLM

    async def count_nothing(*args):  # it would fetch a tokenizer from the network
        pass

    monkeypatch.setattr(MockLLM, "_ensure_default_usage", count_nothing)
    model = open_model("inspect/mockllm/model")
    reply = await model.answerer.answer(question())
    await model.answerer.close()
    assert reply.text == "Default output from mockllm/model"
    assert (reply.finish, reply.refused, reply.model) == ("stop", False, "mockllm")
    assert reply.usage == Usage()
    assert model.answerer.name == model.answerer.identity == "inspect/mockllm/model"
    assert model.price is None


async def test_messages_and_settings_are_passed_on():
    answerer, api = opened(("connections", "7"))
    settings = Settings(0.5, 0.9, 64, "low", extra={"a": 1})
    await answerer.answer(Request((system("s"), user("q"), assistant("a"), user("q2")), settings, seed=11))
    ((messages, config),) = api.asked
    assert [(m.role, m.text) for m in messages] == [("system", "s"), ("user", "q"), ("assistant", "a"), ("user", "q2")]
    assert (config.temperature, config.top_p, config.max_tokens) == (0.5, 0.9, 64)
    assert (config.reasoning_effort, config.seed, config.extra_body) == ("low", 11, {"a": 1})
    assert (config.max_retries, config.max_connections) == (0, 7)


def test_the_provider_s_own_client_does_not_retry():
    _, api = opened()
    assert api.client.max_retries == 0


async def test_a_reply_is_read(question):
    answerer, api = opened()
    output = inspect_model.ModelOutput.from_content("m-1", "no", stop_reason="content_filter")
    output.usage = inspect_model.ModelUsage(input_tokens=10, output_tokens=2, input_tokens_cache_read=5)
    api.outcome = output
    reply = await answerer.answer(question())
    assert (reply.text, reply.finish, reply.refused, reply.model) == ("no", "content_filter", True, "m-1")
    assert reply.usage == Usage(15, 2)


@pytest.mark.parametrize(
    ("error", "error_type", "kind", "wait"),
    [
        (ProviderError("slow down", 429), UnavailableError, "rate limit", 4.0),
        (ProviderError("down", 503), UnavailableError, "server error", None),
        (ProviderError("bad key", 401), AccessError, "no permission", None),
        (ProviderError("forbidden", 403), AccessError, "no permission", None),
        (ProviderError("no model", 404), AccessError, "unknown model", None),
        (ProviderError("bad request", 400), RejectedError, "rejected", None),
        (ValueError("anything else"), RejectedError, "rejected", None),
    ],
)
async def test_provider_errors_are_judged_by_the_provider(question, error, error_type, kind, wait):
    answerer, api = opened()
    api.outcome = error
    with pytest.raises(error_type, match=str(error)) as caught:
        await answerer.answer(question())
    assert caught.value.kind == kind
    assert getattr(caught.value, "retry_after", None) == wait
    assert len(api.asked) == 1


async def test_no_reply_in_time_is_a_timeout(question):
    answerer, api = opened(("timeout", "0.1"))
    api.outcome = "hang"
    with pytest.raises(UnavailableError) as caught:
        await answerer.answer(question())
    assert (caught.value.kind, caught.value.maybe_billed) == ("timeout", True)


async def test_the_key_is_in_no_error(question, key):
    answerer, api = opened(("key_env", "OVERTON_API_KEY"))
    assert api.api_key == key
    api.outcome = ProviderError(f"[bold]bad[/bold] key {key}\x1b[0m", 400)
    with pytest.raises(RejectedError) as caught:
        await answerer.answer(question())
    assert key not in str(caught.value)
    assert str(caught.value).isprintable()
    assert caught.value.__context__ is None
    assert key not in repr(answerer)


async def test_calls_from_one_task_leave_no_transcript_behind(question):
    from inspect_ai.event import ModelEvent
    from inspect_ai.log import transcript

    def events():
        gc.collect()
        return sum(isinstance(thing, ModelEvent) for thing in gc.get_objects())

    transcript()  # as an eval leaves behind in a notebook: calls must not be added to it
    answerer, _ = opened()
    await answerer.answer(question())
    before = events()
    for _ in range(20):
        await answerer.answer(question())
    assert events() <= before


@pytest.mark.parametrize("spec", ["inspect/nonesuch/model", "inspect/vertexai/model"])
def test_an_unknown_provider_is_bad_input(spec):
    with pytest.raises(InputError, match="Inspect cannot open it"):
        open_model(spec)


def test_a_provider_without_its_package_or_key_is_bad_input(monkeypatch):
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    with pytest.raises(InputError, match=r"(?i)groq"):
        open_model("inspect/groq/m")


def test_missing_inspect_is_reported(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "inspect_ai.model", None)
    with pytest.raises(MissingExtra, match=r"overton\[inspect\]"):
        open_model("inspect/mockllm/model")


async def test_inspect_s_openai_provider_reaches_a_server(server, question):
    pytest.importorskip("openai")
    model = open_model("inspect/openai/gpt-4o", [("base_url", f"{server.url}/v1")])
    server.script = [server.replies({"error": {"message": "slow"}}, 429), server.replies({}, 401)]
    with pytest.raises(UnavailableError):
        await model.answerer.answer(question())
    with pytest.raises(AccessError):
        await model.answerer.answer(question())
    assert (await model.answerer.answer(question())).text == "fine"
    await model.answerer.close()
