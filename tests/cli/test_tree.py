"""Every command has its Python call under the obvious name, and every surface refuses unknown options."""

from __future__ import annotations

import pydoc
import re
from collections.abc import Callable
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from command_line import CommandLine, every_command

import overton
from overton.cli.main import app
from overton.errors import InputError
from overton.studies.options import fields_of
from overton.studies.registry import asking_names, study_named
from overton.studies.study import AnyStudy

OTHER_NAMES = {"export": "export_run", "import": "import_logs"}
"""Words of the command line that are not valid names in Python, or not good ones."""
OF_A_STUDY = {"run", "plan", "split", "analyze", "items check"}
"""Groups whose commands are studies: in Python the study is the first argument."""
STUDIES = asking_names()


COMMANDS = list(every_command())


def names_of(words: tuple[str, ...]) -> list[str]:
    """The names that lead from `overton` to a command's call."""
    group = next((kind for kind in OF_A_STUDY if " ".join(words[:-1]) == kind), None)
    return [OTHER_NAMES.get(word, word).replace("-", "_") for word in (group.split() if group else words)]


def test_the_tree_has_commands_of_every_kind() -> None:
    assert {("run", STUDIES[0]), ("items", "check", "audit"), ("judge", "sample"), ("extend",)} <= set(COMMANDS)
    assert len(COMMANDS) > 40


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_has_its_call_and_is_listed(words: tuple[str, ...]) -> None:
    found: Any = overton
    for name in names_of(words):
        assert name in dir(found)
        found = getattr(found, name)
    assert callable(found)
    assert (found.__doc__ or "").strip()
    parameters = signature(found).parameters.values()
    assert all(one.annotation is not one.empty for one in parameters), "typed"


def test_help_of_the_package_shows_its_calls_and_its_doors() -> None:
    text = pydoc.plain(pydoc.render_doc(overton))
    for name in {names_of(words)[0] for words in COMMANDS}:
        assert f"\n    {name}" in text, name
    for door in ("corpus", "items", "judge", "models", "studies"):
        assert set(import_module(f"overton.{door}").__all__) <= set(dir(getattr(overton, door)))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_is_in_plain_words(words: tuple[str, ...]) -> None:
    if words == ("extend",):
        return
    shown = CliRunner().invoke(app, [*words, "--help"], terminal_width=200).output
    options = shown.partition("\nOptions:")[2]
    assert options
    assert not re.search(r"<\w", options), "a type instead of a word"
    assert "[default: " not in options


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A run of a study that stopped immediately, made on demand."""
    made: dict[str, Path] = {}

    def of(name: str) -> Path:
        if name not in made:
            out = tmp_path_factory.mktemp("runs") / "run"
            made[name] = overton.run(name, **named(study_named(name)), max_calls=0, out=out).path
        return made[name]

    return of


def named(study: AnyStudy) -> dict[str, Any]:
    """Who answers in each role, all of them simulated."""
    judges = [name for name in study.simulated if name.endswith("-judge")]
    asked = next(name for name in study.simulated if name not in judges and not name.endswith("/NAME"))
    several = [f"{letter}=simulated/{asked}" for letter in "ab"[: 1 + study.together]]
    others = {
        role.name: ["starter" if role.retrieves else f"simulated/{judges[0]}"]
        for role in study.roles[1:]
        if not role.optional and role.retrieves != "pages"
    }
    return {"models": several, "others": others}


def words(study: AnyStudy) -> list[str]:
    """The same for the command line."""
    who = named(study)
    models = [word for model in who["models"] for word in (f"--{study.roles[0].word}", model)]
    return models + [word for role, (spec,) in who["others"].items() for word in (f"--{study.role(role).word}", spec)]


def refused(*words: str) -> str:
    done = CliRunner().invoke(app, list(words))
    assert isinstance(done.exception, InputError), done.output
    return str(done.exception)


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.parametrize("command", ["run", "plan", "extend", "analyze"])
def test_an_unknown_option_is_refused_with_the_known_ones(
    command: str, name: str, ran: Callable[[str], Path], tmp_path: Path
) -> None:
    study = study_named(name)
    measuring = study.measuring
    assert measuring is not None
    if command in ("run", "plan"):
        given = [command, name, *words(study), *(["--out", str(tmp_path / "run")] if command == "run" else [])]
        known = [field.flag for field in fields_of(study.options) if not field.option.follows]
    elif command == "extend":
        given, known = ["extend", str(ran(name))], [one.flag for one in fields_of(study.options) if one.option.extends]
    else:
        given, known = ["analyze", name, str(tmp_path)], [field.flag for field in fields_of(measuring.how)]
    said = refused(*given, "--qqqqqq", "3", "--jjjjjj")
    assert "--qqqqqq: no such option; known are" in said
    assert "--jjjjjj: no such option" in said
    assert known
    assert all(flag in said for flag in known)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.parametrize("call", ["run", "plan", "extend", "analyze"])
def test_a_call_refuses_an_unknown_option_in_the_same_way(
    call: str, name: str, ran: Callable[[str], Path], tmp_path: Path
) -> None:
    study = study_named(name)
    measuring = study.measuring
    assert measuring is not None
    known = [field.name for field in fields_of(measuring.how if call == "analyze" else study.options)]
    surfaces: dict[str, Callable[..., Any]] = {
        "run": lambda **option: overton.run(name, **named(study), out=tmp_path / "run", **option),
        "plan": lambda **option: overton.plan(name, **named(study), **option),
        "extend": lambda **option: overton.extend(ran(name), **option),
        "analyze": lambda **option: overton.analyze(name, ran(name), **option),
    }
    with pytest.raises(InputError) as error:
        surfaces[call](sideways=3)
    said = str(error.value)
    assert "option sideways: no such option; known are" in said
    assert all(option in said for option in known)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", STUDIES)
def test_extend_refuses_fixed_options(name: str, ran: Callable[[str], Path]) -> None:
    fixed = [one for one in fields_of(study_named(name).options) if not one.option.extends and not one.option.follows]
    for field in fixed:
        assert f"{field.flag}: no such option" in refused("extend", str(ran(name)), field.flag, "3")
        with pytest.raises(InputError, match="is fixed"):
            overton.extend(ran(name), **{field.name: 3})


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["resmue"], "'resume'"),
        (["judge", "smaple"], "'sample'"),
        (["items", "rephrse"], "'rephrase'"),
        (["--verson"], "'--version'"),
        (["resume", "run", "--max-cals", "3"], "'--max-calls'"),
        (["run", "open-mindednes"], "'open-mindedness'"),
        (["run", "open-mindedness", "--modle", "x"], "'--model'"),
        (["plan", "open-mindedness", "--model", "simulated/open-mind"], "'simulated/open-minded'"),
        (["plan", "open-mindedness", "--model", "simulated/open-minded", "--condition", "balancd"], "'balanced'"),
    ],
    ids=lambda given: given if isinstance(given, str) else " ".join(given),
)
def test_a_misspelled_word_is_refused_with_the_nearest_known_one(
    words: list[str], meant: str, command_line: CommandLine, tmp_path: Path
) -> None:
    done = command_line(*words, folder=tmp_path)
    assert done.returncode == 2
    assert f"id you mean {meant}?" in done.stderr
    assert not done.stdout


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_a_shell_gets_its_completion_script(shell: str, command_line: CommandLine, tmp_path: Path) -> None:
    done = command_line(folder=tmp_path, environment={"_OVERTON_COMPLETE": f"{shell}_source"})
    assert done.returncode == 0
    assert "_OVERTON_COMPLETE" in done.stdout


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("overton resu", "resume"),
        ("overton run open", "open-mindedness"),
        ("overton run open-mindedness --tri", "--trials"),
        ("overton judge aga", "again"),
        ("overton run no-such-study --tri", ""),
        ("overton extend no-such-run --tri", ""),
    ],
)
def test_words_are_completed(typed: str, found: str, command_line: CommandLine, tmp_path: Path) -> None:
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
    done = command_line(folder=tmp_path, environment={"_OVERTON_COMPLETE": "zsh_complete", **words})
    assert (done.returncode, done.stderr) == (0, "")
    assert [*done.stdout.split("\n")[1:2]] == ([found] if found else [""])


def test_an_unknown_way_to_complete_fails(command_line: CommandLine, tmp_path: Path) -> None:
    for wanted in ("complete_bash", "zsh", "no-shell_source"):
        assert command_line(folder=tmp_path, environment={"_OVERTON_COMPLETE": wanted}).returncode == 1


def test_an_interrupted_command_can_be_told_from_a_failed_one(
    command_line: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("overton.health.doctor", interrupt)
    done = command_line("doctor", folder=tmp_path)
    assert (done.returncode, done.stderr.strip()) == (4, "interrupted")
