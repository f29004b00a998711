"""The tutorial's study as an installed package, next to a broken package and one of another interface version."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sysconfig
import time
import venv
from collections.abc import Callable
from pathlib import Path

import jsonschema
import polars as pl
import pytest

pytest.importorskip("inspect_ai", reason="Inspect AI is not installed")
pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "acquiescence"
ITEMS = EXAMPLE / "acquiescence" / "proposals.jsonl"
KNOWN = 0.4
WHO = ["--model", "simulated/yes-sayer", "--judge", "simulated/word-judge"]
ASKED = [*WHO, "--model-arg", "simulated/yes-sayer", f"acquiescence={KNOWN}"]

STRANGERS = {
    "pyproject.toml": """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "strangers"
version = "1"
[project.entry-points."overton.studies"]
broken = "broken:STUDY"
leaving = "leaving:STUDY"
older = "older:STUDY"
nothing = "older:NOTHING"
[project.entry-points.inspect_ai]
strangers = "always_yes"
[tool.hatch.build.targets.wheel]
include = ["*.py"]
""",
    "broken.py": "raise RuntimeError('half of it is not written yet')\n",
    "leaving.py": "raise SystemExit(9)\n",
    "older.py": "from dataclasses import replace\nimport acquiescence\n"
    "STUDY = replace(acquiescence.STUDY, name='older', interface=99)\nNOTHING = {}\n",
    "always_yes.py": """
from inspect_ai.model import ModelAPI, ModelOutput, modelapi

@modelapi(name="always-yes")
class AlwaysYes(ModelAPI):
    async def generate(self, input, tools, tool_choice, config):
        return ModelOutput.from_content(self.model_name, "(agrees)")
""",
}

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment in which Overton, the example and the strangers are installed; all else is this one's."""
    place = tmp_path_factory.mktemp("environment")
    (place / "strangers").mkdir()
    for name, text in STRANGERS.items():
        (place / "strangers" / name).write_text(text, "utf-8")
    venv.create(place / "venv", with_pip=False, symlinks=True)
    here = sysconfig.get_path("purelib")
    (own,) = (place / "venv").glob("lib/python*/site-packages")
    (own / "around.pth").write_text(f"import site; site.addsitedir({here!r})\n")
    # An Overton around this environment stays as it is: pip leaves what lies outside of its own alone.
    installing = ["install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--ignore-installed"]
    done = subprocess.run(
        [place / "venv" / "bin" / "python", "-m", "pip", *installing, ROOT, EXAMPLE, place / "strangers"],
        env=environment(place),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return place


def environment(place: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHASHSEED")}
    return kept | {"XDG_DATA_HOME": str(place / "data"), "INSPECT_CACHE_DIR": str(place / "cache"), "COLUMNS": "200"}


@pytest.fixture(scope="module")
def call(place: Path) -> Run:
    """Calls an installed command; its exit code has to be the one expected."""

    def run(command: str, *words: object, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [place / "venv" / "bin" / command, *map(str, words)],
            cwd=place,
            env=environment(place),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return run


@pytest.fixture(scope="module")
def whole(call: Run, place: Path) -> Path:
    call("overton", "run", "acquiescence", *ASKED, "--trials", 20, "--out", "whole")
    return place / "whole"


def analysis(call: Run, run: Path | str) -> dict:
    return json.loads(call("overton", "analyze", "acquiescence", run, "--json").stdout)


def headline(document: dict, variant: str = "plain") -> dict:
    rows = (row for row in document["rows"] if row["measure"] == "acquiescence" and row["item"] is None)
    (found,) = [row for row in rows if row["variant"] == variant and row["against"] is None]
    return found


def test_it_is_the_installed_packages_that_are_tested(call: Run, place: Path) -> None:
    said = call("python", "-c", "import overton, acquiescence; print(overton.__file__, acquiescence.__file__)").stdout
    assert all(Path(path).is_relative_to(place / "venv") for path in said.split())


def test_strangers_are_named_and_left_out(call: Run) -> None:
    listed = call("overton", "run", "--help").stdout
    assert "Does a model say yes whichever side" in listed
    assert "half of it is not written yet" in " ".join(listed.split())
    for name, reason in {
        "broken": "RuntimeError: half of it is not written yet",
        "leaving": "SystemExit",
        "older": "was written for version 99 of the study interface, and this Overton has version",
        "nothing": "names an object that is not a Study",
    }.items():
        for command in ("run", "plan"):
            assert reason in call("overton", command, name, *WHO, code=2).stderr
    assert "no such study" in call("overton", "run", "unheard-of", code=2).stderr


def test_the_study_recovers_the_known_bias(call: Run, whole: Path) -> None:
    found = analysis(call, whole)
    schema = json.loads(call("overton", "analyze", "acquiescence", "--schema").stdout)
    jsonschema.validate(found, schema)
    row = headline(found)
    assert row["low"] <= KNOWN <= row["high"]
    assert row["high"] - row["low"] < 0.4
    assert "Acquiescence" in call("overton", "analyze", "acquiescence", whole).stdout
    assert "Acquiescence" in (whole / "report.html").read_text("utf-8")


def test_a_plan_has_as_many_calls_as_the_run(call: Run, whole: Path) -> None:
    planned = json.loads(call("overton", "plan", "acquiescence", *ASKED, "--trials", 20, "--json").stdout)
    manifest = json.loads((whole / "manifest.json").read_text())
    assert planned["calls"] == manifest["spent"]["requests"] == 8 * 2 * 20 * 2


def test_killed_resumed_and_extended_it_is_as_if_nothing_had_happened(call: Run, place: Path) -> None:
    many = 500
    killed = subprocess.Popen(
        [place / "venv" / "bin" / "overton", "run", "acquiescence", *ASKED, "--trials", str(many), "--out", "killed"],
        cwd=place,
        env=environment(place),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    journal = place / "killed" / "journal.db-wal"
    while killed.poll() is None and not (journal.is_file() and journal.stat().st_size > 200_000):
        time.sleep(0.005)
    killed.send_signal(signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL
    call("overton", "resume", "killed")
    call("overton", "extend", "killed", "--trials", many + 1)
    call("overton", "run", "acquiescence", *ASKED, "--trials", many + 1, "--out", "straight")
    assert analysis(call, "killed") == analysis(call, "straight")
    call("overton", "report", "killed", "straight", "--out", "both.html")


def test_items_are_checked(call: Run, place: Path) -> None:
    assert "0 errors" in call("overton", "items", "check", "acquiescence", ITEMS).stderr
    wrong = place / "wrong.jsonl"
    wrong.write_text('{"id": "a", "pro": "Should it?"}\n')
    assert "con: is missing" in call("overton", "items", "check", "acquiescence", wrong, code=2).stdout


def test_a_person_checks_its_labels_on_a_sheet(call: Run, place: Path) -> None:
    call("overton", "run", "acquiescence", *ASKED, "--trials", 7, "--out", "labelled")
    call("overton", "judge", "sample", "labelled", "--out", "sheet.csv")
    sheet = pl.read_csv(place / "sheet.csv")
    assert sheet.columns == ["row", "wording", "reply", "person", "sheet"]
    said = pl.when(pl.col("reply").str.starts_with("Certainly")).then(pl.lit("agrees")).otherwise(pl.lit("unclear"))
    sheet.with_columns(person=said).write_csv(place / "sheet.csv")
    found = json.loads(call("overton", "judge", "agreement", "sheet.csv", "--run", "labelled", "--json").stdout)
    assert found["people"]["judge"]["same"]["plain"]["n"] == sheet.height
    call("overton", "judge", "agreement", "sheet.csv", "--run", "labelled")
    row = headline(analysis(call, "labelled"), "corrected")
    assert row["n"] == 100
    assert row["estimate"] > KNOWN + 0.1


def test_a_run_becomes_a_log_and_a_log_a_run(call: Run, whole: Path) -> None:
    call("overton", "export", whole, "--to", "inspect", "--out", "exported")
    call("overton", "import", "exported", "--out", "imported")
    assert analysis(call, "imported") == analysis(call, whole)


def test_inspect_evaluates_it(call: Run) -> None:
    who = ["--model", "always-yes/m", "--model-role", "judge=always-yes/m"]
    words = ["eval", "overton/acquiescence", *who, "--log-dir", "evaluated", "--display", "plain"]
    said = call("python", "-m", "inspect_ai", *words, "-T", "trials=2")
    assert "half of it is not written yet" in said.stdout + said.stderr
    call("overton", "import", "evaluated", "--out", "from-inspect")
    row = headline(analysis(call, "from-inspect"))
    assert (row["estimate"], row["n"]) == (1, 8 * 2 * 2)
    refused = call("python", "-m", "inspect_ai", *words, "-T", "no_such_option=1", code=1)
    assert "no_such_option" in refused.stdout + refused.stderr


def test_the_tutorials_commands_run_as_they_stand(call: Run, place: Path) -> None:
    page = (ROOT / "docs" / "your-own-study.md").read_text("utf-8")
    shown = re.findall(r"^```console\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    installing, *commands = [shlex.split(line) for line in "".join(shown).splitlines()]
    assert installing[:2] == ["pip", "install"]
    for command in commands:
        call(*command)
    assert (place / "runs" / "yes" / "report.html").is_file()


def test_its_own_tests_pass(place: Path) -> None:
    done = subprocess.run(
        [place / "venv" / "bin" / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "pyproject.toml"],
        cwd=EXAMPLE,
        env=environment(place) | {"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_python_knows_it(place: Path) -> None:
    asked = "import overton; print([one.problem for one in overton.studies.listed() if one.name == 'acquiescence'])"
    done = subprocess.run([place / "venv" / "bin" / "python", "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['']"
