from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overton.studies.stance_stability.showing import MARK, Turn, allotted, bounded, shortened


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
def test_a_budget_is_used_up_or_holds_everything_and_nobody_short_suffers(lengths: list[int], budget: int) -> None:
    shares = allotted(lengths, budget)
    assert sum(shares) == min(sum(lengths), budget)
    assert all(share <= length for share, length in zip(shares, lengths, strict=True))
    cut = [share for share, length in zip(shares, lengths, strict=True) if share < length]
    assert not cut or max(cut) - min(cut) <= 1
    assert not cut or all(share <= max(cut) for share, length in zip(shares, lengths, strict=True) if share == length)


def test_a_history_that_fits_or_has_no_budget_is_whole() -> None:
    turns = [Turn(f"question {n}", "answer. " * 50) for n in range(20)]
    assert bounded(turns, None) == turns
    assert bounded(turns, 20_000) == turns
    assert bounded([], 500) == []


def test_a_history_is_shortened_evenly_and_questions_stay_whole() -> None:
    turns = [Turn(f"question {n}", "An answer in sentences. " * (10 + n)) for n in range(4)]
    cut = bounded(turns, 900)
    assert [turn.question for turn in cut] == [turn.question for turn in turns]
    assert sum(len(turn.question) + len(turn.answer) for turn in cut) <= 900
    assert all(turn.answer.endswith(MARK) for turn in cut)
    lengths = [len(turn.answer) for turn in cut]
    assert max(lengths) - min(lengths) < 30


def test_the_oldest_turns_are_left_out_only_where_there_is_no_room_for_all() -> None:
    turns = [Turn(f"question {n}", "An answer in sentences. " * 10) for n in range(50)]
    assert [turn.question for turn in bounded(turns, 1_000)] == [f"question {n}" for n in range(45, 50)]
