"""How many files an option and an argument's text pass through, on their ways to a random draw and to the wire."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.runs.conftest import Endpoint, made_issue
from tests.runs.walk_trace import Walk, walked

import overton
from overton.calls import Trial
from overton.cli.main import main
from overton.engine import RetryPolicy
from overton.runs import folder, setup, start
from overton.studies.options import StudyOptions

MARKED = "zebra crossings"
READING = "studies/open_mindedness/protocol.py"
MOST = 16
"""Files between a word of the user's and the wire. System prompts and the reading of replies each wrap a protocol."""


@pytest.fixture
def words(endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A command with one issue, whose arguments are marked."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    issue = made_issue("trams")
    pros = tuple(msgspec.structs.replace(one, text=f"{one.text} {MARKED}") for one in issue.pros)
    items = tmp_path / "issues.jsonl"
    items.write_bytes(msgspec.json.encode(msgspec.structs.replace(issue, pros=pros)))
    asked = ["--issues", str(items), "--model", f"{endpoint.url}#m", "--trials", "1", "--out", str(tmp_path / "run")]
    return ["open-mindedness", "--template", "1", "--condition", "one-sided-pro", *asked]


def command(monkeypatch: pytest.MonkeyPatch, words: Sequence[str]) -> Callable[[], None]:
    def called() -> None:
        monkeypatch.setattr(sys, "argv", ["overton", "run", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code

    return called


def is_marked(value: Any) -> bool:
    return (isinstance(value, str) and MARKED in value) or (isinstance(value, bytes) and MARKED.encode() in value)


def follows_from_trials(value: Any) -> bool:
    """Whether it is the word of the command line, options with it, or a trial that follows from them."""
    if isinstance(value, str | dict):
        return value == "--trials" or (isinstance(value, dict) and "trials" in value)
    return isinstance(value, Trial) or (isinstance(value, StudyOptions) and hasattr(value, "trials"))


def test_an_arguments_text_reaches_the_wire_through_few_files(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Walk (a): read, parsed, written, asked about, numbered, paid for and sent."""
    walk = walked(Walk(is_marked, ("models/http_connection.py", "exchange")), command(monkeypatch, words))
    assert walk.arrived
    assert len(walk.route()) <= MOST, walk.route()
    # Decoding and parsing call back the code that knows the item, the retry loop the dispatcher's attempt, and the
    # check of first replies the study's reading. Nothing else is entered from two sides.
    called_back = {"studies/parsing.py", "studies/open_mindedness/items.py", "engine/dispatcher.py", READING}
    assert entered_twice(walk) <= {"untrusted/decode.py", *called_back}


def test_the_number_of_trials_reaches_its_draw_through_few_files(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Walk (b): a word of the command line, an option, trials, and the draws of one of them."""
    walk = walked(
        Walk(follows_from_trials, ("calls/types.py", "draw"), below="engine/trials.py"), command(monkeypatch, words)
    )
    assert walk.arrived
    assert len(walk.files()) <= MOST + 2, walk.files()  # two read the words of a configuration file, too
    assert entered_twice(walk) <= {READING}


def entered_twice(walk: Walk) -> set[str]:
    """The files on the way that more than one other file hands the value to."""
    counted = Counter(entered for _, entered in walk.handed())
    return {file for file, count in counted.items() if count > 1}


def test_options_and_items_are_read_once(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, endpoint: Endpoint
) -> None:
    """A new run reads neither back; a run that goes on reads each once."""
    read: Counter[str] = Counter()

    def counted(module: Any, name: str) -> None:
        original = getattr(module, name)

        def call(*given: Any, **more: Any) -> Any:
            read[name] += 1
            return original(*given, **more)

        monkeypatch.setattr(module, name, call)

    counted(setup, "options_of")
    counted(setup, "read_items")
    counted(folder, "read_options")
    counted(start, "read_options")
    counted(overton.runs.run, "stored_items")
    patience = RetryPolicy(3, 0.002, 0.02)
    given = {"issues": words[words.index("--issues") + 1], "models": [f"{endpoint.url}#m"], "trials": 1}
    run = overton.run("open-mindedness", out=tmp_path / "run", max_calls=9, patience=patience, **given)
    assert not run.finished
    assert read == {"options_of": 1, "read_items": 1}
    read.clear()
    assert overton.resume(run.path, max_calls=999, patience=patience).finished
    assert read == {"read_options": 1, "stored_items": 1}
    read.clear()
    assert overton.extend(run.path, trials=2, patience=patience).finished
    assert read == {"read_options": 1, "stored_items": 1}
