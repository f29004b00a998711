"""Checks of the package: imports are declared, declared packages are pinned, and the wheel holds all needed files."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterable
from functools import cache
from importlib.metadata import distribution, packages_distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PYTHONS = ["3.11", "3.12", "3.13"]
ALLOWED = {
    "src": [
        "embedded",
        "retrieval",
        "clustering",
        "spreadsheets",
        "ray",
        "sentence-transformers",
        "inspect",
        "testing",
    ],
    "tests": ["embedded", "retrieval", "clustering", "spreadsheets", "ray", "inspect", "bench", "dev"],
    "benchmarks": ["bench", "ray"],
    "fuzz": ["embedded", "retrieval", "clustering", "spreadsheets", "inspect", "dev"],
}
"""The extras whose packages a folder may import in addition to the plain dependencies."""

UNPINNED = {"sentence-transformers"}
"""An extra that brings PyTorch: too large to be installed for the tests, so that there is nothing to pin."""

PIN = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*==[0-9][0-9a-z.]*(; [a-z_]+ (==|!=|<|<=|>|>=) ['\"][a-z0-9.]+['\"])?")


def declared(extras: Iterable[str] = ()) -> dict[str, Requirement]:
    project = PROJECT["project"]
    lines = [*project["dependencies"], *(line for extra in extras for line in project["optional-dependencies"][extra])]
    return {canonicalize_name(needed.name): needed for needed in map(Requirement, lines)}


def every_requirement() -> list[Requirement]:
    """Every pinned extra's, the build's, the audit's, and what hatchling asks for to build an editable install."""
    lines = (ROOT / ".ci" / "requirements.txt").read_text("utf-8").splitlines()
    tools = [Requirement(line) for line in lines if not line.startswith("#")]
    builds = map(Requirement, [*PROJECT["build-system"]["requires"], "editables~=0.3"])
    extras = [extra for extra in PROJECT["project"]["optional-dependencies"] if extra not in UNPINNED]
    return [*declared(extras).values(), *builds, *tools]


def pin_lines() -> list[str]:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


@cache
def pins(python: str) -> dict[str, Version]:
    held: dict[str, Version] = {}
    for pin in map(Requirement, pin_lines()):
        if pin.marker is None or pin.marker.evaluate({"python_version": python, "python_full_version": f"{python}.0"}):
            assert pin.name not in held, f"{pin.name} is pinned twice for Python {python}"
            held[pin.name] = Version(str(pin.specifier).removeprefix("=="))
    return held


def imported(folder: str) -> dict[str, str]:
    """Where each package outside the standard library and the project is imported, by its name in an import."""
    beside = {"benchmarks": ["benchmarks", "tests/plugins"], "tests": ["tests/plugins"]}.get(folder, [])
    own = {"overton", "fuzz", "benchmarks", "tests"}
    own |= {path.stem for place in beside for path in (ROOT / place).glob("*.py")}
    found: dict[str, str] = {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            for top in {name.split(".")[0] for name in names} - own - set(sys.stdlib_module_names):
                found.setdefault(top, f"{path.relative_to(ROOT)}:{node.lineno}")
    return found


PEERS = {"torch", "ppi_py"}
"""Packages that benchmarks compare with if they are installed. They are too large to install only for that."""


@pytest.mark.parametrize("folder", ALLOWED)
def test_every_import_is_declared(folder: str) -> None:
    allowed = declared(ALLOWED[folder]).keys()
    homes = packages_distributions()
    undeclared = {
        name: place
        for name, place in imported(folder).items()
        if name not in PEERS or folder != "benchmarks"
        if not {canonicalize_name(home) for home in homes.get(name, [name])} & allowed
    }
    assert not undeclared


def test_a_pin_is_a_name_a_version_and_a_marker() -> None:
    assert pin_lines()
    assert [line for line in pin_lines() if not PIN.fullmatch(line)] == []


def test_pins_are_sorted_and_named_as_the_index_names_them() -> None:
    names = [Requirement(line).name for line in pin_lines()]
    assert names == sorted(map(canonicalize_name, names))


@pytest.mark.parametrize("python", [*PYTHONS, "3.14"])
def test_every_dependency_is_pinned_to_a_version_it_allows(python: str) -> None:
    held = pins(python)
    for needed in every_requirement():
        name = canonicalize_name(needed.name)
        assert name in held, f"{name} has no pin for Python {python}"
        assert needed.specifier.contains(held[name]), f"{needed} forbids the pinned {held[name]}"


def test_the_pythons_named_are_the_pythons_tested() -> None:
    prefix = "Programming Language :: Python :: 3."
    classifiers = [text for text in PROJECT["project"]["classifiers"] if text.startswith(prefix)]
    assert [text.rpartition(" ")[2] for text in classifiers] == PYTHONS
    assert PROJECT["project"]["requires-python"] == f">={PYTHONS[0]}"


def test_uvloop_is_not_asked_of_windows() -> None:
    marker = declared()["uvloop"].marker
    assert marker
    assert not marker.evaluate({"sys_platform": "win32"})
    assert marker.evaluate({"sys_platform": "linux", "implementation_name": "cpython"})


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else() -> None:
    from hatchling.builders.wheel import WheelBuilder

    packed = {file.distribution_path for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    files = (path.relative_to(ROOT / "src") for path in (ROOT / "src" / "overton").rglob("*") if path.is_file())
    caches = re.compile(r"__pycache__|\..*")
    assert packed == {path.as_posix() for path in files if not any(map(caches.fullmatch, path.parts))}
    assert {Path(name).suffix for name in packed} <= {
        ".py",
        ".toml",
        ".json",
        ".csv",
        ".jsonl",
        ".html",
        ".css",
        ".js",
        ".typed",
    }


def test_the_text_that_an_index_shows_links_to_nothing_that_it_lacks() -> None:
    from hatchling.metadata.core import ProjectMetadata
    from hatchling.plugin.manager import PluginManager

    text = ProjectMetadata(str(ROOT), PluginManager()).core.readme
    assert text.startswith("# Overton")
    assert "](docs/" not in text
    assert "![" not in text
    assert "`docs/reading/open-mindedness.md`" in text


def test_the_version_is_the_same_everywhere() -> None:
    import overton

    version = PROJECT["project"]["version"]
    assert overton.__version__ == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    section = "Unreleased" if ".dev" in version else version
    assert f"\n## [{section}]" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_the_citation_names_the_four_papers_and_overtonbench() -> None:
    head, _, references = (ROOT / "CITATION.cff").read_text("utf-8").partition("\nreferences:\n")
    assert head.startswith("cff-version: 1.2.0\n")
    assert {"title", "message", "type", "authors", "license"} <= set(re.findall(r"^([a-z-]+):", head, re.M))
    papers = re.split(r"^  - type: ", references, flags=re.M)[1:]
    assert len(papers) == 5
    for paper in papers:
        for key in ("title", "authors", "year", "url", "notes"):
            assert re.search(rf"^    {key}:", paper, re.M), f"no {key} in: {paper[:120]}"


RUN_TIME = ["embedded", "retrieval", "clustering", "spreadsheets", "inspect", "testing"]


def brought(needed: Iterable[Requirement]) -> set[str]:
    """The packages that these bring here, and those that they bring in turn."""
    todo = [(one, "") for one in needed]
    seen: set[tuple[str, frozenset[str]]] = set()
    while todo:
        one, extra = todo.pop()
        key = (canonicalize_name(one.name), frozenset(one.extras))
        if key in seen or (one.marker is not None and not one.marker.evaluate({"extra": extra})):
            continue
        seen.add(key)
        lines = distribution(one.name).requires or ()
        todo += [(Requirement(line), asked) for line in lines for asked in (one.extras or {""})]
    return {name for name, _ in seen}


def licence_rows() -> dict[str, tuple[str, str]]:
    rows = re.findall(
        r"^\| ([a-z0-9-]+) \| (\S+) \| (.+) \|$", (ROOT / "docs" / "licences.md").read_text("utf-8"), re.M
    )
    return {name: (version, licence) for name, version, licence in rows if name != "package"}


def test_every_package_that_an_installation_brings_has_its_licence_on_the_page() -> None:
    rows = licence_rows()
    assert brought(declared(RUN_TIME).values()) - {"colorama", "tzdata"} <= rows.keys()
    for name, (version, licence) in rows.items():
        assert any(str(pins(python).get(name)) == version for python in PYTHONS), f"{name} {version}: make bom"
        assert licence.strip(), name


def test_the_page_of_licences_names_no_place() -> None:
    assert not re.search(r"https?:|file:|/home|/root|/work|/tmp", (ROOT / "docs" / "licences.md").read_text("utf-8"))


@pytest.mark.parametrize(
    ("found", "code", "said"),
    [
        (None, 2, "NOTHING WAS CHECKED"),
        (
            [{"name": "a", "version": "1", "vulns": []}],
            0,
            "1 of 1 pinned packages were looked up; known vulnerabilities: 0.",
        ),
        ([{"name": "a", "skip_reason": "not found"}], 2, "NOT CHECKED, since the vulnerability service"),
        (
            [
                {"name": "a", "skip_reason": "x"},
                {"name": "b", "version": "1", "vulns": [{"id": "V", "fix_versions": ["2"]}]},
            ],
            1,
            "b 1: V, fixed in 2",
        ),
    ],
)
def test_a_failed_audit_differs_from_one_without_findings(
    found: list[dict[str, Any]] | None, code: int, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "audit.json"
    if found is not None:
        path.write_text(json.dumps({"dependencies": found}), "utf-8")
    script = [sys.executable, str(ROOT / ".ci" / "audit.py"), str(path)]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert said in done.stdout + done.stderr


LOWEST = ["embedded", "retrieval", "clustering", "spreadsheets", "inspect", "testing"]
"""The extras whose lowest versions are installed together; Ray is left out for its size."""

STUDIES = {
    "open-mindedness": "--model simulated/open-minded --model b=simulated/open-minded --trials 1 --null all",
    "stance-stability": "--model simulated/chameleon --judge simulated/stance-judge --search starter",
    "pluralism": "--model simulated/pluralist --judge simulated/pluralist-judge --null all",
    "deliberation": "--agent simulated/deliberator/a --agent simulated/deliberator/b"
    " --values-judge simulated/values-judge --trials 1 --null all",
    "even-handedness": "--model simulated/advocate --judge simulated/even-judge",
}


def lowest(extras: Iterable[str]) -> list[str]:
    """The lowest declared version of each direct dependency, as pip takes it."""
    return [
        f"{name}=={version}{f'; {needed.marker}' if needed.marker else ''}"
        for name, needed in declared(extras).items()
        for version in [str(needed.specifier).removeprefix(">=")]
    ]


def test_every_dependency_has_a_lower_bound_and_no_other() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    bounds = [str(needed.specifier) for needed in declared(extras).values()]
    assert [bound for bound in bounds if not re.fullmatch(r">=[0-9][0-9a-z.]*", bound)] == []


@pytest.fixture(scope="module")
def with_lowest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with the lowest declared versions of the direct dependencies, and this source."""
    place = tmp_path_factory.mktemp("lowest")
    venv.create(place, with_pip=True, symlinks=os.name != "nt")
    python = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    unpinned = {name: value for name, value in os.environ.items() if "CONSTRAINT" not in name}
    installing = [python, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
    done = subprocess.run(
        [*installing, *lowest(LOWEST)], env=unpinned, capture_output=True, text=True, timeout=1500, check=False
    )
    if "(from versions: none)" in done.stderr:
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, f"the lowest versions cannot be installed together: {done.stderr[-2000:]}"
    return python


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_every_study_runs_with_the_lowest_declared_versions(with_lowest: Path, tmp_path: Path) -> None:
    def overton_(*words: str) -> str:
        code = "from overton.cli import main; main()"
        env = os.environ | {"PYTHONPATH": str(ROOT / "src"), "PYTHONNOUSERSITE": "1"}
        done = subprocess.run(
            [with_lowest, "-c", code, *words], env=env, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{' '.join(words)}: {done.stderr[-2000:]}"
        return done.stdout

    for study, options in STUDIES.items():
        overton_("run", study, *options.split(), "--out", study)
        assert (tmp_path / study / "report.html").is_file()
        assert json.loads(overton_("analyze", study, study, "--json"))
        overton_("export", study, "--to", "inspect", "--out", "logs")
    overton_("compare", "open-mindedness")
    overton_("profile", *STUDIES)
