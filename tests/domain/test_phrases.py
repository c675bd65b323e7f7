import pytest

from preceptor.domain.errors import CannotStart
from preceptor.domain.gaps import UndeclaredVariable, gaps
from preceptor.domain.phrases import LANGUAGES, Catalogue, Phrase, form
from preceptor.domain.reasoning.texts import KEYS, get_text
from tests.requirements import covers

AGREED = (
    "sgr_normal_response",
    "sgr_clarify_intro",
    "sgr_clarify_question",
    "sgr_clarify_outro",
    "sgr_spam_response",
    "sgr_guardian_response",
    "user_intent_prefix",
    "guardian_refusal_unsafe",
)


@covers("R164", "R165")
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("key", AGREED)
def test_every_text_is_there_in_every_language_and_whole(language: str, key: str):
    text = get_text(key, language, product_name="Acme", user_intent="Reset a password")
    assert text not in {"", key}
    assert not [*gaps(text)]
    assert language == "en" or text != get_text(key, "en", product_name="Acme")


@covers("R164")
def test_the_keys_are_the_agreed_ones():
    assert {*KEYS} == {*AGREED}


@covers("R165")
def test_the_prefix_the_product_name_and_the_two_fallbacks():
    assert get_text("user_intent_prefix") == "How I understood your request:"
    assert "Acme Desk" in get_text("sgr_spam_response", "vi", product_name="Acme Desk")
    assert get_text("sgr_normal_response", "de") == get_text("sgr_normal_response", "en")
    assert get_text("no_such_text", "ru") == "no_such_text"


@covers("R165")
def test_what_is_filled_in_is_never_read_again():
    assert "{{product_name}}" in get_text("sgr_spam_response", product_name="{{product_name}}")


COUNTED: dict[str, dict[str, Phrase]] = {
    "en": {"files": {"one": "{{count}} file", "many": "{{count}} files"}},
    "ru": {"files": {"one": "{{count}} файл", "few": "{{count}} файла", "many": "{{count}} файлов"}},
    "vi": {"files": {"many": "{{count}} tệp"}},
}
NUMBERS = {
    ("en", 0): "0 files",
    ("en", 1): "1 file",
    ("en", 21): "21 files",
    ("ru", 0): "0 файлов",
    ("ru", 1): "1 файл",
    ("ru", 2): "2 файла",
    ("ru", 5): "5 файлов",
    ("ru", 11): "11 файлов",
    ("ru", 12): "12 файлов",
    ("ru", 21): "21 файл",
    ("ru", 24): "24 файла",
    ("ru", 111): "111 файлов",
    ("ru", 112): "112 файлов",
    ("ru", 122): "122 файла",
    ("vi", 1): "1 tệp",
}


@pytest.mark.parametrize(("language", "number"), NUMBERS)
def test_numbers_take_the_form_that_their_language_asks_for(language: str, number: int):
    catalogue = Catalogue(COUNTED, {"files": ("count",)})
    assert catalogue.count(language, "files", number) == NUMBERS[language, number]


def test_every_number_has_a_form():
    assert {language: {form(language, number) for number in range(200)} for language in LANGUAGES} == {
        "en": {"one", "many"},
        "ru": {"one", "few", "many"},
        "vi": {"many"},
    }


def catalogue(**changed: dict[str, Phrase]) -> Catalogue:
    said: dict[str, dict[str, Phrase]] = {language: {"hello": f"Hello {language}"} for language in LANGUAGES}
    return Catalogue(said | changed, {"hello": ("name",)})


INCOMPLETE: dict[str, dict[str, dict[str, Phrase]]] = {
    "a missing text": {"ru": {}},
    "a text too many": {"vi": {"hello": "Chào", "bye": "Tạm biệt"}},
    "a blank text": {"ru": {"hello": " "}},
    "a missing form": {"ru": {"hello": {"one": "a", "many": "b"}}},
}


@covers("R164")
@pytest.mark.parametrize("changed", INCOMPLETE.values(), ids=INCOMPLETE)
def test_a_catalogue_with_a_hole_stops_the_start(changed: dict[str, dict[str, Phrase]]):
    assert catalogue()
    with pytest.raises(CannotStart):
        catalogue(**changed)


def test_a_text_with_an_unknown_gap_stops_the_start():
    with pytest.raises(UndeclaredVariable, match="nmae"):
        catalogue(en={"hello": "Hello {{nmae}}"})
