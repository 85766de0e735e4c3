"""RFC 3339 timestamps, strictly."""

from __future__ import annotations

import contextlib
import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.documents.timestamps import parse_rfc3339_ms
from gate.errors import InputError


# B13
@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1969-12-31T23:59:59.999Z", -1),
        ("2027-01-01T00:00:00Z", 1_798_761_600_000),
        ("2027-01-01T00:00:00+02:00", 1_798_754_400_000),
        ("2027-01-01T00:00:00-02:00", 1_798_768_800_000),
        ("2027-01-01T00:00:00.5Z", 1_798_761_600_500),
        ("2027-01-01T00:00:00.123999999Z", 1_798_761_600_123),
        ("2024-02-29T00:00:00Z", 1_709_164_800_000),
        ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
        ("9999-12-31T23:59:59-23:59", 253_402_387_139_000),
        ("0001-01-01T00:00:00Z", -62_135_596_800_000),
        ("0001-01-01T00:00:00+23:59", -62_135_683_140_000),
    ],
)
def test_b13_timestamp_with_offset_is_read_in_any_year(text: str, milliseconds: int) -> None:
    assert parse_rfc3339_ms(text) == milliseconds


@pytest.mark.parametrize("text", ["2027-01-01", "2027-01-01T00:00:00", "2027-01-01T00:00:00.250"])
def test_b13_timestamp_without_offset_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_rfc3339_ms(text)
    assert (caught.value.code, caught.value.hint) == (
        "timestamp_without_offset",
        "write it like `2026-07-21T18:00:00Z`",
    )


@pytest.mark.parametrize(
    "text",
    ["", "soon", "2027", "2027-13-01T00:00:00Z", "2027-02-29T00:00:00Z", "2027-02-30", "2027-00-01T00:00:00Z",
     "0000-01-01T00:00:00Z", "10000-01-01T00:00:00Z", "2027-01-01T24:00:00Z", "2027-01-01T00:60:00Z",
     "2027-01-01T00:00:60Z", "2027-01-01T00:00Z", "2027-01-01 00:00:00Z", "2027-01-01t00:00:00z",
     "2027-01-01T00:00:00+24:00", "2027-01-01T00:00:00+00:60", "2027-01-01T00:00:00+0200", "2027-01-01T00:00:00.Z",
     "2027-01-01T00:00:00Z\n", " 2027-01-01T00:00:00Z", "2027-01-01T00:00:00Z junk",
     "\uff12\uff10\uff12\uff17-01-01T00:00:00Z", "-001-01-01T00:00:00Z", None, 0, 1.5, True, [],
     b"2027-01-01T00:00:00Z"],
)  # fmt: skip
def test_b13_anything_else_is_refused_as_invalid(text: object) -> None:
    with pytest.raises(InputError) as caught:
        parse_rfc3339_ms(text)
    assert caught.value.code == "timestamp_invalid"


@given(
    st.datetimes(
        min_value=datetime.datetime(2, 1, 1),
        max_value=datetime.datetime(9998, 1, 1),
        timezones=st.timezones(),
    ).filter(lambda moment: (moment.utcoffset() or datetime.timedelta()).seconds % 60 == 0)
)
def test_timestamp_written_by_python_is_the_same_instant(moment: datetime.datetime) -> None:
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    assert parse_rfc3339_ms(moment.isoformat()) == (moment - epoch) // datetime.timedelta(milliseconds=1)


@given(st.text(max_size=30) | st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.+Z-]{0,20}"))
def test_arbitrary_text_raises_nothing_but_input_error(text: str) -> None:
    with contextlib.suppress(InputError):
        assert isinstance(parse_rfc3339_ms(text), int)
