"""The list of small faults fits the source, and its runner tells a caught fault from a missed one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from benchmarks.faults import AREAS, FAULTS, ROOT, SOURCE, Fault, FaultError, FaultTrial, apply_fault, main, read_faults

LISTED = read_faults(FAULTS)


def test_each_area_has_sixteen_faults() -> None:
    assert Counter(fault.area for fault in LISTED) == dict.fromkeys(AREAS, 16)
    assert len({(fault.file, fault.old, fault.new) for fault in LISTED}) == len(LISTED)


@pytest.mark.parametrize("fault", LISTED, ids=lambda fault: f"{fault.file}: {fault.why}")
def test_a_fault_changes_one_place_of_its_file_and_has_tests(fault: Fault) -> None:
    changed = apply_fault(fault, SOURCE)
    assert changed != (SOURCE / fault.file).read_text("utf-8")
    compile(changed, fault.file, "exec")
    assert fault.why
    assert fault.tests
    for test in fault.tests:
        assert (ROOT / test).is_file()


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a package of one function, and one test of it, which needs no plugins."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    package = tmp_path / "source/toy"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "limits.py").write_text("def allowed(calls, most):\n    return calls >= 0 and calls <= most\n")
    test = "from toy.limits import allowed\n\ndef test_one_more():\n    assert not allowed(3, 2)\n"
    (tmp_path / "test_toy.py").write_text(test)
    return tmp_path


def fault_of(old: str, new: str, test: str = "test_toy.py") -> Fault:
    return Fault("toy", "limits.py", old, new, (test,), f"{new} takes the place of {old}")


def words(toy: Path, *faults: Fault, clean: bool = True, limit: float = 60) -> list[str]:
    return [one.word for one in FaultTrial(faults, toy / "source/toy", toy, limit=limit).run(clean=clean)]


def test_a_missed_fault_is_reported_as_missed_and_a_caught_one_as_caught(toy: Path) -> None:
    before = (toy / "source/toy/limits.py").read_text()
    assert words(toy, fault_of("<= most", "< most"), fault_of("<= most", "<= most + 1")) == ["missed", "caught"]
    assert (toy / "source/toy/limits.py").read_text() == before
    assert not list(toy.glob("source/**/*.pyc"))


def test_tests_that_cannot_run_or_do_not_end_catch_nothing(toy: Path) -> None:
    assert words(toy, fault_of("return", "retrun"), clean=False) == ["not run"]
    assert words(toy, fault_of("    return", "    while True: pass\n    return"), clean=False, limit=3) == ["too long"]


def test_a_text_that_does_not_occur_exactly_once_is_an_error_that_names_the_fault(toy: Path) -> None:
    with pytest.raises(FaultError, match=r"limits\.py: occurs 3 times instead of once: 'calls'"):
        words(toy, fault_of("calls", "call"))
    with pytest.raises(FaultError, match=r"limits\.py: occurs 0 times"):
        words(toy, fault_of("gone", "there"))


def test_tests_that_fail_without_a_fault_are_an_error(toy: Path) -> None:
    (toy / "test_toy.py").write_text("def test_nothing():\n    assert False\n")
    with pytest.raises(FaultError, match=r"unchanged source fail; one of test_toy\.py"):
        words(toy, fault_of("<= most", "< most"))


def test_the_command_prints_a_line_for_each_fault_and_a_table_of_areas(
    toy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = toy / "faults.toml"
    start = '[[faults]]\narea = "toy"\nfile = "limits.py"\nold = "<="\ntests = ["test_toy.py"]\n'
    listed.write_text(f"""{start}new = "<"\nwhy = "one less"\n{start}new = "!="\nwhy = "more"\n""")
    command = ["--faults", str(listed), "--source", str(toy / "source/toy"), "--root", str(toy), "--no-clean"]
    assert main(command) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:2]] == ["missed", "caught"]
    assert lines[-1].split()[:4] == ["toy", "2", "1", "1"]
    assert main([*command, "--only", "nothing"]) == 0
    listed.write_text(listed.read_text().replace("<=", "=="))
    assert main(command) == 2
    assert "occurs 0 times" in capsys.readouterr().err
