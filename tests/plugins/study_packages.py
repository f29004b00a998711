"""Packages with studies, written into a folder and seen by Overton as installed: the fixture `study_packages`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint, PathDistribution
from pathlib import Path

import pytest

from overton.studies import registry

TEA = '''
"""Does a model prefer tea?"""

from typing import Annotated

import msgspec
from overton.calls import Reply, Trial, user
from overton.statistics import Estimate
from overton.studies import Column, Items, Measuring, Option, Role, Section, Study, StudyOptions, Table
from overton.studies.findings import Finding


class Drink(msgspec.Struct, frozen=True):
    id: str


class Options(StudyOptions, frozen=True, forbid_unknown_fields=True):
    times: Annotated[int, Option("How often each is asked", least=1, extends=True)] = 2


class Record(msgspec.Struct, frozen=True):
    trial: str
    item: str
    answer: str
    letters: int = 0
    failure: str | None = None


class Analysis(msgspec.Struct, frozen=True):
    letters: dict[str, int]


class Drinker:
    name = identity = "simulated/drinker"
    holds_form = False

    async def answer(self, request):
        return Reply("tea")

    async def close(self):
        pass


def trials(items, options, seed):
    for item in items:
        for time in range(options.times):
            yield Trial(f"{item.id}/r{time + 1}", item.id, seed)


async def conduct(trial, ask):
    reply = await ask("subject", [user(f"Tea or {trial.item}?")])
    return [Record(trial.name, trial.item, reply.text, len(reply.text))]


def measure(results, how):
    return Analysis({"tea": int(results.records["letters"].sum())})


def sections(analysis):
    rows = [[name, count] for name, count in analysis.letters.items()]
    columns = [Column("Drink"), Column("Letters", "count")]
    return [Section("letters", "Letters", [Table("Letters", columns, rows, summary=True)])]


def findings(analysis):
    return []


STUDY = Study(
    name="tea",
    title="Tea",
    question="Does a model prefer tea?",
    roles=(Role("subject", "Model to measure", flag="model"),),
    items=Items(Drink, "drink", "JSON lines", starter=lambda: [Drink("milk"), Drink("wine"), Drink("water")]),
    options=Options,
    record=Record,
    trials=trials,
    conduct=conduct,
    prompts=lambda: {"ask": "Tea or ITEM?"},
    simulated={"drinker": lambda items, name, arguments: Drinker()},
    measuring=Measuring(analysis=lambda: Analysis, records=measure, sections=sections, findings=findings),
    interface=2,
)
'''
"""A study that works, in a single file: tests break it by replacing a line."""

Install = Callable[..., Path]


@pytest.fixture
def study_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs a package with one module, 'PACKAGE/study.py', and an entry point; installing it again replaces it."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    points: dict[tuple[str, str], EntryPoint] = {}

    def install(text: str = TEA, *, package: str = "teahouse", study: str = "tea") -> Path:
        forget()
        folder, about = site / package, site / f"{package}-1.0.dist-info"
        for one in (folder, about):
            one.mkdir(exist_ok=True)
        (folder / "__init__.py").write_text("")
        (folder / "study.py").write_text(text)
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        point = EntryPoint(study, f"{package}.study:STUDY", registry.GROUP)
        points[package, study] = point._for(PathDistribution(about))  # type: ignore[attr-defined]
        return folder / "study.py"

    def forget() -> None:
        folders = {one.name for one in site.iterdir()}
        for name in [one for one in sys.modules if one.partition(".")[0] in folders]:
            del sys.modules[name]
        registry._GUARDED.clear()

    monkeypatch.setattr(
        registry, "entry_points", lambda group: [point for point in points.values() if point.group == group]
    )
    yield install
    forget()
