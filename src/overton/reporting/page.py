"""A report as one HTML file.

Its charts can also be written as files, for papers and slides.
"""

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

from overton.files.atomic import make_folder, write_atomic
from overton.reporting.cells import encoded, format_table, inside_script
from overton.reporting.charts import draw_inline, draw_svg, specification, style_sheet
from overton.reporting.trial_pack import Pack, pack
from overton.studies.findings import DO_NOT_QUOTE, Finding, by_model, counted, evidence, shared_cautions
from overton.studies.sections import Callout, Chart, Exhibit, Method, Prose, Section, Statement, Table, TrialTable
from overton.untrusted import visible

if TYPE_CHECKING:
    from jinja2 import Template


@dataclass(frozen=True)
class FindingView:
    """A finding as displayed: `link` is the section that shows it and its title, None if the page has none."""

    sentence: str
    what: str
    count: str
    evidence: str
    link: tuple[str, str] | None
    cautions: Sequence[str]
    red: str


@dataclass(frozen=True)
class FindingsView:
    """The findings: `cautions` common to all findings, and by model what holds and what was ruled out."""

    cautions: Sequence[str]
    red: str
    models: Sequence[tuple[str, Sequence[FindingView], Sequence[FindingView]]]


def view_findings(findings: Sequence[Finding], sections: Sequence[Section]) -> FindingsView | None:
    """The top of a report; None if no findings are declared.

    Effects that were ruled out are listed separately, unless no other effects are reported: then they are the findings.
    """
    if not findings:
        return None
    shared = shared_cautions(findings)
    titles = {section.key: section.title for section in sections}
    models = []
    for model, own in by_model(findings):
        said = [(finding.what, _finding_view(finding, titles, shared)) for finding in own]
        moved = any(what == "effect" for what, _ in said)
        apart = [view for what, view in said if what == "bound" and moved]
        models.append((model, [view for _, view in said if view not in apart], apart))
    quotable = any(finding.quotable for finding in findings)
    return FindingsView(shared, "" if quotable or not shared else DO_NOT_QUOTE, models)


def _finding_view(finding: Finding, titles: Mapping[str, str], shared: Sequence[str]) -> FindingView:
    return FindingView(
        sentence=finding.sentence,
        what=finding.what,
        count=counted(finding.n, finding.units),
        evidence=evidence(finding),
        link=(finding.exhibit, titles[finding.exhibit]) if finding.exhibit in titles else None,
        cautions=[text for text in finding.cautions if text not in shared],
        red="" if finding.quotable else DO_NOT_QUOTE,
    )


def fill_template(template: str, style: str, script: str, **values: Any) -> str:
    """The page that a template makes of `values`, `style`, `script`, and the `policy` that allows only those two.

    Every string among the values is made visible, then escaped; `Markup` is inserted as it is.
    """
    return _compile_template(template).render(
        **values, script=Markup(script), style=Markup(style), policy=_content_policy(script, style)
    )


@cache
def asset(name: str) -> str:
    """A file shared by all pages, or one of the report's."""
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
    """A report, ready to be laid out.

    `facts` are pairs of a label and a value, shown at the bottom: models, items, trials, date, seed, version, failures.
    `findings` come first, unless sections are to be `first`, then `warnings`, folded into one line. `data` is embedded
    as JSON, for further computation: anything that msgspec can encode (NaN becomes null). `mark`, above the title, says
    what kind of page it is.
    """

    title: str
    summary: str
    facts: Sequence[tuple[str, str]]
    sections: Sequence[Section]
    warnings: Sequence[Callout] = ()
    findings: Sequence[Finding] = ()
    first: Sequence[Section] = ()
    trials: TrialTable | None = None
    data: Any = None
    mark: str = "Overton report"

    @property
    def charts(self) -> list[Chart]:
        """Every chart, in order of appearance."""
        sections = (*self.first, *self.sections)
        return [exhibit for section in sections for exhibit in section.exhibits if isinstance(exhibit, Chart)]


_BITMAP_SCALE = 3.0


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
        svg = draw_svg(chart)
        vector, bitmap = folder / f"{chart.name}.svg", folder / f"{chart.name}.png"
        written += [write_atomic(vector, [svg.encode()])]
        written += [write_atomic(bitmap, [vl_convert.svg_to_png(svg, scale=_BITMAP_SCALE)])]
    return written


MAX_BYTES = 20_000_000
"""Largest size of a report, so that it can be mailed and opened anywhere: replies are cut to fit."""

_STYLES = ("shared.css", "report.css", "reader.css")
_SCRIPTS = ("shared.js", "painting.js", "reader.js", "report.js")

_MAX_PLAIN_BYTES = 1_000_000
_SLOT = "\x00"  # occurs nowhere else in a page: text shows it as [U+0000], JSON as an escape


def render(report: Report, *, max_bytes: int = MAX_BYTES) -> str:
    """The report as one HTML document of at most `max_bytes`, unless its charts and tables alone are larger.

    Trials get the space that the rest leaves: replies are cut to fit, and the page says so.
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

    The trials, by far the largest part, are packed again if the rest leaves them less space than assumed.
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
    return fill_template(
        asset("report.html"),
        "".join([style_sheet(), *map(asset, _STYLES)]),
        "".join(map(asset, _SCRIPTS)),
        report=report,
        found=view_findings(report.findings, report.sections),
        first=_section_values(report.first, charts),
        sections=_section_values(report.sections, charts),
        pack=packed,
        payload=Markup(_SLOT),
        data={"measures": _embed(report.data), "charts": _embed(specifications)},
    )


def _section_values(
    sections: Sequence[Section], charts: Mapping[str, Future[Markup]]
) -> list[tuple[Section, list[dict[str, Any]]]]:
    return [(section, [_exhibit_values(exhibit, charts) for exhibit in section.exhibits]) for section in sections]


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
    """The type and content of a script element with `data`: plain while small, otherwise compressed."""
    json = encoded(data)
    if len(json) <= _MAX_PLAIN_BYTES:
        return "application/json", inside_script(json)
    return "text/plain", Markup(b64encode(compress(json, 5, mtime=0)).decode())
