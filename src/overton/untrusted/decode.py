"""Decoders of JSON, TOML and UTF-8 from outside, which raise only one kind of error."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec

from overton.errors import Unreadable

_PANIC_MODULE = "pyo3_runtime"
"""The module name of the exception classes that Rust libraries raise for panics. Each library has its own class, and
most libraries do not export it."""


@contextmanager
def panics_as_unreadable() -> Iterator[None]:
    """Turn a panic of a Rust library into `Unreadable`. A panic is not an `Exception`, so it would otherwise end the
    process.

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
    """The value in a JSON text. `decode` is the method of an `msgspec.json.Decoder`.

    Raises:
        Unreadable: the data is not JSON or not UTF-8, is nested too deeply, contains an impossible number, or does not
            have the decoder's type (`wrong_form`).
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
    """Decode a JSON text with Python's own reader, which can show every key as written, even if repeated. `how` are the
    reader's keyword arguments.

    Raises:
        Unreadable: the text is not JSON, is nested too deeply, or a function in `how` refuses it with a `ValueError`.
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
        Unreadable: the text is not TOML, or is nested too deeply.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Unreadable(f"is not valid TOML: {error}") from None
    except (UnicodeError, RecursionError, ValueError, OverflowError) as error:
        raise Unreadable(_why_unreadable(error)) from None


def converted(value: Any, kind: type[T], *, strict: bool = True) -> T:
    """Convert plain values (from JSON, TOML or a table) to the type `kind`.

    Raises:
        Unreadable: the values do not fit the type.
    """
    try:
        return msgspec.convert(value, kind, strict=strict)
    except msgspec.ValidationError as error:
        raise Unreadable(str(error), wrong_form=True) from None
    except (UnicodeError, RecursionError, ValueError, OverflowError, TypeError) as error:
        raise Unreadable(_why_unreadable(error)) from None


def decode_text(data: bytes) -> str:
    """Decode UTF-8 bytes to text, without a byte order mark.

    Raises:
        Unreadable: the bytes are not UTF-8.
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
            return "contains half of a surrogate pair, which is not a character"
        case RecursionError():
            return "is nested too deeply"
        case OverflowError():
            return "contains a number that is too large"
    return f"is not valid JSON: {error}"
