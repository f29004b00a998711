from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from overton.calls import Request, Settings, hits_of, page_of, system, user
from overton.errors import InputError, MissingExtra, RejectedError
from overton.retrieval import open_pages, open_search, pages_for
from overton.retrieval.index import StoredPage, build_index


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "my index"
    made.mkdir()
    pages = [StoredPage(f"https://a.test/{n}", f"Buses, and {n} more.", "Buses") for n in range(30)]
    build_index(pages, made)
    return made


async def test_the_starter_pages_are_found_and_read(ask: Any) -> None:
    search, source = open_search("starter"), open_pages("starter")
    hits = hits_of(await ask(search.answerer, "mindfulness lessons in schools"))
    assert len(hits) == 3
    page = page_of(await ask(source.answerer, hits[0].url))
    assert page.text
    assert len(page.digest) == 64
    assert page_of(await ask(source.answerer, "https://example.org/")).skipped == "not in the collection"


async def test_an_index_is_found_and_read(folder: Path, ask: Any) -> None:
    search = open_search(f"index/{folder}", [("top", "7")])
    hits = hits_of(await ask(search.answerer, "buses"))
    assert len(hits) == 7
    page = page_of(await ask(open_pages(f"index/{folder}").answerer, hits[0].url))
    assert (page.url, page.title) == (hits[0].url, "Buses")


def test_number_of_hits_is_20_or_3_of_the_starter_pages_or_as_requested(folder: Path) -> None:
    assert open_search(f"index/{folder}").answerer.identity.endswith("+top20")
    assert open_search("starter").answerer.identity.endswith("+top3")
    assert open_search("starter", top=5).answerer.identity.endswith("+top5")
    assert open_search("starter", [("top", "4")], top=5).answerer.identity.endswith("+top4")


def test_an_identity_is_the_collections_and_never_a_place(folder: Path, tmp_path: Path) -> None:
    moved = folder.rename(tmp_path / "elsewhere")
    identity = open_search(f"index/{moved}").answerer.identity
    assert identity.startswith("index/")
    assert str(tmp_path) not in identity
    assert open_pages(f"index/{moved}").answerer.identity == identity.removesuffix("+top20")
    assert open_search("searxng/http://search.test:8888").answerer.identity == "searxng/search.test+top20"
    assert open_pages("web", [("allow", "10.0.0.1")]).answerer.identity == "web"


def test_pages_follow_the_search() -> None:
    assert [pages_for(spec) for spec in ("starter", "index/a", "archive/b")] == ["starter", "index/a", "archive/b"]
    assert [pages_for(spec) for spec in ("serper", "google", "brave", "searxng/http://s.test")] == ["web"] * 4


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("serpr", "did you mean 'serper'"),
        ("bing", "known are starter, index/DIR"),
        ("serper/x", "write it in full"),
        ("google", "use 'serper'"),
        ("google/x", "write it in full"),
        ("index", "write it in full"),
        ("archive/", "write it in full"),
        ("searxng/ftp://s.test", "not a base URL"),
        ("searxng/http://user:secret@s.test", "credentials"),
        ("web", "unknown"),
        ("a\x1b[2J", "unknown"),
    ],
)
def test_a_wrong_search_spec_says_what_there_is(spec: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        open_search(spec)
    assert "secret" not in str(raised.value)
    assert "\x1b" not in str(raised.value)


def test_all_wrong_arguments_are_reported_at_once() -> None:
    args = [("allow", "http://x/"), ("max_bytes", "many"), ("timeout", "0"), ("tiemout", "3"), ("delay", "1")]
    args += [("delay", "2"), ("per_host", "0"), ("agent", "a\r\nX: y")]
    with pytest.raises(InputError) as raised:
        open_pages("web", args)
    assert [problem.key for problem in raised.value.problems] == [
        "allow", "max_bytes", "timeout", "tiemout", "delay", "per_host", "agent",
    ]  # fmt: skip
    assert "did you mean 'timeout'" in str(raised.value)


@pytest.mark.parametrize(
    ("spec", "key"), [("starter", "base_url"), ("serper", "allow"), ("searxng/http://s.test", "base_url")]
)
def test_arguments_of_others_are_unknown(spec: str, key: str) -> None:
    with pytest.raises(InputError, match="unknown"):
        open_search(spec, [(key, "http://s.test")], need_key=False)


def test_missing_folders_are_reported(tmp_path: Path) -> None:
    for spec in (f"index/{tmp_path}/x", f"archive/{tmp_path}/x"):
        with pytest.raises(InputError, match="there is no"):
            open_search(spec)
        with pytest.raises(InputError, match="there is no"):
            open_pages(spec)


def test_a_missing_part_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("overton.retrieval.sources.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'overton\[retrieval\]'"):
        open_search("starter")


@pytest.mark.parametrize(
    "messages",
    [(), (user("a"), user("b")), (system("a"),), (system("a"), user("b"))],
    ids=["none", "two", "sys", "both"],
)
async def test_anything_but_one_user_message_is_rejected(messages: Any) -> None:
    for source in (open_search("starter"), open_pages("starter")):
        with pytest.raises(RejectedError, match="one user message"):
            await source.answerer.answer(Request(messages, Settings()))


async def test_a_query_of_any_length_is_bounded(ask: Any) -> None:
    search = open_search("starter").answerer
    assert hits_of(await ask(search, "  \n ")) == ()
    with pytest.raises(RejectedError, match="2,000"):
        await ask(search, "schools " * 300)


def test_importing_the_package_is_light() -> None:
    heavy = {"aiohttp", "tantivy", "trafilatura", "warcio", "lxml", "protego"}
    asked = f"import sys, overton.retrieval; print(*sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == []
