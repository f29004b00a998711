"""KEY=VALUE, wherever it is given."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from yarl import URL

from overton.errors import InputError
from overton.key_values import (
    by_key,
    checked_base_url,
    number,
    pair_of,
    pairs_of,
    path_of,
    values_of,
    whole,
    without_credentials,
)

KEYS = st.text(min_size=1).filter(lambda text: "=" not in text)


@given(KEYS, st.text())
def test_a_pair_is_taken_apart_at_its_first_equals_sign(key: str, value: str) -> None:
    assert pair_of(f"{key}={value}", "--x") == (key, value)


@given(st.dictionaries(KEYS, st.lists(st.text(), min_size=1)))
def test_values_by_key_and_pairs_are_the_same(given_: dict[str, list[str]]) -> None:
    pairs = pairs_of(given_)
    assert by_key([f"{key}={value}" for key, value in pairs], "--x") == given_


@pytest.mark.parametrize("word", ["", "allow", "=1"])
def test_words_that_are_not_pairs_are_refused_with_their_location(word: str) -> None:
    with pytest.raises(InputError, match=r"--x-arg.*must be KEY=VALUE, as in top=3"):
        by_key([word], "--x-arg", "KEY=VALUE, as in top=3")


def test_numbers_and_words_become_pairs() -> None:
    assert pairs_of({"top": 3, "allow": ["a", "b"]}) == [("top", "3"), ("allow", "a"), ("allow", "b")]  # type: ignore[dict-item]


def test_all_problems_are_reported_at_once() -> None:
    known = {"top": whole(1, 100), "delay": number(0, 60, of="seconds"), "allow": str}
    pairs = [
        ("top", "0"),
        ("delay", "61"),
        ("allow", "a"),
        ("allow", "b"),
        ("tpo", "1"),
        ("delay", "1"),
        ("delay", "2"),
    ]
    values, problems = values_of(pairs, known, "here", repeatable=["allow"], whose="web pages")
    assert values == {"allow": ["a", "b"], "delay": 1.0}
    assert [(problem.place, problem.key, problem.reason) for problem in problems] == [
        ("here", "top", "'0' is not a whole number from 1 to 100"),
        ("here", "delay", "'61' is not a number of seconds from 0 to 60"),
        ("here", "tpo", "unknown for web pages; did you mean 'top'? (known: top, delay, allow)"),
        ("here", "delay", "given twice"),
    ]


def test_fields_have_readers_of_their_own() -> None:
    values, problems = values_of([("extra.a", "1"), ("other.a", "1")], {}, "here", fields={"extra": lambda name: int})
    assert values == {"extra.a": 1}
    assert problems[0].reason == "unknown (known: extra.FIELD)"


@given(st.text())
def test_any_text_is_a_base_url_or_a_value_error(text: str) -> None:
    with suppress(ValueError):
        assert checked_base_url(text) == text.rstrip("/")


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=12), st.sampled_from(["", "a", "a:1", "[::1]", "a/"]))
@example("\\", "")
def test_the_search_client_reads_every_base_url(text: str, start: str) -> None:
    try:
        url = checked_base_url(f"http://{start}{text}")
    except ValueError:
        return
    assert URL(f"{url}/search").host


def test_credentials_are_not_repeated() -> None:
    with pytest.raises(ValueError, match="credentials") as caught:
        checked_base_url("http://me:hunter2@host")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("host", ["a" * 64, "a..b", "\ud800", "ａ" * 64])
def test_a_host_that_name_servers_cannot_look_up_is_refused(host: str) -> None:
    with pytest.raises(ValueError, match="not a base URL"):
        checked_base_url(f"http://{host}/v1")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("openai/gpt", "openai/gpt"),
        ("a@b?c", "a@b?c"),
        ("http://me:secret@host/v1?key=1#m", "http://...@host/v1?...#m"),
        ("http://me:secret//x@y@host", "http://...@host"),
        ("http://host//a?b//c?d", "http://host//a?..."),
    ],
)
def test_a_message_leaves_out_credentials_and_queries_of_addresses(text: str, told: str) -> None:
    assert without_credentials(text) == told


def test_addresses_and_paths_of_any_length_are_handled_quickly() -> None:
    # Each slash once started a separate search to the end: minutes for a megabyte.
    assert without_credentials("http://" * 400_000) == "http://" * 400_000
    with pytest.raises(InputError, match="no file can have this name"):
        path_of("x/" * 200_000, "--out")
