"""Names and identifiers in the shapes in which people write them."""

from __future__ import annotations

import pytest

from overton.studies.pluralism.anonymity import Remover


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("As /u/Some_User-99 said", "As [user] said"),
        ("u/abc: no", "[user]: no"),
        ("(u/throw_away12).", "([user])."),
        ("see user/Name123", "see [user]"),
        ("[him](/u/Some_User)", "[him]([user])"),
        ("thanks @jane_doe!", "thanks [user]!"),
        ("write to jane.doe+x@mail.example.co.uk.", "write to [email]."),
        ("mailto:jane@example.com", "mailto:[email]"),
        ("https://www.reddit.com/user/SomeName/comments/", "[link]"),
        ("https://old.reddit.com/r/AskEconomics/comments/abc123/title/def/?context=3", "[link]"),
        ("here: https://redd.it/abc123, ok", "here: [link] ok"),
        ("[post](https://np.reddit.com/r/x/comments/1)", "[post]([link])"),
        ("twitter.com/someone/status/1", "[link]"),
        ("www.instagram.com/someone", "[link]"),
        ("https://x.com/someone", "[link]"),
        ("https://t.me/someone", "[link]"),
        ("https://medium.com/@someone/story", "[link]"),
        ("https://name:secret@files.example/x", "[link]"),
        ("call (555) 123-4567 now", "call [phone] now"),
        ("call 555-123-4567.", "call [phone]."),
        ("1-800-555-0199", "[phone]"),
        ("555.123.4567", "[phone]"),
        ("+49 30 1234 5678", "[phone]"),
        ("+1 (555) 123-4567", "[phone]"),
        ("07700 900123", "[phone]"),
        ("my SSN is 123-45-6789", "my SSN is [number]"),
        ("from 192.168.0.12", "from [address]"),
    ],
)
def test_identifiers_are_replaced(text: str, clean: str) -> None:
    assert Remover().clean(text) == clean


@pytest.mark.parametrize(
    "text",
    [
        "a 50/50 split and/or either/u/or not",
        "GDP grew from 1,000,000 to 2 000 000 in 1990-2000",
        "on 2019-10-12 at 12:30, rates went 0.25 to 0.50",
        "$100 200 300 and 3.5% @ 5pm, £0.99",
        "version 1.2.3 of r/AskEconomics",
        "see https://www.bls.gov/news.release/empsit.nr0.htm and netflix.com/title",
        "my sister Anna, 34F, and I",
        "u/s",
        "the year 1990, pages 555-123",
        "1.5.2.300.4",
    ],
)
def test_other_words_and_numbers_stay(text: str) -> None:
    assert Remover().clean(text) == text


def test_names_of_the_threads_accounts_are_replaced_where_they_are_no_words() -> None:
    remover = Remover()
    accounts = ["jane_doe42", "teacher", "BobTheBuilder", "Karen", "x_1", "jane_doe"]
    text = "jane_doe42 and jane_doe are right, BobTheBuilder is not; the teacher and Karen said x_1. myjane_doe42"
    assert remover.clean(text, accounts) == (
        "[user] and [user] are right, [user] is not; the teacher and Karen said x_1. myjane_doe42"
    )
    assert remover.removed["account"] == 3


def test_what_is_removed_is_counted_by_kind() -> None:
    remover = Remover()
    remover.clean("u/someone a@b.example and @other")
    remover.clean("u/someone")
    assert {kind: count for kind, count in remover.removed.items() if count} == {"account": 3, "e-mail": 1}


@pytest.mark.parametrize(
    "text", ["a-" * 20_000, "a." * 20_000, "@" * 40_000, "1 " * 20_000, "http://" * 6_000, "+1" * 20_000]
)
def test_hostile_texts_take_no_time(text: str) -> None:
    Remover().clean(text, ["name_1"])
