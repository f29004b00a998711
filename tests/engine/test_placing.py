"""Where calls stand: numbered as they are asked, told apart by lane, shared ones in no trial."""

from __future__ import annotations

from dataclasses import dataclass, field

from overton.calls import Settings, user
from overton.engine.identity import Placing, call_seed


@dataclass
class Named:
    identity: str


@dataclass
class Chair:
    answerer: Named
    settings: Settings = field(default_factory=lambda: Settings(seed=3))


ASKED = (user("Well?"),)


def placing(own: str = "") -> Placing[Chair]:
    return Placing("t", {"subject": Chair(Named("m")), "judge": Chair(Named("j")), "agent/2": Chair(Named("n"))}, own)


def test_a_speakers_calls_are_numbered_as_they_are_asked() -> None:
    place = placing().call
    found = [place("subject", ASKED, speaker, None, None, False)[2] for speaker in (None, "a", None, "a")]
    assert [(one.speaker, one.number) for one in found] == [("subject", 0), ("a", 0), ("subject", 1), ("a", 1)]


def test_who_is_asked_is_the_speakers_seat_or_the_roles() -> None:
    place = placing().call
    assert place("agent", ASKED, "agent/2", None, None, False)[2].answerer == "n"
    assert place("subject", ASKED, "someone", None, None, False)[2].answerer == "m"


def test_what_serves_several_lanes_is_told_apart_by_the_lanes_own_model() -> None:
    place = placing("m").call
    assert place("subject", ASKED, None, None, None, False)[2].trial == "t"
    assert place("judge", ASKED, None, None, None, False)[2].trial == "t of m"


def test_a_shared_call_stands_in_no_trial_and_takes_no_number() -> None:
    place = placing("m").call
    shared = place("judge", ASKED, None, None, None, True)[2]
    assert (shared.trial, shared.number) == ("", 0)
    assert place("judge", ASKED, None, None, None, False)[2].number == 0


def test_a_calls_settings_hold_over_the_seats_and_its_seed_follows_from_its_identity() -> None:
    _, identity, _, request = placing().call("subject", ASKED, None, None, Settings(temperature=0.5), False)
    assert request.settings == Settings(temperature=0.5, seed=3)
    assert request.seed == call_seed(identity, 3)
