"""A study of another package that is broken in any way disables only itself, and is reported in one sentence.

Each kind of fault is a change of a study that works. A fault in asking keeps the replies: once the author has mended
the study, the run is resumed and nothing is paid for again.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from study_packages import TEA

import overton
from overton.errors import InputError, StudyError
from overton.runs import experiment
from overton.studies import guards, registry
from overton.studies.registry import listed, study_named

CommandLine = Callable[..., subprocess.CompletedProcess[str]]
RUN = ("run", "tea", "--model", "simulated/drinker", "--out", "run")
TRIALS = 6

ASKS = '    reply = await ask("subject", [user(f"Tea or {trial.item}?")])\n'
GIVES = "    return [Record(trial.name, trial.item, reply.text, len(reply.text))]\n"
LATE = '    if trial.name == "wine/r2":\n        '
MEASURES = '    return Analysis({"tea": int(results.records["letters"].sum())})\n'
FINDS = "    return []\n"
LISTS = '            yield Trial(f"{item.id}/r{time + 1}", item.id, seed)\n'
ANSWERS = '        return Reply("tea")\n'
PANIC = 'type("PanicException", (BaseException,), {"__module__": "pyo3_runtime"})("index out of bounds")'

IN_ASKING = {
    "raises": (GIVES, f"{LATE}raise ValueError('no\\nsugar')\n{GIVES}", r"ValueError: no sugar"),
    "exits": (GIVES, f"{LATE}raise SystemExit(7)\n{GIVES}", r"SystemExit: 7"),
    "interrupts itself": (GIVES, f"{LATE}raise KeyboardInterrupt\n{GIVES}", r"KeyboardInterrupt"),
    "closes itself": (GIVES, f"{LATE}raise GeneratorExit\n{GIVES}", r"GeneratorExit"),
    "cancels itself": (
        GIVES,
        f"{LATE}import asyncio\n        raise asyncio.CancelledError\n{GIVES}",
        r"CancelledError",
    ),
    "panics": (GIVES, f"{LATE}raise {PANIC}\n{GIVES}", r"PanicException: index out of bounds"),
    "stops iterating": (GIVES, f"{LATE}raise StopIteration\n{GIVES}", r"RuntimeError: coroutine raised StopIteration"),
    "returns nothing": (GIVES, f"{LATE}return None\n{GIVES}", r"it returned None, but must return a list of Record"),
    "returns a dict": (
        GIVES,
        f"{LATE}return [dict(trial=trial.name)]\n{GIVES}",
        r"it returned a list with a value of type dict",
    ),
    "returns other rows": (
        GIVES,
        f"{LATE}return [Drink('x')]\n{GIVES}",
        r"it returned a list with a value of type Drink",
    ),
    "asks an unknown role": (
        GIVES,
        f"{LATE}await ask('waiter', [user('?')])\n{GIVES}",
        r"ValueError: asks 'waiter', which is not one of the roles: subject",
    ),
    "does not handle a failed call": (
        ANSWERS,
        '        from overton.errors import RejectedError\n        if "wine" in request.messages[0].content:\n'
        f"            raise RejectedError('filtered', 'no wine')\n{ANSWERS}",
        r"it does not handle a call that failed \(filtered: no wine\); use ask_until_read",
    ),
    "its answerer raises": (
        ANSWERS,
        f"        if 'wine' in request.messages[0].content:\n            raise OSError('spilled')\n{ANSWERS}",
        r"OSError: spilled",
    ),
    "its answerer answers with a text": (
        ANSWERS,
        f"        if 'wine' in request.messages[0].content:\n            return 'tea'\n{ANSWERS}",
        r"it returned a value of type str, but must return a Reply",
    ),
}


@pytest.mark.parametrize("fault", IN_ASKING)
def test_a_fault_in_asking_names_trial_and_line_and_the_run_is_resumed_once_it_is_mended(
    fault: str, study_packages: Any, command_line: CommandLine, tmp_path: Path
) -> None:
    old, new, reason = IN_ASKING[fault]
    file = study_packages(TEA.replace(old, new))
    done = command_line(*RUN, folder=tmp_path)
    assert done.returncode == 1, done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("overton: study")]
    assert len(said) == 1, done.stderr
    assert re.search(r"study tea \(teahouse\): .* failed at teahouse/study\.py:\d+: " + reason, said[0])
    assert "Traceback" not in done.stdout + done.stderr
    if "answerer" not in fault:
        assert " in trial 'wine/r" in said[0]
        line = int(re.findall(r"study\.py:(\d+)", said[0])[0])
        blamed = file.read_text().splitlines()[line - 1]
        assert blamed.strip() in new + ASKS or blamed.startswith("async def conduct"), blamed
    kept = tmp_path / "run" / "traceback.txt"
    assert f"(traceback: {Path('run', 'traceback.txt')})" in said[0]
    assert "Traceback (most recent call last)" in kept.read_text()

    study_packages()
    resumed = command_line("resume", "run", *(["--retry-failed"] if "failed" in fault else []), folder=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_bytes())
    again = {"does not handle a failed call": 2, "its answerer raises": 2, "its answerer answers with a text": 2}
    assert TRIALS <= manifest["spent"]["requests"] <= TRIALS + again.get(fault, 0)
    assert manifest["status"] == "finished"


IN_MEASURING = {
    "measures raise": (MEASURES, f"    raise ZeroDivisionError('no tea')\n{MEASURES}", r"ZeroDivisionError: no tea"),
    "measures exit": (MEASURES, f"    raise SystemExit(0)\n{MEASURES}", r"SystemExit: 0"),
    "measures return nothing": (MEASURES, "    return None\n", r"it returned None, but must return Analysis"),
    "measures return a dict": (MEASURES, "    return {'tea': 1}\n", r"it returned a value of type dict, but must"),
    "measures have keys that are no numbers": (
        MEASURES,
        "    return Analysis({float('nan'): object(), ('a',): 1})\n",
        r"\w+Error: ",
    ),
    "findings raise": (FINDS, f"    raise KeyError('none')\n{FINDS}", r"KeyError: 'none'"),
    "findings are texts": (FINDS, "    return ['tea wins']\n", r"it returned a value of type str among others, but"),
    "findings do not end": (
        FINDS,
        "    return iter(lambda: Finding('tea', 'tea', 'tea'), None)\n",
        r"(it returned more than|TypeError)",
    ),
    "sections raise": (
        "    rows = [[name",
        "    raise IndexError('empty')\n    rows = [[name",
        r"IndexError: empty",
    ),
    "sections are texts": (
        "    rows = [[name",
        "    return ['tea']\n    rows = [[name",
        r"it returned a value of type str",
    ),
    "a table has a short row": (
        "    rows = [[name, count] for",
        "    rows = [[name] for",
        r"it returned the table 'Letters', in which a row has more or fewer cells",
    ),
}


@pytest.mark.parametrize("fault", IN_MEASURING)
def test_a_fault_in_measuring_is_one_sentence_and_a_report_is_made_once_it_is_mended(
    fault: str, study_packages: Any, command_line: CommandLine, tmp_path: Path
) -> None:
    old, new, reason = IN_MEASURING[fault]
    study_packages(TEA.replace(old, new))
    done = command_line(*RUN, folder=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    (said,) = [line for line in done.stderr.splitlines() if "study tea" in line]
    assert re.search(r"Nothing can be reported: study tea \(teahouse\): .* failed.*: " + reason, said), said
    if "keys" not in fault:
        assert re.search(r" at teahouse/study\.py:\d+: ", said)
    for command in (("report", "run"), ("analyze", "tea", "run"), ("analyze", "tea", "run", "--json")):
        again = command_line(*command, folder=tmp_path)
        assert "Traceback" not in again.stdout + again.stderr
        assert again.stdout == "" or again.returncode == 0
    assert json.loads((tmp_path / "run" / "manifest.json").read_bytes())["status"] == "finished"
    study_packages()
    assert command_line("report", "run", folder=tmp_path).returncode == 0


TESTS = """
    from overton.studies.findings import CandidateFinding
    letters = Estimate(0.3, 0.2, 0.4, 30, "Student's t over drinks")
    about = {"model": "drinker", "clusters": 30, "n": 30, "units": "drinks", "exhibit": "letters"}
    return [CandidateFinding(number=letters, above="Tea is short.", measure="letters", **about)]
"""


def test_findings_may_be_tests(study_packages: Any, command_line: CommandLine, tmp_path: Path) -> None:
    study_packages(TEA.replace(FINDS, TESTS))
    assert command_line(*RUN, folder=tmp_path).returncode == 0
    done = command_line("analyze", "tea", "run", "--json", folder=tmp_path)
    assert [finding["code"] for finding in json.loads(done.stdout)["findings"]] == ["letters above 0"]


def test_a_failing_sentence_of_a_finding_does_not_give_a_traceback(
    study_packages: Any, command_line: CommandLine, tmp_path: Path
) -> None:
    study_packages(TEA.replace(FINDS, TESTS.replace('above="Tea is short."', "above=lambda wide: {}['other']")))
    assert command_line(*RUN, folder=tmp_path).returncode == 1
    done = command_line("analyze", "tea", "run", folder=tmp_path)
    assert done.returncode == 1
    assert "Traceback" not in done.stdout + done.stderr
    assert re.search(r"study tea \(teahouse\): its findings failed.*KeyError: 'other'", done.stderr)


def test_blank_item_that_is_not_a_function_is_one_sentence(
    study_packages: Any, command_line: CommandLine, tmp_path: Path
) -> None:
    study_packages(TEA.replace('"JSON lines", starter', '"JSON lines", blank=Drink("tea"), starter'))
    done = command_line("items", "new", "drink", "--out", "drink.json", folder=tmp_path)
    assert done.returncode == 1
    assert re.search(r"study tea \(teahouse\): Items\.blank failed: TypeError", done.stderr)


def test_records_that_fit_no_table_are_counted_and_the_run_ends(
    study_packages: Any, command_line: CommandLine, tmp_path: Path
) -> None:
    study_packages(TEA.replace("len(reply.text))]", "2**70 if 'wine' in trial.name else float('nan'))]"))
    done = command_line(*RUN, folder=tmp_path)
    assert done.returncode == 3, done.stderr
    assert "6 trials could not be stored as table rows" in done.stderr


OPTION = '    times: Annotated[int, Option("How often each is asked", least=1, extends=True)] = 2\n'


def _with_method(method: str) -> tuple[str, str]:
    """The line of an option, and the same with a method of the options below it."""
    return OPTION, f"{OPTION}\n    {method}\n"


BEFORE_ASKING = {
    "a trial is listed twice": (LISTS, LISTS.replace("{time + 1}", "1"), 2, "two trials have this name"),
    "trials do not end": (
        "        for time in range(options.times):\n",
        "        import itertools\n        for time in itertools.count():\n",
        2,
        "there would be more than 1,000 trials of each model",
    ),
    "trials raise": (LISTS, f"            raise OSError('no list')\n{LISTS}", 1, "OSError: no list"),
    "trials are texts": (LISTS, "            yield 'milk'\n", 1, "it returned a value of type str among its trials"),
    "trials are none": (
        "def trials(",
        "def trials(items, options, seed):\n    return None\n\ndef unused(",
        1,
        "returned None",
    ),
    "a trial has no name": (LISTS, LISTS.replace('f"{item.id}/r{time + 1}"', "None"), 1, "a trial with the name None"),
    "prompts are a list": ('prompts=lambda: {"ask": "Tea or ITEM?"}', "prompts=lambda: ['Tea?']", 1, "a dict of texts"),
    "prompts raise": ('prompts=lambda: {"ask": "Tea or ITEM?"}', "prompts=lambda: 1 / 0", 1, "ZeroDivisionError"),
    "its items raise": ('starter=lambda: [Drink("milk")', "starter=lambda: [Drink(1 / 0)", 1, "ZeroDivisionError"),
    "its items are texts": ('starter=lambda: [Drink("milk")', 'starter=lambda: ["milk"', 1, "must be of type Drink"),
    "its answerer cannot be made": ("    name = identity", "    names = identity", 1, "cannot answer: it has no name"),
    "its options are checked by an error": (
        *_with_method("def problems(self): return self.sugar"),
        1,
        "AttributeError: 'Options' object has no attribute 'sugar'",
    ),
    "its remarks are numbers": (
        *_with_method("def remarks(self): return [7]"),
        1,
        "of type int",
    ),
    "its options demand nothing that is known": (
        *_with_method("def demands(self, named): return {}"),
        1,
        "returned a value of type dict, but must return Demands",
    ),
    "its options demand tokens of no role": (
        *_with_method("def demands(self, named): return __import__('overton').studies.Demands(tokens=[512])"),
        1,
        "demands whose tokens are a value of type list, not a mapping by role",
    ),
    "its options complete themselves with a list": (
        *_with_method("complete = classmethod(lambda cls, given, named: [given])"),
        1,
        "returned a value of type list, but must return dict",
    ),
    "a record has a column of any type": ("    letters: int = 0", "    letters: object = 0", 2, "cannot store"),
}


@pytest.mark.parametrize("fault", BEFORE_ASKING)
def test_a_fault_in_preparing_is_found_before_anything_is_asked(
    fault: str, study_packages: Any, command_line: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    old, new, code, reason = BEFORE_ASKING[fault]
    monkeypatch.setattr(experiment, "MOST_TRIALS", 1000)
    assert old in TEA
    study_packages(TEA.replace(old, new))
    done = command_line(*RUN, folder=tmp_path)
    assert done.returncode == code, done.stderr
    assert reason in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


RENAMED = "docs/your-own-study.md, 'From interface 1 to 2', lists names and modules that have changed"
IN_LOADING = {
    "raises": ("raise RuntimeError('half\\nwritten')", "RuntimeError: half written (at teahouse/study.py:1)"),
    "exits": ("raise SystemExit(9)", "SystemExit: 9 (at teahouse/study.py:1)"),
    "interrupts itself": ("raise KeyboardInterrupt", "KeyboardInterrupt (at teahouse/study.py:1)"),
    "closes itself": ("raise GeneratorExit", "GeneratorExit (at teahouse/study.py:1)"),
    "panics": (f"raise {PANIC}", "PanicException: index out of bounds (at teahouse/study.py:1)"),
    "is not Python": ("def (", "SyntaxError: invalid syntax"),
    "names nothing": ("x = 1", "AttributeError: module 'teahouse.study' has no attribute 'STUDY'"),
    "names no study": ("STUDY = 3", "names an object that is not a Study"),
    "lacks arguments": ("from overton.studies import Study\nSTUDY = Study(name='tea')", "TypeError: "),
    "has no roles": (TEA.replace('(Role("subject", "Model to measure", flag="model"),)', "()"), "roles must be"),
    "has roles that are texts": (
        TEA.replace('(Role("subject", "Model to measure", flag="model"),)', '("subject",)'),
        "AttributeError: 'str' object has no attribute 'several'",
    ),
    "has no items": (TEA.replace("    items=Items(", "    items=None and Items("), "its items must be Items"),
    "has items without an id": (TEA.replace("    id: str", "    name: str"), "has no field 'id'"),
    "has a record that is no struct": (TEA.replace("    record=Record", "    record=dict"), "its record must be"),
    "has options without help": (
        TEA.replace('Option("How often each is asked", least=1, extends=True)', "0"),
        "options cannot be read",
    ),
    "has a conduct that is a text": (TEA.replace("    conduct=conduct", "    conduct='ask'"), "its conduct must be"),
    "has measures that are a function": (TEA.replace("    measuring=Measuring(", "    measuring=dict("), "measuring"),
    "has another name inside": (
        TEA.replace('name="tea"', 'name="coffee"'),
        "declares this name, but its entry point has another",
    ),
    "has a name that is no text": (TEA.replace('name="tea"', "name=None"), "its name must be a word"),
    "is of another interface": (TEA.replace("interface=2", "interface=99"), "was written for version 99"),
    "is of interface 1": (TEA.replace("interface=2", "interface=1"), RENAMED),
    "imports a name of interface 1": (f"from overton.calls import Looked\n{TEA}", RENAMED),
    "imports a module of interface 1": (f"import overton.studies.nothing\n{TEA}", RENAMED),
    "uses an argument of interface 1": (TEA.replace("interface=2", "interface=2, before=1"), RENAMED),
    "checks its options as in interface 1": (
        TEA.replace("interface=2", "interface=2, check=lambda options: ()"),
        RENAMED,
    ),
    "has options of interface 1": (
        TEA.replace("class Options(StudyOptions,", "class Options(msgspec.Struct,"),
        "its options must be a class derived from overton.studies.StudyOptions",
    ),
    "has an option that is named like a method": (
        TEA.replace("    times: Annotated", "    remarks: Annotated"),
        "its options have a field 'remarks', which is the name of a method of StudyOptions: rename it",
    ),
}


@pytest.mark.parametrize("fault", IN_LOADING)
def test_a_study_that_cannot_be_loaded_disables_only_itself(
    fault: str, study_packages: Any, command_line: CommandLine, tmp_path: Path
) -> None:
    text, reason = IN_LOADING[fault]
    study_packages(f"print('hello')\n{text}" if text.startswith("x") else text)
    (one,) = [one for one in listed() if one.name == "tea"]
    assert reason in one.problem
    assert "\n" not in one.problem

    doctor = command_line("doctor", folder=tmp_path)
    assert doctor.returncode == 1
    assert len([line for line in doctor.stdout.splitlines() if "study tea cannot be used" in line]) == 1
    used = command_line(*RUN, folder=tmp_path)
    assert used.returncode == 2
    assert reason in used.stderr
    for words in (
        ("run", "--help"),
        ("items", "list", "issues"),
        ("plan", "open-mindedness", "--model", "simulated/open-minded"),
    ):
        done = command_line(*words, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr


def test_prints_of_a_study_do_not_get_between_results(
    study_packages: Any, command_line: CommandLine, tmp_path: Path
) -> None:
    loud = TEA.replace("class Drink(", "print('at import')\n\nclass Drink(", 1)
    for old, word in ((GIVES, "conduct"), (MEASURES, "measures"), (FINDS, "findings"), (LISTS, "trials")):
        indent = " " * (len(old) - len(old.lstrip()))
        loud = loud.replace(old, f"{indent}print('in {word}\\x1b[31m')\n{old}")
    study_packages(loud)
    assert command_line(*RUN, folder=tmp_path).returncode == 0
    for words in (("items", "list", "issues", "--json"), ("analyze", "tea", "run", "--json"), ("doctor", "--json")):
        study_packages(loud)
        done = command_line(*words, folder=tmp_path)
        json.loads(done.stdout)
        assert "at import" in done.stderr
        assert "\x1b" not in done.stderr
    assert "in measures" in command_line("analyze", "tea", "run", "--json", folder=tmp_path).stderr


def test_two_packages_with_a_study_of_one_name_are_both_named_and_neither_is_used(
    study_packages: Any, command_line: CommandLine, tmp_path: Path
) -> None:
    study_packages()
    study_packages(package="bistro")
    study_packages(TEA.replace('name="tea"', 'name="other-tea"'), package="cafe", study="other_tea")
    for words in (RUN, ("plan", *RUN[1:4]), ("describe", "tea")):
        done = command_line(*words, folder=tmp_path)
        assert done.returncode == 2
        assert "bistro (bistro.study:STUDY) and teahouse (teahouse.study:STUDY) both provide" in done.stderr
    doctor = command_line("doctor", folder=tmp_path)
    assert len([line for line in doctor.stdout.splitlines() if "both provide a study of this name" in line]) == 1
    other = command_line("run", "other-tea", *RUN[2:], folder=tmp_path)
    assert other.returncode == 0, other.stderr


def test_a_name_that_overton_uses_itself_is_ignored_and_the_doctor_says_so(study_packages: Any) -> None:
    study_packages(TEA.replace('name="tea"', 'name="pluralism"'), study="pluralism")
    assert study_named("pluralism").title == "Pluralism"
    said = "the study pluralism of teahouse (teahouse.study:STUDY) is ignored, because Overton uses this name itself"
    assert said in overton.doctor().problems


def test_two_packages_with_one_word_for_items_are_both_named_and_neither_is_used(
    study_packages: Any, command_line: CommandLine, tmp_path: Path
) -> None:
    study_packages()
    study_packages(TEA.replace('name="tea"', 'name="coffee"'), package="cafe", study="coffee")
    study_packages(
        TEA.replace('"drink"', '"issue"').replace('name="tea"', 'name="news"'), package="paper", study="news"
    )
    for word, named in (
        ("drinks", "tea of teahouse (teahouse.study:STUDY) and coffee of cafe (cafe.study:STUDY)"),
        ("issue", "open-mindedness of overton (overton.studies.open_mindedness:STUDY) and news of paper"),
    ):
        for words in (("items", "list", word), ("items", "new", word, "--out", "new.json")):
            done = command_line(*words, folder=tmp_path)
            assert done.returncode == 2, done.stdout
            first, second = named.split(" and ")
            assert first in done.stderr
            assert second in done.stderr
        assert sum(first in problem and second in problem for problem in overton.doctor().problems) == 1
    assert command_line("items", "list", "tea", folder=tmp_path).returncode == 0
    assert command_line("items", "list", "open-mindedness", folder=tmp_path).returncode == 0


def test_a_real_interrupt_passes_and_one_that_the_study_raises_does_not() -> None:
    guard = guards.Guard("tea (teahouse)")
    with pytest.raises(KeyboardInterrupt), guard.running("loading"):
        signal.raise_signal(signal.SIGINT)
    with pytest.raises(StudyError, match="loading failed: KeyboardInterrupt"), guard.running("loading"):
        raise KeyboardInterrupt
    with pytest.raises(InputError), guard.running("loading"):
        raise InputError("an error of ours passes")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_study_of_ours_is_not_guarded_and_a_fault_in_it_stays_one() -> None:
    from overton.studies.installed_study import InstalledStudy, blaming

    ours = study_named("pluralism")
    assert not isinstance(ours, InstalledStudy)
    with pytest.raises(ZeroDivisionError), blaming(ours, "measures"):
        _ = 1 / 0


def test_an_outer_task_that_is_cancelled_stays_cancelled(study_packages: Any) -> None:
    import asyncio

    study_packages(TEA.replace(ASKS, f"    import asyncio\n    await asyncio.sleep(9)\n{ASKS}"))
    study = study_named("tea")

    async def cancelled() -> bool:
        task = asyncio.ensure_future(study.conduct(None, None))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return True
        return False

    assert asyncio.run(cancelled())


def test_a_process_survives_the_import_of_any_study(tmp_path: Path) -> None:
    """The installed command itself, with a package that Python finds."""
    about = tmp_path / "teahouse-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: teahouse\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[overton.studies]\ntea = teahouse:STUDY\n")
    (tmp_path / "teahouse.py").write_text("print('hello')\nraise GeneratorExit\n")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])}
    words = [sys.executable, "-c", "from overton.cli import main; main()", "items", "list", "issues", "--json"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)


COMMANDS = '''
from typing import Annotated

from overton.studies import Done, Option


def count_leaves(leaves: Annotated[int, Option("How many leaves", least=1)] = 3) -> int:
    """Count tea leaves.

    One by one.
    """
    return 6 // (leaves - 1)


def show_count_leaves(result: int) -> Done:
    return Done([f"{result} leaves"])
'''


@pytest.mark.parametrize("call", ["teahouse.commands:count_leaves", "teahouse.commands:missing"])
def test_another_package_adds_a_command_or_a_sentence_on_why_it_cannot(
    study_packages: Any, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    (study_packages().parent / "commands.py").write_text(COMMANDS)
    points = [EntryPoint("count-leaves", call, registry.COMMANDS)]
    monkeypatch.setattr(registry, "entry_points", lambda group: [point for point in points if point.group == group])
    own = next(own for own in registry.own_commands() if own.name == "count-leaves")
    if call.endswith("missing"):
        assert own.help.startswith("Cannot be used: ")
        with pytest.raises(StudyError):
            _ = own.function
        return
    assert own.help == "Count tea leaves."
    assert own.shown(own.function(leaves=4)).lines == ["2 leaves"]
    with pytest.raises(StudyError, match="ZeroDivisionError"):
        own.function(leaves=1)
