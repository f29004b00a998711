"""The studies as Inspect AI tasks: what `inspect eval overton/NAME` finds, including those of other packages."""

import sys
from collections.abc import Callable, Iterator
from typing import Any

from overton.hosts.inspect.privates import check_inspect

check_inspect()  # before importing what an older Inspect AI lacks

from overton.errors import InputError  # noqa: E402
from overton.studies.registry import asking_names, study_named  # noqa: E402
from overton.tasks.models import overton  # noqa: E402
from overton.tasks.scoring import figures  # noqa: E402
from overton.tasks.studies import task_of  # noqa: E402
from overton.untrusted import visible  # noqa: E402

__all__ = ["figures", "overton"]


def _tasks() -> Iterator[Callable[..., Any]]:
    """A task for each study. A broken one is reported and left out, and affects neither others nor Inspect."""
    for name in dict.fromkeys(asking_names()):
        try:
            study = study_named(name)
            if study.kind == "asks":
                yield task_of(study)
        except InputError as error:
            sys.stderr.write(visible(f"overton: {error}\n"))
        except Exception as error:  # noqa: BLE001 - a study of another package may declare anything
            said = f"overton: study {name}: no task can be made of it: {type(error).__name__}: {error}\n"
            sys.stderr.write(visible(said))


for _task in _tasks():
    if _task.__name__ not in globals():  # Inspect finds it by its name anyway
        globals()[_task.__name__] = _task
        __all__ += [_task.__name__]  # noqa: PLE0604
