"""Random choices that anyone can repeat: each follows from a name alone, in any language or version."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import shake_128
from struct import unpack
from typing import TypeVar

__all__ = ["Draw"]

T = TypeVar("T")


class Draw:
    """Random choices made from a name.

    The k-th 64-bit word of SHAKE-128(name), little-endian, is the k-th random number. A shuffle sorts the items by
    their words; a sample is the start of a shuffle. There is no state: the same call gives the same choice.

    Example: `Draw("7/night-buses/order").shuffle(arguments)`.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name.encode()

    def words(self, count: int) -> tuple[int, ...]:
        """`count` independent integers, uniform on [0, 2**64)."""
        return unpack(f"<{count}Q", shake_128(self._name).digest(8 * count))

    def uniform(self) -> float:
        """A number in [0, 1)."""
        return (self.words(1)[0] >> 11) / 2**53

    def coin(self) -> bool:
        """True or False, equally likely."""
        return self.words(1)[0] & 1 == 1

    def shuffle(self, items: Sequence[T]) -> list[T]:
        """The items in random order."""
        words = self.words(len(items))
        return [items[i] for i in sorted(range(len(items)), key=words.__getitem__)]

    def sample(self, items: Sequence[T], size: int) -> list[T]:
        """`size` of the items without replacement, in random order; all of them if there are fewer."""
        return self.shuffle(items)[:size]
