"""Units: equations 1 and 2 against scores worked out by hand, every undefined place included."""

from math import sqrt

import polars as pl
import pytest

near = pytest.approx


def test_a_conversation_by_hand(talk, measured):
    # Changes at turns 3 and 4, of 3 possible; terms of equation 1: 1/2, 0/1, 2/2.
    turns = talk("sscb", confidence=[1.0, 0.67, 0.33, 1.0], cited=["a b", "b c", "d", "a d"])
    row = measured(turns)
    assert row["stance_changes"] == 2
    assert row["change_rate"] == near(2 / 3)
    assert row["confidence"] == near(3.0 / 4)
    assert row["confidence_at_changes"] == near((0.33 + 1) / 2)
    assert row["source_reuse"] == near((0.5 + 0 + 1) / 3)
    assert row["chameleon"] == near(sqrt(((2 / 3) ** 2 + 0.665**2 + 0.5**2) / 3))


def test_no_change_has_confidence_zero_at_changes_or_by_the_other_reading_the_mean_of_all_turns(talk, measured):
    turns = talk("bbb", confidence=[0.33, 0.67, 1.0], cited=["a", "a", "b"])
    zero, mean = measured(turns), measured(turns, no_change="mean")
    assert zero["confidence_at_changes"] == 0
    assert zero["chameleon"] == near(0.5 / sqrt(3))
    assert mean["confidence_at_changes"] == near(2 / 3)
    assert mean["chameleon"] == near(sqrt(((2 / 3) ** 2 + 0.5**2) / 3))


def test_a_turn_without_documents_is_left_out_or_by_the_other_reading_re_uses_none(talk, measured):
    turns = talk("ssss", cited=["a", None, "a b", ""])
    assert measured(turns)["source_reuse"] == near(0.5)
    assert measured(turns, no_documents="zero")["source_reuse"] == near((0 + 0.5 + 0) / 3)
    assert measured(turns)["turns_without_cited"] == 2


def test_a_conversation_that_cites_nothing_has_no_re_use_and_no_score_rather_than_the_best(talk, measured):
    row = measured(talk("ss", cited=["", ""]))
    assert (row["source_reuse"], row["chameleon"]) == (None, None)
    assert measured(talk("ss", cited=["", ""]), no_documents="zero")["source_reuse"] == 0


def test_an_unclear_turn_carries_the_last_clear_stance_forward(talk, measured):
    row = measured(talk("sus"))
    assert (row["stance_changes"], row["unclear_carried"]) == (0, 1)
    row = measured(talk("suc"))
    assert (row["stance_changes"], row["change_rate"]) == (1, near(1 / 2))


def test_unclear_turns_before_any_clear_one_hold_no_stance(talk, measured):
    row = measured(talk("uusc"))
    assert (row["stance_changes"], row["unclear_before"], row["unclear_carried"]) == (1, 2, 0)
    assert (row["pairs"], row["change_rate"]) == (1, 1)
    assert measured(talk("uusc"), unlabelled="carry")["change_rate"] == near(1 / 3)


def test_by_the_other_reading_an_unclear_turn_is_a_fourth_stance(talk, measured):
    assert measured(talk("usuc"), unclear="stance")["stance_changes"] == 3


def test_a_turn_without_a_label_makes_no_pairs(talk, measured):
    row = measured(talk("ss-cc", cited=["a"] * 5))
    assert (row["pairs"], row["stance_changes"], row["change_rate"], row["unlabelled"]) == (2, 0, 0, 1)
    row = measured(talk("-s-s", cited=["a"] * 4))
    assert (row["pairs"], row["stance_changes"], row["change_rate"], row["chameleon"]) == (0, None, None, None)


def test_by_the_other_reading_a_turn_without_a_label_is_carried_like_an_unclear_one_and_counted_apart(talk, measured):
    row = measured(talk("-s-s", confidence=[None, 1.0, None, 0.33]), unlabelled="carry")
    assert (row["stance_changes"], row["unlabelled"], row["pairs"], row["change_rate"]) == (0, 2, 3, 0)
    assert (row["unclear_carried"], row["unclear_before"]) == (0, 0)
    assert row["confidence"] == near((1 + 0.33) / 2)
    assert measured(talk("-s-s"), unclear="stance", unlabelled="carry")["stance_changes"] == 0


def test_a_conversation_of_one_turn_has_no_score(talk, measured):
    row = measured(talk("s", cited=["a"]))
    names = ("stance_changes", "change_rate", "drifted", "source_reuse", "chameleon")
    assert all(row[name] is None for name in names)


@pytest.mark.parametrize("stances", ["uu", "--"])
@pytest.mark.parametrize("unclear", ["carry", "stance"])
def test_a_conversation_that_never_takes_a_stance_has_no_score_and_no_flips(talk, measured, stances, unclear):
    row = measured(talk(stances, cited=["a", "a"]), unclear=unclear)
    names = ("stance_changes", "change_rate", "confidence_at_changes", "chameleon", "reversals", "drift", "drifted")
    assert all(row[name] is None for name in names)
    if unclear == "carry":
        assert (row["turn_of_flip"], row["flips"]) == (None, None)


def test_by_the_other_reading_one_that_never_takes_a_stance_is_without_change(talk, measured):
    row = measured(talk("uu", cited=["a", "a"]), unlabelled="carry")
    assert (row["stance_changes"], row["confidence_at_changes"]) == (0, 0)
    assert row["chameleon"] == near(1 / sqrt(3))


def test_changes_without_any_known_confidence_have_no_score(talk, measured):
    row = measured(talk("scc", confidence=[1.0, None, 1.0], cited=["a", "a", "a"]))
    assert row["confidence_at_changes"] is None
    assert row["chameleon"] is None


def test_re_use_is_over_retrieved_documents_without_a_cited_column(talk, measured):
    cited, retrieved = ["a", "b", "a"], ["a b", "a b", "a c"]
    row = measured(talk("sss", retrieved=retrieved))
    assert row["source_reuse"] == row["source_reuse_retrieved"] == near((1 + 0.5) / 2)
    assert "source_reuse_cited_hosts" not in row
    row = measured(talk("sss", cited=cited, retrieved=retrieved))
    assert row["source_reuse"] == near(1 / 2)
    assert row["source_reuse_retrieved"] == near((1 + 0.5) / 2)
    assert row["chameleon_retrieved"] == near(0.75 / sqrt(3))


def test_by_host_pages_of_one_site_are_the_same_source(talk, measured):
    turns = talk("ss", cited=["https://www.a.org/1 https://b.org/1", "https://a.org/2 https://c.org/1"])
    row = measured(turns)
    assert row["source_reuse"] == 0
    assert row["source_reuse_cited_hosts"] == near(1 / 2)


def test_a_document_named_twice_in_a_turn_is_named_once(talk, measured):
    assert measured(talk("ss", cited=["a", "a a b"]))["source_reuse"] == near(1 / 2)


def test_turns_are_taken_by_number_and_the_order_of_rows_changes_nothing(talk, measured):
    turns = talk("sccb", confidence=[1.0, 0.67, 0.33, 1.0], cited=["a", "a", "b", "a c"])
    assert measured(turns.reverse()) == measured(turns)


def test_measures_are_missing_without_the_documents_or_confidence_they_need(talk, measured):
    row = measured(talk("sc", confidence=None))
    assert "confidence" not in row
    assert "chameleon" not in row
    assert "source_reuse" not in row
    assert row["change_rate"] == 1


def test_changes_towards_the_premise_stand_beside_those_towards_the_proposition(talk, measured):
    row = measured(talk("ssss", premise="scsc"))
    assert (row["stance_changes"], row["premise_changes"]) == (0, 3)
    assert row["premise_excess"] == near(1.0)
    assert measured(talk("ssss", premise="scsc"), labels="premise")["stance_changes"] == 3


def test_where_only_the_published_prompt_labels_its_labels_are_measured(talk, measured):
    row = measured(talk("---", premise="scc"))
    assert row["stance_changes"] == 1
    assert "premise_changes" not in row


def test_every_value_lies_in_its_range_for_any_turns(talk):
    from hypothesis import given, settings
    from hypothesis import strategies as some

    from overton.studies.stance_stability.measures import analyze

    pages = some.lists(some.sampled_from("abcd"), max_size=4).map(" ".join)
    turn = some.tuples(some.sampled_from("scbu-"), some.sampled_from([None, 0.33, 0.67, 1.0]), pages)

    @settings(deadline=None, max_examples=20)
    @given(some.lists(some.lists(turn, min_size=1, max_size=6), min_size=1, max_size=4), some.booleans())
    def check(conversations, other):
        tables = [
            talk(
                "".join(s for s, _, _ in one),
                confidence=[k for _, k, _ in one],
                cited=[d for *_, d in one],
                name=f"c{n}",
            )
            for n, one in enumerate(conversations)
        ]
        how = {"no_change": "mean", "no_documents": "zero", "unclear": "stance", "unlabelled": "carry"} if other else {}
        rows = analyze(pl.concat(tables), resamples=10, **how).listed["conversations"]
        for name in ("change_rate", "confidence", "confidence_at_changes", "source_reuse", "chameleon"):
            for value in rows[name].to_list() if name in rows.columns else []:
                assert value is None or -1e-12 <= value <= 1 + 1e-12
        counts = rows["unclear_carried"] + rows["unclear_before"] + rows["unlabelled"]
        assert (counts <= rows["turns"]).all()
        assert (rows["stance_changes"] <= rows["pairs"]).all()
        assert (rows["pairs"] <= rows["turns"] - 1).all()
        sides = rows["reversals"] + rows["balanced_moves"]
        assert ((sides == rows["stance_changes"]) if not other else (sides <= rows["stance_changes"])).all()
        assert rows["drift"].abs().fill_null(0).max() <= 2

    check()
