"""Inputs that once crashed a reader, which must not crash it again, and checks that the harness sees crashes."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from fuzz.kept import bytes_of, cases
from fuzz.mutating import TOKENS, inside, json_values, mutated
from fuzz.targets import named, names
from fuzz.trying import MEMORY, Target, tried
from fuzz.working import minimised

from overton.errors import InputError, Unreadable

ROOT = Path(__file__).parents[2]


def is_native(target: str) -> bool:
    """Whether a library may end the whole process at it."""
    return target.endswith("-parquet") or target == "records"


@pytest.mark.parametrize(
    ("target", "path"), list(cases()), ids=lambda value: value if isinstance(value, str) else value.stem
)
def test_inputs_that_once_crashed_give_an_error_that_says_so(target: str, path: Path) -> None:
    if is_native(target):
        command = [sys.executable, "-m", "fuzz", "--repeat", target, str(path)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=100)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return
    crash = tried(named(target), bytes_of(path))
    if crash is not None and crash.kind == "TookTooLong":
        # The first reader of its kind imports what it needs, and a busy machine runs at a fraction of its speed. A
        # reader whose time grows with the square of its input exceeds five times the limit as well.
        crash = tried(replace(named(target), seconds=5 * named(target).seconds), bytes_of(path))
    assert crash is None, f"{crash.kind} in {crash.place}\n{crash.told}"


def test_the_corpus_is_of_known_targets() -> None:
    assert {target for target, _ in cases()} <= set(names())
    assert len(list(cases())) > 60


@pytest.mark.hostile
@pytest.mark.long
@pytest.mark.parametrize("name", names())
def test_a_target_reads_at_least_one_of_its_seeds(name: str) -> None:
    target = named(name)
    errors = []
    for seed in target.seeds():
        try:
            target.read(seed)
        except target.documented as error:
            errors.append(error)
        else:
            return
    assert name.endswith("-refusal"), errors[0]


def reads(name: str, read: object, **more: object) -> Target:
    return Target(name, read, lambda: [b"seed"], **more)  # type: ignore[arg-type]


def never(data: bytes) -> None:
    raise ZeroDivisionError(data)


def unread(data: bytes) -> None:
    raise Unreadable("is not whole")


def refused(data: bytes) -> None:
    raise InputError("no")


def endless(data: bytes) -> None:
    while True:
        try:
            sum(range(1000))
        except Exception:  # noqa: BLE001 - such a reader would swallow a time-out of Python's own
            continue


def greedy(data: bytes) -> None:
    assert (b"a" * (MEMORY + (1 << 26))).find(b"x") < 0


def test_only_undocumented_errors_are_crashes() -> None:
    assert tried(reads("fine", len), b"x") is None
    assert tried(reads("refused", refused), b"x") is None
    crash = tried(reads("never", never), b"x")
    assert crash is not None
    assert crash.kind == "ZeroDivisionError"


def test_an_unreadable_without_a_location_is_a_crash() -> None:
    crash = tried(reads("unread", unread), b"x")
    assert crash is not None
    assert crash.kind == "Unreadable"
    assert tried(reads("unread", unread, documented=(Unreadable,)), b"x") is None


def test_too_much_time_is_a_crash_even_if_the_reader_catches_errors() -> None:
    crash = tried(reads("endless", endless, seconds=0.1), b"x")
    assert crash is not None
    assert crash.kind == "TookTooLong"


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux tells a process's peak of memory")
def test_too_much_memory_is_a_crash() -> None:
    crash = tried(reads("greedy", greedy), b"x")
    assert crash is not None
    assert crash.kind == "memory"


def test_a_crash_is_made_smaller_and_stays_the_same() -> None:
    def read(data: bytes) -> None:
        assert b"<x>" not in data

    target = reads("tags", read)
    data = b"a" * 3000 + b"<x>" + b"b" * 3000
    crash = tried(target, data)
    assert crash is not None
    assert minimised(target, data, crash) == b"<x>"


def test_cases_follow_from_the_seed_and_differ() -> None:
    target = named("openai-body")
    seeds = list(target.seeds())

    def made(seed: int) -> list[bytes]:
        chance = Random(seed)
        return [mutated(chance, target, seeds) for _ in range(200)]

    assert made(1) == made(1) != made(2)
    assert len(set(made(1))) > 150


def test_json_and_packed_data_are_changed_inside() -> None:
    import gzip
    import json

    chance = Random(3)
    data = b'{"a": [1, {"b": "c"}], "d": null}'
    changed = {json_values(chance, data) for _ in range(100)}
    assert len(changed) > 50
    for one in changed:
        json.loads(one)  # still JSON, as Python writes it
    packed = [inside(json_values)(chance, gzip.compress(data)) for _ in range(50)]
    assert len({gzip.decompress(one) for one in packed}) > 20


def test_tokens_contain_texts_that_broke_readers_before() -> None:
    assert b"Wed, 21 Oct 99999999999999999999 07:28:00 GMT" in TOKENS
    assert any(token.count(b"[") > 10_000 for token in TOKENS)
