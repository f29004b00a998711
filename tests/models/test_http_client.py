"""Connections: kept, secure, through proxies; and replies in every form that HTTP allows."""

import asyncio
import gzip
import ssl
import sys
import zlib

import msgspec
import pytest
import trustme
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from overton.errors import AccessError, RejectedError, UnavailableError
from overton.models import http_connection, open_model

uvloop = pytest.importorskip("uvloop") if sys.platform != "win32" else None

CHAT = msgspec.json.encode({"model": "m", "choices": [{"message": {"role": "assistant", "content": "fine"}}]})


@pytest.fixture(params=[asyncio.DefaultEventLoopPolicy, *([uvloop.EventLoopPolicy] if uvloop else [])])
def event_loop_policy(request):
    """Runs use uvloop if available; notebooks and Windows have asyncio's own loop."""
    return request.param()


class Scripted:
    """A server that answers each request with the next bytes, and records what it was sent.

    None in the script closes the connection; after the script's end the connection stays open.
    """

    def __init__(self, *script, parts=1):
        self.script = list(script)
        self.parts = parts
        self.connections = 0
        self.heads = []

    async def __call__(self, reader, writer):
        self.connections += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.heads.append(head.decode())
                length = next(
                    (line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")), b":0"
                )
                await reader.readexactly(int(length.split(b":")[1]))
                reply = self.script.pop(0)
                if callable(reply):
                    await reply(reader, writer)
                    return
                if reply is None:
                    break
                step = -(-len(reply) // self.parts)
                for at in range(0, len(reply), step):
                    writer.write(reply[at : at + step])
                    await writer.drain()
                    await asyncio.sleep(0)
        except (asyncio.IncompleteReadError, ConnectionError, IndexError):
            pass
        writer.close()


def reply(body=CHAT, status=b"200 OK", *headers, length=True):
    lines = [b"HTTP/1.1 " + status, *headers, *([b"Content-Length: %d" % len(body)] if length else [])]
    return b"\r\n".join([*lines, b"", body])


async def answers(port, question, count=1, *args, scheme="http", host="127.0.0.1"):
    model = open_model(f"{scheme}://{host}:{port}/v1#m", list(args)).answerer
    try:
        return [(await model.answer(question())).text for _ in range(count)]
    finally:
        await model.close()


# Connections


async def test_a_connection_is_kept_for_the_next_request(listen, question):
    server = Scripted(*[reply()] * 3)
    assert await answers(await listen(server), question, 3) == ["fine"] * 3
    assert server.connections == 1


@pytest.mark.parametrize("headers", [(b"Connection: close",), ()])
async def test_a_connection_that_the_server_ends_is_replaced(listen, question, headers):
    version = reply(CHAT, b"200 OK", *headers)
    server = Scripted(*[version if headers else version.replace(b"HTTP/1.1", b"HTTP/1.0")] * 2)
    assert await answers(await listen(server), question, 2) == ["fine", "fine"]
    assert server.connections == 2


async def test_parallel_requests_have_connections_of_their_own(listen, question):
    async def wait_for_both(reader, writer):
        both.append(writer)
        if len(both) == 2:
            for one in both:
                one.write(reply())

    both: list[asyncio.StreamWriter] = []
    server = Scripted(wait_for_both, wait_for_both)
    server_port = await listen(server)
    model = open_model(f"http://127.0.0.1:{server_port}/v1#m").answerer
    found = await asyncio.gather(model.answer(question()), model.answer(question()))
    await model.close()
    assert [one.text for one in found] == ["fine", "fine"]


async def test_interrupted_request_leaves_its_reply_to_no_other_call(listen, question):
    async def late(reader, writer):
        sent.set()
        await asyncio.sleep(0.05)
        writer.write(reply(CHAT.replace(b"fine", b"late")))

    sent = asyncio.Event()
    server = Scripted(late, reply())
    model = open_model(f"http://127.0.0.1:{await listen(server)}/v1#m").answerer
    first = asyncio.create_task(model.answer(question()))
    await sent.wait()
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    assert (await model.answer(question())).text == "fine"
    await model.close()
    assert server.connections == 2


async def test_unrequested_reply_is_dropped_with_its_connection(listen, question):
    stray = reply(CHAT.replace(b"fine", b"stray"))
    server = Scripted(reply() + stray[:-9], reply())
    assert await answers(await listen(server), question, 2) == ["fine", "fine"]
    assert server.connections == 2


async def test_a_large_reply_leaves_its_connection_open(listen, question):
    large = CHAT.replace(b"fine", b"x" * 3 * 2**20)
    server = Scripted(reply(large), reply())
    await answers(await listen(server), question, 2)
    assert server.connections == 1


# Replies


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=20)
@given(parts=st.integers(1, 400))
async def test_a_reply_is_read_however_it_is_cut_into_packets(listen, question, parts):
    chunked = b"Transfer-Encoding: chunked"
    body = b"".join(
        b"%x;ext=1\r\n%b\r\n" % (len(CHAT[at : at + 9]), CHAT[at : at + 9]) for at in range(0, len(CHAT), 9)
    )
    server = Scripted(reply(body + b"0\r\nTrailer: x\r\n\r\n", b"200 OK", chunked, length=False), reply(), parts=parts)
    assert await answers(await listen(server), question, 2) == ["fine", "fine"]


async def test_a_body_of_undeclared_length_ends_with_the_connection(listen, question):
    async def write_and_close(reader, writer):
        writer.write(reply(length=False))
        writer.close()

    assert await answers(await listen(Scripted(write_and_close)), question) == ["fine"]


async def test_interim_replies_are_passed_over(listen, question):
    interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
    assert await answers(await listen(Scripted(interim + reply(), reply())), question, 2) == ["fine", "fine"]


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        (b"gzip", gzip.compress(CHAT, mtime=0)),
        (b"GZIP", gzip.compress(CHAT, mtime=0)),
        (b"deflate", zlib.compress(CHAT)),
        (b"identity", CHAT),
    ],
    ids=lambda value: value.decode() if len(value) < 10 else "body",
)
async def test_a_compressed_reply_is_read_although_none_was_asked_for(listen, question, coding, body):
    assert await answers(await listen(Scripted(reply(body, b"200 OK", b"Content-Encoding: " + coding))), question) == [
        "fine"
    ]


@pytest.mark.parametrize(
    "broken",
    [
        reply(gzip.compress(CHAT, mtime=0)[:-9], b"200 OK", b"Content-Encoding: gzip"),
        reply(CHAT, b"200 OK", b"Content-Encoding: gzip"),
        reply(CHAT, b"200 OK", b"Content-Encoding: br"),
        b"SSH-2.0-server\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
async def test_a_reply_that_cannot_be_read_is_malformed(listen, question, broken):
    with pytest.raises(UnavailableError, match="cannot be read") as raised:
        await answers(await listen(Scripted(broken)), question)
    assert (raised.value.kind, raised.value.maybe_billed) == ("malformed", True)


async def test_endless_headers_are_not_read_to_their_end(listen, question):
    async def flood(reader, writer):
        writer.write(b"HTTP/1.1 200 OK\r\n")
        for number in range(10_000):
            writer.write(b"X-%d: %b\r\n" % (number, b"x" * 1000))

    with pytest.raises((RejectedError, UnavailableError), match=r"16 MiB|cannot be read"):
        await answers(await listen(Scripted(flood)), question)


async def test_a_header_that_fills_the_buffer_is_not_read_to_its_end(listen, question):
    async def flood(reader, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nX: ")
        for _ in range(40):
            writer.write(b"x" * 2**20)
            await writer.drain()

    with pytest.raises((RejectedError, UnavailableError)):
        await answers(await listen(Scripted(flood)), question)


async def test_cookies_are_not_kept(listen, question):
    server = Scripted(reply(CHAT, b"200 OK", b"Set-Cookie: session=1; Path=/"), reply())
    await answers(await listen(server), question, 2)
    assert "cookie" not in server.heads[1].lower()


async def test_a_base_url_may_have_a_query_and_letters_of_any_kind(listen, question):
    server = Scripted(reply())
    model = open_model("openai/m", [("base_url", f"http://localhost:{await listen(server)}/modèle-1/v1")]).answerer
    await model.answer(question())
    await model.close()
    assert server.heads[0].startswith("POST /mod%C3%A8le-1/v1/chat/completions HTTP/1.1\r\nHost: localhost:")


# Secure connections


@pytest.fixture
def authority(monkeypatch, tmp_path):
    """A certificate authority that this machine trusts for the length of a test."""
    made = trustme.CA()
    made.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    http_connection._ssl_context.cache_clear()
    yield made
    http_connection._ssl_context.cache_clear()


def certified(authority, *names):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(*names).configure_cert(context)
    return context


async def test_a_secure_endpoint_is_reached_and_kept(listen, question, authority):
    server = Scripted(*[reply()] * 2)
    port = await listen(server, ssl=certified(authority, "localhost"))
    assert await answers(port, question, 2, scheme="https", host="localhost") == ["fine", "fine"]
    assert server.connections == 1


@pytest.mark.parametrize("trusted", [True, False])
async def test_a_bad_certificate_stops_the_run(listen, question, authority, trusted):
    """One that a stranger made, or one for another host."""
    context = certified(authority if trusted else trustme.CA(), "elsewhere.example" if trusted else "localhost")
    server = Scripted(reply())
    with pytest.raises(AccessError, match=r"localhost:\d+: check its certificate"):
        await answers(await listen(server, ssl=context), question, scheme="https", host="localhost")
    assert server.heads == []


# Proxies


@pytest.fixture
def proxy_at(monkeypatch):
    def name(url, scheme="http"):
        monkeypatch.setenv(f"{scheme}_proxy", url)
        for variable in ("no_proxy", "NO_PROXY"):
            monkeypatch.setenv(variable, "127.0.0.1")

    return name


async def test_requests_go_through_the_environment_s_proxy(listen, question, proxy_at):
    proxy = Scripted(reply())
    proxy_at(f"http://me:p%40ss@127.0.0.1:{await listen(proxy)}")
    assert await answers(8080, question, host="models.invalid") == ["fine"]
    head = proxy.heads[0]
    assert head.startswith("POST http://models.invalid:8080/v1/chat/completions HTTP/1.1\r\nHost: models.invalid:8080")
    assert "Proxy-Authorization: Basic bWU6cEBzcw==" in head


async def test_hosts_exempt_from_the_proxy_are_reached_directly(listen, question, proxy_at):
    proxy, near = Scripted(reply()), Scripted(reply())
    proxy_at(f"http://127.0.0.1:{await listen(proxy)}")
    await answers(await listen(near), question)
    assert (len(near.heads), proxy.heads) == (1, [])


async def test_secure_requests_go_through_a_tunnel(listen, question, authority, proxy_at):
    async def tunnel(reader, writer):
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n")
        await asyncio.gather(_pipe(reader, far_writer), _pipe(far_reader, writer))

    server, proxy = Scripted(*[reply()] * 2), Scripted(tunnel)
    port = await listen(server, ssl=certified(authority, "models.invalid"))
    proxy_at(f"http://me:secret@127.0.0.1:{await listen(proxy)}", "https")
    assert await answers(443, question, 2, scheme="https", host="models.invalid") == ["fine", "fine"]
    assert proxy.heads[0].startswith("CONNECT models.invalid:443 HTTP/1.1\r\nHost: models.invalid:443\r\n")
    assert "Proxy-Authorization" in proxy.heads[0]
    assert "Proxy-Authorization" not in server.heads[0]


async def _pipe(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
    except ConnectionError:
        pass
    writer.close()


@pytest.mark.parametrize(
    ("answer", "error", "text"),
    [
        (reply(b"", b"407 Proxy Authentication Required"), AccessError, "requires credentials"),
        (reply(b"", b"502 Bad Gateway"), UnavailableError, r"no connection to models.invalid:443 \(502\)"),
        (None, UnavailableError, "no connection to models.invalid:443"),
        (b"what?\r\n\r\n", UnavailableError, "no connection to models.invalid:443"),
    ],
)
async def test_a_proxy_that_makes_no_tunnel_is_named(  # noqa: PLR0917
    listen, question, proxy_at, answer, error, text
):
    proxy_at(f"http://127.0.0.1:{await listen(Scripted(answer))}", "https")
    with pytest.raises(error, match=text):
        await answers(443, question, scheme="https", host="models.invalid")


async def test_a_proxy_of_another_kind_is_refused(question, proxy_at):
    proxy_at("socks5://127.0.0.1:1080", "https")
    with pytest.raises(AccessError, match="only http:// proxies"):
        await answers(443, question, scheme="https", host="models.invalid")
