"""What must be true after any crowd, whatever the machine: all that was accepted is there, and nothing else."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from benchmarks.crowd.people import Heard
from preceptor import Settings, open_preceptor
from preceptor.domain.ids import OrgId, UserId
from preceptor.domain.ownership import SYSTEM, Caller, Owner
from preceptor.domain.turns.facts import TERMINAL
from tests.durability.checker import check_chain, streams
from tests.rebuilding import every_call_is_rebuilt

MEGABYTES = 300


async def nothing_is_lost(url: str, folder: Path, heard: Iterable[Heard], orgs: tuple[str, ...] = ("default",)) -> int:
    """Every turn that was heard to its end is in the log, completed, with its two messages; no other has begun."""
    turns = {turn for each in heard for _, turn in each.turns}
    said = Counter[tuple[str, str]]()
    for rows in streams(url):
        check_chain(rows)
        said.update((row.turn, row.kind) for row in rows if row.turn is not None)
    assert {turn for turn, _ in said} == turns
    assert {kind for _, kind in said if kind in TERMINAL} <= {"turn.completed"}
    for turn in turns:
        kinds = ("turn.accepted", "message.completed", "call.started", "turn.completed")
        assert [said[turn, kind] for kind in kinds] == [1, 2, 1, 1]
    settings = Settings.load(data_dir=folder, database_url=url)
    async with open_preceptor(settings, take_up=False) as preceptor:
        callers = [
            Caller(Owner(org_id=OrgId(org), user_id=UserId("admin")), SYSTEM.permissions, "system") for org in orgs
        ]
        assert sum([await every_call_is_rebuilt(preceptor.acting_as(caller)) for caller in callers]) == len(turns)
    return len(turns)
