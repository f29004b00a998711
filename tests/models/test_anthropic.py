import pytest

from overton.calls import Message, Request, Settings, Usage, assistant, system, user
from overton.errors import AccessError, InputError, RejectedError, UnavailableError
from overton.models import open_model


def message(*content, stop_reason="end_turn", **usage):
    usage = {"input_tokens": 10, "output_tokens": 4} | usage
    return {"type": "message", "model": "claude-x", "content": content, "stop_reason": stop_reason, "usage": usage}


def text(words):
    return {"type": "text", "text": words}


def error(kind, words):
    return {"type": "error", "error": {"type": kind, "message": words}}


@pytest.fixture
async def opened(server):
    server.otherwise = message(text("fine"))
    models = []

    def open_at_server(spec="anthropic/claude-3-5-haiku-20241022", *args):
        models.append(open_model(spec, [("base_url", server.url), *args]))
        return models[-1].answerer

    yield open_at_server
    for model in models:
        await model.answerer.close()


async def test_plain_request_sends_all_required_fields(server, opened, question, key):
    await opened().answer(question(seed=7))
    (seen,) = server.seen
    assert seen.path == "/v1/messages"
    assert seen.body == {
        "model": "claude-3-5-haiku-20241022",
        "max_tokens": 1024,
        "messages": [{"role": "user", "content": "A or B?"}],
    }
    assert seen.headers["x-api-key"] == key
    assert seen.headers["anthropic-version"] == "2023-06-01"
    assert "Authorization" not in seen.headers


async def test_settings_are_sent_and_system_messages_stand_apart(server, opened):
    turns = (system("be brief"), user("q"), assistant("a"), system("be kind"), user("q2"))
    await opened().answer(Request(turns, Settings(0.5, 0.9, 64, extra={"top_k": 5})))
    assert server.seen[0].body == {
        "model": "claude-3-5-haiku-20241022",
        "max_tokens": 64,
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 5,
        "messages": [
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": "a"},
            {"role": "user", "content": "q2"},
        ],
        "system": "be brief\n\nbe kind",
    }


@pytest.mark.parametrize(
    ("model", "settings", "sent"),
    [
        (
            "claude-3-7-sonnet-20250219",
            Settings(reasoning_effort="low", max_tokens=None),
            (5120, {"type": "enabled", "budget_tokens": 4096}, None),
        ),
        (
            "claude-opus-4-20250514",
            Settings(reasoning_effort="high", max_tokens=9000),
            (9000, {"type": "enabled", "budget_tokens": 7976}, None),
        ),
        (
            "claude-haiku-4-5",
            Settings(reasoning_effort="medium", max_tokens=None),
            (11_024, {"type": "enabled", "budget_tokens": 10_000}, None),
        ),
        (
            "claude-opus-4-6",
            Settings(reasoning_effort="medium", max_tokens=None),
            (11_024, {"type": "adaptive"}, {"effort": "medium"}),
        ),
        (
            "claude-sonnet-5",
            Settings(reasoning_effort="xhigh", max_tokens=2000),
            (2000, {"type": "adaptive"}, {"effort": "xhigh"}),
        ),
        ("claude-sonnet-5", Settings(reasoning_effort="none", max_tokens=2000), (2000, {"type": "disabled"}, None)),
        ("claude-sonnet-5", Settings(reasoning_effort=None, max_tokens=2000), (2000, None, None)),
    ],
)
async def test_reasoning_effort_is_sent_in_the_form_that_the_model_knows(server, opened, model, settings, sent):
    await opened(f"anthropic/{model}").answer(Request((user("q"),), settings))
    body = server.seen[0].body
    assert (body["max_tokens"], body.get("thinking"), body.get("output_config")) == sent


async def test_a_reply_is_read(server, opened, question):
    blocks = [{"type": "thinking", "thinking": "hm"}, text("a"), {"type": "other", "text": "x"}, text("b")]
    server.otherwise = message(*blocks, cache_read_input_tokens=5, cache_creation_input_tokens=2)
    reply = await opened().answer(question())
    assert (reply.text, reply.finish, reply.refused, reply.model) == ("ab", "end_turn", False, "claude-x")
    assert reply.usage == Usage(17, 4, 5, 2)


async def test_a_flagged_refusal_is_a_refusal(server, opened, question):
    server.otherwise = message(stop_reason="refusal")
    reply = await opened().answer(question())
    assert (reply.text, reply.refused, reply.finish) == ("", True, "refusal")


@pytest.mark.parametrize(
    ("status", "content", "expected"),
    [
        (529, error("overloaded_error", "Overloaded"), (UnavailableError, "server error")),
        (500, error("api_error", "Internal server error"), (UnavailableError, "server error")),
        (429, error("rate_limit_error", "slow down"), (UnavailableError, "rate limit")),
        (401, error("authentication_error", "invalid x-api-key"), (AccessError, "bad key")),
        (403, error("permission_error", "no"), (AccessError, "no permission")),
        (404, error("not_found_error", "model: claude-x"), (AccessError, "unknown model")),
        (400, error("invalid_request_error", "Your credit balance is too low"), (AccessError, "no credit")),
        (400, error("invalid_request_error", "prompt is too long: 1 > 0"), (RejectedError, "too long")),
        (400, error("invalid_request_error", "temperature: unknown"), (RejectedError, "rejected")),
        (413, error("request_too_large", "big"), (RejectedError, "too long")),
    ],
)
async def test_errors_have_the_same_names_as_elsewhere(server, opened, status, content, expected):
    server.script = [server.replies(content, status)]
    with pytest.raises(expected[0], match=content["error"]["message"]) as caught:
        await opened().answer(Request((user("q"),), Settings()))
    assert caught.value.kind == expected[1]


@pytest.mark.parametrize("body", [b"", b"{}", b'{"content": "text"}', b'{"content": [{"type": "te', b"<html>"])
async def test_a_reply_that_cannot_be_read_is_worth_asking_again(server, opened, question, body):
    server.script = [server.replies(body)]
    with pytest.raises(UnavailableError) as caught:
        await opened().answer(question())
    assert (caught.value.kind, caught.value.maybe_billed) == ("malformed", True)


async def test_the_key_is_in_no_error(server, opened, question, key):
    server.script = [server.echoes_credentials]
    with pytest.raises(AccessError, match="ANTHROPIC_API_KEY") as caught:
        await opened().answer(question())
    assert key[:12] not in str(caught.value)


async def test_a_base_url_may_end_in_the_version(server, monkeypatch, question):
    server.otherwise = message(text("fine"))
    monkeypatch.setenv("ANTHROPIC_BASE_URL", f"{server.url}/v1/")
    model = open_model("anthropic/claude-3-5-haiku-20241022")
    await model.answerer.answer(question())
    await model.answerer.close()
    assert server.seen[0].path == "/v1/messages"


def test_a_missing_key_is_named(monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(InputError, match="set ANTHROPIC_API_KEY"):
        open_model("anthropic/claude-opus-4-1")


def turns(length, *roles):
    return tuple(Message(role, "x" * length) for role in roles)


@pytest.mark.parametrize(
    ("messages", "marked"),
    [
        (turns(9000, "user"), False),  # there may never be a second turn
        (turns(2000, "user", "assistant", "user"), True),
        (turns(1000, "user", "assistant", "user"), False),  # too short for any model's cache
        (turns(2000, "system", "user", "assistant", "user"), True),
    ],
)
async def test_the_end_of_a_conversation_under_way_is_marked_for_the_cache(server, opened, messages, marked):
    server.otherwise = message(text("fine"))
    await opened().answer(Request(messages, Settings()))
    last = server.seen[-1].body["messages"][-1]
    if marked:
        mark = {"type": "text", "text": messages[-1].content, "cache_control": {"type": "ephemeral"}}
        assert last == {"role": "user", "content": [mark]}
    else:
        assert last == {"role": "user", "content": messages[-1].content}
    assert all(isinstance(one["content"], str) for one in server.seen[-1].body["messages"][:-1])


async def test_conversations_are_not_marked_for_the_cache_if_the_user_turns_it_off(server, opened):
    server.otherwise = message(text("fine"))
    await opened("anthropic/claude-3-5-haiku-20241022", ("cache", "false")).answer(
        Request(turns(2000, "user", "assistant", "user"), Settings())
    )
    assert server.seen[-1].body["messages"][-1]["content"] == "x" * 2000
