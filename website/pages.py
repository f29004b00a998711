"""Pages that the site makes itself: a gallery of reports, columns and JSON as studies declare them, and root documents.

MkDocs calls the functions whose names begin with `on_`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

HERE = Path(__file__).parent
ROOT = HERE.parent
GALLERY = ROOT / "build" / "gallery"

sys.path.insert(0, str(HERE))
import gallery  # noqa: E402

ROOT_PAGES = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
_ROOT_LINK = re.compile(r"\]\((?:\.\./)?(CHANGELOG|CONTRIBUTING)\.md")
_COMMENT = re.compile(r"^<!-- .*? -->\n", re.MULTILINE)
_LOADED = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*?\s(?:src|href)=[\"']?((?:https?:)?//[^\"'\s>]+)")
_LIST = re.compile(r"(?m)^(?!\s*(?:[-*]|\d+\.) )(\S.*)\n(?=(?:[-*]|1\.) )")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, and the reports that they show."""
    for name, page in ROOT_PAGES.items():
        text = (ROOT / name).read_text("utf-8").replace("](docs/", "](")
        files.append(File.generated(config, page, content=text))
    files.append(File.generated(config, "columns.md", content=columns()))
    made = gallery.make(GALLERY)
    files.append(File.generated(config, "gallery.md", content=gallery.page(made)))
    for one in made:
        for file in (one.report, one.picture):
            if file is not None:
                files.append(File.generated(config, f"gallery/{file.name}", abs_src_path=str(file)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """A page as MkDocs reads it: without the tests' marks, lists set apart, links to root pages adapted."""
    text = _COMMENT.sub("\n", markdown)
    text = _ROOT_LINK.sub(lambda found: f"]({found[1].lower()}.md", text)
    return _LIST.sub(r"\1\n\n", text)


def on_post_build(config: MkDocsConfig, **_: Any) -> None:
    """Refuse a site that would load something from elsewhere."""
    for page in Path(config.site_dir).rglob("*.html"):
        if found := _LOADED.search(page.read_text("utf-8")):
            raise PluginError(f"{page.name} loads {found[1]}")


def columns() -> str:
    """Options, columns and JSON of every study that asks, as it declares them."""
    return "\n".join(["# Columns and JSON\n", INTRODUCTION, *chapters()])


INTRODUCTION = """This page is made from the studies' declarations, as `overton describe STUDY` and
`overton analyze STUDY --schema` print them. `records.parquet` in a run's folder has the columns under *Records*.
"""


def chapters() -> Iterator[str]:
    """A chapter for each study, its headings one level down."""
    import overton
    from overton.studies.registry import asking_names

    for name in asking_names():
        yield re.sub(r"(?m)^#", "##", overton.describe(name))
        schema = json.dumps(overton.schema(name), indent=2)
        yield f"### JSON of {name}\n"
        yield f'??? note "JSON Schema"\n\n    ```json\n{_indented(schema)}\n    ```\n'


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
