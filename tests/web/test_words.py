"""Every text of the pages is there in every language, with the right plurals, and nothing is marked safe by hand."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from preceptor.domain.replays.replay import VALIDITY
from preceptor.surfaces import web
from preceptor.surfaces.web.languages import FORMS, SPEAKERS, catalogue
from preceptor.surfaces.web.rendering import environment

HERE = Path(web.__path__[0])
TEMPLATES = sorted((HERE / "templates").rglob("*.html"))
BLANKS = re.compile(r"%\(\w+\)s")
ONE_WORD = {
    "agent": ("агент", "tác nhân"),
    "conversation": ("разговор", "hội thoại"),
    "customization": ("отступлени", "tùy chỉnh"),
    "demo": ("демо", "demo"),
    "execution": ("выполнени", "thực thi"),
    "experiment": ("эксперимент", "thử nghiệm"),
    "instruction": ("инструкци", "chỉ dẫn"),
    "replay": ("повтор", "chạy lại"),
    "specialist": ("специалист", "chuyên gia"),
    "template": ("шаблон", "mẫu"),
}
"""Our nouns, and the stem that stands for each in Russian and in Vietnamese."""
FOR_SCRIPTS = re.compile(r"speaker\.forms\('([^']+)', '([^']+)'\)")


def in_templates() -> dict[str, str | None]:
    """Each text, with its plural if it is counted."""
    found: dict[str, str | None] = {}
    for file in TEMPLATES:
        text, told = file.read_text(encoding="utf-8"), cast("Any", environment("en"))
        found |= dict(FOR_SCRIPTS.findall(text))
        for _, _, message in told.extract_translations(text):
            if isinstance(message, str):
                found[message] = None
            else:
                found[str(message[0])] = message[1] and str(message[1])  # blanks, and no plural: None
    return found


def in_code() -> dict[str, str | None]:
    """What is passed to `msg`, `say`, `count` and `forms`, and anywhere to `phrased` and to `recorded`."""
    found: dict[str, str | None] = {}
    for file, name, texts in calls():
        if name in {"phrased", "recorded"} or (name in {"msg", "say"} and HERE in file.parents):
            found[texts[0]] = None
        elif name in {"count", "forms"} and HERE in file.parents and len(texts) > 1:
            found[texts[0]] = texts[1]
    return found


def calls() -> Iterator[tuple[Path, str, list[str]]]:
    """Whatever is called with a text, also by halves: the file, the name, and the texts."""
    for file in HERE.parents[1].rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args:
                called = node.args[0] if getattr(node.func, "id", "") == "partial" else node.func
                name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
                texts = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
                if texts:
                    yield file, name, texts


@pytest.mark.parametrize("language", ["ru", "vi"])
def test_every_text_is_translated_with_its_plurals_and_its_blanks(language: str):
    known, texts = catalogue(language), in_templates() | in_code()
    assert sorted(set(texts) - set(known)) == []
    assert sorted(set(known) - set(texts)) == [], "nobody says these any more"
    for text, plural in texts.items():
        told = known[text]
        forms = (told,) if isinstance(told, str) else told
        assert len(forms) == (len(FORMS[language]) if plural else 1), text
        for one in forms:
            assert set(BLANKS.findall(one)) == set(BLANKS.findall(plural or text)), text


@pytest.mark.parametrize(("language", "place"), [("ru", 0), ("vi", 1)])
def test_one_thing_has_one_name_in_every_language(language: str, place: int):
    for text, told in catalogue(language).items():
        for noun, stems in ONE_WORD.items():
            if re.search(rf"\b{noun}s?\b", text, re.IGNORECASE):
                assert stems[place] in (told if isinstance(told, str) else told[0]).lower(), text


def test_what_a_replay_says_of_itself_can_be_said_in_every_language():
    assert set(VALIDITY.values()) <= set(catalogue("ru"))


def test_numbers_take_the_plural_of_their_language():
    def said(language: str, *numbers: int) -> list[str]:
        return [SPEAKERS[language].count("%(num)s permission", "%(num)s permissions", number) for number in numbers]

    assert said("en", 0, 1, 2) == ["0 permissions", "1 permission", "2 permissions"]
    assert said("ru", 1, 3, 11, 21, 1234) == ["1 право", "3 права", "11 прав", "21 право", "1\u00a0234 права"]
    assert said("vi", 1, 1240) == ["1 quyền", "1.240 quyền"]


def test_a_field_that_takes_only_some_characters_says_which():
    for file in TEMPLATES:
        text = file.read_text(encoding="utf-8")
        for field in re.findall(r"<input[^>]* pattern=[^>]*>", text) + re.findall(r'"pattern": [^}]*}', text):
            assert "title" in field, file.name


def test_no_template_marks_anything_safe_or_carries_script_or_style():
    for file in TEMPLATES:
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"\|\s*safe|autoescape|Markup", text), file.name
        assert not re.search(r"<style|<script(?![^>]* src=)|\sstyle=|\son\w+=", text), file.name
