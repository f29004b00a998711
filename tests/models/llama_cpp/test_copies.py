"""The dispatch of requests to copies of a model."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter

from overton.models.llama_cpp import CopyPool


async def _asked(copies: CopyPool, heads: list[str]) -> list[int]:
    """The threads that answered, all called at once."""
    gate = threading.Event()

    def work() -> int:
        gate.wait(5)
        return threading.get_ident()

    tasks = [asyncio.ensure_future(copies.run(head, work)) for head in heads]
    await asyncio.sleep(0)
    gate.set()
    return await asyncio.gather(*tasks)


async def test_requests_with_one_head_go_to_one_copy_and_all_copies_are_busy() -> None:
    copies = CopyPool(2, "m")
    threads = await _asked(copies, ["x", "x", "y", "y"])
    copies.shutdown()
    assert threads[0] == threads[1] != threads[2] == threads[3]


async def test_requests_without_heads_are_spread_evenly() -> None:
    copies = CopyPool(3, "m")
    threads = await _asked(copies, [""] * 9)
    copies.shutdown()
    assert set(Counter(threads).values()) == {3}


async def test_a_copy_whose_last_beginning_was_another_is_as_good_as_any() -> None:
    copies = CopyPool(2, "m")
    first = await _asked(copies, ["x", "y", "z"])
    again = await _asked(copies, ["x", "y"])
    copies.shutdown()
    assert first[0] == first[2]
    assert again[1] == first[1]


async def test_an_error_is_raised_and_the_copy_is_free_again() -> None:
    copies = CopyPool(1, "m")

    def wrong() -> None:
        raise ValueError("wrong")

    for _ in range(2):
        try:
            await copies.run("", wrong)
        except ValueError:
            pass
        else:
            raise AssertionError
    assert await copies.run("", int, "7") == 7
    copies.shutdown()
