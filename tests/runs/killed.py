"""`python killed.py SHARD...` works on each shard in processes that are killed midway, until it has finished."""

import json
import os
import signal
import sys

import overton
from overton.engine import Journal

_append = Journal.append


def dying(after: int) -> None:
    """Have this process killed, without warning, after that many outcomes."""
    left = after

    async def append(self, entry):
        nonlocal left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        await _append(self, entry)

    Journal.append = append


def worked(shard: str, after: int | None) -> bool:
    """Resume it in a separate process; returns whether that finished."""
    pid = os.fork()
    if pid == 0:
        if after is not None:
            dying(after)
        overton.resume(shard)
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    assert status == 0 or os.WTERMSIG(status) == signal.SIGKILL, status
    return status == 0


kills = 0
for number, shard in enumerate(sys.argv[1:]):
    for after in (5 + 7 * number, 40):
        kills += not worked(shard, after)
    assert worked(shard, None)
print(json.dumps({"kills": kills}))
