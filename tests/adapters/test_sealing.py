import pytest
from hypothesis import given
from hypothesis import strategies as st

from preceptor.adapters.sealing import NoSecretKey, SealBroken, SealedBox

BOX = SealedBox("the installation's key")
ROW = b"provider/openai"

texts = st.text(st.characters(), min_size=1)


@given(texts, st.binary(), st.binary())
def test_what_is_sealed_opens_again_with_the_same_key_and_context(secret_key: str, plain: bytes, context: bytes):
    assert SealedBox(secret_key).open(SealedBox(secret_key).seal(plain, context), context) == plain


def test_sealing_twice_gives_two_different_values_that_do_not_show_the_secret():
    first, second = BOX.seal(b"sk-secret", ROW), BOX.seal(b"sk-secret", ROW)
    assert first != second
    assert b"sk-secret" not in first + second


@given(st.binary(max_size=100), st.data())
def test_any_changed_byte_is_refused(plain: bytes, data: st.DataObject):
    sealed = bytearray(BOX.seal(plain, ROW))
    position = data.draw(st.integers(0, len(sealed) - 1))
    sealed[position] ^= data.draw(st.integers(1, 255))
    with pytest.raises(SealBroken):
        BOX.open(bytes(sealed), ROW)


@given(st.binary(max_size=100))
def test_anything_that_was_never_sealed_is_refused(sealed: bytes):
    with pytest.raises(SealBroken):
        BOX.open(sealed, ROW)
    with pytest.raises(SealBroken):
        BOX.open(b"\x01" + sealed, ROW)


@given(st.integers(0, 40))
def test_a_cut_value_is_refused(kept: int):
    with pytest.raises(SealBroken):
        BOX.open(BOX.seal(b"sk-secret-123", ROW)[:kept], ROW)


@given(st.binary().filter(lambda context: context != ROW))
def test_a_sealed_value_cannot_be_moved_to_another_row(context: bytes):
    with pytest.raises(SealBroken):
        BOX.open(BOX.seal(b"sk-secret", ROW), context)


def test_another_secret_key_is_named_as_the_cause():
    with pytest.raises(
        SealBroken, match=r"PRECEPTOR_SECRET_KEY differs .* Start with the former key, or enter"
    ) as broken:
        SealedBox("another key").open(BOX.seal(b"sk-secret", ROW), ROW)
    assert "another key" not in str(broken.value)


def test_an_empty_secret_key_is_refused():
    with pytest.raises(NoSecretKey, match="PRECEPTOR_SECRET_KEY is empty"):
        SealedBox("")


def test_the_secret_key_does_not_show_when_the_box_is_printed():
    assert "installation" not in repr(BOX)


@given(st.binary(), texts)
def test_a_signature_is_verified_and_fits_into_a_url(message: bytes, purpose: str):
    signature = BOX.sign(message, purpose)
    assert BOX.verify(message, signature, purpose)
    assert signature.replace("-", "").replace("_", "").isalnum()


@given(st.binary(), texts, texts)
def test_a_signature_holds_for_one_message_one_purpose_and_one_key(message: bytes, purpose: str, other: str):
    signature = BOX.sign(message, purpose)
    assert not BOX.verify(message + b"!", signature, purpose)
    assert not SealedBox("another key").verify(message, signature, purpose)
    assert purpose == other or not BOX.verify(message, signature, other)


@given(st.text(st.characters()))
def test_any_other_text_is_not_a_signature(signature: str):
    assert not BOX.verify(b"message", signature, "session")


def test_a_changed_or_padded_signature_is_refused():
    signature = BOX.sign(b"message", "session")
    changed = ("B" if signature[0] == "A" else "A") + signature[1:]
    assert not BOX.verify(b"message", changed, "session")
    assert not BOX.verify(b"message", signature + "=", "session")
