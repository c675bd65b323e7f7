"""Moments: as the log keeps them, whole microseconds since 1970; as people write them, RFC 3339. Both in UTC."""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated

from pydantic import AwareDatetime, BeforeValidator

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII | re.IGNORECASE)


def to_micros(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    return _EPOCH + micros * _MICROSECOND


def _written(value: object) -> object:
    if not isinstance(value, str):
        return value
    if not _RFC_3339.fullmatch(value):
        raise ValueError("write it as 2030-01-31T12:00:00Z")
    try:
        return datetime.fromisoformat(value.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError("there is no such moment") from None


Moment = Annotated[AwareDatetime, BeforeValidator(_written)]
"""A moment that someone else wrote. Pydantic alone would also take numbers, and dates without seconds."""
