"""Readers of numbers in response headers. They clamp numbers to a valid range, and return None for a header that they
cannot read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isnan

LONGEST_WAIT = 366 * 86_400.0
"""The longest pause, in seconds. If a server requests a pause of more than a year, it counts as a year."""

_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?")
_MAX_DATE_CHARACTERS = 64


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds that a server asks to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date (RFC 9110,
    section 10.2.3). None if neither header is readable. A time before `now` gives 0. By default, `now` is the server's
    own `Date`, because this machine's clock may be wrong by days.

    The names in `headers` must be in lower case.
    """
    milliseconds = seconds_of(headers.get("retry-after-ms", ""), unit=1e-3)
    if milliseconds is not None:
        return milliseconds
    value = headers.get("retry-after", "")
    seconds = seconds_of(value)
    if seconds is not None:
        return seconds
    moment = _parse_date(value)
    return (
        None
        if moment is None
        else _seconds_between(now or _parse_date(headers.get("date", "")) or datetime.now(UTC), moment)
    )


def seconds_of(text: str, unit: float = 1.0) -> float | None:
    """A number of seconds, clamped to between 0 and a year; None if the text is not a number.

    `unit` is the length in seconds of one unit of the number.
    """
    found = _NUMBER.fullmatch(text.strip())
    return clamp_seconds(float(found[0]) * unit) if found else None


def clamp_seconds(seconds: float | None) -> float | None:
    """The seconds, clamped to between 0 and a year; None for NaN and for anything that is not a number."""
    if not isinstance(seconds, int | float) or (isinstance(seconds, float) and isnan(seconds)):
        return None
    return float(min(max(0.0, seconds), LONGEST_WAIT))


def _seconds_between(now: datetime, moment: datetime) -> float | None:
    try:
        return clamp_seconds((moment - now).total_seconds())
    except OverflowError:
        return None


def _parse_date(date: str) -> datetime | None:
    """The moment of a date in HTTP's format; None if the date is not readable."""
    if len(date) > _MAX_DATE_CHARACTERS:
        return None
    try:
        moment = parsedate_to_datetime(date)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError, TypeError, IndexError):  # Python's parser does not check the parts of a date
        return None
