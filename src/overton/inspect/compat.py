"""The parts of Inspect AI that Overton needs: its version, and everything that Inspect does not promise to keep.

Every private name of Inspect's is here and nowhere else: a new version of Inspect AI is checked against this file
first, and `tests/inspect/test_compat.py` ensures that no other file uses one.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any

from overton.errors import InputError, MissingExtra, Problem
from overton.untrusted import visible

LEAST = "0.3.285"
"""The oldest Inspect AI that this works with."""
TESTED = "0.3.285"
"""The newest with which the tests have been run."""


def check_inspect() -> None:
    """Refuse to continue without Inspect AI, or with a version that is too old.

    Raises:
        MissingExtra: it is not installed.
        InputError: it is too old.
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
    """The leading numbers of a version; what follows them (rc1, dev0, +local) is left out."""
    numbers = []
    for part in text.split("+", maxsplit=1)[0].split("."):
        if not part.isdigit():
            break
        numbers.append(int(part))
    return tuple(numbers)


# Members of an .eval archive. If they were renamed, a log that is written a few samples at a time would lack samples or
# its head (`lane_log`): Inspect's own writer would do, at the price of keeping all samples in memory.
SAMPLES = "samples/"
SUMMARIES = "summaries.json"
START = "_journal/start.json"
HEADER = "header.json"


def member_of(sample: str | int, epoch: int) -> str:
    """The member that contains a sample."""
    return f"{SAMPLES}{sample}_epoch_{epoch}.json"


# Errors by name, as not all of them can be imported from a public module. If one were renamed, a limit that the user
# set or a sample that its operator ended would count as an endpoint that gave no answer.
_OWN_ERRORS = {"LimitExceededError", "TerminateSampleError", "ModelRefusalError", "PrerequisiteError"}


def is_inspects_own(error: Exception) -> bool:
    """Whether an error is Inspect's own affair, not the endpoint's: a limit reached, a sample ended by its operator."""
    return bool({kind.__name__ for kind in type(error).__mro__} & _OWN_ERRORS)


def prerequisite(message: object) -> Exception:
    """An error that Inspect shows as one message, without a traceback."""
    # If it were gone, any exception would do, but every user error would be shown with a traceback.
    from rich.markup import escape

    return prerequisite_kind()(escape(visible(str(message))))


def prerequisite_kind() -> type[Exception]:
    """The type of what `prerequisite` returns; Inspect itself raises it too."""
    from inspect_ai._util.error import PrerequisiteError

    kind: type[Exception] = PrerequisiteError
    return kind


def runs_on_trio() -> bool:
    """Whether the user runs Inspect on trio instead of asyncio."""
    # If it were gone, INSPECT_ASYNC_BACKEND would have to be read here, as Inspect does.
    from inspect_ai._util._async import configured_async_backend

    return bool(configured_async_backend() == "trio")


def config_in_use(model: Any) -> Any:
    """The settings that Inspect uses if a call gives none: the model's own, the task's, the user's flags."""
    # If it were gone, a call's identity and the manifest would lack `--temperature` and the like: nothing public shows
    # which flags apply to a model.
    return model._resolve_config(None)
