"""The documentation as a site in build/site: the pages of docs/, and those that the site makes itself.

The site adds a gallery of reports, a page of the columns and JSON that studies declare, and documents of the root. This
module first writes all pages into one folder. Zensical then builds the site from this folder and runs none of our code.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
BUILD = ROOT / "build"
GALLERY, PAGES, SITE = BUILD / "gallery", BUILD / "site-pages", BUILD / "site"

sys.path.insert(0, str(HERE))
import gallery  # noqa: E402

ROOT_PAGES = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
_ROOT_LINK = re.compile(r"\]\((?:\.\./)*(CHANGELOG|CONTRIBUTING)\.md")
_OUTSIDE_LINK = re.compile(
    r"\[([^\]]+)\]\((?:\.\./)+((?:benchmarks|examples|src|tests|website)/[^)]*|[A-Z][A-Z.a-z]*)\)"
)
_COMMENT = re.compile(r"^<!-- .*? -->\n", re.MULTILINE)
_LOADED = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*?\s(?:src|href)=[\"']?((?:https?:)?//[^\"'\s>]+)")
_LIST = re.compile(r"(?m)^(?!\s*(?:[-*]|\d+\.) )(\S.*)\n(?=(?:[-*]|1\.) )")


def build() -> None:
    """Write all pages, build the site from them, and check it.

    Raises:
        SystemExit: the gallery cannot be made, a link is broken, or a page would load something from another server.
    """
    write_pages(PAGES)
    shutil.rmtree(SITE, ignore_errors=True)
    if find_spec("zensical") is None:
        sys.exit("Zensical is not installed: pip install -e '.[docs]'")
    config = shutil.copyfile(HERE / "zensical.toml", BUILD / "zensical.toml")  # sites must be below their settings
    options = ["--strict", "--clean", "--config-file", str(config)]
    made = subprocess.run([sys.executable, "-m", "zensical", "build", *options], check=False)
    if made.returncode:
        sys.exit(made.returncode)
    if loaded := sorted(what_loads(SITE)):
        sys.exit("\n".join(loaded))


def write_pages(folder: Path) -> None:
    """Write the source of every page into `folder`, with the reports that the gallery shows."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", folder)
    for page in folder.rglob("*.md"):
        page.write_text(adapted(page.read_text("utf-8")), "utf-8")
    for name, page in ROOT_PAGES.items():
        text = (ROOT / name).read_text("utf-8").replace("](docs/", "](")
        (folder / page).write_text(adapted(text), "utf-8")
    (folder / "columns.md").write_text(adapted(columns()), "utf-8")
    made = gallery.make(GALLERY)
    (folder / "gallery.md").write_text(adapted(gallery.page(made)), "utf-8")
    (folder / "gallery").mkdir()
    for entry in made:
        for file in filter(None, (entry.report, entry.picture)):
            shutil.copyfile(file, folder / "gallery" / file.name)


def adapted(markdown: str) -> str:
    """A page as Python-Markdown reads it: without the tests' marks, and with a line before each list.

    Links to documents of the root lead to their pages. Other links out of docs/
    become names, since the site lacks those files.
    """
    text = _COMMENT.sub("\n", markdown)
    text = _ROOT_LINK.sub(lambda found: f"]({found[1].lower()}.md", text)
    text = _OUTSIDE_LINK.sub(lambda found: f"{found[1]} (`{found[2]}`)", text)
    return _LIST.sub(r"\1\n\n", text)


def what_loads(site: Path) -> Iterator[str]:
    """Yield a message for each page of a site that would load something from another server."""
    for page in site.rglob("*.html"):
        if found := _LOADED.search(page.read_text("utf-8")):
            yield f"{page.name} loads {found[1]}"


def columns() -> str:
    """The page of options, columns and JSON that studies declare, for every study that questions models."""
    return "\n".join(["# Columns and JSON\n", INTRODUCTION, *chapters()])


INTRODUCTION = """This page is made from the studies' declarations. `overton describe STUDY` and
`overton analyze STUDY --schema` print the same. `records.parquet` in a run's folder has the columns under *Records*.
"""


def chapters() -> Iterator[str]:
    """Yield a chapter for each study, with its headings one level lower."""
    import overton
    from overton.studies.registry import asking_names

    for name in asking_names():
        yield re.sub(r"(?m)^#", "##", overton.describe(name))
        schema = json.dumps(overton.schema(name), indent=2)
        yield f"### JSON of {name}\n"
        yield f'??? note "JSON Schema"\n\n    ```json\n{_indented(schema)}\n    ```\n'


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


if __name__ == "__main__":
    build()
