"""Two calls are the same exactly if neither their content nor their place differs."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.models import model_of

from overton.calls import Form, Question, Reply, Settings, system, user
from overton.calls.model import AbsentAnswerer
from overton.engine import RateLimiter, Seat
from overton.engine.ask import Asker, ScriptedAsk
from overton.engine.identity import CallKey, Identity, call_seed, differing_parts, digest, identify

PLACE = CallKey("i/c/w1/t1/r1", "subject", 0, "openai/gpt-4o")
MESSAGES = (user("Hello"),)
SETTINGS = Settings(temperature=1.0, max_tokens=10)
FORM = Form(choices=("A", "B"))
HERE = identify(PLACE, MESSAGES, SETTINGS, FORM)


def test_identities_are_stable_across_versions() -> None:
    assert str(HERE) == "85906db7b034b6ebbfcb7cb5d9927897741141f87d12ddd117583074dc78015f10474babaa2fcff1"
    assert call_seed(HERE, 7) == 1846884234
    assert digest({"b": 1, "a": [1, 2]}) == "f587f5091b5841a33f9e6dafdf1f5e45"


@pytest.mark.parametrize(
    "change", [{"trial": "i/c/w1/t1/r2"}, {"speaker": "judge"}, {"number": 1}, {"answerer": "openai/gpt-4o-mini"}]
)
def test_another_place_is_another_slot(change: dict[str, object]) -> None:
    other = identify(PLACE._replace(**change), MESSAGES, SETTINGS, FORM)
    assert other.slot != HERE.slot
    assert other.content == HERE.content


@pytest.mark.parametrize(
    ("parts", "other"),
    [
        (["messages"], ((user("Hello!"),), SETTINGS, FORM)),
        (["messages"], ((system("Hello"),), SETTINGS, FORM)),
        (["messages"], ((*MESSAGES, user("")), SETTINGS, FORM)),
        (["settings"], (MESSAGES, Settings(temperature=0.9, max_tokens=10), FORM)),
        (["settings"], (MESSAGES, Settings(temperature=1.0, max_tokens=10, extra={"k": 1}), FORM)),
        (["form"], (MESSAGES, SETTINGS, None)),
        (["form"], (MESSAGES, SETTINGS, Form(choices=("B", "A")))),
        (["messages", "form"], ((user("x"),), SETTINGS, None)),
    ],
)
def test_other_content_in_the_same_slot_says_which_part_differs(parts: list[str], other: tuple) -> None:  # type: ignore[type-arg]
    identity = identify(PLACE, *other)
    assert identity.slot == HERE.slot
    assert differing_parts(identity.content, HERE.content) == parts


def test_a_message_split_in_two_is_other_content() -> None:
    assert identify(PLACE, (user("ab"), user("c")), SETTINGS, None) != identify(
        PLACE, (user("a"), user("bc")), SETTINGS, None
    )


@given(st.dictionaries(st.text(max_size=5), st.integers(-5, 5) | st.text(max_size=5), max_size=6), st.randoms())
def test_the_order_of_keys_means_nothing(extra: dict[str, object], random: object) -> None:
    shuffled = list(extra.items())
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one = identify(PLACE, MESSAGES, Settings(extra=extra), Form(schema=extra))
    other = identify(PLACE, MESSAGES, Settings(extra=dict(shuffled)), Form(schema=dict(shuffled)))
    assert one == other
    assert digest(extra) == digest(dict(shuffled))


def test_seeds_differ_by_call_and_by_seed_and_fit_31_bits() -> None:
    identities = [identify(PLACE._replace(number=number), MESSAGES, SETTINGS, FORM) for number in range(500)]
    seeds = {call_seed(identity, seed) for identity in identities for seed in (0, 1)}
    assert len(seeds) > 990
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_identities_do_not_depend_on_the_hash_seed() -> None:
    script = (
        "from overton.calls import *; from overton.engine.identity import *\n"
        "s = Settings(extra={c: {d: 1 for d in {'p', 'q', 'r'}} for c in {'x', 'y', 'z', 'w'}})\n"
        "i = identify(CallKey('t', 's', 0, 'm'), [user('u')], s, Form(schema={k: 1 for k in {'a', 'b', 'c'}}))\n"
        "print(i, call_seed(i, 3))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(said) == 1


def test_same_content_has_no_differing_parts() -> None:
    assert differing_parts(HERE.content, HERE.content) == []
    assert isinstance(HERE, Identity)


ASKED = (user("Well?"),)


def seat(identity: str) -> Seat:
    return Seat(model_of(AbsentAnswerer(identity, identity)), Settings(seed=3), RateLimiter(1))


class Numbering(ScriptedAsk):
    """Shows which calls asks become."""

    def __init__(self, own: str = "") -> None:
        Asker.__init__(self, "t", {"subject": seat("m"), "judge": seat("j"), "agent/2": seat("n")}, own)

    def place(self, role: str, speaker: str | None = None, **how: Any) -> CallKey:
        return self.call(Question(role, ASKED, speaker, **how))[2]


def test_a_speakers_calls_are_numbered_as_they_are_asked() -> None:
    ask = Numbering()
    found = [ask.place("subject", speaker) for speaker in (None, "a", None, "a")]
    assert [(one.speaker, one.number) for one in found] == [("subject", 0), ("a", 0), ("subject", 1), ("a", 1)]


def test_who_is_asked_is_the_speakers_seat_or_the_roles() -> None:
    ask = Numbering()
    assert ask.place("agent", "agent/2").answerer == "n"
    assert ask.place("subject", "someone").answerer == "m"


def test_shared_answerers_are_distinguished_by_the_lanes_own_model() -> None:
    ask = Numbering("m")
    assert ask.place("subject").trial == "t"
    assert ask.place("judge").trial == "t of m"


def test_a_shared_call_belongs_to_no_trial_and_takes_no_number() -> None:
    ask = Numbering("m")
    shared = ask.place("judge", shared=True)
    assert (shared.trial, shared.number) == ("", 0)
    assert ask.place("judge").number == 0


def test_a_calls_settings_hold_over_the_seats_and_its_seed_follows_from_its_identity() -> None:
    _, identity, _, request = Numbering().call(Question("subject", ASKED, settings=Settings(temperature=0.5)))
    assert request.settings == Settings(temperature=0.5, seed=3)
    assert request.seed == call_seed(identity, 3)


def test_a_scripted_ask_gets_parallel_questions_together() -> None:
    groups: list[list[str]] = []

    async def reply_to(questions: Sequence[Question]) -> list[Reply]:
        groups.append([question.role for question in questions])
        return [Reply(question.role) for question in questions]

    async def ask_thrice() -> list[Reply]:
        ask = ScriptedAsk(reply_to)
        return [await ask("a", ASKED), *await ask.all([Question("b", ASKED), Question("c", ASKED)])]

    assert [reply.text for reply in asyncio.run(ask_thrice())] == ["a", "b", "c"]
    assert groups == [["a"], ["b", "c"]]
