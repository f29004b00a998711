import asyncio
import re
import traceback

import msgspec
import pytest
from error_chain import chained

from overton.calls import Form, Request, Settings, Usage, assistant, system, user, weighs
from overton.errors import AccessError, AnswerError, InputError, RejectedError, UnavailableError
from overton.models import open_model


def reply_with(**changes):
    message = {"role": "assistant", "content": "fine"} | changes.pop("message", {})
    choice = {"index": 0, "finish_reason": "stop", "message": message} | changes.pop("choice", {})
    return {"model": "m", "choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 2}} | changes


@pytest.fixture
async def opened(server):
    """Opens models at the server, and closes them."""
    models = []

    def open_at_server(spec="openai/gpt-4o", *args, url=server.url):
        models.append(open_model(spec, [("base_url", f"{url}/v1"), *args]))
        return models[-1].answerer

    yield open_at_server
    for model in models:
        await model.answerer.close()


# What is sent


async def test_a_plain_request_sends_the_model_and_the_messages_only(server, opened, question, key):
    await opened().answer(question())
    (seen,) = server.seen
    assert seen.path == "/v1/chat/completions"
    assert seen.body == {"model": "gpt-4o", "messages": [{"role": "user", "content": "A or B?"}]}
    assert seen.headers["Authorization"] == f"Bearer {key}"
    assert seen.headers["Content-Type"] == "application/json"
    assert seen.headers["User-Agent"].startswith("overton/")


async def test_settings_seed_and_extra_are_sent(server, opened):
    settings = Settings(0.5, 0.9, 64, "low", 1, {"logprobs": True, "user": "é"})
    turns = (system("be brief"), user("q"), assistant("a"), user("q2 \u2028 </script>"))
    await opened().answer(Request(turns, settings, seed=123456789012))
    assert server.seen[0].body == {
        "model": "gpt-4o",
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 64,
        "reasoning_effort": "low",
        "logprobs": True,
        "user": "é",
        "messages": [{"role": m.role, "content": m.content} for m in turns],
        "seed": 123456789012,
    }


async def test_each_request_sends_its_own_settings(server, opened, question):
    model = opened()
    for settings in (Settings(temperature=0.1), Settings(temperature=0.2), Settings(temperature=0.1)):
        await model.answer(question(settings=settings))
    assert [seen.body["temperature"] for seen in server.seen] == [0.1, 0.2, 0.1]


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ("openai/gpt-4o", "max_tokens"),
        ("openai/gpt-4.1-mini", "max_tokens"),
        ("openai/o3-mini", "max_completion_tokens"),
        ("openai/gpt-5.2", "max_completion_tokens"),
        ("openai/ft:o4-mini:org::id", "max_completion_tokens"),
        ("mistral/o3-like", "max_tokens"),
    ],
)
async def test_the_limit_on_output_has_the_name_that_the_model_knows(server, opened, question, spec, field):
    await opened(spec).answer(question(settings=Settings(max_tokens=9)))
    assert server.seen[0].body == {
        "model": spec.partition("/")[2],
        field: 9,
        "messages": server.seen[0].body["messages"],
    }


async def test_mistral_calls_the_seed_random_seed(server, opened, question):
    await opened("mistral/mistral-small-2503").answer(question(seed=5))
    assert server.seen[0].body["random_seed"] == 5
    assert "seed" not in server.seen[0].body


async def test_settings_that_write_over_the_messages_are_refused(server, opened, question):
    with pytest.raises(RejectedError, match=r"extra\.messages"):
        await opened().answer(question(settings=Settings(extra={"messages": []})))
    assert server.seen == []


async def test_text_that_no_json_can_carry_is_a_rejection(server, opened, question):
    with pytest.raises(RejectedError, match="surrogate"):
        await opened().answer(question("half: \ud800"))
    assert server.seen == []


async def test_a_long_prompt_is_sent_whole(server, opened, question):
    text = "word " * 400_000
    await opened().answer(question(text))
    assert server.seen[0].body["messages"][0]["content"] == text


async def test_a_local_server_without_a_key_gets_no_credentials(server, monkeypatch, question):
    monkeypatch.delenv("OVERTON_API_KEY")
    model = open_model(f"{server.url.replace('http', 'http')}/v1#some/model")
    await model.answerer.answer(question())
    await model.answerer.close()
    assert "Authorization" not in server.seen[0].headers
    assert server.seen[0].body["model"] == "some/model"
    assert model.answerer.identity == "http/some/model"
    assert model.answerer.name == f"{server.url}/v1#some/model"


async def test_the_key_comes_from_the_variable_named(server, opened, monkeypatch, question):
    monkeypatch.setenv("OTHER_KEY", " other-key-0123456789\n")
    await opened("openai/gpt-4o", ("key_env", "OTHER_KEY")).answer(question())
    assert server.seen[0].headers["Authorization"] == "Bearer other-key-0123456789"


# Holding answers to a form


async def test_a_form_is_not_sent_unless_asked_for(server, opened, question):
    model = opened()
    await model.answer(question(form=Form(choices=("A", "B"))))
    assert not model.holds_form
    assert server.seen[0].body.keys() == {"model", "messages"}


async def test_a_schema_is_enforced_by_response_format(server, opened, question):
    model = opened("openai/gpt-4o", ("hold", "true"))
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}}
    await model.answer(question(form=Form(schema=schema), seed=4))
    assert model.holds_form
    body = server.seen[0].body
    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "strict": True, "schema": schema},
    }
    assert body["seed"] == 4


async def test_vllm_enforces_choices_by_name(server, opened, question):
    server.otherwise = reply_with(message={"content": "B"})
    model = opened("vllm/m", ("hold", "true"))
    assert (await model.answer(question(form=Form(choices=("A", "B"))))).text == "B"
    assert server.seen[0].body["structured_outputs"] == {"choice": ["A", "B"]}


async def test_vllm_enforces_openings_by_a_pattern(server, opened, question):
    model = opened("vllm/m", ("hold", "true"))
    await model.answer(question(form=Form(openings=("My verdict: (A).", "My verdict: B."))))
    pattern = server.seen[0].body["structured_outputs"]["regex"]
    assert re.fullmatch(pattern, "My verdict: (A).\nSince it is so.")
    assert not re.fullmatch(pattern, "Let me think. My verdict: (A).")


async def test_others_hold_choices_by_a_schema_that_is_taken_off_again(server, opened, question):
    server.script = [
        server.replies(reply_with(message={"content": '{"answer": "position <<B>>"}'})),
        server.replies(reply_with(message={"content": "position <<A>>"})),
    ]
    model = opened("openai/gpt-4o", ("hold", "true"))
    form = Form(choices=("position <<A>>", "position <<B>>"))
    assert (await model.answer(question(form=form))).text == "position <<B>>"
    schema = server.seen[0].body["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["answer"]["enum"] == list(form.choices)
    assert (await model.answer(question(form=form))).text == "position <<A>>"


# What is read


async def test_a_reply_is_read(opened, question):
    reply = await opened().answer(question())
    assert (reply.text, reply.finish, reply.refused, reply.model) == ("fine", "stop", False, "m-2026")
    assert reply.usage == Usage(11, 3)


async def test_tokens_read_from_the_cache_are_counted(server, opened, question):
    counts = {"prompt_tokens": 1200, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1024}}
    server.script = [server.replies(reply_with(usage=counts))]
    reply = await opened().answer(question())
    assert reply.usage == Usage(1200, 2, cached=1024)


@pytest.mark.parametrize(
    ("content", "read"),
    [
        (reply_with(message={"content": None}), ("", False)),
        (reply_with(message={"content": ""}, choice={"finish_reason": "length"}), ("", False)),
        (reply_with(message={"content": None, "refusal": "I will not."}), ("I will not.", True)),
        (reply_with(choice={"finish_reason": "content_filter"}), ("fine", True)),
        (reply_with(message={"content": [{"type": "text", "text": "a"}, {"type": "x"}, {"text": "b"}]}), ("ab", False)),
        (reply_with(choice={"finish_reason": None}), ("fine", False)),
        (reply_with(usage=None), ("fine", False)),
        (reply_with(usage={"prompt_tokens": None, "other": {}}), ("fine", False)),
        (reply_with(message={"reasoning_content": "hm", "tool_calls": None, "annotations": []}), ("fine", False)),
    ],
)
async def test_replies_of_every_kind_are_read(server, opened, question, content, read):
    server.otherwise = content
    reply = await opened().answer(question())
    assert (reply.text, reply.refused) == read


async def test_reply_with_a_wrong_content_type_is_read(server, opened, question):
    server.script = [server.replies(reply_with(), Content_Type="text/html; charset=latin-1")]
    assert (await opened().answer(question())).text == "fine"


# What goes wrong


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"choices": [{"mess', "not complete JSON"),
        (b"<!doctype html><title>Login</title>", "HTML"),
        (b"", "empty"),
        (b"{}", "no choices"),
        (b'{"choices": []}', "no choices"),
        (b'{"choices": null}', "choices"),
        (b'{"choices": [{"finish_reason": "stop"}]}', "message"),
        (b'{"choices": [{"message": {"content": 7}}]}', "content"),
        (b"[1]", "object"),
        (b"\xff\xfe", "not complete JSON"),
    ],
)
async def test_a_reply_that_cannot_be_read_is_worth_asking_again(server, opened, question, body, reason):
    server.script = [server.replies(body)]
    with pytest.raises(UnavailableError) as caught:
        await opened().answer(question())
    assert (caught.value.kind, caught.value.maybe_billed) == ("malformed", True)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ({"error": {"code": 429, "message": "slow down"}}, "rate limit"),
        ({"error": {"code": 502, "message": "provider down"}}, "server error"),
        ({"error": "down"}, "server error"),
        (reply_with(choice={"finish_reason": "error", "error": {"code": 503, "message": "m"}}), "server error"),
    ],
)
async def test_an_error_under_status_200_is_an_error(server, opened, question, content, kind):
    server.otherwise = content
    with pytest.raises(UnavailableError) as caught:
        await opened().answer(question())
    assert caught.value.kind == kind


async def test_rate_limits_say_when_to_ask_again(server, opened, question):
    server.script = [
        server.replies({}, 429, Retry_After="12"),
        server.replies({}, 429, Retry_After="Fri, 31 Dec 1999 23:59:59 GMT"),
        server.replies({}, 429, Retry_After="Fri, 31 Dec 2100 23:59:59 GMT"),
    ]
    model, waits = opened(), []
    for _ in range(3):
        with pytest.raises(UnavailableError) as caught:
            await model.answer(question())
        assert caught.value.kind == "rate limit"
        waits.append(caught.value.retry_after)
    assert waits[:2] == [12.0, 0.0]
    assert waits[2] > 1e6


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (500, (UnavailableError, "server error")),
        (503, (UnavailableError, "server error")),
        (529, (UnavailableError, "server error")),
        (401, (AccessError, "bad key")),
        (403, (AccessError, "no permission")),
        (404, (AccessError, "unknown model")),
        (400, (RejectedError, "rejected")),
        (413, (RejectedError, "too long")),
        (422, (RejectedError, "rejected")),
    ],
)
async def test_statuses_become_errors_with_the_endpoint_s_message(server, opened, question, status, expected):
    server.script = [server.replies({"error": {"message": "it said this"}}, status)]
    with pytest.raises(expected[0], match="it said this") as caught:
        await opened().answer(question())
    assert caught.value.kind == expected[1]


async def test_no_reply_in_time_is_a_timeout_that_may_be_billed(server, opened, question):
    server.script = [server.hangs]
    with pytest.raises(UnavailableError, match=r"0\.1 seconds") as caught:
        await opened("openai/gpt-4o", ("timeout", "0.1")).answer(question())
    assert (caught.value.kind, caught.value.maybe_billed) == ("timeout", True)


async def test_a_connection_dropped_before_the_reply_may_be_billed(server, opened, question):
    server.script = [server.drops_before_replying]
    with pytest.raises(UnavailableError) as caught:
        await opened().answer(question())
    assert (caught.value.kind, caught.value.maybe_billed) == ("connection", True)


async def test_a_connection_dropped_within_the_body_is_a_malformed_reply(server, opened, question):
    server.script = [server.drops_within_the_body]
    with pytest.raises(UnavailableError) as caught:
        await opened().answer(question())
    assert (caught.value.kind, caught.value.maybe_billed) == ("malformed", True)


async def test_a_refused_connection_is_not_billed(opened, question, unused_tcp_port):
    with pytest.raises(UnavailableError, match=f"127.0.0.1:{unused_tcp_port}") as caught:
        await opened(url=f"http://127.0.0.1:{unused_tcp_port}").answer(question())
    assert (caught.value.kind, caught.value.maybe_billed) == ("connection", False)


async def test_https_to_a_server_without_it_is_a_failed_connection(server, opened, question):
    with pytest.raises(UnavailableError) as caught:
        await opened(url=server.url.replace("http:", "https:")).answer(question())
    assert (caught.value.kind, caught.value.maybe_billed) == ("connection", False)
    assert server.seen == []


async def test_another_protocol_is_a_malformed_reply(opened, question):
    async def speak(reader, writer):
        await reader.read(100)
        writer.write(b"220 mail.example ESMTP\r\n\r\n")
        writer.close()

    mail = await asyncio.start_server(speak, "127.0.0.1", 0)
    with pytest.raises(UnavailableError) as caught:
        await opened(url=f"http://127.0.0.1:{mail.sockets[0].getsockname()[1]}").answer(question())
    mail.close()
    assert (caught.value.kind, caught.value.maybe_billed) == ("malformed", True)


@pytest.mark.parametrize("behaviour", ["replies_endlessly", "replies_with_a_bomb"])
async def test_a_body_above_the_limit_is_not_read_to_its_end(server, opened, question, behaviour):
    server.script = [getattr(server, behaviour)]
    with pytest.raises(RejectedError, match="16 MiB") as caught:
        await opened().answer(question())
    assert caught.value.maybe_billed


async def test_a_body_that_declares_itself_too_large_is_not_read(server, opened, question):
    server.script = [server.replies(b" " * (17 * 2**20))]
    with pytest.raises(RejectedError, match="16 MiB"):
        await opened().answer(question())


async def test_redirects_are_not_followed(serve, server, opened, question):
    elsewhere = await serve()
    server.script = [server.replies(b"", 307, Location=f"{elsewhere.url}/v1/chat/completions")]
    with pytest.raises(AccessError, match="base_url"):
        await opened().answer(question())
    assert elsewhere.seen == []


async def test_an_error_s_message_is_cut(server, opened, question):
    server.script = [server.replies({"error": {"message": "long " * 10_000}}, 400)]
    with pytest.raises(RejectedError) as caught:
        await opened().answer(question())
    assert len(str(caught.value)) < 700


async def test_the_model_answers_again_after_faults(server, opened, question):
    server.script = [server.drops_before_replying, server.drops_within_the_body, server.replies({}, 500)]
    model = opened()
    for _ in range(3):
        with pytest.raises(UnavailableError):
            await model.answer(question())
    assert (await model.answer(question())).text == "fine"


async def test_a_closed_model_opens_again(opened, question):
    model = opened()
    await model.answer(question())
    await model.close()
    await model.close()
    assert (await model.answer(question())).text == "fine"


# The key


@pytest.mark.parametrize(
    "behaviour",
    ["echoes_credentials", "drops_before_replying", "drops_within_the_body", "hangs", "replies_endlessly"],
)
async def test_the_key_is_in_no_error_however_it_is_shown(server, opened, question, key, behaviour):
    server.script = [getattr(server, behaviour)]
    model = opened("openai/gpt-4o", ("timeout", "0.3"))
    with pytest.raises(AnswerError) as caught:
        await model.answer(question())
    assert caught.value.__cause__ is None
    for error in chained(caught.value):
        shown = [str(error), repr(error), repr(error.__dict__), "".join(traceback.format_exception(error))]
        assert not [text for text in shown if key in text or key[:12] in text]


async def test_a_reply_that_echoes_the_key_does_not_carry_it_on(server, opened, question, key):
    server.otherwise = reply_with(message={"content": f"your key is {key}"})
    assert (await opened().answer(question())).text == "your key is [hidden]"


async def test_the_key_is_in_no_repr(opened, question, key):
    answerer = opened()
    await answerer.answer(question())
    shown = repr(answerer) + repr(vars(answerer)) + "".join(map(repr, vars(answerer._transport).values()))
    assert key not in shown


def test_a_missing_key_is_named_before_any_call(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(InputError, match="set OPENAI_API_KEY"):
        open_model("openai/gpt-4o")
    monkeypatch.setenv("OPENAI_API_KEY", "  ")
    with pytest.raises(InputError, match="set OPENAI_API_KEY"):
        open_model("openai/gpt-4o")


def test_a_key_that_cannot_be_one_is_not_repeated(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret\r\nX-Other: 1")
    with pytest.raises(InputError, match="OPENAI_API_KEY") as caught:
        open_model("openai/gpt-4o")
    assert "secret" not in str(caught.value)


# Several base URLs


async def test_the_load_is_shared_by_requests_in_flight(serve, opened, question):
    first, second = await serve(), await serve()
    gate, all_in_flight = asyncio.Event(), asyncio.Event()

    async def wait(request):
        if len(first.seen) + len(second.seen) == 10:
            all_in_flight.set()
        await gate.wait()
        return await first.replies(reply_with())(request)

    first.script, second.script = [wait] * 10, [wait] * 10
    model = opened("openai/gpt-4o", ("base_url", f"{second.url}/v1"), url=first.url)
    calls = [asyncio.create_task(model.answer(question())) for _ in range(10)]
    await all_in_flight.wait()
    gate.set()
    await asyncio.gather(*calls)
    assert (len(first.seen), len(second.seen)) == (5, 5)


async def test_a_dead_replica_does_not_draw_the_load(serve, opened, question, unused_tcp_port):
    alive = await serve()
    dead = f"http://127.0.0.1:{unused_tcp_port}"
    model = opened("openai/gpt-4o", ("base_url", f"{alive.url}/v1"), url=dead)
    outcomes = [await asyncio.gather(model.answer(question()), return_exceptions=True) for _ in range(6)]
    failed = [outcome for (outcome,) in outcomes if isinstance(outcome, UnavailableError)]
    assert len(failed) == 1
    assert len(alive.seen) == 5


async def test_one_model_called_in_parallel_gives_each_its_own_reply(server, opened):
    async def echo(request):
        text = server.seen[-1].body["messages"][0]["content"]
        return await server.replies(reply_with(message={"content": text}))(request)

    server.script = [echo] * 50
    model = opened()
    texts = [f"question {n}" for n in range(50)]
    replies = await asyncio.gather(*(model.answer(Request((user(text),), Settings())) for text in texts))
    assert [reply.text for reply in replies] == texts
    assert len({msgspec.json.encode(seen.body) for seen in server.seen}) == 50


# Token probabilities

WEIGHED = Form(choices=("position <<A>>", "position <<B>>"), weigh=("A", "B"))


def logprobs(*tokens):
    """OpenAI's tokens: each with its alternatives and their log probabilities."""
    return {
        "content": [
            {
                "token": token,
                "logprob": others.get(token, -0.01),
                "bytes": list(token.encode()),
                "top_logprobs": [{"token": one, "logprob": chance} for one, chance in others.items()],
            }
            for token, others in tokens
        ]
    }


LETTER = logprobs(("position", {}), (" <<", {}), ("A", {"A": -0.5, "B": -1.2, " A": -3.0}), (">>", {}))


async def test_probabilities_are_asked_for_with_the_form_alone_and_kept_where_the_letter_falls(
    server, opened, question
):
    answer = {"message": {"content": "position <<A>>"}, "choice": {"logprobs": LETTER}}
    answer["choice"]["message"] = {"role": "assistant", "content": "position <<A>>"}
    server.otherwise = reply_with(**answer)
    model = opened("openai/gpt-4o", ("temperature", "0.5"))
    reply = await model.answer(Request(question().messages, Settings(temperature=0.5), WEIGHED))
    assert (server.seen[0].body["logprobs"], server.seen[0].body["top_logprobs"]) == (True, 20)
    (spot,) = reply.spots
    assert (spot.at, spot.token) == (11, "A")
    chances = {one.token: one for one in spot.alternatives}
    assert chances["A"].plain == pytest.approx(0.606531, abs=1e-6)
    assert chances["A"].drawn > 0.75
    assert set(chances) == {"A", "B", " A"}
    assert (await model.answer(question())).spots == ()
    assert "logprobs" not in server.seen[1].body


async def test_a_schema_around_the_choice_is_taken_off_its_places_too(server, opened, question):
    text = '{"answer":"position <<B>>"}'
    tokens = logprobs(('{"answer":"', {}), ("position <<", {}), ("B", {"A": -1.5, "B": -0.3}), ('>>"}', {}))
    message = {"role": "assistant", "content": text}
    server.otherwise = reply_with(choice={"message": message, "logprobs": tokens})
    reply = await opened("openai/gpt-4o", ("hold", "true")).answer(Request(question().messages, Settings(), WEIGHED))
    assert reply.text == "position <<B>>"
    (spot,) = reply.spots
    assert (spot.at, spot.token) == (11, "B")
    assert sum(one.drawn for one in spot.alternatives) == pytest.approx(1, abs=1e-5)


async def test_an_endpoint_that_sends_none_and_one_whose_model_reasoned_stop_the_run_in_a_sentence(
    server, opened, question
):
    request = Request(question().messages, Settings(), WEIGHED)
    with pytest.raises(AccessError, match="sent no token probabilities"):
        await opened().answer(request)
    message = {"role": "assistant", "content": "position <<A>>", "reasoning_content": "Let me think."}
    server.otherwise = reply_with(choice={"message": message, "logprobs": LETTER})
    with pytest.raises(AccessError, match="reasons before it answers"):
        await opened().answer(request)


async def test_providers_say_whether_they_tell_probabilities(opened):
    assert weighs(opened("openai/gpt-4o"))
    assert weighs(opened("vllm/m"))
    assert not weighs(opened("groq/m", ("key_env", "OPENAI_API_KEY")))


async def test_endpoints_description_of_itself_is_kept(server, opened):
    server.script = [server.replies(reply_with(system_fingerprint="fp_1", provider="A provider"))]
    reply = await opened().answer(Request((user("hi"),), Settings()))
    assert (reply.model, reply.fingerprint, reply.served_by) == ("m", "fp_1", "A provider")


@pytest.mark.parametrize("said", [None, "", 7, {"name": "x"}, ["y"]])
async def test_invalid_description_of_the_endpoint_does_not_lose_the_reply(server, opened, said):
    server.script = [server.replies(reply_with(system_fingerprint=said, provider=said))]
    reply = await opened().answer(Request((user("hi"),), Settings()))
    assert (reply.text, reply.fingerprint, reply.served_by) == ("fine", None, None)
    assert b"fingerprint" not in msgspec.json.encode(reply)
