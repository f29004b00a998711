"""Which pages are read, what is shown of them, and what is said of those that are not."""

from __future__ import annotations

from typing import Any

import pytest

from overton.errors import AccessError, CallFailed
from overton.studies.stance_stability.showing import Found, read, search


async def found(kit: Any, pages: dict[str, Any], *, wanted: int = 20, each: int = 3_000, all_: int = 40_000) -> Found:
    """What is found where the hits are these pages: a text, a whole reply, or an error."""

    def fetched(one: Any) -> Any:
        given = pages[one.text]
        return given if isinstance(given, Exception) or given.startswith("{") else kit.page(one.text, given)

    stage = kit.stage({"search": [kit.hits(*pages)], "pages": fetched})
    return await read(stage, await search(stage, "query"), wanted, each, all_)


async def test_the_top_hits_are_read_and_numbered_in_their_order(kit: Any) -> None:
    result = await found(kit, {f"https://{n}.example/": f"Text {n}." for n in range(5)}, wanted=3)
    assert [(one.number, one.url, one.text) for one in result.sources] == [
        (n + 1, f"https://{n}.example/", f"Text {n}.") for n in range(3)
    ]
    assert result.sources[0].title == "Hit https://0.example/"  # the page has none of its own
    assert result.skipped == ()


async def test_what_cannot_be_read_is_told_and_not_made_up_for(kit: Any) -> None:
    result = await found(
        kit,
        {
            "https://a.example/": kit.page("https://a.example/", "", skipped="robots.txt"),
            "https://b.example/": "Text.",
            "https://c.example/": " \n ",
            "https://d.example/": CallFailed("timeout", "too slow"),
            "https://e.example/": '{"not": "a page"}',
            "https://f.example/": "Never read.",
        },
        wanted=5,
    )
    assert [(one.number, one.url) for one in result.sources] == [(1, "https://b.example/")]
    assert result.skipped == (
        "https://a.example/ (robots.txt)",
        "https://c.example/ (no text)",
        "https://d.example/ (timeout)",
        "https://e.example/ (malformed)",
    )


async def test_an_address_that_is_found_twice_is_read_once(kit: Any) -> None:
    stage = kit.stage(
        {
            "search": [kit.hits("https://a.example/", "https://b.example/", "https://a.example/", "https://c.example/")],
            "pages": lambda one: kit.page(one.text),
        }
    )  # fmt: skip
    result = await read(stage, await search(stage, "query"), 3, 500, 500)
    assert [one.url for one in result.sources] == ["https://a.example/", "https://b.example/", "https://c.example/"]
    assert len(stage.by("pages")) == 3


async def test_each_page_is_cut_to_its_budget(kit: Any) -> None:
    result = await found(
        kit, {"https://a.example/": "A sentence stands here. " * 30, "https://b.example/": "Short."}, each=200
    )
    long, short = result.sources
    assert long.text.endswith("here. [shortened]")
    assert len(long.text) <= 200
    assert (long.shortened, short.shortened, short.text) == (True, False, "Short.")


async def test_all_pages_share_one_budget_and_short_ones_stay_whole(kit: Any) -> None:
    texts = {f"https://{n}.example/": "A sentence stands here. " * 40 for n in range(3)}
    result = await found(kit, {**texts, "https://short.example/": "Short."}, all_=1_000)
    assert sum(len(one.text) for one in result.sources) <= 1_000
    assert [one.shortened for one in result.sources] == [True, True, True, False]
    assert all(len(one.text) > 250 for one in result.sources[:3])


async def test_titles_are_one_line_of_bounded_length(kit: Any) -> None:
    result = await found(kit, {"https://a.example/": kit.page("https://a.example/", title="One\n\ntwo " + "x" * 900)})
    (source,) = result.sources
    assert source.title.startswith("One two")
    assert len(source.title) <= 300


async def test_an_error_of_the_run_is_not_taken_for_a_page_that_cannot_be_read(kit: Any) -> None:
    with pytest.raises(AccessError):
        await found(kit, {"https://a.example/": AccessError("key", "is wrong"), "https://b.example/": "Text."})


async def test_a_reply_without_hits_fails(kit: Any) -> None:
    with pytest.raises(CallFailed, match="malformed"):
        await search(kit.stage({"search": ["nothing"]}), "query")
