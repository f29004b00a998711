"""A configuration file says what the command line says: the same words, checked the same way, confirmed before use."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import overton
from overton.calls import Settings
from overton.cli.configuration import configuration_of
from overton.cli.configured_commands import CONFIG, TRUST_FILE
from overton.cli.studies import make_run
from overton.errors import InputError
from overton.files.texts import write_objects
from overton.files.toml_text import toml_text
from overton.runs.folder import Manifest, ModelEntry, read_manifest
from overton.runs.setup import SetUp, set_up
from overton.runs.study_file import study_file_text
from overton.studies.options import fields_of
from overton.studies.registry import listed, study_named

SECRET = "AWS_SECRET_ACCESS_KEY"
MODEL = 'study = "open-mindedness"\nmodel = "simulated/open-minded"\n'
SMALL = MODEL + 'trials = 1\nonly = ["cashless-shops"]\ncondition = ["baseline"]\ntemplate = [1]\nwording = 1\n'
STUDIES = [entry.name for entry in listed() if entry.kind == "asks"]


@pytest.fixture(autouse=True)
def settings_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which nothing was ever used."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """The folder of a project."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def written(desk: Path, text: str, name: str = "study.toml") -> Path:
    path = desk / name
    path.write_text(text)
    return path


def problems(path: Path, **given: Any) -> dict[str, str]:
    """Reasons by key, all about this file."""
    with pytest.raises(InputError) as refused:
        overton.read_config(path, **given)
    assert {problem.place for problem in refused.value.problems} == {str(path)}
    return {problem.key: problem.reason for problem in refused.value.problems}


# Words and values.


def test_the_command_line_takes_precedence_over_the_file(desk: Path, command_line: Any) -> None:
    written(desk, SMALL + "seed = 3\nmax-calls = 99\n")
    words = ["run", "--config", "study.toml", "--seed", "4", "--template", "2", "--template", "5", "--out", "made"]
    assert command_line(*words, folder=desk).returncode == 0
    manifest = read_manifest(desk / "made")
    assert (manifest.seed, manifest.options["templates"], manifest.options["wordings"]) == (4, [2, 5], [1])
    assert manifest.limits.calls == 99


@pytest.mark.parametrize("words", [("open-mindedness", "--config", "study.toml"), ("--config=study.toml",)])
@pytest.mark.parametrize("command", ["run", "plan"])
def test_the_study_is_named_in_the_file_or_on_the_command_line(
    command: str, words: tuple[str, ...], desk: Path, command_line: Any
) -> None:
    written(desk, SMALL.replace('study = "open-mindedness"\n', "") if words[0] == "open-mindedness" else SMALL)
    done = command_line(command, *words, *(["--out", "made"] if command == "run" else ["--json"]), folder=desk)
    assert done.returncode == 0, done.stderr
    if command == "plan":
        assert json.loads(done.stdout)["calls"] == 1


def test_a_file_about_another_study_is_refused(desk: Path, command_line: Any) -> None:
    written(desk, SMALL)
    done = command_line("run", "pluralism", "--config", "study.toml", folder=desk)
    assert done.returncode == 2
    assert "study.toml: study: is 'open-mindedness', but this command is for 'pluralism'" in done.stderr


def test_a_file_that_names_no_study_needs_one(desk: Path, command_line: Any) -> None:
    written(desk, "trials = 1\n")
    done = command_line("run", "--config", "study.toml", folder=desk)
    assert done.returncode == 2
    assert done.stderr.startswith("overton: study.toml: study: name the study")


def test_python_reads_the_arguments_of_run(desk: Path) -> None:
    text = SMALL.replace('"simulated/open-minded"', '["m=simulated/open-minded"]')
    path = written(desk, f"{text}shared-evidence = true\n[model-arg.m]\nletter = 0.3\n[price]\nm = [1, 2.5]\n")
    assert overton.read_config(path) == {
        "study": "open-mindedness",
        "models": ["m=simulated/open-minded"],
        "model_args": {"m": {"letter": ["0.3"]}},
        "prices": {"m": (1.0, 2.5)},
        "trials": "1",
        "only": ["cashless-shops"],
        "conditions": ["baseline"],
        "templates": ["1"],
        "wordings": ["1"],
        "shared_evidence": True,
    }
    run = overton.run(**overton.read_config(path), out=desk / "made")
    assert run.finished
    assert run.options.shared_evidence


def test_a_table_of_a_model_is_its_settings(desk: Path) -> None:
    text = '[model-arg."http://h/v1#m"]\nextra.top.k = 5\nextra.on = true\nbase_url = ["http://a/v1", "http://b/v1"]\n'
    path = written(desk, f'study = "open-mindedness"\nmodel = "http://h/v1#m"\n{text}')
    found = overton.read_config(path, trust=True)["model_args"]["http://h/v1#m"]
    assert found == {"extra.top.k": ["5"], "extra.on": ["true"], "base_url": ["http://a/v1", "http://b/v1"]}


def test_measures_are_a_table_or_words(desk: Path) -> None:
    table = written(desk, f"{MODEL}precision = {{ open_mindedness = 8, moved = 0.5 }}\n")
    words = written(desk, f'{MODEL}precision = ["open_mindedness=8", "moved=0.5"]\n', "words.toml")
    assert overton.read_config(table) == overton.read_config(words)
    assert overton.read_config(table)["precision"] == {"open_mindedness": 8.0, "moved": 0.5}


# Problems are named by their key.


WRONG: dict[str, tuple[str, str]] = {
    "max-cots = 3": ("max-cots", "no such key; did you mean 'max-cost'?"),
    "max_cost = 3": ("max_cost", "no such key; did you mean 'max-cost'?"),
    "config = 'x'": ("config", "no such key"),
    "trust = true": ("trust", "no such key"),
    "batch = 'yes'": ("batch", "must be true or false, not 'yes'"),
    "seed = [1]": ("seed", "must be a text or a number, not a list"),
    "seed = 'x'": ("seed", "'x' is not a valid integer."),
    "seed = 2026-11-29": ("seed", "must be a text or a number, not a date or time"),
    "seed = { a = 1 }": ("seed", "must be a text or a number, not a table"),
    "only = [['x']]": ("only", "must be a text or a number, not a list"),
    "max-cost = -1": ("max-cost", "-1.0 is not in the range x>=0."),
    "price = [1, 2]": ("price", "must be a table with [IN, OUT] for each NAME, not [1, 2]"),
    "price = { a = [1] }": ("price", "a: must be [IN, OUT], not [1]"),
    "price = { a = [-1, 2] }": ("price a", "-1 2: must be NAME IN OUT, where IN and OUT are 0 or more"),
    "model-arg = { a = 1 }": ("model-arg", "a: must be { KEY = VALUE }, not 1"),
    "model-arg = ['a']": ("model-arg", "must be a table with { KEY = VALUE } for each NAME, not ['a']"),
    "precision = 'x'": ("precision", "x: must be NAME=X, as in score=5"),
    "null = 'x'\nnulls = 'y'": ("nulls", "is given twice, also as null"),
    "plan = 3": ("plan", "must be a table, as in [plan]"),
    "[plan]\ndetekt = 3": ("plan.detekt", "no such key; did you mean 'detect'?"),
    "detect = ['x=1']": ("detect", "no such key"),
    "seed = 0x" + "f" * 5000: ("seed", "is too large a number"),
    "[model-arg.a]\n" + ".".join("a" * 30) + " = 1": ("model-arg", "is nested too deeply"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "key", "reason"), [(text, *said) for text, said in WRONG.items()], ids=range(len(WRONG))
)
def test_problems_are_named_by_their_key(desk: Path, text: str, key: str, reason: str) -> None:
    assert problems(written(desk, MODEL + text)) == {key: reason}


def test_all_that_is_wrong_is_said_at_once(desk: Path) -> None:
    path = written(desk, f"{MODEL}max-cots = 3\nbatch = 1\n[gate]\nguard = [{{ measure = 'x', margn = 3 }}]\n")
    with pytest.raises(InputError) as refused:
        overton.read_config(path)
    assert [problem.key for problem in refused.value.problems] == ["max-cots", "batch", ""]
    assert "guard[0].margn: no such key; did you mean 'margin'?" in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("trials = 0", "study.toml: trials: 0: must be 1 or more"),
        ("answers = 'fre'", "study.toml: answers: fre: must be one of forced, free, both; did you mean 'free'?"),
        ("only = 'nothing'", "study.toml: only: nothing: there is no such item"),
        ("items = 'none.jsonl'", "none.jsonl"),
        (
            "[model-arg]\n'simulated/open-mind' = { letter = 1 }",
            "study.toml: model-arg: simulated/open-mind: no such model in this run;",
        ),
        ("max-cost = nan", "study.toml: max-cost: nan: must be 0 or more"),
    ],
)
def test_a_later_check_names_the_key_of_the_file(desk: Path, command_line: Any, text: str, said: str) -> None:
    written(desk, MODEL + text)
    done = command_line("run", "--config", "study.toml", "--out", "made", folder=desk)
    assert (done.returncode, (desk / "made").exists()) == (2, False)
    assert said in done.stderr


def test_an_option_on_the_command_line_is_named_as_such(desk: Path, command_line: Any) -> None:
    written(desk, f"{MODEL}trials = 2\nmax-cost = 3\n")
    done = command_line("run", "--config", "study.toml", "--trials", "0", folder=desk)
    assert done.stderr.startswith("overton: --trials: 0: must be 1 or more")


def test_an_unknown_option_suggests_the_nearest(desk: Path, command_line: Any) -> None:
    done = command_line("run", "open-mindedness", "--modle", "x", folder=desk)
    assert done.returncode == 2
    assert done.stderr.endswith("did you mean '--model'?\n")


def test_a_plan_reads_its_own_options_and_a_run_leaves_them(desk: Path, command_line: Any) -> None:
    written(desk, MODEL + "trials = 1\nmax-calls = 0\n[plan]\ndetect = { open_mindedness = 10 }\npower = 0.9\n")
    done = command_line("plan", "--config", "study.toml", "--json", folder=desk)
    assert done.returncode == 0, done.stderr
    assert [found["power"] for found in json.loads(done.stdout)["detect"]] == [0.9]
    assert command_line("run", "--config", "study.toml", "--out", "made", folder=desk).returncode == 4


# Options become a file, and the file the same options.


def manifest_of(study: str, ready: SetUp, seed: int) -> Manifest:
    """The manifest of a run with these requests, as far as they are known before anything is opened."""
    entries = {
        role: [ModelEntry(each.name, each.spec, "", Settings(), each.arguments) for each in side]
        for role, side in ready.wanted.items()
    }
    return Manifest(study, seed, {}, entries, "", {}, "", "")


def _value(field: Any) -> st.SearchStrategy[Any]:
    """Values that an option can have."""
    option = field.option
    if option.known:
        return st.sampled_from(option.known)
    if field.kind is bool:
        return st.booleans()
    if field.kind is str:
        return st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
    if field.kind is tuple:
        return st.permutations([1, 2]).map(tuple)
    low = option.least if option.least is not None else (option.above or 0)
    high = option.most if option.most is not None else low + 50
    if field.kind is int:
        return st.integers(int(low), int(high))
    return st.floats(low, high, exclude_min=option.above is not None)


def _options(kind: Any) -> st.SearchStrategy[dict[str, Any]]:
    asked = {}
    for field in fields_of(kind):
        if field.option.follows or field.option.file:
            continue
        one = _value(field)
        asked[field.name] = st.lists(one, min_size=1, max_size=3, unique=True).map(tuple) if field.several else one
    return st.fixed_dictionaries({}, optional=asked)


ROLES: dict[str, dict[str, Any]] = {
    "open-mindedness": {"models": ["a=simulated/open-minded"], "judge": "simulated/side-judge"},
    "stance-stability": {"models": ["simulated/chameleon"], "judge": "simulated/stance-judge", "search": "starter"},
    "pluralism": {"models": ["simulated/pluralist"], "judge": "simulated/pluralist-judge"},
    "deliberation": {"models": ["simulated/deliberator", "b=simulated/deliberator"]},
    "even-handedness": {"models": ["simulated/advocate"], "judge": "simulated/even-judge"},
}  # fmt: skip


@pytest.mark.parametrize("name", STUDIES)
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_options_become_a_file_and_the_file_the_same_options(name: str, tmp_path: Path, data: st.DataObject) -> None:
    study = study_named(name)
    asked, seed = data.draw(_options(study.options)), data.draw(st.integers(0, 10**12))
    try:
        ready = set_up(study, **ROLES[name], **asked, seed=seed)
    except InputError:  # options that cannot be combined
        return
    folder = tmp_path / "made"
    folder.mkdir(exist_ok=True)
    (folder / "study.toml").write_text(
        study_file_text(folder, study, ready.experiment.options, manifest_of(study.name, ready, seed))
    )
    read = overton.read_config(folder / "study.toml")
    del read["study"], read["items"]
    again = set_up(study, **read)
    assert again.experiment.options == ready.experiment.options
    assert again.experiment.seed == seed
    assert again.wanted == ready.wanted


_SCALARS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.booleans() | st.integers(-(2**62), 2**62)
_PLAIN = _SCALARS | st.floats(allow_nan=False, allow_infinity=False) | st.lists(_SCALARS, max_size=20)


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
        st.recursive(_PLAIN, lambda inner: st.dictionaries(st.text(max_size=3), inner, max_size=3), max_leaves=8),
        max_size=4,
    )
)
def test_values_written_as_toml_are_read_back(values: Mapping[str, Any]) -> None:
    assert tomllib.loads(toml_text(values)) == values


@pytest.mark.parametrize("name", [entry.name for entry in listed()])
def test_every_option_of_a_command_is_a_key(name: str, desk: Path) -> None:
    """Those of other packages' studies, too: keys are the command's own options."""
    command = make_run(study_named(name))
    for param in command.params:
        if param in (CONFIG, TRUST_FILE) or not isinstance(param, click.Option):
            continue
        for flag in (flag for flag in param.opts if flag.startswith("--")):
            value = "true" if param.is_flag else "1"
            if param.nargs > 1:
                value = "{ a = [1, 2] }" if param.nargs == 3 else "{ a = { b = 1 } }"
            found = configuration_of(study_named(name), written(desk, f"{flag[2:]} = {value}\n"), command.params, ())
            assert found.keys == {param.name: flag[2:]}


# What it would reach.


def test_a_relative_file_is_relative_to_the_files_folder(
    desk: Path, command_line: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    issues = overton.items.read("open-mindedness")[:2]
    write_objects(issues, desk / "mine" / "issues.jsonl")
    written(desk / "mine", MODEL + 'items = "issues.jsonl"\nout = "made"\ntrials = 1\ntemplate = 1\nwording = 1\n')
    done = command_line("run", "--config", "mine/study.toml", folder=desk)
    assert done.returncode == 0, done.stderr
    assert (desk / "mine" / "made" / "records.parquet").is_file()


def test_a_server_that_a_file_names_is_confirmed_once(desk: Path, command_line: Any) -> None:
    written(desk, 'study = "open-mindedness"\nmodel = "http://127.0.0.1:9/v1#m"\n')
    refused = command_line("plan", "--config", "study.toml", "--trials", "1", folder=desk)
    assert refused.returncode == 2
    assert "would send the content of OVERTON_API_KEY to http://127.0.0.1:9/v1;" in refused.stderr
    assert "if you trust it, use --trust" in refused.stderr
    assert command_line("plan", "--config", "study.toml", "--trials", "1", "--trust", folder=desk).returncode == 0
    assert command_line("plan", "--config", "study.toml", "--trials", "1", folder=desk).returncode == 0


def test_addresses_on_the_command_line_need_no_confirmation(desk: Path, command_line: Any) -> None:
    written(desk, 'study = "open-mindedness"\ntrials = 1\n')
    words = ["plan", "--config", "study.toml", "--model", "http://127.0.0.1:9/v1#m"]
    assert command_line(*words, folder=desk).returncode == 0


def test_a_file_cannot_redirect_a_model_of_the_command_line_unseen(desk: Path, command_line: Any) -> None:
    written(desk, f'study = "open-mindedness"\n[model-arg."openai/gpt-4o"]\nkey_env = "{SECRET}"\n')
    done = command_line("plan", "--config", "study.toml", "--model", "openai/gpt-4o", folder=desk)
    assert done.returncode == 2
    assert f"would send the content of {SECRET}" in done.stderr


@pytest.mark.hostile
@pytest.mark.parametrize("variable", ["HOME", SECRET])
def test_a_variable_is_not_sent_before_that_is_confirmed(
    desk: Path, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "the-secret-0123456789abcdef")
    path = written(
        desk,
        f'study = "open-mindedness"\nmodel = "o=openai/gpt-4o"\n[model-arg.o]\nkey_env = "{variable}"\n',
    )
    (reason,) = problems(path).values()
    assert f"o would send the content of {variable} to https://api.openai.com" in reason
    assert "the-secret" not in reason
    asked: list[str] = []
    overton.read_config(path, confirm=lambda file, would: bool(asked.extend([str(file), *would])) or True)
    assert asked[0] == str(path.resolve())
    assert variable in asked[1]


@pytest.mark.hostile
@pytest.mark.parametrize(
    ("key", "word"),
    [
        ("items", "/etc/passwd"),
        ("items", "../secret.jsonl"),
        ("items", "link.jsonl"),
        ("items", "folder"),
        ("positions", "../positions.csv"),
        ("prompts", "../prompts"),
        ("prices", "~/prices.toml"),
        ("model", "gguf:../model.gguf"),
    ],
)
def test_a_file_elsewhere_is_not_opened_before_that_is_confirmed(
    desk: Path, key: str, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (desk.parent / "secret.jsonl").write_text("{}")
    (desk / "link.jsonl").symlink_to(desk.parent / "secret.jsonl")
    (desk / "folder").mkdir()
    (desk / "folder" / "a.jsonl").symlink_to(desk.parent / "secret.jsonl")
    text = f'study = "open-mindedness"\n{key} = "{word}"\n'
    (reason,) = problems(written(desk, text)).values()
    assert " would open /" in reason
    monkeypatch.chdir(desk)
    assert problems(Path("study.toml")) == {"": reason}
    assert overton.read_config("study.toml", trust=True)


@pytest.mark.hostile
def test_a_folder_elsewhere_is_not_made_before_that_is_confirmed(desk: Path) -> None:
    (reason,) = problems(written(desk, MODEL + 'out = "../elsewhere"\n')).values()
    assert f"out would make the folder {desk.parent / 'elsewhere'}" in reason


@pytest.mark.hostile
@pytest.mark.parametrize(
    "text",
    ["x" * (2**20 + 1), "a = " + "[" * 5000, "a = \x00", "a = '\udc80'", "[a\n", "a = 1\na = 2", "a = " + "1" * 5000],
    ids=range(7),
)
def test_invalid_toml_is_refused(desk: Path, text: str) -> None:
    path = desk / "study.toml"
    path.write_bytes(text.encode(errors="surrogateescape"))
    assert "cannot be read as a configuration file" in next(iter(problems(path).values()))


@pytest.mark.hostile
def test_links_and_missing_files_are_refused_as_configuration(desk: Path) -> None:
    written(desk, SMALL, "real.toml")
    (desk / "link.toml").symlink_to(desk / "real.toml")
    assert "is a symbolic link" in problems(desk / "link.toml")[""]
    assert "No such file" in problems(desk / "none.toml")[""]


def test_a_runs_file_has_no_secret_and_no_absolute_path(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "MINE"):
        monkeypatch.setenv(variable, "sk-mine-0123456789abcdef")
    study = study_named("open-mindedness")
    settings = {"key_env": "MINE", "base_url": ["@/srv/list", "@mine/list", "http://host/v1"]}
    models = ["o=openai/gpt-4o", "gguf:/srv/x.gguf", "gguf:mine/y.gguf"]
    ready = set_up(study, models=models, model_args={"o": settings}, trials=1)
    monkeypatch.chdir(desk)
    text = study_file_text(Path("runs/made"), study, ready.experiment.options, manifest_of(study.name, ready, 0))
    table = tomllib.loads(text)
    assert table["model"] == ["o=openai/gpt-4o", "gguf:x.gguf", "gguf:../../mine/y.gguf"]
    assert table["model-arg"]["o"]["base_url"] == ["@list", "@../../mine/list", "http://host/v1"]
    assert table["model-arg"]["o"]["key_env"] == "MINE"
    assert "sk-" not in text
    assert [line.split()[1] for line in text.splitlines()[1:3]] == ["x.gguf", "list"]


# The gate.


def test_a_gate_reads_the_same_file(desk: Path, command_line: Any) -> None:
    written(desk, MODEL + 'trials = 1\nout = "old"\n[gate]\n[[gate.guard]]\nmeasure = "open_mindedness"\nmargin = 90\n')
    assert command_line("run", "--config", "study.toml", folder=desk).returncode == 0
    assert command_line("run", "--config", "study.toml", "--out", "new", "--seed", "1", folder=desk).returncode == 0
    done = command_line("gate", "old", "new", "--config", "study.toml", folder=desk)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "Gate: within.")
    written(desk, '[[guard]]\nmeasure = "open_mindednes"\nmargin = 90\n', "gate.toml")
    done = command_line("gate", "old", "new", "--config", "gate.toml", folder=desk)
    assert done.returncode == 2
    assert done.stderr.startswith("overton: gate.toml: guard open_mindednes: no such measure;")
    assert "--m" not in done.stderr
