import hashlib
from collections.abc import Sequence

import msgspec
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preceptor.domain.errors import Conflict
from preceptor.domain.ids import OrgId, StreamId, TurnId
from preceptor.domain.log import GENESIS, Event, Fenced, Head, NewEvent, commit_to, digest, seal

# A database can store any text but a lone half of a surrogate pair, which no strict reader of JSON lets through.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
SALT = st.binary(min_size=16, max_size=16)
NEW = st.builds(NewEvent, kind=TEXT, payload=TEXT, turn=st.none() | TEXT.map(TurnId))
HEAD = st.builds(Head, st.integers(0, 2**62), st.binary(min_size=32, max_size=32), st.integers(0, 2**31 - 1))
AT = st.integers(-(2**53), 2**53)
unhurried = settings(deadline=None)


@st.composite
def sealings(draw: st.DrawFn) -> tuple[Head, list[NewEvent], list[Event]]:
    head, new = draw(HEAD), draw(st.lists(NEW, min_size=1, max_size=6))
    return head, new, sealed(head, new, at=draw(AT), salts=[draw(SALT) for _ in new])


def sealed(head: Head, new: Sequence[NewEvent], *, at: int = 0, salts: Sequence[bytes] | None = None) -> list[Event]:
    salts = salts or [bytes([number]) * 16 for number, _ in enumerate(new)]
    return seal(OrgId("acme"), StreamId("talk"), head, new, at=at, salts=salts)


@unhurried
@given(sealings())
def test_sealed_events_follow_the_head_and_one_another(sealing: tuple[Head, list[NewEvent], list[Event]]):
    head, new, events = sealing
    assert [event.seq for event in events] == list(range(head.seq + 1, head.seq + 1 + len(new)))
    assert [event.prev_hash for event in events] == [head.hash, *(event.hash for event in events[:-1])]
    assert {event.epoch for event in events} == {head.epoch}
    assert [(event.kind, event.payload, event.turn) for event in events] == [(e.kind, e.payload, e.turn) for e in new]


@unhurried
@given(sealings())
def test_the_digest_of_a_sealed_event_is_its_hash_with_its_payload_or_without(
    sealing: tuple[Head, list[NewEvent], list[Event]],
):
    for event in sealing[2]:
        assert event.salt is not None
        assert event.payload is not None
        assert commit_to(event.salt, event.payload) == event.commitment
        assert digest(event) == digest(msgspec.structs.replace(event, payload=None, salt=None)) == event.hash


@unhurried
@given(sealings(), st.data())
def test_a_digest_covers_every_field_but_the_payload_which_the_commitment_covers(
    sealing: tuple[Head, list[NewEvent], list[Event]], data: st.DataObject
):
    event = data.draw(st.sampled_from(sealing[2]))
    assert event.salt is not None
    others = {
        "org": TEXT,
        "stream": TEXT,
        "seq": st.integers(0, 2**62),
        "turn": st.none() | TEXT,
        "kind": TEXT,
        "at": AT,
        "epoch": st.integers(0, 2**31 - 1),
        "commitment": st.binary(min_size=32, max_size=32),
        "prev_hash": st.binary(min_size=32, max_size=32),
    }
    for name, strategy in others.items():
        other = data.draw(strategy.filter(lambda value, name=name: value != getattr(event, name)), label=name)
        assert digest(msgspec.structs.replace(event, **{name: other})) != event.hash
    payload = data.draw(TEXT.filter(lambda text: text != event.payload))
    assert commit_to(event.salt, payload) != event.commitment


@unhurried
@given(sealings(), st.integers(1, 5))
def test_it_does_not_matter_in_how_many_steps_events_are_sealed(
    sealing: tuple[Head, list[NewEvent], list[Event]], size: int
):
    head, new, together = sealing
    apart: list[Event] = []
    for first in range(0, len(new), size):
        salts = [event.salt or b"" for event in together[first : first + size]]
        apart += sealed(head, new[first : first + size], at=together[0].at, salts=salts)
        head = Head(apart[-1].seq, apart[-1].hash, head.epoch)
    assert apart == together


@unhurried
@given(st.lists(NEW, min_size=2, max_size=2, unique=True))
def test_a_swap_of_two_events_gives_another_chain(new: list[NewEvent]):
    assert sealed(Head(), new)[-1].hash != sealed(Head(), new[::-1])[-1].hash


def test_fields_that_touch_cannot_be_confused():
    places: list[tuple[str, str, str | None, str]] = [
        ("a", "bc", None, "d"),
        ("ab", "c", None, "d"),
        ("a", "b", "c", "d"),
        ("a", "bc", "null", "d"),
        ("a", "bc", "", "d"),
        ("a", 'b","c', None, "d"),
        ("a", "bcnull", None, "d"),
    ]

    def hashed(org: str, stream: str, turn: str | None, kind: str) -> bytes:
        new = NewEvent(kind, "{}", None if turn is None else TurnId(turn))
        return seal(OrgId(org), StreamId(stream), Head(), [new], at=0, salts=[bytes(16)])[0].hash

    assert len({hashed(*place) for place in places}) == len(places)


def test_the_same_payload_has_another_commitment_under_another_salt():
    assert commit_to(b"1" * 16, "yes") != commit_to(b"2" * 16, "yes")


def test_the_form_of_the_hash_is_fixed_for_ever():
    [first] = seal(
        OrgId("default"), StreamId("s"), Head(), [NewEvent("said", '"xin chào"', TurnId("t"))], at=1, salts=[bytes(16)]
    )
    commitment = hashlib.sha256(bytes(16) + '"xin chào"'.encode()).digest()
    place = orjson.dumps(["default", "s", 1, "t", "said", 1, 0])
    assert first.hash == hashlib.sha256(GENESIS + commitment + place).digest()
    assert first.hash.hex() == "dc387e360273010919faba8a91f586cb5fa7c4459d5039f1303ba7ac9adf4c66"


def test_there_is_a_salt_for_every_event():
    with pytest.raises(ValueError, match="zip"):
        sealed(Head(), [NewEvent("a", "{}"), NewEvent("b", "{}")], salts=[bytes(16)])


def test_a_fenced_writer_is_told_what_to_do():
    assert isinstance(Fenced(stream="talk"), Conflict)
    assert str(Fenced(stream="talk")) == (
        "Another worker has taken over 'talk'; this one must stop. Read the stream again."
    )
