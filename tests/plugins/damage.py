"""Bytes as damage and malice make them of real ones: bits turned, parts cut out, put in, doubled."""

from __future__ import annotations

from hypothesis import strategies as st

__all__ = ["damaged"]

_SPLICED = [
    b"\xff" * 4,
    bytes(4),
    b"\xff\xff\xff\x7f",
    b"[" * 9,
    b'{"',
    b"\r\n",
    b"1e999",
    b"NaN",
    b"\xed\xa0\x80",
    b'""',
]


@st.composite
def damaged(draw: st.DrawFn, real: bytes) -> bytes:
    """`real` after one to four changes."""
    made = bytearray(real)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(0, len(made) - 1)))
        length = draw(st.sampled_from([1, 2, 4, 16, 100]))
        match draw(st.sampled_from(["turn", "cut out", "put in", "double", "end"])):
            case "turn" if made:
                made[place] ^= 1 << draw(st.integers(0, 7))
            case "cut out":
                del made[place : place + length]
            case "put in":
                made[place:place] = draw(st.sampled_from(_SPLICED))
            case "double":
                made[place:place] = made[place : place + length]
            case _:
                del made[place:]
    return bytes(made)
