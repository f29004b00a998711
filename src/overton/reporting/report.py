"""A report laid out as one HTML file that makes no network requests and runs no script but its own.

Its charts can also be written as files, for papers and slides.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from gzip import compress
from pathlib import Path
from typing import Any

from markupsafe import Markup

from overton.files.atomic import make_folder, write_atomic
from overton.reporting.finding import found
from overton.reporting.shell import asset, filled
from overton.reporting.svg import drawn, inline, specification, style_sheet
from overton.reporting.text import encoded, inside_script, shown
from overton.reporting.trials import Pack, pack
from overton.studies.exhibits import Callout, Chart, Exhibit, Method, Prose, Section, Statement, Table, TrialTable
from overton.studies.findings import Finding

__all__ = ["MAX_BYTES", "Report", "render", "write", "write_figures"]


@dataclass(frozen=True)
class Report:
    """A report, ready to be laid out.

    `facts` are pairs of a label and a value, shown at the bottom: models, items, trials, date, seed, version, failures.
    `findings` come first, then `warnings`, folded into one line. `data` is embedded as JSON, for further computation:
    anything that msgspec can encode (NaN becomes null). `mark`, above the title, says what kind of page it is.
    """

    title: str
    summary: str
    facts: Sequence[tuple[str, str]]
    sections: Sequence[Section]
    warnings: Sequence[Callout] = ()
    findings: Sequence[Finding] = ()
    trials: TrialTable | None = None
    data: Any = None
    mark: str = "Overton report"

    @property
    def charts(self) -> list[Chart]:
        """Every chart, in order of appearance."""
        return [exhibit for section in self.sections for exhibit in section.exhibits if isinstance(exhibit, Chart)]


_SCALE = 3.0


def write_figures(report: Report, folder: Path) -> list[Path]:
    """Write each chart of the report as NAME.svg and NAME.png (300 dpi) into `folder`, which is created if needed.

    Returns the files written. Colours are those of a light page, on white.

    Raises:
        RunError: they cannot be written.
    """
    import vl_convert

    make_folder(folder)
    written = []
    for chart in report.charts:
        svg = drawn(chart)
        vector, bitmap = folder / f"{chart.name}.svg", folder / f"{chart.name}.png"
        written += [write_atomic(vector, [svg.encode()])]
        written += [write_atomic(bitmap, [vl_convert.svg_to_png(svg, scale=_SCALE)])]
    return written


MAX_BYTES = 20_000_000
"""Largest size of a report, so that it can be mailed and opened anywhere: replies are cut to fit."""

_STYLES = ("shared.css", "report.css", "reader.css")
_SCRIPTS = ("shared.js", "painting.js", "reader.js", "report.js")

_PLAIN = 1_000_000
_SLOT = "\x00"  # occurs nowhere else in a page: text shows it as [U+0000], JSON as an escape


def render(report: Report, *, max_bytes: int = MAX_BYTES) -> str:
    """The report as one HTML document of at most `max_bytes`, unless its charts and tables alone are larger.

    Trials get the space that the rest leaves: replies are cut to fit, and the page says so.
    """
    return b"".join(_rendered(report, max_bytes)).decode()


def write(report: Report, path: Path, *, max_bytes: int = MAX_BYTES) -> Path:
    """Render the report into `path`, whole or not at all. Returns `path`.

    Raises:
        RunError: it cannot be written.
    """
    return write_atomic(path, _rendered(report, max_bytes))


def _rendered(report: Report, max_bytes: int) -> list[bytes]:
    """The page in parts, with its charts drawn while its trials are packed.

    The trials, by far the largest part, are packed again if the rest leaves them less space than assumed.
    """
    with ThreadPoolExecutor(1) as draughtsman:
        charts = {chart.name: draughtsman.submit(inline, chart) for chart in report.charts}
        packed = pack(report.trials, max_bytes * 3 // 4) if report.trials else None
        parts = _parts(report, charts, packed)
    excess = sum(map(len, parts)) - max_bytes
    if report.trials and packed and excess > 0:
        parts = _parts(report, charts, pack(report.trials, len(packed.data) - excess))
    return parts


def _parts(report: Report, charts: Mapping[str, Future[Markup]], packed: Pack | None) -> list[bytes]:
    """The page around the packed trials, which are inserted as bytes: text would need three times the memory."""
    before, _, after = _page(report, charts, packed).encode().partition(_SLOT.encode())
    return [before, packed.data if packed else b"", after]


def _page(report: Report, charts: Mapping[str, Future[Markup]], packed: Pack | None) -> str:
    specifications = {chart.name: specification(chart) for chart in report.charts}
    return filled(
        asset("report.html"),
        "".join([style_sheet(), *map(asset, _STYLES)]),
        "".join(map(asset, _SCRIPTS)),
        report=report,
        found=found(report.findings, report.sections),
        sections=[
            (section, [_laid_out(exhibit, charts) for exhibit in section.exhibits]) for section in report.sections
        ],
        pack=packed,
        payload=Markup(_SLOT),
        data={"measures": _embedded(report.data), "charts": _embedded(specifications)},
    )


def _laid_out(exhibit: Exhibit, charts: Mapping[str, Future[Markup]]) -> dict[str, Any]:
    match exhibit:
        case Table():
            return {"kind": "table", "table": shown(exhibit)}
        case Chart():
            values = shown(exhibit.values) if exhibit.values else None
            return {"kind": "chart", "chart": exhibit, "svg": charts[exhibit.name].result(), "numbers": values}
        case Callout():
            return {"kind": "callout", "callout": exhibit}
        case Statement():
            return {"kind": "statement", "statement": exhibit}
        case Method() | Prose():
            kind = "method" if isinstance(exhibit, Method) else "prose"
            return {"kind": kind, "paragraphs": exhibit.text.split("\n\n")}


def _embedded(data: Any) -> tuple[str, Markup]:
    """The type and content of a script element with `data`: plain while small, otherwise compressed."""
    json = encoded(data)
    if len(json) <= _PLAIN:
        return "application/json", inside_script(json)
    return "text/plain", Markup(b64encode(compress(json, 5, mtime=0)).decode())
