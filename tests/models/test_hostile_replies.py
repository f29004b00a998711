"""Any bytes that an endpoint sends become a reply that the journal can keep, or one of Overton's errors."""

import asyncio
import socket
import ssl
import struct

import msgspec
import pytest
import trustme
from hypothesis import example, given, settings
from hypothesis import strategies as st

from overton.calls import Reply, Usage
from overton.errors import AccessError, AnswerError, RejectedError, UnavailableError
from overton.models import anthropic, open_model, openai
from overton.models.http_errors import ErrorContext, error_for
from overton.runs.event_loop import run_to_end
from overton.untrusted import ApiKey

KEY = "sk-test/0123456789+abcdef"
TARGET = ErrorContext("openai/m", "m", "api.test", ApiKey(KEY, "KEY"))
keep = msgspec.json.Decoder(Reply).decode


def openai_body(text=b'"fine"', usage=b"{}", model=b'"m"'):
    return b'{"model":%b,"choices":[{"message":{"content":%b}}],"usage":%b}' % (model, text, usage)


def anthropic_body(text=b'"fine"', usage=b"{}", model=b'"m"'):
    return b'{"model":%b,"content":[{"type":"text","text":%b}],"usage":%b}' % (model, text, usage)


def read_openai(body):
    return openai._read_reply(body, TARGET)


def read_anthropic(body):
    return anthropic._read_reply(body, TARGET)


FORMATS = [(openai_body, read_openai), (anthropic_body, read_anthropic)]
HOSTILE = [
    openai_body(b'"\xff"'),
    openai_body(b'"\\ud800"'),
    openai_body(model=b'"\xff"'),
    anthropic_body(b'"\xff"'),
    b"[" * 200_000,
    b'{"x":' * 200_000,
    b'{"error":' * 900 + b"1" + b"}" * 900,
    b'{"error":{"message":{"a":' + b"[" * 900 + b"]" * 900 + b"}}}",
    b'{"error":{"message":[%b],"code":[[]]}}' % (b"9" * 400),
    b'{"error":{"code":%b}}' % (b"9" * 4000),
    b'{"choices":[{"message":{"content":"x"}}],"usage":%b}' % (b"[" * 200_000),
    b'{"detail":"%b"}' % (b" " * 2**20),
    b"\x00",
    b"",
]


@pytest.mark.parametrize(("body", "read"), FORMATS)
@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_body_that_cannot_be_read_is_malformed(body, read, hostile):
    with pytest.raises(AnswerError) as caught:
        read(hostile)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(("body", "read"), FORMATS)
@given(data=st.data())
@settings(max_examples=200)
def test_any_change_to_a_body_gives_a_reply_that_can_be_kept_or_an_answer_error(body, read, data):
    whole = bytearray(body(usage=b'{"prompt_tokens":1,"input_tokens":1}'))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    try:
        reply = read(bytes(whole))
    except AnswerError:
        return
    assert keep(msgspec.json.encode(reply)) == reply


_numbers = st.integers() | st.floats() | st.text() | st.booleans() | st.none() | st.lists(st.integers())


@pytest.mark.parametrize(("body", "read"), FORMATS)
@given(given=_numbers, made=_numbers)
@example(given=-1, made=1)
@example(given=2**63, made=1)
@example(given=10**400, made=1)
def test_nonsense_in_usage_is_ignored_and_keeps_the_reply(body, read, given, made):
    names = ("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens")
    said = dict(zip(names, (given, made) * 2, strict=True))
    written = "{" + ",".join(f'"{name}":{_json(value)}' for name, value in said.items()) + "}"
    reply = read(body(usage=written.encode("utf-8", "replace")))
    assert reply.text == "fine"
    assert keep(msgspec.json.encode(reply)) == reply
    for count, value in ((reply.usage.input_tokens, given), (reply.usage.output_tokens, made)):
        assert count is None or 0 <= count <= 10**9
        if type(given) is int and type(made) is int and 0 <= given <= 10**9 and 0 <= made <= 10**9:
            assert count == value


def _json(value):
    if isinstance(value, str):
        value = value.encode("ascii", "replace").decode()
    return str(value) if type(value) is int else msgspec.json.encode(value).decode()


@pytest.mark.parametrize(("body", "read"), FORMATS)
@pytest.mark.parametrize(
    "said",
    [b"null", b"{}", b"[]", b'"many"', b"-5", b'{"prompt_tokens":{"a":1},"input_tokens":{"a":1}}', b'{"x":"\xff"}'],
)
def test_usage_of_another_form_is_ignored(body, read, said):
    assert read(body(usage=said)) == Reply("fine", model="m")


@pytest.mark.parametrize(("body", "read"), FORMATS)
@pytest.mark.parametrize(
    "echo",
    [
        KEY.replace("/", "\\/"),
        "".join(f"\\u{ord(c):04x}" for c in KEY),
        KEY.replace("a", "\\u0061"),
        KEY.replace("/", "%2f"),
        KEY.replace("/", "\\\\\\/"),  # in JSON within the text
    ],
)
def test_a_key_in_any_escape_is_hidden_before_a_reply_is_kept(body, read, echo):
    told = b'"your key: %b!"' % echo.encode()
    reply = read(body(told, model=told))
    assert (reply.text, reply.model) == ("your key: [hidden]!", "your key: [hidden]!")


@given(st.binary() | st.sampled_from(HOSTILE), st.integers(0, 999), st.dictionaries(st.text(), st.text()))
@example(b"", 503, {"retry-after": "Wed, 21 Oct 99999999999999999999 07:28:00 GMT"})
@example(b"", 429, {"retry-after": "Wed, 21 Oct 2026 07:28:00 +99999999999999999999"})
@example(b"", 429, {"retry-after-ms": "9" * 5000})
def test_any_refusal_is_an_error_of_ours(body, status, headers):
    error = error_for(status, headers, body, TARGET)
    assert isinstance(error, AnswerError)
    assert len(str(error)) < 1000


def test_impossible_token_counts_are_ignored():
    assert Usage.said(-1, 10**9 + 1) == Usage.said(True, 2.0) == Usage.said("3", None) == Usage()
    assert Usage.said(0, 10**9) == Usage(0, 10**9)
    assert not Usage(2**63, 1).sound


# Over the wire


class Closing:
    """A server that answers each request with `reply` and then ends the connection without notice, as `ending` says."""

    def __init__(self, ending, reply):
        self.ending = ending
        self.reply = reply
        self.requests = 0

    async def __call__(self, reader, writer):
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
            await reader.readexactly(int(length.split(b":")[1]))
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        self.requests += 1
        writer.write(self.reply)
        await writer.drain()
        if self.ending == "reset":
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            await asyncio.sleep(0.005)  # a reset would overtake the reply
        writer.close()


def http(body, status=b"200 OK", *headers):
    return b"\r\n".join([b"HTTP/1.1 " + status, *headers, b"Content-Length: %d" % len(body), b"", body])


@pytest.fixture
def authority(monkeypatch):
    made = trustme.CA()
    context = ssl.create_default_context()
    made.configure_trust(context)
    monkeypatch.setattr("overton.models.http_connection._ssl_context", lambda: context)
    return made


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize("ending", ["end", "reset"])
async def test_a_server_that_closes_without_a_word_is_asked_once_for_each_reply(
    listen, authority, question, ending, secure
):
    """Whether its end has been seen, or crosses the next request on its way. After a reset, and for a TLS server that
    still listens after announcing the end, that cannot be known."""
    pause = 0.02 if secure or ending == "reset" else 0.0
    server = Closing(ending, http(openai_body()))
    context = None
    if secure:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("localhost").configure_cert(context)
    port = await listen(server, ssl=context)
    model = open_model(f"{'https' if secure else 'http'}://localhost:{port}/v1#m").answerer
    for _ in range(10):
        assert (await model.answer(question())).text == "fine"
        await asyncio.sleep(pause)
    await model.close()
    assert server.requests == 10


@pytest.mark.parametrize("ending", ["end", "reset"])
async def test_a_request_that_was_taken_is_not_sent_again_by_the_wire(listen, question, ending):
    """The server reads it and stays silent: it may have been carried out, and billed."""
    taken = []

    async def serve(reader, writer):
        while True:
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError:
                return
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
            await reader.readexactly(int(length.split(b":")[1]))
            taken.append(head)
            if len(taken) == 2:
                if ending == "reset":
                    linger = struct.pack("ii", 1, 0)
                    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                writer.close()
                return
            writer.write(http(openai_body()))

    model = open_model(f"http://127.0.0.1:{await listen(serve)}/v1#m").answerer
    await model.answer(question())
    with pytest.raises(UnavailableError) as caught:
        await model.answer(question())
    await model.close()
    assert (caught.value.kind, caught.value.maybe_billed, len(taken)) == ("connection", True, 2)


SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"


@pytest.mark.parametrize("more", [b"", b"\x00\x00\x12\x04", http(openai_body())])
async def test_a_server_that_switches_protocols_is_not_followed(listen, question, more):
    troubles = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: troubles.append(context))
    model = open_model(f"http://127.0.0.1:{await listen(Closing('end', SWITCH + more))}/v1#m").answerer
    with pytest.raises(UnavailableError, match="not HTTP"):
        await model.answer(question())
    await model.close()
    assert not troubles


@pytest.mark.parametrize(
    "head",
    [b"HTTP/1.1 200 OK\r\nContent-Length: 20000000\r\n\r\n", b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"],
)
def test_a_reply_that_is_too_large_is_recognised_where_a_run_runs(head, question):
    """`run_to_end` once ran everything within an `except`, which becomes the context of every error raised there."""

    async def ask():
        server = await asyncio.start_server(Closing("end", head + b" " * 20_000_000), "127.0.0.1", 0)
        model = open_model(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1#m").answerer
        try:
            await model.answer(question())
        finally:
            await model.close()
            server.close()

    with pytest.raises(RejectedError, match="16 MiB"):
        run_to_end(ask())


async def test_connections_that_are_always_gone_when_they_are_used_again_are_not_kept(listen, question):
    """The server resets each as soon as a second request comes: whether it read and bills it is unknown."""
    connections = []

    async def serve(reader, writer):
        connections.append(writer)
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
        await reader.readexactly(int(length.split(b":")[1]))
        writer.write(http(openai_body()))
        if await reader.read(1):
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.close()

    model = open_model(f"http://127.0.0.1:{await listen(serve)}/v1#m").answerer
    lost = 0
    for _ in range(20):
        try:
            await model.answer(question())
        except UnavailableError:
            lost += 1
    await model.close()
    assert (lost, len(connections)) == (3, 17)


def test_run_to_end_raises_errors_without_context():
    async def fail():
        raise AccessError("kind", "message")

    with pytest.raises(AccessError) as caught:
        run_to_end(fail())
    assert caught.value.__context__ is None
