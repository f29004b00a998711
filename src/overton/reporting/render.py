"""A report laid out as one HTML file that asks nothing of any network and runs no script but its own."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup

from overton.reporting.cells import shown
from overton.reporting.report import Report
from overton.reporting.svg import inline, specification
from overton.reporting.text import embedded_json, visible
from overton.reporting.theme import style_sheet
from overton.reporting.trials import Pack, pack
from overton.studies.exhibits import Callout, Chart, Exhibit, Method, Prose, Table

__all__ = ["MAX_BYTES", "render", "write"]

MAX_BYTES = 20_000_000
"""A report is never larger, so that it can be mailed and opened anywhere: replies are capped to fit."""


def render(report: Report, *, max_bytes: int = MAX_BYTES) -> str:
    """The report as one HTML document of `max_bytes` at most, unless its charts and tables alone are larger.

    Trials get what room the rest leaves: replies are capped to fit, and the page says so.
    """
    with ThreadPoolExecutor(1) as draughtsman:
        charts = {chart.name: draughtsman.submit(inline, chart) for chart in report.charts}
        packed = pack(report.trials, max_bytes * 3 // 4) if report.trials else None
        page = _page(report, charts, packed)
    excess = len(page.encode()) - max_bytes
    if report.trials and packed and excess > 0:
        page = _page(report, charts, pack(report.trials, len(packed.data) - excess))
    return page


def write(report: Report, path: Path, *, max_bytes: int = MAX_BYTES) -> Path:
    """Render the report into `path`, whole or not at all. Returns `path`."""
    page = render(report, max_bytes=max_bytes).encode()
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            file.write(page)
            file.close()
            os.chmod(file.name, 0o644)
            os.replace(file.name, path)
        except OSError:
            Path(file.name).unlink(missing_ok=True)
            raise
    return path


def _page(report: Report, charts: Mapping[str, Future[Markup]], packed: Pack | None) -> str:
    script, style = _asset("report.js"), style_sheet() + _asset("report.css")
    return (
        _environment()
        .get_template("report.html")
        .render(
            report=report,
            sections=[
                (section, [_laid_out(exhibit, charts) for exhibit in section.exhibits]) for section in report.sections
            ],
            pack=packed,
            payload=Markup(packed.data.decode()) if packed else "",
            data=embedded_json(report.data),
            specifications=embedded_json({chart.name: specification(chart) for chart in report.charts}),
            script=Markup(script),
            style=Markup(style),
            policy=_policy(script, style),
        )
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
        case Method() | Prose():
            kind = "method" if isinstance(exhibit, Method) else "prose"
            return {"kind": kind, "paragraphs": exhibit.text.split("\n\n")}


def _policy(script: str, style: str) -> str:
    return (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


@cache
def _asset(name: str) -> str:
    return files("overton.reporting").joinpath("page", name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    # `finalize` makes every expression's text visible before it is escaped; our own markup passes as it is.
    return Environment(
        loader=DictLoader({"report.html": _asset("report.html")}),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
