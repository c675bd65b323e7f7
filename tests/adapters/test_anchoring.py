from datetime import UTC, datetime
from pathlib import Path

import pytest

from preceptor.adapters.storage import anchoring
from preceptor.adapters.storage.anchoring import Anchor, Damaged
from preceptor.domain.log import ORG_STREAM, Event, Head, NewEvent, seal
from preceptor.domain.ownership import INSTALLATION

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "anchors.jsonl"


def checkpoints(count: int) -> list[Event]:
    new = [NewEvent("log.checkpoint", '{"heads":[]}')] * count
    return seal(INSTALLATION, ORG_STREAM, Head(), new, at=0, salts=[bytes(16)] * count)


def anchored(event: Event) -> Anchor:
    return Anchor(NOON, event.org, event.stream, event.seq, event.hash.hex())


def test_anchors_are_read_back_in_the_order_they_were_written(path: Path):
    events = checkpoints(3)
    for event in events:
        anchoring.append(path, event, NOON)
    assert list(anchoring.read(path)) == [anchored(event) for event in events]


def test_an_anchor_is_one_line_of_json_that_only_its_owner_may_read(path: Path):
    [event] = checkpoints(1)
    anchoring.append(path, event, NOON)
    line = f'{{"at":"2030-01-01T12:00:00Z","org":"*","stream":"@org","seq":1,"hash":"{event.hash.hex()}"}}\n'
    assert path.read_text() == line
    assert path.stat().st_mode & 0o777 == 0o600


def test_where_nothing_was_anchored_there_is_nothing_to_read(path: Path):
    assert list(anchoring.read(path)) == []


@pytest.mark.parametrize("left", range(1, 140, 7))
def test_half_a_line_left_by_a_crash_is_ignored_and_the_next_anchor_follows_the_last_whole_one(path: Path, left: int):
    first, second, third = checkpoints(3)
    anchoring.append(path, first, NOON)
    whole = path.read_bytes()
    anchoring.append(path, second, NOON)
    path.write_bytes(path.read_bytes()[: len(whole) + left])
    assert list(anchoring.read(path)) == [anchored(first)]
    anchoring.append(path, third, NOON)
    assert list(anchoring.read(path)) == [anchored(first), anchored(third)]


def test_a_last_line_that_lacks_only_its_end_counts_and_is_kept(path: Path):
    first, second = checkpoints(2)
    anchoring.append(path, first, NOON)
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    assert list(anchoring.read(path)) == [anchored(first)]
    anchoring.append(path, second, NOON)
    assert list(anchoring.read(path)) == [anchored(first), anchored(second)]


DAMAGES = {
    "not JSON": b"nonsense\n",
    "empty": b"\n",
    "not text": b"\xff\xfe\n",
    "a hash that is none": b'{"at":"2030-01-01T12:00:00Z","org":"*","stream":"@org","seq":1,"hash":"zz"}\n',
    "a row that cannot be": b'{"at":"2030-01-01T12:00:00Z","org":"*","stream":"@org","seq":0,"hash":"'
    + b"0" * 64
    + b'"}\n',
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_line_before_the_last_is_told_of_by_its_number(path: Path, damage: bytes):
    events = checkpoints(3)
    for event in events:
        anchoring.append(path, event, NOON)
    first, _, third = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + damage + third)
    assert list(anchoring.read(path)) == [anchored(events[0]), Damaged(2), anchored(events[2])]
