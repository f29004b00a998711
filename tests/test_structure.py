"""Imports between packages point down, and `import overton` is light."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence, Set
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "overton"

FLOORS = [
    {"errors", "version"},
    {"untrusted"},
    {"calls", "key_values"},
    {"statistics"},
    {"judging"},
    {"studies"},
    {"files"},
    {"engine", "models", "retrieval", "reporting"},
    {"runs"},
    {"analysis"},
    {"comparison"},
    {"planning", "reports"},
    {"judge", "inspect"},
    {"items", "corpus"},
    {"health"},
    {"cli", "commands", "tasks"},
    {"testing"},
]
"""Packages by floor, from the ground up. A package imports only packages of lower floors, and none of its own floor but
itself.

The package `overton` itself is above them all. A name of its own, such as `overton.run`, has no floor.
"""

FLOOR = {room: height for height, rooms in enumerate(FLOORS) for room in rooms}

HEAVY = ("polars", "altair", "scipy", "numpy", "aiohttp", "xllamacpp", "inspect_ai", "vl_convert", "jinja2", "uvloop")

OUTSIDE_WORLD = {
    "aiohttp",
    "filelock",
    "http",
    "inspect_ai",
    "os",
    "pathlib",
    "requests",
    "shutil",
    "socket",
    "sqlite3",
    "ssl",
    "subprocess",
    "tempfile",
    "urllib",
    "xllamacpp",
}


def files(room: str = "") -> list[Path]:
    found = sorted((SOURCE / room).rglob("*.py")) or [SOURCE / f"{room}.py"]
    assert all(path.is_file() for path in found), f"no room {room}"
    return found


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: Path, text: str | None = None) -> Sequence[tuple[int, str]]:
    """Line and dotted name of every import, those inside functions and for annotations alone too."""
    return _imported(path, path.read_text("utf-8") if text is None else text)


@cache
def _imported(path: Path, text: str) -> list[tuple[int, str]]:
    return list(_imports(path, text))


def _imports(path: Path, text: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = module_of(path, node)
            if module != "overton":
                yield node.lineno, module
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def module_of(path: Path, node: ast.ImportFrom) -> str:
    """The module that a `from ... import` in a file names, dotted, also if it does so relatively."""
    package = ["overton", *path.relative_to(SOURCE).parent.parts]
    base = package[: len(package) - node.level + 1] if node.level else []
    return ".".join([*base, *([node.module] if node.module else [])])


def rooms_imported(path: Path, text: str | None = None) -> Iterator[tuple[int, str]]:
    for line, name in imported(path, text):
        parts = name.split(".")
        if parts[0] == "overton":
            yield line, parts[1] if len(parts) > 1 else "overton"


def test_floors_name_every_package_and_no_other() -> None:
    assert {room_of(path) for path in files()} - {"__init__", "__main__"} == FLOOR.keys()


@pytest.mark.parametrize("room", [room for rooms in FLOORS for room in sorted(rooms)])
def test_arrows_point_down(room: str) -> None:
    wrong = [
        f"{path.relative_to(SOURCE)}:{line} imports overton.{other}"
        for path in files(room)
        for line, other in rooms_imported(path)
        if other != room and FLOOR.get(other, len(FLOORS)) >= FLOOR[room]
    ]
    assert not wrong, "\n".join(wrong)


def test_nothing_imports_a_studys_commands() -> None:
    """They are named in the study, and imported when they are called."""
    wrong = [
        f"{path.relative_to(SOURCE)}:{line} imports {name}"
        for path in files()
        for line, name in imported(path)
        if room_of(path) != "commands" and name.startswith("overton.commands")
    ]
    assert not wrong, "\n".join(wrong)


def passed_on(path: Path, text: str | None = None) -> set[str]:
    """The names in a file's `__all__` that it only imports from another of Overton's."""
    tree = ast.parse(path.read_text(encoding="utf-8") if text is None else text)
    found: set[str] = set()
    offered: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and module_of(path, node).partition(".")[0] == "overton":
            found.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            offered.update(ast.literal_eval(node.value))
    return found & offered


def test_names_are_passed_on_by_doors_only() -> None:
    """A package's `__init__` passes names on, as do the two modules that users and Inspect AI know by name."""
    doors = {SOURCE / "items.py", SOURCE / "tasks.py"}
    wrong = {
        f"{path.relative_to(SOURCE)}: {name}"
        for path in files()
        if path.name != "__init__.py" and path not in doors
        for name in passed_on(path)
    }
    assert not wrong, "\n".join(sorted(wrong))


def test_the_finder_of_names_passed_on_finds_every_form() -> None:
    text = (
        "from overton.calls import a, b\nfrom ..files import c as d\nfrom .journal import e\nfrom json import f\n"
        '__all__ = ["a", "d", "e", "f", "g"]\ndef g(): pass\n'
    )
    assert passed_on(SOURCE / "engine" / "imaginary.py", text) == {"a", "d", "e"}


def test_the_reader_of_imports_sees_every_form() -> None:
    text = (
        "import overton.cli\nfrom overton import api\ndef f():\n    from ..hosts.local import x\n    from . import y\n"
        "if TYPE_CHECKING:\n    from overton.tasks import z\nimport overton\nfrom overton import __version__\n"
    )
    found = {room for _, room in rooms_imported(SOURCE / "engine" / "imaginary.py", text)}
    assert found == {"cli", "api", "hosts", "engine", "tasks", "overton", "__version__"}


@pytest.mark.parametrize("room", ["calls", "statistics", "judging", "studies"])
def test_the_science_touches_no_network_and_no_files(room: str) -> None:
    wrong = [
        f"{path.relative_to(SOURCE)}:{line} imports {name}"
        for path in files(room)
        for line, name in imported(path)
        if name.split(".")[0] in OUTSIDE_WORLD
    ]
    assert not wrong, "\n".join(wrong)


def test_private_modules_stay_in_their_package() -> None:
    wrong = [
        f"{path.relative_to(SOURCE)}:{line} imports {name}"
        for path in files()
        for line, name in imported(path)
        if name.startswith("overton.")
        and any(part.startswith("_") and not part.startswith("__") for part in name.split(".")[1:])
        and name.split(".")[1] != room_of(path)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("module", ["overton", "overton.calls", "overton.errors", "overton.studies.study"])
def test_importing_it_is_light(module: str) -> None:
    asked = f"import sys, {module}; print(*sorted({set(HEAVY)!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == []


MOST_LINES = 600
"""If the file is one thing."""


def test_no_file_is_too_long() -> None:
    lengths = {path.relative_to(SOURCE): len(path.read_text("utf-8").splitlines()) for path in files()}
    wrong = [f"{name} has {length} lines" for name, length in lengths.items() if length > MOST_LINES]
    assert not wrong, "\n".join(wrong)


def modules_imported(path: Path, modules: Set[str], text: str | None = None) -> set[str]:
    """The modules of ours that a file imports: when it runs, inside functions, and for annotations alone.

    `from PACKAGE import NAME` imports the module of that name if there is one, and otherwise the package's `__init__`.
    """
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8") if text is None else text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = module_of(path, node)
            inside = [f"{module}.{alias.name}" for alias in node.names]
            found |= {name if name in modules else module for name in inside}
    return found & modules


def circle(arrows: dict[str, set[str]]) -> list[str]:
    """The modules on a way from one of them back to it; none where there is no such way."""
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_modules_import_each_other_in_a_circle() -> None:
    paths = {".".join(("overton", *path.relative_to(SOURCE).with_suffix("").parts)): path for path in files()}
    paths = {name.removesuffix(".__init__"): path for name, path in paths.items()}
    arrows = {name: modules_imported(path, paths.keys() - {name}) for name, path in paths.items()}
    assert not circle(arrows), " <- ".join(circle(arrows))


def test_the_reader_of_modules_sees_annotations_late_imports_and_doors() -> None:
    text = (
        "from __future__ import annotations\nfrom typing import TYPE_CHECKING\nimport overton.cli.main\n"
        "from . import dispatcher\nfrom overton.engine import Counters, budget\n"
        "if TYPE_CHECKING:\n    from overton.runs.run import Run\ndef f():\n    from ..calls import Reply\n"
    )
    modules = {"overton.cli.main", "overton.engine", "overton.engine.dispatcher", "overton.runs.run", "overton.calls"}
    assert modules_imported(SOURCE / "engine" / "imaginary.py", modules, text) == modules


def test_the_finder_of_circles_finds_one() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) in (["b", "c", "b"], ["c", "b", "c"])
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


DOORS = {"cli/terminal.py", "cli/console.py"}
PRINTING = re.compile(
    r"(print|input)"
    r"|click\.(echo|secho|style|confirm|prompt|launch|pause|clear)"
    r"|(.*\.)?(Console|get_console|print_json|from_markup|from_ansi|print_exc|print_exception|print_stack)"
)
"""Calls that print, or that read markup in a text. `print` of a console is not among them, because the console belongs
to the output module."""

LOOKED_AT = {"sys.stdout.isatty", "sys.stderr.isatty"}


def printing(tree: ast.Module) -> Iterator[str]:
    """Calls in a file that print without the output module, with their lines.

    A host that is not our program has its own streams. There a text is written as `visible(...)`.
    """
    allowed: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            given = [ast.unparse(one.func) if isinstance(one, ast.Call) else "" for one in node.args]
            if (called == "sys.stderr.write" and given == ["visible"]) or called in LOOKED_AT:
                allowed += ast.walk(node.func)
            elif PRINTING.fullmatch(called) and not called.startswith("overton.") and called != "print_json":
                yield f"{node.lineno}: {called}()"
            for key in node.keywords:
                if key.arg == "markup" and ast.unparse(key.value) != "False":
                    yield f"{node.lineno}: markup"
        elif isinstance(node, ast.ImportFrom) and node.module == "sys":
            yield from (
                f"{node.lineno}: {one.name}" for one in node.names if one.name.strip("_") in ("stdout", "stderr")
            )
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and node not in allowed
            and re.fullmatch(r"sys\._*std(out|err)_*", ast.unparse(node))
        ):
            yield f"{node.lineno}: {ast.unparse(node)}"


def test_only_the_output_module_prints() -> None:
    wrong = [
        f"{name}:{found}"
        for path in files()
        if (name := path.relative_to(SOURCE).as_posix()) not in DOORS
        for found in printing(ast.parse(path.read_text("utf-8")))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "line",
    [
        "print(x)",
        "name = input(x)",
        "sys.stdout.write(x)",
        "sys.stderr.write(x)",
        "sys.stderr.write(visible(x) + x)",
        "write = sys.__stderr__.write",
        "from sys import stdout",
        "click.echo(x)",
        "click.confirm(x)",
        "Console().print(x)",
        "rich.console.Console(stderr=True)",
        "Text.from_markup(x)",
        "results().print(x, markup=True)",
        "traceback.print_exc()",
    ],
)
def test_calls_that_print_are_found(line: str) -> None:
    assert list(printing(ast.parse(line)))
    assert not list(printing(ast.parse("results().print(x)\nsay(x)\nprint_json(x)\nsys.stderr.write(visible(x))")))


DECODERS = {
    "gzip.GzipFile",
    "gzip.decompress",
    "gzip.open",
    "json.load",
    "json.loads",
    "msgspec.convert",
    "msgspec.json.decode",
    "msgspec.msgpack.decode",
    "pickle.load",
    "pickle.loads",
    "tomllib.load",
    "tomllib.loads",
    "zipfile.ZipFile",
    "zlib.decompress",
    "zlib.decompressobj",
    "zstandard.ZstdDecompressor",
}
OF_OURS = {
    "inspect/export_logs.py": "parts of the log that it has just written itself",
    "models/catalog.py": "the table of prices in the package",
    "retrieval/index.py": "the starter pages in the package",
    "retrieval/page_process.py": "the job that the process which started it has just sent",
    "studies/open_mindedness/millstone.py": "the published scores in the package",
    "studies/items.py": "the subjects of starter items in the package",
    "studies/prompts.py": "a study's prompts in its package",
    "studies/reproduction.py": "the numbers that a paper prints, in the package",
    "studies/stance_stability/topics/__init__.py": "the published domains in the package",
    "testing/checks.py": "JSON that it has just encoded",
}
"""Files that decode what is Overton's own."""


def decoded(text: str) -> Iterator[tuple[int, str]]:
    """Line and name of every decoder that is called, by whatever name it was imported or kept."""
    tree = ast.parse(text)
    known = {name: name for name in DECODERS}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            known |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and _is_decoder(node.value):
            known[node.targets[0].id] = "msgspec.json.decode"
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            called = known.get(name.removesuffix(".decode").removesuffix(".decode_lines"), "")
            if called in DECODERS or (isinstance(node.func, ast.Attribute) and _is_decoder(node.func)):
                yield node.lineno, name


def _is_decoder(node: ast.expr) -> bool:
    text = ast.unparse(node)
    return "Decoder(" in text and text.startswith("msgspec.") and text.endswith((")", ".decode", ".decode_lines"))


def test_only_one_package_decodes_untrusted_input() -> None:
    """Decoders raise unexpected errors (`UnicodeDecodeError`, `RecursionError`, `OverflowError`)."""
    wrong = [
        f"{path.relative_to(SOURCE)}:{line} calls {name}"
        for path in files()
        if room_of(path) != "untrusted" and str(path.relative_to(SOURCE)) not in OF_OURS
        for line, name in decoded(path.read_text("utf-8"))
    ]
    assert not wrong, "\n".join(wrong)


def test_the_finder_of_decoders_sees_every_form() -> None:
    text = (
        "import json, msgspec, zlib\nfrom msgspec.json import decode as read\nfrom zipfile import ZipFile\n"
        "_one = msgspec.json.Decoder(int).decode\n_two = msgspec.json.Decoder(int)\n"
        "def f(x):\n    json.loads(x); read(x); _one(x); _two.decode(x); msgspec.json.Decoder(int).decode(x)\n"
        "    ZipFile(x); zlib.decompressobj(31); x.decode(); json_of(x, _one)\n"
    )
    assert len(list(decoded(text))) == 7
