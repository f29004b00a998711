"""Logs from anyone become a run, or an InputError that names the log. No files are left behind, and little memory is
used."""

from __future__ import annotations

import io
import json
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="Inspect AI is not installed")

from damage import damaged
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inspect_ai.scorer import Score

import overton
from overton.errors import InputError, RunMismatch
from overton.inspect.export_logs import Scoring, write_logs
from overton.inspect.log_format import CALLS, KEY

pytestmark = pytest.mark.hostile

SCORING = Scoring("n", lambda records, *_: Score(value=1), lambda table: [], "rows", {}, {}, with_nulls=False)
HEAD = "header.json"

Change = Callable[[dict[str, bytes]], None]


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The parts of a log that are read: its head and its samples."""
    place = tmp_path_factory.mktemp("made")
    run = overton.run(
        "open-mindedness",
        models=["simulated/open-minded"],
        only=["museum-returns"],
        conditions=["baseline"],
        templates=[1],
        trials=1,
        out=place / "run",
    )
    (log,) = write_logs(run, place / "logs", lambda task: SCORING)
    with zipfile.ZipFile(log.path) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name == HEAD or name.startswith("samples/")}


def packed(members: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return made.getvalue()


def sample_of(members: dict[str, bytes]) -> str:
    return next(name for name in members if name.startswith("samples/"))


def edited(name: Callable[[dict[str, bytes]], str], change: Callable[[Any], None]) -> Change:
    def edit(members: dict[str, bytes]) -> None:
        held = json.loads(members[name(members)])
        change(held)
        members[name(members)] = json.dumps(held).encode()

    return edit


def head(change: Callable[[Any], None]) -> Change:
    return edited(lambda members: HEAD, change)


def sample(change: Callable[[Any], None]) -> Change:
    return edited(sample_of, change)


def first_call(key: str, value: Any) -> Change:
    return sample(lambda held: held["store"][CALLS][0].update({key: value}))


def tokens(value: int) -> Change:
    return sample(lambda held: held["store"][CALLS][0]["reply"].update(usage={"input_tokens": value}))


WRONG: dict[str, tuple[Change, str]] = {
    "no head": (lambda held: held.pop(HEAD) and None, "contains no header.json"),
    "head cut": (lambda held: held.update({HEAD: held[HEAD][:99]}), "header.json: .*is not complete JSON"),
    "head deep": (lambda held: held.update({HEAD: b"[" * 200_000}), "header.json: .*(array|deep)"),
    "head not UTF-8": (
        lambda held: held.update({HEAD: held[HEAD].replace(b"museum", b"m\xffseum")}),
        "header.json: .*UTF-8",
    ),
    "head a bomb": (lambda held: held.update({HEAD: b" " * 40_000_000 + held[HEAD]}), "header.json: .*400-fold"),
    "head of numbers": (head(lambda held: held.update(eval=7)), r"header.json: .*Expected `object`.*\$.eval"),
    "time": (head(lambda held: held["eval"].update(created="0001-01-01T00:00:00+23:59")), "its metadata is damaged"),
    "no time": (head(lambda held: held["eval"].update(created="today")), "its metadata is damaged"),
    "format": (
        head(lambda held: held["eval"]["metadata"][KEY].update(format=[1])),
        r"has format '\[1\]'|has format \[1\]",
    ),
    "seed": (head(lambda held: held["eval"]["metadata"][KEY].update(seed="x")), "its metadata is damaged"),
    "no dataset": (head(lambda held: held["eval"].pop("dataset")), "missing required field `dataset`"),
    "sample cut": (lambda held: held.update({sample_of(held): b"{"}), "samples/museum-returns.*is not complete JSON"),
    "sample of another": (sample(lambda held: held.update(id="other")), "contains another sample than its name says"),
    "store": (sample(lambda held: held.update(store=[])), "Expected `object`, got `array`"),
    "item": (sample(lambda held: held["metadata"][KEY].update(item={"id": 1})), "its item is damaged"),
    "calls": (sample(lambda held: held["store"].update({CALLS: {"a": 1}})), "is damaged or not a sample of Overton's"),
    "slot": (first_call("slot", "xyz"), "ask 0 of subject in .* is damaged"),
    "number": (first_call("number", -1), "ask -1 of subject in .* is damaged"),
    "huge number": (first_call("number", 2**62), "is damaged"),
    "tokens": (tokens(2**63), "is damaged"),
    "negative tokens": (tokens(-5), "is damaged"),
}


@pytest.mark.parametrize(("change", "said"), WRONG.values(), ids=WRONG)
def test_errors_in_a_log_are_reported_with_their_location(
    change: Change, said: str, members: dict[str, bytes], tmp_path: Path
) -> None:
    held = dict(members)
    change(held)
    log = tmp_path / "log.eval"
    log.write_bytes(packed(held))
    with pytest.raises(InputError, match=said) as refused:
        overton.import_logs([log], out=tmp_path / "back")
    assert all(problem.place == str(log) for problem in refused.value.problems)
    assert [path.name for path in tmp_path.iterdir()] == ["log.eval"]


def test_parts_that_are_not_read_may_contain_nan_and_infinity(members: dict[str, bytes], tmp_path: Path) -> None:
    held = dict(members)
    head(lambda found: found.update(results={"scores": [float("nan"), float("inf")]}))(held)
    (tmp_path / "log.eval").write_bytes(packed(held))
    assert overton.import_logs([tmp_path / "log.eval"], out=tmp_path / "back").finished


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_a_damaged_log_becomes_a_run_or_an_error(
    data: st.DataObject, members: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    held, place = dict(members), tmp_path_factory.mktemp("damaged")
    if data.draw(st.booleans()):
        name = data.draw(st.sampled_from(sorted(held)))
        held[name] = data.draw(damaged(held[name]))
        content = packed(held)
    else:
        content = data.draw(damaged(packed(held)))
    (place / "log.eval").write_bytes(content)
    try:
        overton.import_logs([place / "log.eval"], out=place / "back")
    except (InputError, RunMismatch):
        assert [path.name for path in place.iterdir()] == ["log.eval"]


def test_a_bomb_among_the_samples_takes_little_memory(members: dict[str, bytes], tmp_path: Path) -> None:
    held = dict(members)
    held[sample_of(held)] = bytes(120_000_000)
    (tmp_path / "log.eval").write_bytes(packed(held))
    held.clear()
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=r"samples/museum-returns.*is larger than 100,000,000 bytes"):
            overton.import_logs([tmp_path / "log.eval"], out=tmp_path / "back")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20_000_000


def test_a_log_with_nan_and_infinity_takes_little_memory(tmp_path: Path) -> None:
    log = tmp_path / "log.json"
    log.write_bytes(b'{"eval": "NaN \\" NaN", "x": [NaN, -Infinity' + b", {}" * 2_000_000 + b"]}")
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=r"Expected `object`, got `str` - at `\$.eval`"):
            overton.import_logs([log], out=tmp_path / "back")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 60_000_000


@pytest.mark.parametrize("name", ["../../outside", "/outside", "..\\outside", "samples/../../outside"])
def test_members_with_hostile_names_are_never_written(name: str, members: dict[str, bytes], tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    (folder / "log.eval").write_bytes(packed({**members, name: b"x"}))
    assert overton.import_logs([folder / "log.eval"], out=folder / "back").finished
    assert list(tmp_path.rglob("*outside*")) == []
