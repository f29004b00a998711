"""Respondents that answer anything without a usable answer."""

from __future__ import annotations

import asyncio

import pytest

from overton.calls import Reply, Request, Settings, assistant, system, user
from overton.errors import InputError
from overton.judging import faults_of
from overton.studies.simulated import KINDS, degenerate, late_respondent

ASKED = "Do the tides of this harbour follow the moon, or do they follow the barges that come and go?"


def reply(name: str, seed: int = 1, max_tokens: int | None = None, **arguments: str) -> Reply:
    said = (system("Answer."), user("Hello."), assistant("Yes."), user(ASKED))
    request = Request(said, Settings(max_tokens=max_tokens), seed=seed)
    return asyncio.run(degenerate((), name, arguments).answer(request))


def test_one_that_is_named_after_a_kind_is_of_it_and_an_argument_says_otherwise() -> None:
    assert reply("degenerate/silent").text == reply("degenerate", kind="silent").text == ""
    assert reply("degenerate/silent", kind="echoing").text == ASKED
    assert reply("degenerate/mine") == reply("degenerate", kind="babbling")


def test_babble_follows_from_the_seed_alone_and_has_the_words_requested() -> None:
    assert reply("degenerate", words="7") == reply("degenerate", words="7")
    assert reply("degenerate", seed=1) != reply("degenerate", seed=2)
    assert len(reply("degenerate", words="7").text.split()) == 7
    assert len(reply("degenerate", max_tokens=5).text.split()) == 5


def test_a_loop_continues_to_the_token_limit() -> None:
    looping = reply("degenerate/looping", max_tokens=100)

    assert (len(looping.text.split()), looping.finish) == (100, "length")


def test_a_refusal_is_flagged_as_one() -> None:
    assert reply("degenerate/refusing").refused
    assert not any(reply(f"degenerate/{kind}").refused for kind in KINDS if kind != "refusing")


def test_faults_of_form_are_found_in_all_but_babble_and_refusals() -> None:
    faults = {}
    for kind in KINDS:
        said = reply(f"degenerate/{kind}")
        faults[kind] = faults_of(said.text, finish=said.finish, shown=(ASKED,))

    assert faults == {
        "babbling": (),
        "silent": ("empty",),
        "looping": ("cut", "loop"),
        "refusing": (),
        "echoing": ("echo",),
    }


def test_unknown_parameters_are_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"simulated/degenerate, kind.*babbling, silent, looping, refusing"):
        reply("degenerate", kind="sleeping")


def test_a_late_respondent_is_imported_when_somebody_asks_for_it() -> None:
    found = late_respondent("overton.studies.simulated:degenerate")((), "degenerate/silent", {})
    assert found.identity == degenerate((), "degenerate/silent", {}).identity
    missing = late_respondent("overton.studies.missing:respondent")
    with pytest.raises(ModuleNotFoundError):
        missing((), "missing", {})
