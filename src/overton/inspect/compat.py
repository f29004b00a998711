"""Overton's dependence on Inspect AI: the versions that work, and the private parts of Inspect AI that Overton uses.

Private names of Inspect AI are used in this file only (checked by `tests/inspect/test_compat.py`). So check a new
version of Inspect AI against this file first.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any

from overton.errors import InputError, MissingExtra, Problem
from overton.untrusted import visible

LEAST = "0.3.285"
"""The oldest version of Inspect AI that works."""
TESTED = "0.3.285"
"""The newest version of Inspect AI with which the tests have been run."""


def check_inspect() -> None:
    """Raise an error unless Inspect AI is installed in a version that works.

    Raises:
        MissingExtra: Inspect AI is not installed.
        InputError: its version is too old.
    """
    try:
        installed = version("inspect-ai")
    except PackageNotFoundError:
        raise MissingExtra("Overton's tasks in Inspect AI", "inspect") from None
    if _version_numbers(installed) < _version_numbers(LEAST):
        reason = (
            f"is too old: Overton's tasks need {LEAST} or newer (tested up to {TESTED});"
            " pip install -U 'overton[inspect]'"
        )
        raise InputError([Problem("inspect-ai", installed, reason)])


def _version_numbers(text: str) -> tuple[int, ...]:
    """The leading numbers of a version. Suffixes (rc1, dev0, +local) are left out."""
    numbers = []
    for part in text.split("+", maxsplit=1)[0].split("."):
        if not part.isdigit():
            break
        numbers.append(int(part))
    return tuple(numbers)


# Members of an .eval archive. If Inspect renamed them, the logs that Overton writes a few samples at a time
# (`export_logs`) would lack samples or the head. Inspect's own writer could be used instead, but it keeps all samples
# in memory.
SAMPLES = "samples/"
SUMMARIES = "summaries.json"
START = "_journal/start.json"
HEADER = "header.json"


def member_of(sample: str | int, epoch: int) -> str:
    """The member that contains a sample."""
    return f"{SAMPLES}{sample}_epoch_{epoch}.json"


# Errors by name, because not all of them can be imported from a public module. If Inspect renamed one, Overton would
# report that the endpoint did not answer, although the user's limit was reached or an operator ended the sample.
_OWN_ERRORS = {"LimitExceededError", "TerminateSampleError", "ModelRefusalError", "PrerequisiteError"}


def is_inspects_own(error: Exception) -> bool:
    """Whether an error comes from Inspect and not from the endpoint, for example because a limit was reached or an
    operator ended a sample."""
    return bool({kind.__name__ for kind in type(error).__mro__} & _OWN_ERRORS)


def prerequisite(message: object) -> Exception:
    """An error that Inspect shows as one message, without a traceback."""
    # If the class were gone, any exception would work, but each error made by a user would be shown with a traceback.
    from rich.markup import escape

    return prerequisite_kind()(escape(visible(str(message))))


def prerequisite_kind() -> type[Exception]:
    """The type of the error that `prerequisite` returns. Inspect itself also raises errors of this type."""
    from inspect_ai._util.error import PrerequisiteError

    kind: type[Exception] = PrerequisiteError
    return kind


def runs_on_trio() -> bool:
    """Whether the user runs Inspect on trio instead of asyncio."""
    # If the function were gone, INSPECT_ASYNC_BACKEND would have to be read here.
    from inspect_ai._util._async import configured_async_backend

    return bool(configured_async_backend() == "trio")


def config_in_use(model: Any) -> Any:
    """The settings that Inspect uses if a call gives none. They come from the model, the task and the user's flags."""
    # If the method were gone, a call's identity and the manifest would lack settings such as `--temperature`, because
    # no public function shows which flags apply to a model.
    return model._resolve_config(None)
