"""How many files of a study a reader, or somebody who adds something, goes through."""

from __future__ import annotations

import ast
import asyncio
import importlib
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, cast

import msgspec
import polars as pl
import pytest
from label_trace import Trace, traced

from overton.calls import Ask, Hit, Hits, Page, Question, Reply, Request, Settings
from overton.engine.records import columns_of, record_type_columns
from overton.runs.items import read_items
from overton.studies.registry import study_named
from overton.studies.study_measures import StudyMeasures

STUDIES = Path(__file__).parents[2] / "src" / "overton" / "studies"

NAMED_IN = {
    "open_mindedness": (3, 24),
    "stance_stability": (3, 12),
    "pluralism": (1, 5),
    "deliberation": (3, 10),
    "even_handedness": (2.5, 6),
}
"""In how many files of a study its measures are named: the median over measures, and the most.

Keys that code puts together of parts are named in none, and are not counted. Headlines with a precision, findings and a
correction are named in most files, as are keys that are also other words, such as 'turns' and 'consensus'.
"""


@cache
def texts(study: str) -> dict[str, set[str]]:
    """Every string in each file of a study."""
    return {
        path.relative_to(STUDIES / study).as_posix(): {
            node.value
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        for path in sorted((STUDIES / study).rglob("*.py"))
    }


def files_naming(study: str, key: str) -> list[str]:
    """The files of a study in which a measure's key is a string, whole."""
    return [name for name, words in texts(study).items() if key in words]


def measures_of(study: str) -> StudyMeasures[Any]:
    """The measures of a study."""
    return cast("StudyMeasures[Any]", importlib.import_module(f"overton.studies.{study}.measures").STUDY_MEASURES)


@pytest.mark.parametrize("study", NAMED_IN)
def test_few_files_name_a_measure(study: str) -> None:
    """Walk (a). The limits are the numbers that were counted."""
    declared = measures_of(study)
    keys = {measure.name for grouping in (*declared.groupings, *declared.by_facet) for measure in grouping.measures}
    counts = {key: many for key in keys if (many := len(files_naming(study, key)))}
    usual, most = NAMED_IN[study]
    assert median(counts.values()) <= usual, counts
    assert max(counts.values()) <= most, counts


def test_a_plain_measure_is_named_where_it_is_made_declared_and_shown_only() -> None:
    assert files_naming("even_handedness", "both_orders") == ["layouts.py", "measures.py"]
    assert files_naming("stance_stability", "reversals") == [
        "conversations.py",
        "declarations.py",
        "layouts/__init__.py",
    ]
    assert files_naming("pluralism", "redundancy") == ["layouts/__init__.py", "measures.py", "voices.py"]
    assert files_naming("deliberation", "yielded") == ["layouts/influences.py", "measures.py", "rows.py"]


@dataclass(frozen=True)
class Judged:
    """How a study is held so that one label of a judge differs.

    `models` are simulated models by role. In the judge's first reply that has `old` it becomes `new`; then the estimate
    of `measure` differs. The label passes through so many modules at `most`, of which `own` are the study's.
    """

    models: Mapping[str, str]
    options: Mapping[str, Any]
    judge: str
    old: str
    new: str
    measure: str
    most: int
    own: int


JUDGED = {
    "open-mindedness": Judged(
        {"subject": "open-minded", "judge": "side-judge"},
        {"trials": 1, "templates": (2,), "conditions": ("baseline", "one-sided-pro"), "answers": "free"},
        "judge",
        *('"stance":"A"', '"stance":"B"'),
        "shift",
        *(27, 11),
    ),
    "stance-stability": Judged(
        {"subject": "chameleon", "judge": "stance-judge", "queries": "chameleon"},
        {"turns": 3, "temperatures": (0.5,)},
        "judge",
        *('"stance":"balanced"', '"stance":"supportive"'),
        "change_rate",
        *(23, 7),
    ),
    "pluralism": Judged(
        {"subject": "pluralist", "judge": "pluralist-judge"},
        {"experiments": ("sycophancy",), "responses": 3},
        "judge",
        *('"against"', '"supporting"'),
        "sycophancy_supporting_recall",
        *(25, 11),
    ),
    "deliberation": Judged(
        {"agent": "deliberator", "values": "values-judge"},
        {"agents": ("a", "b"), "formats": ("synchronous",), "rounds": 2, "values": True},
        "values",
        *('["Respect and dignity"', '["Family bonds and cohesion"'),
        "similarity",
        *(26, 8),
    ),
}
FOUND = {
    "search": msgspec.json.encode(Hits((Hit("https://one.example/a", "One"), Hit("https://two.example/b", "Two")))),
    "pages": msgspec.json.encode(Page("https://one.example/a", text="It was tried, and it helped.")),
}
"""The hits of a search, and a page."""


class Stage:
    """An `Ask` of simulated models, by role. Their judge's labels are those of the case, the one that differs too if
    `changed`."""

    def __init__(self, case: Judged, answerers: Mapping[str, Any], *, changed: bool) -> None:
        self.case, self.answerers, self.changed = case, answerers, changed
        self.seed = 0

    async def __call__(self, role: str, messages: Sequence[Any], **given: Any) -> Reply:
        if role in FOUND:
            return Reply(FOUND[role].decode())
        self.seed += 1
        request = Request(tuple(messages), given.get("settings") or Settings(), given.get("form"), self.seed)
        reply: Reply = await self.answerers[role].answer(request)
        if self.changed and role == self.case.judge and self.case.old in reply.text:
            self.changed = False
            return Reply(reply.text.replace(self.case.old, self.case.new, 1))
        return reply

    async def all(self, questions: Sequence[Question]) -> list[Reply]:
        return [
            await self(one.role, one.messages, settings=one.settings, form=one.form, speaker=one.speaker)
            for one in questions
        ]


@pytest.mark.parametrize("name", JUDGED)
def test_a_label_is_followed_to_its_number_through_few_modules(name: str) -> None:
    """Walk (b): a judge's reply is read, recorded, made part of a unit and then of the estimate.

    One judge's reply differs between two runs; nothing else does.
    """
    case, study = JUDGED[name], study_named(name)
    items, options = read_items(study)[:3], study.options(**case.options)

    def judged(*, changed: bool) -> Trace:
        models = {role: study.simulated[model](items, f"simulated/{model}", {}) for role, model in case.models.items()}
        stage = cast("Ask", Stage(case, models, changed=changed))

        def made() -> None:
            trials = study.trials(items, options, 0)
            records = [record for trial in trials for record in asyncio.run(study.conduct(trial, stage))]
            table = columns_of(records, record_type_columns(study.record))
            if "model" not in table.columns:
                table = table.with_columns(model=pl.lit("m"))
            measures_of(name.replace("-", "_")).analyze_records(table, items=items)

        return traced(case.measure, made)

    judged(changed=False)  # texts that are read once, and kept
    first, second = judged(changed=False), judged(changed=True)
    assert first.row is not None
    assert second.row is not None
    assert first.row.estimate != second.row.estimate
    entered = first.modules_unlike(second)
    own = [module for module in entered if module.startswith(f"overton.studies.{name.replace('-', '_')}.")]
    assert len(own) <= case.own, sorted(own)
    assert len(entered) <= case.most, sorted(entered)


FACET = 'Facet("language", "Language")'
LANGUAGE = """
    @property
    def language(self) -> str:
        return "de" if len(self.id) % 2 else "en"
"""
"""A further property of an item."""
FACETED_ITEMS = 5
"""Among the first items of every study are both values."""
IMPORTED = ("from overton.studies.items import Items", "from overton.studies.items import Facet, Items")


@dataclass(frozen=True)
class Faceted:
    """How a study is run by one facet more: `fields` are the item's last ones, and `edits` declare the facet, in the
    module `declared`."""

    fields: str
    edits: Sequence[tuple[str, str]]
    run: Mapping[str, Any]
    declared: str = "items"

    def edits_of(self, study: str) -> dict[str, list[tuple[str, str]]]:
        """By module."""
        found = {f"overton.studies.{study}.items": [(self.fields, self.fields + LANGUAGE)]}
        found.setdefault(f"overton.studies.{study}.{self.declared}", []).extend(self.edits)
        return found


def before(text: str) -> tuple[str, str]:
    """The facet before other text of the declaration of items."""
    return text, text.replace("    ", f"    facets=({FACET},),\n    ", 1)


FACETED = {
    "open-mindedness": Faceted(
        "    con: str | None = None\n    paraphrases: tuple[Paraphrase, ...] = ()\n",
        [before("    subjects="), IMPORTED],
        {"models": ["simulated/open-minded"], "trials": 1, "templates": [2, 5]},
        declared="reading",
    ),
    "stance-stability": Faceted(
        "    questions: tuple[ProbingQuestion, ...]\n",
        [('        Facet("domain"', f'        {FACET},\n        Facet("domain"')],
        {
            "models": ["simulated/chameleon"],
            "others": {"judge": ["simulated/stance-judge"], "search": ["starter"]},
            "turns": 3,
            "temperatures": [0.5],
        },
    ),
    "pluralism": Faceted(
        "    opinions: tuple[AtomicOpinion, ...] = ()\n    lost: tuple[ThreadComment, ...] = ()\n",
        [('facets=(Facet("community", "Community"),)', f'facets=(Facet("community", "Community"), {FACET})')],
        {
            "models": ["simulated/pluralist"],
            "others": {"judge": ["simulated/pluralist-judge"]},
            "experiments": ["sycophancy", "ranking"],
            "responses": 3,
            "candidates": 2,
            "ranked": 5,
        },
    ),
    "deliberation": Faceted(
        "    text: str\n    crowd: CrowdVerdicts | None = None\n",
        [before("    subjects="), IMPORTED],
        {
            "models": ["simulated/deliberator", "simulated/deliberator/b"],
            "others": {"values": ["simulated/values-judge"]},
            "formats": ["synchronous", "round-robin"],
            "rounds": 2,
        },
    ),
    "even-handedness": Faceted(
        "    category: str | None = None\n    partisan: bool | None = None\n",
        [('        Facet("task"', f'        {FACET},\n        Facet("task"')],
        {"models": ["simulated/advocate"], "others": {"judge": ["simulated/even-judge"]}},
    ),
}


@pytest.mark.parametrize("name", FACETED)
def test_a_facet_is_one_field_of_the_item(name: str, tmp_path: Path) -> None:
    """Walk (c): numbers by it and a table of the report follow from a field of the item and one `Facet`."""
    study, case = name.replace("-", "_"), FACETED[name]
    given = {
        "edits": case.edits_of(study),
        "facet": "language",
        "run": {
            **case.run,
            "study": name,
            "only": [item.id for item in read_items(name)[:FACETED_ITEMS]],
            "out": str(tmp_path / "run"),
        },
    }
    script = Path(__file__).with_name("faceted_run.py")
    done = subprocess.run([sys.executable, str(script), json.dumps(given)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    by_facet = measures_of(study).by_facet
    declared = {measure.name for grouping in by_facet if not grouping.by for measure in grouping.measures}
    assert {row["measure"] for row in found["rows"]} >= declared & set(found["measures"])
    assert {value for row in found["rows"] for value in row["condition"].split(" / ")} >= {"de", "en"}
    assert "By language" in found["titles"]
