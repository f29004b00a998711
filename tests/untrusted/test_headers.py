"""Any content of a header becomes a plausible number of seconds, or nothing."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from overton.untrusted import clamp_seconds, retry_after, seconds_of
from overton.untrusted.headers import LONGEST_WAIT

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e9"}, None),
        ({"retry-after": "9" * 400}, LONGEST_WAIT),
        ({"retry-after": "31622401"}, LONGEST_WAIT),
        ({"retry-after": "Sun, 01 Mar 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Sun, 01 Mar 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "Sun, 01 Mar 2026 13:00:10 +0100"}, 10.0),
        ({"retry-after": "Wed, 21 Oct 99999999999999999999 07:28:00 GMT"}, None),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 +99999999999999999999"}, None),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 -2359"}, LONGEST_WAIT),
        ({"retry-after": "Mon, 01 Jan 0001 00:00:00 +2359"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "9" * 18, "retry-after": "9"}, LONGEST_WAIT),
    ],
)
def test_a_wish_to_wait_is_read_as_far_as_it_can_be_meant(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


@pytest.mark.parametrize("now", ["Sun, 01 Mar 2026 12:00:00 GMT", "Thu, 01 Jan 1970 00:00:00 GMT"])
def test_a_date_to_wait_for_is_read_by_the_servers_clock(now: str) -> None:
    until = now.replace("00:00 GMT", "00:20 GMT")
    assert retry_after({"retry-after": until, "date": now}) == 20.0


_dates = st.builds(
    "{}, {} {} {} {}:{}:{} {}".format,
    st.sampled_from(["Sun", "", "x"]),
    st.integers(-99, 10**20),
    st.sampled_from(["Jan", "Oct", "Foo", "\u0661"]),
    *[st.integers(-(10**20), 10**20)] * 4,
    st.sampled_from(["GMT", "+0100", "-9999", "+99999999999999999999", "\u0661", ""]),
)


@given(st.text() | _dates)
@example("01 Jan 0001 00:00:00 +2359")
def test_any_text_is_a_wish_within_a_year_or_none(text: str) -> None:
    for found in (retry_after({"retry-after": text}, NOW), retry_after({"retry-after-ms": text}), seconds_of(text)):
        assert found is None or 0 <= found <= LONGEST_WAIT


@pytest.mark.parametrize("value", [None, "7", float("nan")])
def test_a_client_s_idea_of_a_pause_is_limited_to_the_same_range(value: object) -> None:
    assert clamp_seconds(value) is None  # type: ignore[arg-type]
    assert clamp_seconds(3) == 3.0
    assert clamp_seconds(-1.5) == 0.0
    assert clamp_seconds(float("inf")) == clamp_seconds(10**400) == LONGEST_WAIT
