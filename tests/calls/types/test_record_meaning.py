import pytest

from overton.calls import options_named


@pytest.mark.parametrize("token", ["A", " A", "a", "\nA", "A>>", "A)"])
def test_tokens_of_one_meaning_begin_one_option(token: str) -> None:
    assert options_named(token, ("A", "B")) == ("A",)


@pytest.mark.parametrize("token", ["C", "As", "Answer", " ", "", "<", "AB"])
def test_other_words_begin_none(token: str) -> None:
    assert options_named(token, ("A", "B")) == ()


def test_option_in_a_token_requires_its_lead() -> None:
    assert options_named("<<B", ("A", "B"), lead="<<") == ("B",)
    assert options_named("B", ("A", "B"), lead="<<") == ()


def test_a_start_that_several_share_names_them_all_until_the_next_token_decides() -> None:
    options = ("supports", "supportive", "opposes")
    assert options_named("support", options) == ("supports", "supportive")
    assert options_named("ive", options, said="support") == ("supportive",)
