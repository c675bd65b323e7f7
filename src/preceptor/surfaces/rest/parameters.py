"""Parameters that many operations share."""

from typing import Annotated

from fastapi import Depends, Header, Path, Query

from preceptor.domain.instructions.version import LABEL_TEXT
from preceptor.domain.paging import CURSOR, LARGEST_PAGE, PLACE_CURSOR

Cursor = Annotated[
    str | None,
    Query(description="`nextCursor` of the page before.", json_schema_extra={"pattern": f"^{CURSOR.pattern}$"}),
]
"""The pattern is for readers of the document: what does not match it is refused as `bad_cursor`."""
PlaceCursor = Annotated[
    str | None,
    Query(description="`nextCursor` of the page before.", json_schema_extra={"pattern": f"^{PLACE_CURSOR.pattern}$"}),
]
Limit = Annotated[int, Query(description="How many at most.", ge=1, le=LARGEST_PAGE)]
AnyLimit = Annotated[int | None, Query(description="How many at most; all without it.", ge=1, le=LARGEST_PAGE)]
Name = Annotated[str, Path(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f]+$")]
Archived = Annotated[bool, Query(description="Also when it has been archived.")]
LabelName = Annotated[str, Path(pattern=LABEL_TEXT)]
Position = Annotated[
    int, Query(description="Only events after this `seq`; beyond the last, only new ones.", ge=0, le=2**53)
]
Resume = Annotated[
    int | None,
    Header(
        alias="Last-Event-ID",
        description="Resume after this event; beyond the last, with what is new.",
        ge=0,
        le=2**53,
    ),
]


async def _resumed(after: Position = 0, last_event_id: Resume = None) -> int:
    return after if last_event_id is None else last_event_id


After = Annotated[int, Depends(_resumed)]
"""The event after which a stream begins: what its reader heard last goes before what its address says."""
