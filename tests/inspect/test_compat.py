"""One file has Inspect AI's private names, and they exist; an Inspect AI that is too old is reported."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

import overton
from overton.errors import InputError, MissingExtra
from overton.inspect import compat

SOURCE = Path(overton.__file__).parent
ALLOWED = SOURCE / "inspect" / "compat.py"
FILES = sorted(path for path in SOURCE.rglob("*.py") if path != ALLOWED)


def modules(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def private_uses(text: str) -> list[str]:
    """Private modules and names of Inspect AI that are imported, and private attributes of foreign objects."""
    found = []
    for node in ast.walk(ast.parse(text)):
        for name in modules(node):
            first, *rest = name.split(".")
            found += [name] if first == "inspect_ai" and any(map(is_private, rest)) else []
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            found += [] if own else [node.attr]
    return found


def test_no_other_file_uses_a_private_name_of_inspects() -> None:
    told = [path for path in FILES if "inspect_ai" in path.read_text("utf-8") or "inspect" in path.parts[-2]]
    assert len(told) > 15
    wrong = {str(path.relative_to(SOURCE)): uses for path in told if (uses := private_uses(path.read_text("utf-8")))}
    assert not wrong


def test_the_reader_of_uses_sees_every_form() -> None:
    text = "import inspect_ai._util\nfrom inspect_ai.model._model import M\nfrom inspect_ai import _x\nmodel._resolve()"
    assert private_uses(text) == ["inspect_ai._util", "inspect_ai.model._model.M", "inspect_ai._x", "_resolve"]
    assert private_uses(ALLOWED.read_text("utf-8"))


def test_private_names_of_inspect_exist() -> None:
    pytest.importorskip("inspect_ai", reason="Inspect AI is not installed: pip install 'overton[inspect]'")
    from inspect_ai._util.exception import TerminateSampleError
    from inspect_ai.model import get_model
    from inspect_ai.model._model import ModelRefusalError
    from inspect_ai.util import LimitExceededError

    assert "[no]" in str(compat.prerequisite("[no]").message).replace("\\", "")  # type: ignore[attr-defined]
    assert compat.runs_on_trio() in {True, False}
    assert compat.config_in_use(get_model("mockllm/model")) is not None
    assert compat.is_inspects_own(compat.prerequisite("no"))
    assert compat.is_inspects_own(LimitExceededError("token", value=2, limit=1))
    assert compat.is_inspects_own(TerminateSampleError("so"))
    assert {kind.__name__ for kind in (TerminateSampleError, ModelRefusalError)} <= compat._OWN_ERRORS
    assert not compat.is_inspects_own(ValueError("no"))


@pytest.mark.parametrize("installed", ["0.3.284", "0.3.100", "0.2"])
def test_too_old(installed: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(compat, "version", lambda name: installed)
    with pytest.raises(InputError, match=f"{installed}: is too old: .*{compat.LEAST} or newer"):
        compat.check_inspect()


@pytest.mark.parametrize("installed", [compat.LEAST, "0.3.286.dev3+g12", "0.3.1000", "0.4", "1.0rc1"])
def test_new_enough(installed: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(compat, "version", lambda name: installed)
    compat.check_inspect()


def test_not_there(monkeypatch: Any) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(compat, "version", missing)
    with pytest.raises(MissingExtra, match=r"overton\[inspect\]"):
        compat.check_inspect()


def test_tasks_say_that_inspect_is_too_old_before_they_import_from_it() -> None:
    script = (
        "import importlib.metadata, sys\n"
        "sys.modules['inspect_ai'] = None\n"
        "importlib.metadata.version = lambda name: '0.1'\n"
        "from overton.errors import InputError\n"
        "try:\n    import overton.tasks\nexcept InputError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "0.1: is too old" in done.stdout, done.stderr
