"""A report as one HTML file."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from gzip import compress
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from overton.files.atomic import write_atomic
from overton.reporting.cells import encoded, format_table, inside_script
from overton.reporting.charts import draw_inline, specification, style_sheet
from overton.reporting.opening import Opening, view_opening
from overton.reporting.trial_pack import Pack, pack
from overton.studies.chapters import Chapter, Chapters, chapters_of
from overton.studies.sections import Callout, Chart, Exhibit, Method, Prose, Section, Statement, Table, TrialTable
from overton.untrusted import visible

if TYPE_CHECKING:
    from jinja2 import Template


def fill_template(template: str, style: str, script: str, **values: Any) -> str:
    """Fill a template with `values`, `style`, `script`, and the `policy` that allows only this style and script.

    In every string among the values, control characters are spelled out and markup is escaped; `Markup` is inserted
    unchanged.
    """
    return _compile_template(template).render(
        **values, script=Markup(script), style=Markup(style), policy=_content_policy(script, style)
    )


@cache
def asset(name: str) -> str:
    """The text of a file in the folder of assets."""
    return files("overton.reporting").joinpath("assets", name).read_text(encoding="utf-8")


def _content_policy(script: str, style: str) -> str:
    return (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


@cache
def _compile_template(text: str) -> Template:
    from jinja2 import Environment, StrictUndefined

    # `finalize` makes every expression's text visible before it is escaped; our own markup passes unchanged.
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    return environment.from_string(text)


@dataclass(frozen=True)
class Report:
    """A report, ready for the page's layout.

    `facts` are pairs of a label and a value, shown at the bottom: models, items, trials, date, seed, version, failures.
    `opening` has the parts that a reader needs first. `chapters` group the sections by the question that they answer,
    and are folded. Without chapters, every section is visible. `warnings` are folded into one line. `data` is embedded
    as JSON for further computation. `data` may be anything that msgspec can encode (NaN becomes null). `mark` is the
    kind of page, shown above the title.
    """

    title: str
    summary: str
    facts: Sequence[tuple[str, str]]
    sections: Sequence[Section]
    warnings: Sequence[Callout] = ()
    opening: Opening | None = None
    chapters: Chapters | None = None
    trials: TrialTable | None = None
    data: Any = None
    mark: str = "Overton report"

    @property
    def first(self) -> Sequence[Section]:
        """The sections of the opening."""
        return self.opening.sections if self.opening else ()

    @property
    def charts(self) -> list[Chart]:
        """Every chart that has something to show, in order of appearance."""
        sections = (*self.first, *self.sections)
        exhibits = (exhibit for section in sections for exhibit in section.exhibits)
        return [exhibit for exhibit in exhibits if isinstance(exhibit, Chart) and not exhibit.is_empty]

    @property
    def lead(self) -> Chart | None:
        """The chart of the opening: the first chart in the first section of `opening.exhibits` that has a chart."""
        if self.opening is None or self.opening.void:
            return None
        shown = {chart.name for chart in self.charts}
        own = {section.key: section.exhibits for section in self.sections}
        for key in self.opening.exhibits:
            for exhibit in own.get(key, ()):
                if isinstance(exhibit, Chart) and exhibit.name in shown:
                    return exhibit
        return None


MAX_BYTES = 20_000_000
"""The maximum size of a report in bytes, so that it can be mailed and opened anywhere. Replies are truncated to fit."""

_STYLES = ("shared.css", "report.css", "reader.css")
_SCRIPTS = ("shared.js", "painting.js", "reader.js", "report.js")

_MAX_PLAIN_BYTES = 1_000_000
_SLOT = "\x00"  # occurs nowhere else in a page: text shows it as [U+0000], JSON as an escape


def render(report: Report, *, max_bytes: int = MAX_BYTES) -> str:
    """Render the report as one HTML document of at most `max_bytes`.

    The document is larger only if its charts and tables alone exceed `max_bytes`. Trials get the space that charts and
    tables leave. Replies are truncated to fit, and the page says so.
    """
    return b"".join(_render_parts(report, max_bytes)).decode()


def write(report: Report, path: Path, *, max_bytes: int = MAX_BYTES) -> Path:
    """Render the report into `path`, whole or not at all. Returns `path`.

    Raises:
        RunError: it cannot be written.
    """
    return write_atomic(path, _render_parts(report, max_bytes))


def _render_parts(report: Report, max_bytes: int) -> list[bytes]:
    """The page in parts, with its charts drawn while its trials are packed.

    The trials, by far the largest part, are packed again if the other parts leave less space than assumed.
    """
    with ThreadPoolExecutor(1) as draughtsman:
        charts = {chart.name: draughtsman.submit(draw_inline, chart) for chart in report.charts}
        packed = pack(report.trials, max_bytes * 3 // 4) if report.trials else None
        parts = _split_page(report, charts, packed)
    excess = sum(map(len, parts)) - max_bytes
    if report.trials and packed and excess > 0:
        parts = _split_page(report, charts, pack(report.trials, len(packed.data) - excess))
    return parts


def _split_page(report: Report, charts: Mapping[str, Future[Markup]], packed: Pack | None) -> list[bytes]:
    """The page around the packed trials, which are inserted as bytes: text would need three times the memory."""
    before, _, after = _render_page(report, charts, packed).encode().partition(_SLOT.encode())
    return [before, packed.data if packed else b"", after]


def _render_page(report: Report, charts: Mapping[str, Future[Markup]], packed: Pack | None) -> str:
    specifications = {chart.name: specification(chart) for chart in report.charts}
    lead = report.lead
    opening = report.opening
    return fill_template(
        asset("report.html"),
        "".join([style_sheet(), *map(asset, _STYLES)]),
        "".join(map(asset, _SCRIPTS)),
        report=report,
        opening=view_opening(opening, report.sections) if opening else None,
        overview=format_table(opening.table) if opening and opening.table else None,
        lead=_exhibit_values(lead, charts) if lead else None,
        first=_section_values(report.first, charts),
        sections=_section_values(report.sections, charts),
        chapters=_chapter_values(report, charts),
        pack=packed,
        payload=Markup(_SLOT),
        data={"measures": _embed(report.data), "charts": _embed(specifications)},
    )


def _section_values(
    sections: Sequence[Section], charts: Mapping[str, Future[Markup]]
) -> list[tuple[Section, list[dict[str, Any]]]]:
    return [
        (section, [_exhibit_values(each, charts) for each in section.exhibits if _is_shown(each, charts)])
        for section in sections
    ]


def _chapter_values(report: Report, charts: Mapping[str, Future[Markup]]) -> list[tuple[Chapter, Any]]:
    """The chapters with the values of their sections; empty if the sections are not folded."""
    if report.chapters is None:
        return []
    found = chapters_of(report.sections, report.chapters)
    return [(chapter, _section_values(chapter.sections, charts)) for chapter in found]


def _is_shown(exhibit: Exhibit, charts: Mapping[str, Future[Markup]]) -> bool:
    """Whether a page shows an exhibit. Charts without a mark are not drawn."""
    return not isinstance(exhibit, Chart) or exhibit.name in charts


def _exhibit_values(exhibit: Exhibit, charts: Mapping[str, Future[Markup]]) -> dict[str, Any]:
    match exhibit:
        case Table():
            return {"kind": "table", "table": format_table(exhibit)}
        case Chart():
            values = format_table(exhibit.values) if exhibit.values else None
            return {"kind": "chart", "chart": exhibit, "svg": charts[exhibit.name].result(), "numbers": values}
        case Callout():
            return {"kind": "callout", "callout": exhibit}
        case Statement():
            return {"kind": "statement", "statement": exhibit}
        case Method() | Prose():
            kind = "method" if isinstance(exhibit, Method) else "prose"
            return {"kind": kind, "paragraphs": exhibit.text.split("\n\n")}


def _embed(data: Any) -> tuple[str, Markup]:
    """The type and content of a script element with `data`, which is compressed unless it is small."""
    json = encoded(data)
    if len(json) <= _MAX_PLAIN_BYTES:
        return "application/json", inside_script(json)
    return "text/plain", Markup(b64encode(compress(json, 5, mtime=0)).decode())
