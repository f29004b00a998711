"""Contexts of models: pages, earlier turns, shortened texts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overton.errors import AccessError, CallFailed
from overton.studies.stance_stability.context import (
    MARK,
    EarlierTurn,
    TurnPages,
    allotted,
    bounded,
    read,
    shortened,
)
from overton.studies.stance_stability.options import Options


async def found(
    kit: Any, pages: dict[str, Any], *, wanted: int = 20, each: int = 3_000, all_: int = 40_000
) -> TurnPages:
    """The pages found where the hits are these pages: a text, a whole reply, or an error."""

    def fetched(one: Any) -> Any:
        given = pages[one.text]
        return given if isinstance(given, Exception) or given.startswith("{") else kit.page(one.text, given)

    stage = kit.stage({"search": [kit.hits(*pages)], "pages": fetched})
    return await read(stage, "query", Options(pages_per_turn=wanted, page_characters=each, context_characters=all_))


async def test_the_top_hits_are_read_and_numbered_in_their_order(kit: Any) -> None:
    result = await found(kit, {f"https://{n}.example/": f"Text {n}." for n in range(5)}, wanted=3)
    assert [(one.number, one.url, one.text) for one in result.sources] == [
        (n + 1, f"https://{n}.example/", f"Text {n}.") for n in range(3)
    ]
    assert result.sources[0].title == "Hit https://0.example/"  # the page has none of its own
    assert result.skipped == ()


async def test_unreadable_pages_are_reported_and_not_replaced(kit: Any) -> None:
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
    result = await read(stage, "query", Options(pages_per_turn=3, page_characters=500, context_characters=500))
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
        await read(kit.stage({"search": ["nothing"]}), "query", Options())


@given(st.text(max_size=400), st.integers(0, 400))
def test_a_text_is_whole_or_its_beginning_within_the_budget_with_a_mark(text: str, characters: int) -> None:
    cut = shortened(text, characters)
    if len(text) <= characters:
        assert cut == text
    else:
        assert len(cut) <= max(characters, len(MARK))
        assert cut.endswith(MARK)
        assert text.startswith(cut.removesuffix(MARK).removesuffix(" "))


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("One is here. Two is here. Three is longer than that.", "One is here. Two is here. [shortened]"),
        ('He said: "So it is." Then he left the room at once.', 'He said: "So it is." [shortened]'),
        ("First line of it\nSecond line of it that goes on and on", "First line of it [shortened]"),
        ("Version 1.2.3 costs 4.5 crowns in every shop of the town", "Version 1.2.3 costs 4.5 [shortened]"),
        ("Yes. " + "a" * 60, "Yes. " + "a" * 23 + " [shortened]"),
        ("一つ目の文はここで終わります。" + "二つ目の文は長い" * 5, "一つ目の文はここで終わります。 [shortened]"),
    ],
)  # fmt: skip
def test_the_cut_is_at_a_sentences_end_or_between_words(text: str, cut: str) -> None:
    assert shortened(text, 40) == cut


@given(st.lists(st.integers(0, 200), max_size=12), st.integers(0, 1000))
def test_a_budget_is_used_up_or_holds_everything_and_short_texts_stay_whole(lengths: list[int], budget: int) -> None:
    shares = allotted(lengths, budget)
    assert sum(shares) == min(sum(lengths), budget)
    assert all(share <= length for share, length in zip(shares, lengths, strict=True))
    cut = [share for share, length in zip(shares, lengths, strict=True) if share < length]
    assert not cut or max(cut) - min(cut) <= 1
    # Of [1, 1] and a budget of 1, one is whole: what is left of a budget goes to some, a character each.
    assert not cut or all(
        share <= min(cut) + 1 for share, length in zip(shares, lengths, strict=True) if share == length
    )


def test_a_history_that_fits_or_has_no_budget_is_whole() -> None:
    turns = [EarlierTurn(f"question {n}", "answer. " * 50) for n in range(20)]
    assert bounded(turns, None) == turns
    assert bounded(turns, 20_000) == turns
    assert bounded([], 500) == []


def test_a_history_is_shortened_evenly_and_questions_stay_whole() -> None:
    turns = [EarlierTurn(f"question {n}", "An answer in sentences. " * (10 + n)) for n in range(4)]
    cut = bounded(turns, 900)
    assert [turn.question for turn in cut] == [turn.question for turn in turns]
    assert sum(len(turn.question) + len(turn.answer) for turn in cut) <= 900
    assert all(turn.answer.endswith(MARK) for turn in cut)
    lengths = [len(turn.answer) for turn in cut]
    assert max(lengths) - min(lengths) < 30


def test_the_oldest_turns_are_left_out_only_if_not_all_fit() -> None:
    turns = [EarlierTurn(f"question {n}", "An answer in sentences. " * 10) for n in range(50)]
    assert [turn.question for turn in bounded(turns, 1_000)] == [f"question {n}" for n in range(45, 50)]
