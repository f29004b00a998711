"""JSON, TOML and UTF-8 from outside become values, or one error."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec

from overton.errors import Unreadable

_PANIC_MODULE = "pyo3_runtime"
"""The module that panics name as theirs. Each library has its own class there, mostly without exporting it."""


@contextmanager
def panics_as_unreadable() -> Iterator[None]:
    """Turn a panic into `Unreadable`. It is not an `Exception`: otherwise it would end the process.

    Raises:
        Unreadable: there was a panic.
    """
    try:
        yield
    except BaseException as error:
        if type(error).__module__ == _PANIC_MODULE:
            raise Unreadable("is damaged") from error
        raise


T = TypeVar("T")

_BOM = b"\xef\xbb\xbf"


def decode_json(text: bytes | memoryview | str | msgspec.Raw, decode: Callable[[Any], T]) -> T:
    """The value in a JSON text; `decode` is the `decode` of an `msgspec.json.Decoder`.

    Raises:
        Unreadable: it is not JSON, not UTF-8, nested too deeply, contains an impossible number, or is not of the
            decoder's type (`wrong_form`).
    """
    try:
        return decode(text)
    except msgspec.ValidationError as error:
        raise Unreadable(str(error), wrong_form=True) from None
    except msgspec.DecodeError as error:
        raise Unreadable(f"is not complete JSON: {error}") from None
    except (UnicodeError, RecursionError, ValueError, OverflowError) as error:
        raise Unreadable(_why_unreadable(error)) from None


def python_of(text: str, **how: Any) -> Any:
    """The value in a JSON text by Python's own reader, for when keys must be seen as written (`how` is its keyword
    arguments).

    Raises:
        Unreadable: it is not JSON, is nested too deeply, or `how` refuses it with a `ValueError`.
    """
    try:
        return json.loads(text, **how)
    except json.JSONDecodeError as error:
        raise Unreadable(f"is not valid JSON: {error.msg}", line=error.lineno, column=error.colno) from None
    except (UnicodeError, RecursionError, ValueError, OverflowError) as error:
        raise Unreadable(_why_unreadable(error)) from None


def decode_toml(text: str) -> dict[str, Any]:
    """The tables in a TOML text.

    Raises:
        Unreadable: it is not TOML, or is nested too deeply.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Unreadable(f"is not valid TOML: {error}") from None
    except (UnicodeError, RecursionError, ValueError, OverflowError) as error:
        raise Unreadable(_why_unreadable(error)) from None


def converted(value: Any, kind: type[T], *, strict: bool = True) -> T:
    """Plain values (from JSON, TOML or a table) as a `kind`.

    Raises:
        Unreadable: they are not of that form.
    """
    try:
        return msgspec.convert(value, kind, strict=strict)
    except msgspec.ValidationError as error:
        raise Unreadable(str(error), wrong_form=True) from None
    except (UnicodeError, RecursionError, ValueError, OverflowError, TypeError) as error:
        raise Unreadable(_why_unreadable(error)) from None


def decode_text(data: bytes) -> str:
    """UTF-8 bytes as text, a byte order mark dropped.

    Raises:
        Unreadable: they are not UTF-8.
    """
    try:
        return data.removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        offset = error.start + (len(_BOM) if data.startswith(_BOM) else 0)
        raise Unreadable(f"is not UTF-8 (byte 0x{data[offset]:02x} at {offset})", byte=offset) from None


def _why_unreadable(error: Exception) -> str:
    match error:
        case UnicodeDecodeError():
            return f"is not UTF-8 (at byte {error.start})"
        case UnicodeEncodeError():
            return "holds half of a surrogate pair, which is no character"
        case RecursionError():
            return "is nested too deeply"
        case OverflowError():
            return "holds a number too large to be one"
    return f"is not valid JSON: {error}"
