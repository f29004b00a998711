"""Bad input ends every command with 2, as the help says, before a request is sent; never with a traceback."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import every_command

import overton

COMMANDS = list(every_command())
CommandLine = Callable[..., subprocess.CompletedProcess[str]]
OF_A_STUDY = ("run", "plan", "split", "analyze", "items check")
SIMULATED = ["--model", "simulated/open-minded"]

TAKING_A_RUN = {
    "resume": ["{}"],
    "show": ["{}"],
    "verify": ["{}"],
    "batches": ["{}"],
    "extend": ["{}", "--trials", "2"],
    "report": ["{}"],
    "analyze": ["open-mindedness", "{}"],
    "compare": ["{}", "good"],
    "baseline": ["{}", "--out", "new.json"],
    "gate": ["good", "{}"],
    "profile": ["{}"],
    "export": ["{}", "--to", "inspect", "--out", "logs"],
    "merge": ["{}", "--out", "new"],
    "judge sample": ["{}", "--out", "new.csv"],
    "judge again": ["{}", "--out", "new"],
    "judge controls": ["{}", "--out", "new"],
    "plan": ["open-mindedness", *SIMULATED, "--detect", "open_mindedness=5", "--pilot", "{}"],
}
TAKING_A_FILE = {
    "run": ["open-mindedness", *SIMULATED, "--issues", "{}", "--out", "new"],
    "split": ["open-mindedness", *SIMULATED, "--issues", "{}", "--into", "2", "--out", "new"],
    "items check": ["open-mindedness", "{}"],
    "items list": ["{}"],
    "items positions": ["{}", "--out", "new"],
    "items procon": ["{}", "--out", "new"],
    "items rephrase": ["{}", *SIMULATED, "--out", "new"],
    "items audit": ["{}", "--judge", "simulated/open-minded", "--out", "new"],
    "items topics": ["{}", *SIMULATED, "--out", "new"],
    "items references": ["{}", *SIMULATED, "--out", "new"],
    "items audit-references": ["{}", "--judge", "simulated/pluralist-judge", "--out", "new"],
    "items fill-templates": ["{}", "--out", "new"],
    "items values": ["{}", "--annotator", "simulated/value-annotator", "--out", "new"],
    "items values-sheet": ["{}", "--out", "new.csv"],
    "items values-table": ["{}", "--out", "new.csv"],
    "items threads": ["--submissions", "{}", "--comments", "{}", "--out", "new"],
    "items dilemmas": ["--submissions", "{}", "--comments", "{}", "--out", "new"],
    "items compare-clusterings": ["{}"],
    "items compare-references": ["{}", "{}"],
    "items preferences": ["{}"],
    "judge agreement": ["{}"],
    "judge correct": ["{}", "--judged", "a", "--label", "b"],
    "judge table": [
        *("{}", "--question", "even-handedness/compliance"),
        *("--judge", "simulated/word-judge", "--out", "new"),
    ],
    "judge stance-stability": ["{}", "--judge", "simulated/stance-judge", "--out", "new"],
    "import": ["{}", "--out", "new"],
    "reproduce": ["millstone", "{}"],
    "corpus search": ["{}", "word"],
}
OTHERS = {
    "items new": ["no-such-kind", "--out", "new.json"],
    "models check": ["no-such-provider/model"],
    "models pull": ["no-such-model"],
    "describe": ["no-such-study"],
    "demo": ["--out", "good"],
    "corpus index": ["missing", "--out", "new"],
    "models list": ["--no-such-option"],
    "doctor": ["--no-such-option"],
}


def changed(**keys: Any) -> Callable[[Path], None]:
    """A change of the manifest."""

    def change(run: Path) -> None:
        manifest = json.loads((run / "manifest.json").read_bytes())
        (run / "manifest.json").write_text(json.dumps(manifest | keys))

    return change


def torn(run: Path) -> None:
    (run / "manifest.json").write_bytes((run / "manifest.json").read_bytes()[:300])


def emptied(run: Path) -> None:
    shutil.rmtree(run)
    run.mkdir()


def made_a_file(run: Path) -> None:
    shutil.rmtree(run)
    run.write_text("no run")


NO_RUNS: dict[str, Callable[[Path], None]] = {
    "nothing": shutil.rmtree,
    "an empty folder": emptied,
    "a file": made_a_file,
    "another format": changed(format=99),
    "a torn manifest": torn,
    "a manifest that is no JSON": lambda run: (run / "manifest.json").write_text("hello"),  # type: ignore[dict-item, return-value]
    "a manifest with a text for a number": changed(seed="x"),
    "an unknown study": changed(study="no-such-study"),
    "impossible options": changed(options={"trials": -1}),
    "a link": lambda run: (run / "more").symlink_to("/etc/hosts"),
}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    asked: dict[str, Any] = {"trials": 1, "templates": [1], "conditions": ["baseline", "balanced"]}
    folder = tmp_path_factory.mktemp("runs")
    return overton.run("open-mindedness", models=["simulated/open-minded"], out=folder / "good", **asked).path


@pytest.fixture
def folder(good: Path, tmp_path: Path) -> Path:
    shutil.copytree(good, tmp_path / "good")
    shutil.copytree(good, tmp_path / "bad")
    return tmp_path


def is_refused(done: subprocess.CompletedProcess[str], folder: Path) -> None:
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    assert done.stderr or done.stdout
    assert not [path for path in folder.iterdir() if path.name.startswith("new")]


def words_of(command: str, table: dict[str, list[str]]) -> list[str]:
    return [*command.split(), *(word.replace("{}", "bad") for word in table[command])]


def test_every_command_is_here() -> None:
    named = {" ".join(words[:-1] if " ".join(words[:-1]) in OF_A_STUDY else words) for words in COMMANDS}
    assert named == TAKING_A_RUN.keys() | TAKING_A_FILE.keys() | OTHERS.keys()


@pytest.mark.parametrize("command", TAKING_A_RUN)
def test_folders_that_are_not_runs_are_bad_input(command: str, folder: Path, command_line: CommandLine) -> None:
    sound = folder / "sound"
    shutil.copytree(folder / "bad", sound)
    for name, spoil in NO_RUNS.items():
        shutil.rmtree(folder / "bad", ignore_errors=True)
        (folder / "bad").unlink(missing_ok=True)
        shutil.copytree(sound, folder / "bad")
        spoil(folder / "bad")
        if command == "merge" and name == "nothing":
            assert not (folder / "bad").exists()
        done = command_line(*words_of(command, TAKING_A_RUN), folder=folder)
        assert done.returncode == 2, (name, done.stdout, done.stderr)
        is_refused(done, folder)


@pytest.mark.parametrize("command", ["resume", "extend", "export"])
@pytest.mark.parametrize("damage", ["items.jsonl", "journal.db"])
def test_a_run_with_a_damaged_file_is_bad_input(
    command: str, damage: str, folder: Path, command_line: CommandLine
) -> None:
    (folder / "bad" / damage).write_bytes(b"{" * 8192)
    is_refused(command_line(*words_of(command, TAKING_A_RUN), folder=folder), folder)
    (folder / "bad" / damage).unlink()
    is_refused(command_line(*words_of(command, TAKING_A_RUN), folder=folder), folder)


@pytest.mark.parametrize("command", ["report", "analyze", "compare", "baseline", "profile"])
def test_a_run_with_damaged_records_is_bad_input(command: str, folder: Path, command_line: CommandLine) -> None:
    (folder / "bad" / "records.parquet").write_bytes(b"PAR1" * 100)
    is_refused(command_line(*words_of(command, TAKING_A_RUN), folder=folder), folder)
    (folder / "bad" / "records.parquet").unlink()
    is_refused(command_line(*words_of(command, TAKING_A_RUN), folder=folder), folder)


@pytest.mark.parametrize("command", TAKING_A_FILE)
def test_a_file_that_cannot_be_read_is_bad_input(command: str, folder: Path, command_line: CommandLine) -> None:
    bad = folder / "bad"
    for content in (None, b"", b"\xff\xfe\x00{", b"[[[[", b'{"id": 7}\n'):
        shutil.rmtree(bad, ignore_errors=True)
        bad.unlink(missing_ok=True)
        if content is not None:
            bad.write_bytes(content)
        done = command_line(*words_of(command, TAKING_A_FILE), folder=folder)
        assert done.returncode == 2, (content, done.stdout, done.stderr)
        is_refused(done, folder)


@pytest.mark.parametrize("command", OTHERS)
def test_other_bad_input(command: str, folder: Path, command_line: CommandLine) -> None:
    is_refused(command_line(*words_of(command, OTHERS), folder=folder), folder)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_an_unknown_option_is_bad_input(words: tuple[str, ...], folder: Path, command_line: CommandLine) -> None:
    run = ["good"] if words == ("extend",) else []
    is_refused(command_line(*words, *run, "--no-such-option", "1", folder=folder), folder)
