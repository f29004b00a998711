"""A report full of hostile text."""

from __future__ import annotations

from pathlib import Path

import pytest

from overton.reporting import Report, write
from overton.statistics import Estimate
from overton.studies.sections import (
    BrowseFilter,
    Callout,
    Chart,
    Column,
    EmptyCell,
    Method,
    Prose,
    Section,
    Table,
    TrialTable,
)

HOSTILE = (
    "</script><script>window.__pwned = 1</script>",
    '<img src=x onerror="window.__pwned = 2">',
    '<a href="javascript:window.__pwned=3">javascript:window.__pwned=3</a>',
    "<!-- <script> ]]> <![CDATA[ &lt; &amp;#60;",
    "line\u2028separators\u2029here",
    "\u202eright to left\u202c \u2066isolated",
    "nul \x00 bell \x07 escape \x1b[31m",
    "lone \ud800 surrogate",
    "{{ 7 * 7 }} {% raw %} ${window.__pwned=4}",
    "`'\"\\ </style><style>*{display:none}</style></title><svg onload=window.__pwned=5>",
)


def estimate(value: float, n: int = 12) -> Estimate:
    return Estimate(value, value - 0.1, value + 0.1, n, "bootstrap over issues")


def trial_table(answers: list[str]) -> TrialTable:
    """One trial per answer: 10 issues, three stances, prompts of shared texts."""
    size = len(answers)
    return TrialTable(
        size=size,
        texts=["Consider this. ", *(f"Argument {number}. " for number in range(9)), *HOSTILE],
        prompts=lambda row: [0, 1 + row % 9, 10 + row % len(HOSTILE)],
        prompt=range(size),
        facets=[
            BrowseFilter("Issue", [f"issue-{number}" for number in range(10)], [row % 10 for row in range(size)]),
            BrowseFilter("Stance", ["pro", "con", HOSTILE[1]], [row % 3 for row in range(size)]),
            BrowseFilter("Trial", [f"trial {row}" for row in range(size)], range(size), choose=False),
        ],
        answers=lambda start, stop: answers[start:stop],
    )


@pytest.fixture
def hostile() -> tuple[str, ...]:
    """Texts that try to be more than text."""
    return HOSTILE


@pytest.fixture(scope="session")
def report() -> Report:
    """A report with every kind of exhibit, and hostile text wherever text can appear."""
    names = [f"{number} {text}" for number, text in enumerate(HOSTILE)]
    marks = [{"name": name, "share": index / 10, "tip": f"tip {name}"} for index, name in enumerate(names)]
    spec = {
        "data": {"values": marks},
        "mark": {"type": "point", "filled": True, "opacity": 1},
        "encoding": {
            "x": {"field": "share", "type": "quantitative", "title": HOSTILE[0]},
            "y": {"field": "name", "type": "nominal"},
            "color": {"field": "name", "type": "nominal", "title": HOSTILE[1]},
            "description": {"field": "tip", "type": "nominal"},
        },
    }
    columns = [Column("Name" + HOSTILE[0]), Column("Score" + HOSTILE[1], "score"), Column("Share", "share")]
    rows = [[name, estimate(len(names) - i), EmptyCell(name) if i == 3 else i / 10] for i, name in enumerate(names)]
    table = Table("Table " + HOSTILE[0], columns, rows, note=HOSTILE[2], source=HOSTILE[9])
    exhibits = [Prose("\n\n".join(HOSTILE)), Method(HOSTILE[0]), Callout(HOSTILE[1], "warning"), table]
    chart = Chart(
        "a-chart", "Chart " + HOSTILE[0], "Described. " + HOSTILE[9], lambda: spec, values=table, source=HOSTILE[1]
    )
    answers = [*HOSTILE, "x" * 5_000, *(f"Answer {row}: position <<A>>" for row in range(100))]
    return Report(
        title="Title " + HOSTILE[0],
        summary=HOSTILE[9],
        facts=[(text, text) for text in HOSTILE],
        warnings=[Callout(HOSTILE[0], "warning")],
        sections=[Section("first", "First " + HOSTILE[9], exhibits), Section("second", "Charts", [chart])],
        trials=trial_table(answers),
        data={text: [text, float("nan")] for text in HOSTILE},
    )


@pytest.fixture(scope="session")
def report_file(report: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report as a file."""
    return write(report, tmp_path_factory.mktemp("report") / "report.html")
