"""The studies as tasks of Inspect AI: what `inspect eval overton/NAME` finds, those of other packages included."""

import sys

from overton.hosts.inspect.versions import check_inspect

check_inspect()  # before what an older Inspect AI lacks is imported

from overton.errors import InputError  # noqa: E402
from overton.studies.registry import asking_names, study_named  # noqa: E402
from overton.tasks.models import overton  # noqa: E402
from overton.tasks.studies import task_of  # noqa: E402

__all__ = ["overton"]

for _name in asking_names():
    try:
        _task = task_of(study_named(_name))
    except InputError as _error:  # named and left out: one broken package takes no other study down
        sys.stderr.write(f"overton: {_error}\n")
        continue
    globals()[_task.__name__] = _task
    __all__ += [_task.__name__]  # noqa: PLE0604
