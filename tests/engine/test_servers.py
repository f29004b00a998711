"""Which of several servers serve the same is decided by the majority."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from overton.engine.servers import ServerConsensus

TOLD = st.dictionaries(st.sampled_from(["model", "fingerprint", "weights"]), st.sampled_from("ab"))


def test_the_majority_defines_the_model_and_the_others_differ() -> None:
    alike = ServerConsensus()
    assert alike.settle([{"model": "x"}, {"model": "y"}, {"model": "x"}]) == ""
    assert alike.difference({"model": "x"}) == ""
    assert alike.difference({"model": "y"}) == "it reports model 'y', the others 'x'"


def test_a_tie_between_servers_defines_no_model() -> None:
    alike = ServerConsensus()
    assert alike.settle([{"model": "x"}, {"model": "y"}]) == "model 'x' and 'y'"
    assert not alike.settles({"model": "x"})


def test_properties_that_a_server_omits_make_no_difference() -> None:
    alike = ServerConsensus()
    alike.settle([{"model": "x", "fingerprint": "f"}])
    assert alike.settles({})
    assert alike.difference({"model": "x"}) == ""
    assert not alike.settles({"weights": "w"})


def test_only_selected_properties_are_compared() -> None:
    alike = ServerConsensus(frozenset({"model"}))
    alike.settle([{"model": "x", "fingerprint": "f"}])
    assert alike.difference({"model": "x", "fingerprint": "g"}) == ""


@given(st.lists(TOLD, min_size=1, max_size=7), st.lists(TOLD, max_size=4))
def test_settled_servers_are_judged_the_same_after_later_reports(
    first: list[dict[str, str]], later: list[dict[str, str]]
) -> None:
    alike = ServerConsensus()
    alike.settle(first)
    settled = [one for one in first if alike.settles(one)]
    before = [alike.difference(one) for one in settled]
    alike.settle(later)
    assert [alike.difference(one) for one in settled] == before
