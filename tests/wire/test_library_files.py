import json
from collections.abc import Callable
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preceptor.domain.errors import PreceptorError
from preceptor.domain.instructions.bundle import Bundle
from preceptor.wire import library_files, markdown, strict_yaml
from preceptor.wire.library_files import BundleTooLarge
from preceptor.wire.markdown import BadFile
from preceptor.wire.strict_yaml import NotYaml
from tests.domain.bundles import bundles
from tests.requirements import covers

unhurried = settings(deadline=None, max_examples=40)
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60)


def encoded(files: dict[str, str]) -> dict[str, bytes]:
    return {path: text.encode() for path, text in files.items()}


def refusal(act: Callable[[], object]) -> str | None:
    try:
        act()
    except PreceptorError as error:
        return str(error)
    return None


def bundle_of(**fields: Any) -> Bundle:
    version = {"name": "Support", "type": "system", "version": "1.0.0"} | fields
    return Bundle.model_validate({"instructions": [{"familyId": "f1", "versions": [version]}]})


# What is written is read back the same


@unhurried
@given(bundles())
def test_a_bundle_survives_json_yaml_and_a_folder_of_markdown(bundle: Bundle):
    assert library_files.from_json(library_files.to_json(bundle).encode()) == bundle
    assert library_files.from_yaml(library_files.to_yaml(bundle).encode()) == bundle
    files = library_files.to_files(bundle)
    read = library_files.from_files(encoded(files))
    assert sorted(read.instructions, key=lambda one: str(one.family_id)) == list(bundle.instructions)
    assert read.assignments == bundle.assignments


@unhurried
@given(bundles())
def test_files_that_came_through_windows_are_read_the_same(bundle: Bundle):
    files = {path: text.replace("\n", "\r\n") for path, text in library_files.to_files(bundle).items()}
    read = library_files.from_files({path: b"\xef\xbb\xbf" + text.encode() for path, text in files.items()})
    assert sorted(read.instructions, key=lambda one: str(one.family_id)) == list(bundle.instructions)


@given(TEXT)
def test_any_text_survives_yaml(text: str):
    assert strict_yaml.read(strict_yaml.written({"a": [text]})) == {"a": [text]}


@given(st.recursive(TEXT | st.integers() | st.booleans() | st.none(), lambda inner: st.lists(inner, max_size=3)))
def test_any_plain_value_survives_yaml(value: object):
    assert strict_yaml.read(strict_yaml.written(value)) == value


@given(TEXT)
def test_any_file_is_read_or_refused_with_its_name(text: str):
    said = refusal(lambda: library_files.from_files({"x.md": f"---\nname: x\ntype: system\n---\n{text}".encode()}))
    assert said is None or said.startswith("x.md: ")


# What people see in the file


def test_an_instruction_is_a_file_that_people_can_read_and_edit():
    content = {
        "systemPrompt": "You answer customers.\n\nBe brief.",
        "guidelines": ["Ask first", "Two\nlines"],
        "constraints": ["Be honest", {"id": "secrets", "text": "Never tell", "locked": True}],
        "steps": [
            {"order": 1, "name": "Greet", "description": "By name"},
            {"order": 2, "name": "End", "optional": True},
        ],
        "examples": [{"input": "Hi", "expectedOutput": "Hello!", "explanation": "Short"}],
        "tone": "friendly",
        "language": "no",
        "doList": ["Smile"],
    }
    files = library_files.to_files(bundle_of(content=content, tags=["a"]))
    assert list(files) == ["support.md"]
    assert files["support.md"] == dedent("""\
        ---
        name: Support
        familyId: f1
        type: system
        version: 1.0.0
        status: active
        tags:
        - a
        tone: friendly
        language: 'no'
        ---

        You answer customers.

        Be brief.

        ## Guidelines

        - Ask first
        - Two
          lines

        ## Do

        - Smile

        ## Steps

        1. **Greet**: By name
        2. **End** *(optional)*

        ## Examples

        - Input: Hi
          Answer: Hello!
          Why: Short

        ## Constraints

        - Be honest
        - Never tell {#secrets .locked}
        """)


def test_what_markdown_would_change_stands_in_the_front_matter():
    prompt = "Not a section:\n## Guidelines\n- x"
    text = library_files.to_files(bundle_of(content={"systemPrompt": prompt, "doList": [" spaced "]}))["support.md"]
    said = markdown.read("support.md", text)["content"]
    assert said == {"systemPrompt": prompt, "doList": [" spaced "]}
    assert text.count("## Guidelines") == 1
    assert "content:" in text


HAND_WRITTEN = """\
---
name: Refunds
type: task
language: no
reviewed: 2026-01-01
---
Text with *stars* and `code`.
# A heading of its own

## Guidelines
* First

* Second
  goes on
"""


def test_a_file_written_by_hand_is_read_as_it_is_meant():
    said = markdown.read("x.md", HAND_WRITTEN)
    assert said == {
        "name": "Refunds",
        "type": "task",
        "reviewed": "2026-01-01",
        "content": {
            "systemPrompt": "Text with *stars* and `code`.\n# A heading of its own",
            "guidelines": ["First", "Second\ngoes on"],
            "language": "no",
        },
    }
    with pytest.raises(BadFile, match=r"x.md: versions.0.reviewed: Extra inputs"):
        library_files.from_files({"x.md": HAND_WRITTEN.encode()})


def test_markdown_that_is_no_instruction_is_left_alone():
    files = {"README.md": b"# How we write prompts", "notes.txt": b"---\nname: x\n---\n"}
    assert library_files.from_files(files).instructions == ()


def test_a_file_keeps_the_name_it_has():
    files = library_files.to_files(bundle_of(), {"f1": "team/a.md"})
    assert list(files) == ["team/a.md"]


def test_two_of_the_same_name_have_two_files():
    said = {"name": "Support", "type": "system", "version": "1.0.0"}
    both = [{"familyId": one, "versions": [said]} for one in ("f1", "f2")]
    files = library_files.to_files(Bundle.model_validate({"instructions": both}))
    assert list(files) == ["support.md", "support-2.md"]


# Attacks


@covers("S30")
@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/passwd", "..", "C:\\x", "a/b", ".git/config", "con", "x" * 200]
)
def test_a_name_never_leads_out_of_the_folder(name: str):
    [path] = library_files.to_files(bundle_of(name=name))
    assert "/" not in path
    assert "\\" not in path
    assert ".." not in path
    assert not path.startswith(".")
    assert path not in {"con.md", "readme.md"}
    assert len(path) <= 80


BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"
CLEVER = {
    "an alias": BOMB,
    "an anchor": "a: &x 1",
    "a tag": "a: !!python/object/apply:os.system [echo]",
    "a local tag": "a: !x 1",
    "a merge key with an alias": "a: &a {b: 1}\nc: {<<: *a}",
    "a key twice": "a: 1\na: 2",
    "a key that is no text": "1: x",
    "two documents": "a: 1\n---\nb: 2",
    "too deep": "a: " + "[" * 40 + "]" * 40,
    "very deep": "[" * 100_000,
    "not YAML": "a: [",
    "a tab": "a:\n\t- x",
    "a control character": "a: \x01",
}


@covers("S30")
@pytest.mark.parametrize("text", CLEVER.values(), ids=CLEVER)
def test_yaml_that_is_more_than_plain_data_is_refused(text: str):
    with pytest.raises(NotYaml, match="line"):
        strict_yaml.read(text)
    with pytest.raises(BadFile, match=r"bundle\.yaml"):
        library_files.from_yaml(text.encode(), "bundle.yaml")
    with pytest.raises(BadFile, match=r"x\.md"):
        library_files.from_files({"x.md": f"---\n{text}\n---\n".encode()})


def test_words_of_yaml_are_texts_unless_json_knows_them():
    text = "[no, yes, on, 2026-01-01, 0x10, 1_000, .inf, 010, true, null, 1.5, -3, ~, <<]"
    read = ["no", "yes", "on", "2026-01-01", "0x10", "1_000", ".inf", "010", True, None, 1.5, -3, None, "<<"]
    assert strict_yaml.read(text) == read


REVIVED: dict[str, dict[str, Any]] = {
    "langchain": {"lc": 1, "type": "constructor", "id": ["os", "system"]},
    "a class": {"__class__": "os.system"},
    "a reduction": {"__reduce__": ["os.system", ["x"]]},
    "a reference": {"$ref": "file:///etc/passwd"},
    "python": {"py/object": "os.system"},
}


@covers("S30")
@pytest.mark.parametrize("extra", REVIVED.values(), ids=REVIVED)
def test_keys_that_would_revive_an_object_elsewhere_are_refused_here(extra: dict[str, Any]):
    version = {"name": "x", "type": "system"}
    places: list[dict[str, Any]] = [
        {"format": "preceptor-library", "instructions": [], **extra},
        {"format": "preceptor-library", "instructions": [{"versions": [version], **extra}]},
        {"format": "preceptor-library", "instructions": [{"versions": [version | extra]}]},
        {"format": "preceptor-library", "instructions": [{"versions": [version | {"content": extra}]}]},
    ]
    for place in places:
        with pytest.raises(BadFile):
            library_files.from_json(json.dumps(place).encode())
        with pytest.raises(BadFile):
            library_files.from_yaml(strict_yaml.written(place).encode())


@covers("S30")
def test_a_library_that_is_too_large_is_refused_before_it_is_read():
    for read in (library_files.from_json, library_files.from_yaml):
        with pytest.raises(BundleTooLarge):
            read(b" " * 5_000_001)
    with pytest.raises(BundleTooLarge):
        library_files.from_files({"a.md": b"x" * 3_000_000, "b.md": b"x" * 3_000_000})


BROKEN = {
    "no front matter end": "---\nname: x\n",
    "a list in front": "---\n- x\n---\n",
    "no name": "---\ntype: system\n---\n",
    "an unknown type": "---\nname: x\ntype: wizard\n---\n",
    "text in a list": "---\nname: x\ntype: system\n---\n## Guidelines\nnot an item\n",
    "a heading twice": "---\nname: x\ntype: system\n---\n## Do\n- a\n\n## Do\n- b\n",
    "said twice": "---\nname: x\ntype: system\ncontent:\n  doList: [a]\n---\n## Do\n- b\n",
    "a step without a name": "---\nname: x\ntype: system\n---\n## Steps\n1. x\n",
    "an example without an answer": "---\nname: x\ntype: system\n---\n## Examples\n- Input: x\n",
    "a number that is no version": "---\nname: x\ntype: system\nversion: 1.0\n---\n",
    "a list of labels": "---\nname: x\ntype: system\nlabels: [production]\n---\n",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_file_that_makes_no_sense_is_named(text: str):
    with pytest.raises(BadFile, match=r"^x\.md: "):
        library_files.from_files({"x.md": text.encode()})


def test_what_is_not_utf_8_is_named():
    with pytest.raises(BadFile, match="UTF-8"):
        library_files.from_files({"x.md": b"---\n\xff"})


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(raw: bytes):
    for read in (library_files.from_json, library_files.from_yaml):
        assert refusal(lambda read=read: read(raw)) != ""
