"""Search services, behind local servers that answer in their documented shapes."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from error_chain import chained

from overton.calls import Hit, Reply, hits_of, page_of
from overton.errors import AccessError, AnswerError, InputError, RejectedError, UnavailableError
from overton.retrieval import open_pages, open_search

KEY = "AIzaTest-0123456789abcdefghijklmnop"
ENGINE = "017576662512468239146:omuauf_lfve"
HANGS = object()
"""As content: the service takes the request and does not answer."""
Ask = Callable[[Any, str], Awaitable[Reply]]


@dataclass
class Service:
    """A search service: plays a script, one answer per request, and records its requests."""

    port: int = 0
    script: list[tuple[int, Any, dict[str, str]]] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def says(self, content: Any, status: int = 200, **headers: str) -> None:
        self.script.append((status, content, {name.replace("_", "-"): value for name, value in headers.items()}))

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        posted = await request.json() if request.method == "POST" else {}
        self.asked.append(dict(request.query) | posted | {"path": request.path})
        self.headers.append(dict(request.headers))
        status, content, headers = self.script.pop(0)
        if content is HANGS:
            await asyncio.sleep(60)
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        return web.Response(body=body, status=status, headers={"Content-Type": "application/json"} | headers)


@pytest.fixture
async def service() -> Any:
    made = Service()
    runner = web.ServerRunner(web.Server(made.handle, access_log=None), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.port = runner.addresses[0][1]
    yield made
    await runner.cleanup()


@pytest.fixture
async def search(service: Service, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Search once with an engine of the given spec, called at the local service."""
    monkeypatch.setenv("GOOGLE_API_KEY", KEY)
    monkeypatch.setenv("GOOGLE_CSE_ID", ENGINE)
    monkeypatch.setenv("BRAVE_API_KEY", KEY)
    monkeypatch.setenv("SERPER_API_KEY", KEY)

    async def searching(
        spec: str, query: str = "night buses", top: int | None = None, within: str = "5"
    ) -> tuple[Hit, ...]:
        args = [] if spec.startswith("searxng") else [("base_url", service.url)]
        answerer = open_search(spec, [*args, ("timeout", within)], top=top, resumed=spec == "google").answerer
        try:
            return hits_of(await ask(answerer, query))
        finally:
            await answerer.close()

    return searching


# Serper


def serper_results(count: int, start: int = 1, **more: Any) -> dict[str, Any]:
    """As Serper answers https://google.serper.dev/search."""
    results = [
        {
            "title": f"Result {n}",
            "link": f"https://example.org/{n}",
            "snippet": f"Of night\n buses {n}",
            "date": "4 Mar 2021",
            "position": n,
        }
        for n in range(start, start + count)
    ]
    asked = {"q": "night buses", "gl": "us", "hl": "en", "num": 10, "page": 1, "type": "search", "engine": "google"}
    related = {"peopleAlsoAsk": [{"question": "Which?", "link": "https://example.org/asked"}]}
    return {"searchParameters": asked, "organic": results, **related, "credits": 1, **more}


def serper_error(status: int, message: str) -> dict[str, Any]:
    return {"message": message, "statusCode": status}


async def test_serper_is_asked_by_tens_in_one_country_and_language(service: Service, search: Any) -> None:
    service.says(serper_results(10))
    service.says(serper_results(10, 11))
    hits = await search("serper")
    assert [hit.url for hit in hits] == [f"https://example.org/{n}" for n in range(1, 21)]
    assert hits[0] == Hit("https://example.org/1", "Result 1", "Of night buses 1")
    asked = {"q": "night buses", "num": 10, "gl": "us", "hl": "en", "path": "/"}
    assert service.asked == [asked | {"page": 1}, asked | {"page": 2}]
    assert service.headers[0]["X-API-KEY"] == KEY
    assert service.headers[0]["Content-Type"] == "application/json"
    assert not [name for name, value in service.headers[0].items() if KEY in value and name != "X-API-KEY"]


async def test_serper_is_asked_for_a_further_page_where_pages_are_short(service: Service, search: Any) -> None:
    service.says(serper_results(8))
    service.says(serper_results(9, 8))
    service.says(serper_results(9, 17))
    hits = await search("serper")
    assert [hit.url for hit in hits] == [f"https://example.org/{n}" for n in range(1, 21)]
    assert len(service.asked) == 3


async def test_serper_is_not_asked_for_ever(service: Service, search: Any) -> None:
    service.says(serper_results(4))
    service.says(serper_results(0))
    assert len(await search("serper")) == 4
    service.says(serper_results(4))
    service.says(serper_results(4))
    assert len(await search("serper")) == 4
    assert len(service.asked) == 4
    for page in range(4):
        service.says(serper_results(1, page))
    assert len(await search("serper")) == 4
    assert not service.script


async def test_a_serper_search_with_few_hits_wanted_takes_one_request(service: Service, search: Any) -> None:
    service.says(serper_results(10))
    assert len(await search("serper", top=3)) == 3
    assert len(service.asked) == 1


@pytest.mark.parametrize("body", [serper_results(0), {"searchParameters": {"q": "night buses"}, "credits": 1}])
async def test_a_serper_search_without_results_has_no_hits(body: Any, service: Service, search: Any) -> None:
    service.says(body)
    assert await search("serper") == ()


@pytest.mark.parametrize(
    ("status", "body", "error", "words"),
    [
        (403, serper_error(403, "Unauthorized."), AccessError, "key in SERPER_API_KEY is not accepted"),
        (401, serper_error(401, "Unauthorized."), AccessError, "key in SERPER_API_KEY is not accepted"),
        (403, b"<html>Attention Required!</html>", AccessError, "does not permit this"),
        (400, serper_error(400, "Not enough credits"), AccessError, "credits of SERPER_API_KEY are used up"),
        (429, serper_error(429, "Not enough credits"), AccessError, "credits of SERPER_API_KEY are used up"),
        (400, serper_error(400, "Missing query parameter"), RejectedError, "Missing query parameter"),
        (429, serper_error(429, "Rate limit exceeded"), UnavailableError, "too many requests: Rate limit exceeded"),
        (429, b"", UnavailableError, "too many requests"),
        (500, serper_error(500, "Internal server error"), UnavailableError, "failed"),
        (502, b"<html>Bad gateway</html>", UnavailableError, "failed"),
        (200, b'{"organic": [', UnavailableError, "cannot be read"),
        (200, b"<html>a page</html>", UnavailableError, "cannot be read"),
        (200, serper_error(200, "odd"), UnavailableError, "cannot be read"),
        (200, serper_results(0, organic="none"), UnavailableError, "cannot be read"),
        (200, [], UnavailableError, "cannot be read"),
        (302, b"", AccessError, "redirects"),
    ],
)  # fmt: skip
async def test_serper_error_names_the_remedy(
    status: int, body: Any, error: type[AnswerError], words: str, *, service: Service, search: Any
) -> None:
    service.says(body, status, Location="http://127.0.0.1:1/")
    with pytest.raises(error, match=words):
        await search("serper")
    assert len(service.asked) == 1


@pytest.mark.parametrize(("headers", "wait"), [({"Retry_After": "17"}, 17), ({}, None)])
async def test_serpers_wish_to_wait_is_passed_on(
    headers: dict[str, str], wait: float | None, service: Service, search: Any
) -> None:
    service.says(serper_error(429, "Rate limit exceeded"), 429, **headers)
    with pytest.raises(UnavailableError) as raised:
        await search("serper")
    assert raised.value.retry_after == wait


async def test_a_serper_that_does_not_answer_is_worth_another_try(service: Service, search: Any) -> None:
    service.says(HANGS)
    with pytest.raises(UnavailableError, match=r"no answer in 0.2 seconds"):
        await search("serper", within="0.2")


async def test_a_bomb_in_a_serper_reply_is_not_inflated(service: Service, search: Any) -> None:
    service.says(gzip.compress(b" " * (20 << 20)), Content_Encoding="gzip")
    with pytest.raises(UnavailableError, match="too large"):
        await search("serper")


@pytest.mark.parametrize(
    ("link", "url"),
    [
        ("http://169.254.169.254/latest/meta-data", "http://169.254.169.254/latest/meta-data"),
        ("file:///etc/passwd", "file:///etc/passwd"),
        ("javascript:alert(1)", "javascript:alert(1)"),
        ("https://a.test/\x1b[2J\r\nX: y", "https://a.test/[2J X: y"),
        (f"https://a.test/?k={KEY}", "https://a.test/?k=[hidden]"),
    ],
)
async def test_a_hostile_address_among_serpers_hits_is_one_line_of_text(
    link: str, url: str, service: Service, search: Any
) -> None:
    service.says(serper_results(0, organic=[{"link": link, "title": f"\x1b]0;{KEY}\x07", "snippet": 7}, 3, {}]))
    service.says(serper_results(0))
    (hit,) = await search("serper")
    assert hit.url == url
    assert KEY not in hit.title
    assert "\x1b" not in f"{hit.url}{hit.title}"


@pytest.mark.parametrize("link", ["http://127.0.0.1/", "http://169.254.169.254/", "file:///etc/passwd", "javascript:1"])
async def test_a_hostile_hit_is_not_read_as_a_page(link: str, service: Service, search: Any, ask: Ask) -> None:
    service.says(serper_results(0, organic=[{"link": link, "title": "a", "snippet": "b"}]))
    service.says(serper_results(0))
    (hit,) = await search("serper")
    pages = open_pages("web", [("timeout", "5")]).answerer
    page = page_of(await ask(pages, hit.url))
    await pages.close()
    assert page.skipped
    assert not page.text


# Google, in runs that began with it


@pytest.mark.parametrize("need_key", [True, False])
def test_google_is_refused_for_anything_new(need_key: bool) -> None:
    with pytest.raises(InputError) as raised:
        open_search("google", need_key=need_key)
    assert str(raised.value) == (
        "--search: google: Google's search API takes no new customers and ends on 1 January 2027: use 'serper', which"
        " returns Google's results (SERPER_API_KEY)"
    )


def google_items(start: int, count: int) -> dict[str, Any]:
    """As https://developers.google.com/custom-search/v1/reference/rest/v1/Search documents it."""
    items = [
        {
            "kind": "customsearch#result",
            "title": f"Result {n}",
            "htmlTitle": f"<b>Result</b> {n}",
            "link": f"https://example.org/{n}",
            "displayLink": "example.org",
            "snippet": f"Of night\n buses {n}",
        }
        for n in range(start, start + count)
    ]
    found = {"kind": "customsearch#search", "searchInformation": {"totalResults": "120"}}
    return found | ({"items": items} if items else {})


def google_error(code: int, message: str, reason: str, **more: Any) -> dict[str, Any]:
    errors = [{"message": message, "domain": "usageLimits", "reason": reason}]
    return {"error": {"code": code, "message": message, "errors": errors, **more}}


async def test_google_is_asked_by_tens(service: Service, search: Any) -> None:
    service.says(google_items(1, 10))
    service.says(google_items(11, 10))
    hits = await search("google")
    assert [hit.url for hit in hits] == [f"https://example.org/{n}" for n in range(1, 21)]
    assert hits[0] == Hit("https://example.org/1", "Result 1", "Of night buses 1")
    assert [(one["q"], one["start"], one["num"]) for one in service.asked] == [
        ("night buses", "1", "10"),
        ("night buses", "11", "10"),
    ]
    assert service.asked[0]["key"] == KEY
    assert service.asked[0]["cx"] == ENGINE


async def test_google_is_not_asked_beyond_its_last_result(service: Service, search: Any) -> None:
    service.says(google_items(1, 4))
    assert len(await search("google")) == 4
    service.says(google_items(1, 0))
    assert await search("google") == ()
    service.says(google_items(1, 3))
    assert len(await search("google", top=3)) == 3
    assert service.asked[-1]["num"] == "3"


QUOTA = "Quota exceeded for quota metric 'Queries' and limit 'Queries per day' of service 'customsearch.googleapis.com'"
MINUTE = "Quota exceeded for quota metric 'Queries' and limit 'Queries per minute per user' of service 'customsearch'"


@pytest.mark.parametrize(
    ("status", "body", "error", "words"),
    [
        (429, google_error(429, QUOTA, "rateLimitExceeded", status="RESOURCE_EXHAUSTED"), AccessError, "used up"),
        (403, google_error(403, "Daily Limit Exceeded", "dailyLimitExceeded"), AccessError, "used up"),
        (429, google_error(429, MINUTE, "rateLimitExceeded"), UnavailableError, "too many requests"),
        (403, google_error(403, "Rate Limit Exceeded", "userRateLimitExceeded"), UnavailableError, "too many requests"),
        (400, google_error(400, "API key not valid. Please pass a valid API key.", "badRequest"),
         AccessError, "key in GOOGLE_API_KEY is not accepted"),
        (403, google_error(403, "Custom Search API has not been used in project 1", "accessNotConfigured"),
         AccessError, "GOOGLE_API_KEY may not use.*1 January 2027"),
        (404, google_error(404, "Requested entity was not found.", "notFound"), AccessError, "GOOGLE_CSE_ID"),
        (400, google_error(400, "Request contains an invalid argument.", "badRequest"), RejectedError, "an invalid"),
        (503, google_error(503, "The service is currently unavailable.", "backendError"), UnavailableError, "failed"),
        (500, b"<html>oops</html>", UnavailableError, "failed"),
        (200, b"not json", UnavailableError, "cannot be read"),
        (200, {"items": "none"}, UnavailableError, "cannot be read"),
        (302, b"", AccessError, "redirects"),
    ],
)  # fmt: skip
async def test_google_refusals_name_the_remedy(
    status: int, body: Any, error: type[AnswerError], words: str, *, service: Service, search: Any
) -> None:
    service.says(body, status)
    with pytest.raises(error, match=words):
        await search("google")


async def test_googles_wish_to_wait_is_passed_on(service: Service, search: Any) -> None:
    service.says(google_error(429, MINUTE, "rateLimitExceeded"), 429, Retry_After="17")
    with pytest.raises(UnavailableError) as raised:
        await search("google")
    assert raised.value.retry_after == 17


# Brave


def brave_results(count: int, start: int = 0, more: bool = False) -> dict[str, Any]:
    results = [
        {
            "type": "search_result",
            "title": f"Result {n}",
            "url": f"https://example.org/{n}",
            "description": f"About {n}",
        }
        for n in range(start, start + count)
    ]
    query = {"original": "night buses", "more_results_available": more}
    return {"type": "search", "query": query, "web": {"type": "search", "results": results}}


def brave_error(status: int, code: str, detail: str) -> dict[str, Any]:
    error = {"id": "ade84851", "status": status, "code": code, "detail": detail, "meta": {}}
    return {"type": "ErrorResponse", "error": error, "time": 1754364294}


async def test_brave_is_asked_with_its_token_in_a_header(service: Service, search: Any) -> None:
    service.says(brave_results(20, more=True))
    hits = await search("brave")
    assert len(hits) == 20
    assert hits[3] == Hit("https://example.org/3", "Result 3", "About 3")
    assert service.headers[0]["X-Subscription-Token"] == KEY
    assert (service.asked[0]["count"], service.asked[0]["offset"]) == ("20", "0")


async def test_brave_is_asked_page_by_page(service: Service, search: Any) -> None:
    service.says(brave_results(20, more=True))
    service.says(brave_results(20, 20))
    assert len(await search("brave", top=30)) == 30
    assert [one["offset"] for one in service.asked] == ["0", "1"]
    service.says({"type": "search", "query": {"original": "x"}})
    assert await search("brave") == ()


@pytest.mark.parametrize(
    ("status", "body", "headers", "error", "words"),
    [
        (429, brave_error(429, "RATE_LIMITED", "Request rate limit exceeded for plan."),
         {"X_RateLimit_Limit": "1, 2000", "X_RateLimit_Remaining": "0, 1990", "X_RateLimit_Reset": "1, 1419704"},
         UnavailableError, "too many requests"),
        (429, brave_error(429, "RATE_LIMITED", "Request rate limit exceeded for plan."),
         {"X_RateLimit_Limit": "1, 2000", "X_RateLimit_Remaining": "1, 0", "X_RateLimit_Reset": "1, 1419704"},
         AccessError, "BRAVE_API_KEY are used up"),
        (429, brave_error(429, "QUOTA_LIMITED", "Quota exceeded for plan."), {}, AccessError, "used up"),
        (402, brave_error(402, "QUOTA_LIMITED", "Usage limit."), {}, AccessError, "used up"),
        (422, brave_error(422, "SUBSCRIPTION_TOKEN_INVALID", "The provided subscription token is invalid."), {},
         AccessError, "key in BRAVE_API_KEY is not accepted"),
        (422, brave_error(422, "VALIDATION", "Unable to validate request parameter(s)"), {},
         RejectedError, "VALIDATION"),
        (403, brave_error(403, "OPTION_NOT_IN_PLAN", "The option is not in the plan."), {}, AccessError, "excludes it"),
        (500, brave_error(500, "INTERNAL", "Internal error"), {}, UnavailableError, "failed"),
        (200, {"web": {"results": "none"}}, {}, UnavailableError, "cannot be read"),
    ],
)  # fmt: skip
async def test_brave_refusals_name_the_remedy(
    status: int,
    body: Any,
    headers: dict[str, str],
    error: type[AnswerError],
    words: str,
    *,
    service: Service,
    search: Any,
) -> None:
    service.says(body, status, **headers)
    with pytest.raises(error, match=words):
        await search("brave")


async def test_braves_pace_is_passed_on(service: Service, search: Any) -> None:
    headers = {"X_RateLimit_Limit": "1, 2000", "X_RateLimit_Remaining": "0, 1990", "X_RateLimit_Reset": "1, 1419704"}
    service.says(brave_error(429, "RATE_LIMITED", "Slow down."), 429, **headers)
    with pytest.raises(UnavailableError) as raised:
        await search("brave")
    assert raised.value.retry_after == 1


async def test_a_plan_without_a_monthly_limit_is_not_used_up(service: Service, search: Any) -> None:
    headers = {"X_RateLimit_Limit": "50, 0", "X_RateLimit_Remaining": "0, 0", "X_RateLimit_Reset": "1, 777600"}
    service.says(brave_error(429, "RATE_LIMITED", "Slow down."), 429, **headers)
    with pytest.raises(UnavailableError):
        await search("brave")


async def test_a_query_that_brave_would_not_take_is_not_sent(service: Service, search: Any) -> None:
    with pytest.raises(RejectedError, match="400 characters and 50 words"):
        await search("brave", "word " * 51)
    assert not service.asked


# SearXNG


def searxng_results(count: int, start: int = 0, silent: Any = ()) -> dict[str, Any]:
    results = [
        {"url": f"https://example.org/{n}", "title": f"Result {n}", "content": f"About {n}", "engine": "wikipedia"}
        for n in range(start, start + count)
    ]
    return {"query": "x", "results": results, "suggestions": [], "unresponsive_engines": list(silent)}


async def test_searxng_is_asked_for_json_until_there_are_enough(service: Service, search: Any) -> None:
    service.says(searxng_results(12, silent=[["brave", "too many requests"]]))
    service.says(searxng_results(12, 10))
    hits = await search(f"searxng/{service.url}")
    assert [hit.url for hit in hits] == [f"https://example.org/{n}" for n in range(20)]
    assert service.asked[0] == {"q": "night buses", "format": "json", "pageno": "1", "path": "/search"}
    assert service.asked[1]["pageno"] == "2"


async def test_searxng_is_not_asked_for_ever(service: Service, search: Any) -> None:
    service.says(searxng_results(3))
    service.says(searxng_results(3))
    assert len(await search(f"searxng/{service.url}/search")) == 3
    service.says(searxng_results(0))
    assert await search(f"searxng/{service.url}") == ()


@pytest.mark.parametrize(
    ("status", "body", "error", "words"),
    [
        (403, b"<h1>Forbidden</h1>", AccessError, "search.formats"),
        (429, b"Too Many Requests", UnavailableError, "limiter"),
        (200, searxng_results(0, silent=[["google", "timeout"], ["brave", "access denied"]]),
         UnavailableError, "google timeout, brave access denied"),
        (200, b"<html>a page</html>", UnavailableError, "is this a SearXNG instance"),
        (502, b"", UnavailableError, "failed"),
    ],
)  # fmt: skip
async def test_searxng_refusals_name_the_remedy(
    status: int, body: Any, error: type[AnswerError], words: str, *, service: Service, search: Any
) -> None:
    service.says(body, status)
    with pytest.raises(error, match=words):
        await search(f"searxng/{service.url}")


# All


@pytest.mark.parametrize("spec", ["serper", "google", "brave"])
async def test_no_error_log_or_repr_contains_a_key(
    spec: str, service: Service, search: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    echo = f"bad request: key={KEY}&cx={ENGINE}, header {KEY}"
    for status in (400, 401, 403, 429, 500):
        errors = {
            "serper": serper_error(status, echo),
            "google": google_error(status, echo, "x"),
            "brave": brave_error(status, "X", echo),
        }
        service.says(errors[spec], status)
        with pytest.raises(AnswerError) as raised:
            await search(spec)
        for error in chained(raised.value):
            assert KEY not in f"{error} {error!r} {error.args}"
            assert ENGINE not in f"{error} {error!r}" or spec != "google"
    source = open_search(spec, [("base_url", service.url)], resumed=spec == "google")
    assert KEY not in f"{source!r} {source.answerer!r} {vars(source.answerer)} {source.answerer.identity}"
    assert KEY not in caplog.text


@pytest.mark.parametrize("spec", ["serper", "google", "brave"])
async def test_a_service_that_is_not_there_is_worth_another_try(
    spec: str, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SERPER_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CSE_ID", "BRAVE_API_KEY"):
        monkeypatch.setenv(name, KEY)
    answerer = open_search(spec, [("base_url", "http://127.0.0.1:1")], resumed=spec == "google").answerer
    with pytest.raises(UnavailableError, match="cannot connect") as raised:
        await ask(answerer, "night buses")
    assert not [error for error in chained(raised.value) if KEY in f"{error} {error!r} {vars(error)}"]
    await answerer.close()


@pytest.mark.parametrize(
    ("spec", "variable"), [("serper", "SERPER_API_KEY"), ("google", "GOOGLE_API_KEY"), ("brave", "BRAVE_API_KEY")]
)
def test_a_missing_key_is_named_unless_nothing_is_asked(spec: str, variable: str) -> None:
    with pytest.raises(InputError, match=f"set {variable}"):
        open_search(spec, resumed=spec == "google")
    assert open_search(spec, need_key=False, resumed=spec == "google").family == spec


def test_google_needs_an_engine_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", KEY)
    with pytest.raises(InputError, match="set GOOGLE_CSE_ID"):
        open_search("google", resumed=True)


async def test_results_with_odd_values_become_text(service: Service, search: Any) -> None:
    service.says(
        {
            "results": [
                {"url": "https://a.test/\x1b[2J", "title": "\x1b]0;x\x07A\n b", "content": 7},
                3,
                {"title": "no url"},
            ]
        }
    )
    service.says({"results": []})
    assert await search(f"searxng/{service.url}") == (Hit("https://a.test/[2J", "]0;xA b", ""),)
