import ssl

import aiohttp
import pytest

from overton.errors import AccessError
from overton.models import open_model


@pytest.fixture
def proxied(server, monkeypatch):
    monkeypatch.setenv("http_proxy", server.url)
    monkeypatch.setenv("no_proxy", "localhost,127.0.0.1")
    monkeypatch.setenv("NO_PROXY", "localhost,127.0.0.1")
    return server


async def test_requests_go_through_the_environment_s_proxy(proxied, question):
    model = open_model("http://models.invalid/v1#m")
    reply = await model.answerer.answer(question())
    await model.answerer.close()
    assert reply.text == "fine"
    assert proxied.seen[0].headers["Host"] == "models.invalid"


async def test_hosts_exempt_from_the_proxy_are_reached_directly(proxied, serve, question):
    near = await serve()
    model = open_model(f"{near.url}/v1#m")
    await model.answerer.answer(question())
    await model.answerer.close()
    assert (len(near.seen), proxied.seen) == (1, [])


async def test_a_bad_certificate_stops_the_run(monkeypatch, question):
    async def connect(self, request, **more):
        raise aiohttp.ClientConnectorCertificateError(request.connection_key, ssl.CertificateError("self-signed"))

    monkeypatch.setattr(aiohttp.TCPConnector, "connect", connect)
    model = open_model("openai/gpt-4o")
    with pytest.raises(AccessError, match=r"api\.openai\.com: check its certificate"):
        await model.answerer.answer(question())
    await model.answerer.close()


async def test_cookies_are_not_kept(server, question):
    server.script = [server.replies(server.otherwise, Set_Cookie="session=1; Path=/")]
    model = open_model(f"{server.url}/v1#m")
    for _ in range(2):
        await model.answerer.answer(question())
    await model.answerer.close()
    assert "Cookie" not in server.seen[1].headers
