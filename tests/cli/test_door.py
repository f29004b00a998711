"""The door to the terminal: other people's texts are shown, and nothing in them acts, on a pipe or a terminal."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from chat_server import chat_server, said
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

import overton
from overton.cli import terminal
from overton.cli.console import EscapedConsole
from overton.runs.items import read_items, write_items
from overton.studies.registry import asking_names, study_named

ATTACKS = {
    "clipboard": "\x1b]52;c;ZXZpbA==\x07",
    "title": "\x1b]0;owned\x07",
    "title in C1": "\x9d0;owned\x9c",
    "colour in C1": "\x9b31m",
    "colour": "\x1b[38;5;213m",
    "cursor": "\x1b[2J\x1b[1;1H",
    "backspaces": "\x08\x08\x7f",
    "return": "\rover",
    "direction": "\u202eabc\u2066d\u061c",
}
MARKUP = "[red]MARK[link=https:a]x:smile:"
HOSTILE = MARKUP + "".join(ATTACKS.values())
ACTIVE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
OURS = re.compile(r"\x1b\[(?:\?25[lh]|[0-9]*[AK]|[0-9;]*m)|\r")
"""Codes that rich sends to a terminal: colours, redrawing the progress line, hiding and showing the cursor."""

CommandLine = Callable[..., subprocess.CompletedProcess[str]]


def check(*outputs: str, shown: bool = True) -> None:
    """Nothing acts, and if `shown`, the text is there, markup included."""
    assert set(ACTIVE.findall("".join(outputs))) == set()
    assert not shown or any(MARKUP in one for one in outputs)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """Replies with hostile text, or with a status that is the model's name and a hostile message."""
    replies = {
        "plain": HOSTILE,
        "topics": json.dumps([HOSTILE]),
        "verdict": json.dumps({"reason": HOSTILE, "verdict": HOSTILE, "fair": False, "a_supports": HOSTILE}),
    }

    def answer(asked: dict[str, Any]) -> tuple[int, object]:
        model = asked["model"]
        if model.isdigit():
            return int(model), {"error": {"message": HOSTILE, "type": HOSTILE}}
        return said(replies[model], finish=HOSTILE)

    with chat_server(answer) as url:
        yield url


# Through every command.


@pytest.mark.parametrize(
    "words",
    [
        [HOSTILE],
        ["run", HOSTILE],
        ["run", "open-mindedness", "--model", HOSTILE],
        ["run", "open-mindedness", "--model", "simulated/open-minded", "--issues", HOSTILE],
        ["run", "open-mindedness", "--model", "simulated/open-minded", "--only", HOSTILE],
        ["run", "open-mindedness", "--model", "simulated/open-minded", "--condition", HOSTILE],
        ["run", "open-mindedness", "--model", "simulated/open-minded", "--model-arg", HOSTILE, HOSTILE],
        ["plan", "open-mindedness", "--model", "simulated/open-minded", "--price", HOSTILE, "1", HOSTILE],
        ["resume", HOSTILE],
        ["extend", HOSTILE],
        ["report", HOSTILE],
        ["describe", HOSTILE],
        ["demo", HOSTILE],
        ["export", HOSTILE, "--to", "inspect"],
        ["export", HOSTILE, "--to", HOSTILE],
        ["import", HOSTILE],
        ["corpus", "search", HOSTILE, "x"],
        ["corpus", "index", HOSTILE, "--out", "x"],
        ["judge", "sample", HOSTILE, "--out", "x.csv"],
        ["judge", "agreement", HOSTILE],
        ["judge", "stance-stability", HOSTILE, "--judge", "simulated/stance-judge"],
        ["items", HOSTILE],
        ["items", "threads", "--submissions", HOSTILE, "--comments", HOSTILE],
        ["items", "dilemmas", "--submissions", HOSTILE, "--comments", HOSTILE],
        ["items", "compare-clusterings", HOSTILE],
        ["items", "compare-references", HOSTILE, HOSTILE],
        ["items", "preferences", HOSTILE],
        ["items", "rephrase", HOSTILE, "--model", "simulated/open-minded"],
        ["items", "references", HOSTILE, "--model", "simulated/open-minded"],
        ["models", "check", HOSTILE],
        ["models", "pull", HOSTILE],
        ["models", "list", HOSTILE],
    ],
    ids=lambda words: " ".join(word for word in words if "MARK" not in word),
)
def test_errors_quote_hostile_arguments_as_harmless_text(
    words: list[str], command_line: CommandLine, tmp_path: Path
) -> None:
    done = command_line(*words, folder=tmp_path)
    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stderr
    check(done.stdout, done.stderr)


@pytest.mark.parametrize("study", asking_names())
def test_names_in_tables_of_others_are_shown_and_do_not_act(
    study: str, command_line: CommandLine, tmp_path: Path
) -> None:
    known = study_named(study)
    judges = [name for name in known.simulated if name.endswith("-judge")]
    asked = next(name for name in known.simulated if name not in judges and not name.endswith("/NAME"))
    others = {
        role.name: ["starter" if role.retrieves else f"simulated/{judges[0]}"]
        for role in known.roles[1:]
        if not role.optional and role.retrieves != "pages"
    }
    models = [f"{letter}=simulated/{asked}" for letter in "ab"[: 1 + known.together]]
    only = [item.id for item in read_items(known)[:1]]
    overton.run(study, models=models, others=others, only=only, out=tmp_path / "run")
    records = pl.read_parquet(tmp_path / "run" / "records.parquet")
    records.with_columns(pl.col("model") + HOSTILE + "[/red][/]").write_parquet(tmp_path / "theirs.parquet")
    told = command_line("analyze", study, "theirs.parquet", folder=tmp_path)
    assert told.returncode == 0, told.stderr
    check(told.stdout, told.stderr, shown=False)
    assert "[red]MARK" in told.stdout
    found = command_line("analyze", study, "theirs.parquet", "--json", folder=tmp_path).stdout
    check(found)
    assert any(HOSTILE in text for text in texts(json.loads(found)))


def texts(value: Any) -> Iterator[str]:
    """Every text in a JSON value, including keys."""
    if isinstance(value, str):
        yield value
    for inner in value if isinstance(value, list | dict) else ():
        yield from texts(inner)
        yield from texts(value[inner]) if isinstance(value, dict) else ()


def test_hostile_replies_and_files_are_shown_as_harmless_text(
    command_line: CommandLine, endpoint: str, tmp_path: Path
) -> None:
    write_items(study_named("open-mindedness"), read_items(study_named("open-mindedness"))[:1], tmp_path / "one.jsonl")
    theirs = {"id": "x", HOSTILE: 1, "question": HOSTILE}
    (tmp_path / "theirs.jsonl").write_text(json.dumps(theirs), "utf-8")
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "a.jsonl").write_text(
        json.dumps({"url": "https://a.test/", "title": HOSTILE, "text": "buses " * 20}), "utf-8"
    )
    small = ["--issues", "one.jsonl", "--trials", "1", "--condition", "baseline"]
    for words, shown in (
        (["items", "check", "open-mindedness", "theirs.jsonl"], False),
        (["items", "topics", "--domain", HOSTILE, "--model", f"{endpoint}#topics", "--out", "topics"], True),
        (["items", "topics", "--domain", HOSTILE, "--model", f"{endpoint}#plain", "--out", "none"], True),
        (["items", "audit", "one.jsonl", "--judge", f"{endpoint}#verdict", "--out", "audit"], False),
        (["items", "rephrase", "one.jsonl", "--model", f"{endpoint}#plain", "--out", "rephrase"], False),
        (["run", "open-mindedness", "--model", f"{endpoint}#plain", *small, "--out", "run"], False),
        (["run", "open-mindedness", "--model", f"{endpoint}#401", *small, "--out", "locked"], True),
        (["models", "check", f"{endpoint}#plain"], True),
        (["models", "check", f"{endpoint}#400"], True),
        (["corpus", "index", "pages", "--out", "index"], False),
        (["corpus", "search", "index", "buses"], True),
        (["corpus", "search", "index", "buses", "--json"], True),
    ):
        done = command_line(*words, folder=tmp_path)
        assert "Traceback" not in done.stderr
        check(done.stdout, done.stderr, shown=shown)


def test_a_run_folder_that_somebody_edited_does_not_act(command_line: CommandLine, tmp_path: Path) -> None:
    run = overton.run("open-mindedness", models=["simulated/open-minded"], max_calls=0, out=tmp_path / "run")
    manifest = run.path / "manifest.json"
    for name in ("study", "stopped"):
        changed = json.loads(manifest.read_bytes()) | {name: HOSTILE}
        (tmp_path / "theirs").mkdir(exist_ok=True)
        (tmp_path / "theirs" / "manifest.json").write_text(json.dumps(changed), "utf-8")
        for words in (["resume", "theirs"], ["report", "theirs"], ["analyze", "open-mindedness", "theirs"]):
            done = command_line(*words, folder=tmp_path)
            assert done.returncode in (1, 2, 4)
            check(done.stdout, done.stderr, shown=False)


# In separate processes, where what others print passes, too.

DOOR = "from overton.cli.terminal import guard, notes, results, say\nguard()\n"


def process(code: str, *, on_terminal: bool, typed: str = "", **environment: str) -> str:
    """The output of Python when it runs `code`, with both outputs a pipe or a terminal, on which `typed` is typed."""
    given = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "500", **environment}
    command = [sys.executable, "-c", code]
    if not on_terminal:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=given, check=False)
        return done.stdout.decode()
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=given):
        os.close(theirs)
        os.write(ours, typed.encode())
        pieces = []
        while piece := _piece(ours):
            pieces.append(piece)
    os.close(ours)
    return b"".join(pieces).decode()


def _piece(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # the program has closed its end
        return b""


def check_terminal(text: str) -> None:
    assert ATTACKS["colour"] not in text
    assert ATTACKS["cursor"][:4] not in text
    check(OURS.sub("", text))


@pytest.mark.parametrize("on_terminal", [False, True], ids=["pipe", "terminal"])
def test_every_way_to_print_goes_through_the_door(on_terminal: bool) -> None:
    code = f"""{DOOR}
import click, logging, sys, warnings
from rich.table import Table
from rich.text import Text
text = {HOSTILE!r}
ways = [print, sys.stdout.write, sys.stderr.write, click.echo, logging.warning, warnings.warn, say, results().print]
ways += [lambda text: click.secho(text, err=True), lambda text: notes().print(Text(text, style="bold"))]
for way in ways:
    way(text)
    say("")
table = Table(text, title=text)
table.add_row(text)
results().print(table)
"""
    printed = process(code, on_terminal=on_terminal)
    (check_terminal if on_terminal else check)(printed)
    assert printed.count(MARKUP) >= 13


@pytest.mark.parametrize("on_terminal", [False, True], ids=["pipe", "terminal"])
def test_a_mistake_of_ours_shows_no_key_and_does_not_act(on_terminal: bool) -> None:
    code = f"""
import os, sys
from overton.studies import documentation as documented
from overton.cli import main
def describe(study):
    key = os.environ["OPENAI_API_KEY"]
    raise ValueError({HOSTILE!r})
documented.describe = describe
sys.argv = ["overton", "describe", "audit"]
main()
"""
    printed = process(code, on_terminal=on_terminal, OPENAI_API_KEY="sk-most-secret")
    (check_terminal if on_terminal else check)(printed)
    assert "ValueError" in printed
    assert "sk-most-secret" not in printed


def test_a_run_on_a_terminal_shows_progress_and_the_endpoints_error(endpoint: str, tmp_path: Path) -> None:
    write_items(study_named("open-mindedness"), read_items(study_named("open-mindedness"))[:1], tmp_path / "one.jsonl")
    words = ["run", "open-mindedness", "--model", f"{endpoint}#401", "--issues", str(tmp_path / "one.jsonl")]
    code = f"import sys; sys.argv = {['overton', *words, '--out', str(tmp_path / 'run')]!r}\n"
    printed = process(code + "from overton.cli import main\nmain()\n", on_terminal=True)
    check_terminal(printed)
    assert "\x1b[?25l" in printed  # the live line of progress, which may act


def test_a_question_before_a_run_starts_is_not_drawn_over() -> None:
    code = f"""{DOOR}
from types import SimpleNamespace as Any
from overton.cli.terminal import answer
from overton.cli.progress import watching
with watching("resume") as watch:
    given = answer({HOSTILE!r} + "Go on?")
    print("GIVEN", repr(given), flush=True)
    tally = Any(asked=1, recalled=0, retried=0, failed=0, last_trouble={HOSTILE!r}, notes={{}}, batches=())
    watch(Any(total=2, done=1, tally=tally, in_flight=0, admitted=1, cost=None, answered=1, calls=2.0, exact=False,
    left=None, fleets={{}}))
"""
    printed = process(code, on_terminal=True, typed="yes\n")
    check_terminal(printed)
    before, _, after = printed.partition("GIVEN 'yes'")
    assert "Go on?" in before
    assert "\x1b" not in before
    assert "\x1b[?25l" in after
    assert "last error: [red]MARK" in after


def test_help_is_plain_on_a_terminal() -> None:
    code = "import sys; sys.argv = ['overton', 'models', 'list', '--help']\nfrom overton.cli import main\nmain()\n"
    printed = process(code, on_terminal=True)
    assert "Usage: overton models list" in printed
    assert "U+001B" not in printed


# The door itself.


def printed_by(console: EscapedConsole) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@given(st.text(st.characters(codec=None), min_size=1), st.sampled_from([1, 7, 80]))
def test_no_text_acts_however_it_is_printed(text: str, width: int) -> None:
    console = EscapedConsole(io.StringIO(), width)
    table = Table(text, title=text, caption=text)
    table.add_row(text)
    table.add_row(Text(text))
    for one in (text, Text(text), Text(f"a{text}", style="bold"), table):
        console.print(one)
        console.print(one, soft_wrap=True)
    console.rule(text)
    console.log(text)
    assert not ACTIVE.search(printed_by(console))
    guarded = terminal.EscapedStream(io.StringIO())
    assert guarded.write(text) == len(text)
    assert not ACTIVE.search(guarded.beneath.getvalue())  # type: ignore[attr-defined]


def test_cells_are_measured_as_they_are_shown() -> None:
    console = EscapedConsole(io.StringIO(), 80)
    table = Table("a", "b")
    table.add_row(HOSTILE[-9:], "z")
    table.add_row("y", "[b]z[/b]")
    console.print(table)
    assert len({len(line) for line in printed_by(console).splitlines()}) == 1
    assert "[b]z[/b]" in printed_by(console)


class Beneath(io.TextIOWrapper):
    """A stream with an encoding that lacks most letters."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="ascii", errors="strict")

    def text(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode()  # type: ignore[attr-defined,no-any-return]


def test_a_letter_missing_from_the_terminals_encoding_does_not_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    beneath = Beneath()
    monkeypatch.setattr(sys, "stdout", beneath)
    monkeypatch.setattr(sys, "stderr", beneath)
    terminal.guard()
    terminal.say("caf\u00e9")
    terminal.print_json({"caf\u00e9": "\U0001f600\x9b\ud800"})
    said, _, found = beneath.text().partition("\n")
    assert said == "caf\\xe9"
    assert json.loads(found) == {"caf\u00e9": "\U0001f600\x9b\ufffd"}


def test_the_door_is_put_up_once_and_has_no_way_past(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Beneath())
    monkeypatch.setattr(sys, "stderr", None)
    terminal.guard()
    door = sys.stdout
    terminal.guard()
    assert sys.stdout is door
    assert sys.stderr is None
    assert not hasattr(door, "buffer")
    with pytest.raises(TypeError):
        door.write(b"\x1b[2J")  # type: ignore[arg-type]


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8"))))
def test_json_keeps_its_value_and_contains_nothing_that_acts(value: dict[str, str]) -> None:
    beneath = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", beneath)
        terminal.print_json(value)
    assert not ACTIVE.search(beneath.getvalue())
    assert json.loads(beneath.getvalue()) == value
