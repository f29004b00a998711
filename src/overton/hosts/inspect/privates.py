"""What Overton needs of Inspect AI: which version, and whatever Inspect does not promise to keep.

Every private name of Inspect's stands here and nowhere else: a new version of Inspect AI is tried against this page
first, and `tests/hosts/inspect/test_privates.py` holds that no other file knows one.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any

from overton.errors import InputError, MissingExtra, Problem
from overton.untrusted import visible

__all__ = [
    "HEADER",
    "SAMPLES",
    "START",
    "SUMMARIES",
    "check_inspect",
    "config_in_use",
    "is_inspects_own",
    "member_of",
    "prerequisite",
    "prerequisite_kind",
    "runs_on_trio",
]

LEAST = "0.3.285"
"""The oldest Inspect AI that this works with."""
TESTED = "0.3.285"
"""The newest that the tests ran with."""


def check_inspect() -> None:
    """Refuse to go on without Inspect AI, or with one that is too old.

    Raises:
        MissingExtra: it is not installed.
        InputError: it is too old.
    """
    try:
        installed = version("inspect-ai")
    except PackageNotFoundError:
        raise MissingExtra("Overton's tasks in Inspect AI", "inspect") from None
    if _numbers(installed) < _numbers(LEAST):
        reason = (
            f"is too old: Overton's tasks need {LEAST} or newer (tested up to {TESTED});"
            " pip install -U 'overton[inspect]'"
        )
        raise InputError([Problem("inspect-ai", installed, reason)])


def _numbers(text: str) -> tuple[int, ...]:
    """The numbers that a version begins with; what follows them (rc1, dev0, +local) is left out."""
    numbers = []
    for part in text.split("+", maxsplit=1)[0].split("."):
        if not part.isdigit():
            break
        numbers.append(int(part))
    return tuple(numbers)


# Members of an .eval archive. Were they called otherwise, a log that is written a few samples at a time would lack its
# samples or its head (`lane_log`): Inspect's own writer would do, at the price of all samples in memory.
SAMPLES = "samples/"
SUMMARIES = "summaries.json"
START = "_journal/start.json"
HEADER = "header.json"


def member_of(sample: str | int, epoch: int) -> str:
    """The member that holds a sample."""
    return f"{SAMPLES}{sample}_epoch_{epoch}.json"


# Errors by their names, as not all of them can be imported from a public module. Were one called otherwise, a limit
# that the user set or a sample that its operator ended would count as an endpoint that gave no answer.
_OWN_ERRORS = {"LimitExceededError", "TerminateSampleError", "ModelRefusalError", "PrerequisiteError"}


def is_inspects_own(error: Exception) -> bool:
    """Whether an error is Inspect's own affair, not the endpoint's: a limit reached, a sample ended by its operator."""
    return bool({kind.__name__ for kind in type(error).__mro__} & _OWN_ERRORS)


def prerequisite(message: object) -> Exception:
    """An error that Inspect shows as one message, without a traceback."""
    # Were it gone, every mistake of a user's would be shown with a traceback: any exception would do, less kindly.
    from rich.markup import escape

    return prerequisite_kind()(escape(visible(str(message))))


def prerequisite_kind() -> type[Exception]:
    """What `prerequisite` gives is one of these; Inspect raises its own, too."""
    from inspect_ai._util.error import PrerequisiteError

    kind: type[Exception] = PrerequisiteError
    return kind


def runs_on_trio() -> bool:
    """Whether the user has Inspect run on trio instead of asyncio."""
    # Were it gone, INSPECT_ASYNC_BACKEND would have to be read here, as Inspect reads it.
    from inspect_ai._util._async import configured_async_backend

    return bool(configured_async_backend() == "trio")


def config_in_use(model: Any) -> Any:
    """What Inspect generates with where a call says nothing: the model's own settings, the task's, the user's flags."""
    # Were it gone, a call's identity and the manifest would not know `--temperature` and its like: nothing public
    # tells which flags hold for a model.
    return model._resolve_config(None)
