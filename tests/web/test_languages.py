"""Whoever chose another language is not told in English what we have words for."""

# ruff: noqa: RUF001 - these letters are meant

import json
import re
from html.parser import HTMLParser
from typing import get_args

import httpx2
import pytest

from preceptor.domain.errors import phrased
from preceptor.domain.executions.commands import AnyCommand
from preceptor.domain.executions.execution import StepStatus
from preceptor.domain.experiments.experiment import Status as ExperimentStatus
from preceptor.domain.experiments.metrics import COMPUTED, TOLD
from preceptor.domain.experiments.results import Verdict
from preceptor.domain.instructions.instruction import Status as InstructionStatus
from preceptor.engine.library.gatekeeping import GateClosed
from preceptor.surfaces.web.languages import SPEAKERS, WORDS, catalogue
from preceptor.surfaces.web.remembering import recalled, said
from preceptor.surfaces.web.rendering import LANGUAGE
from preceptor.surfaces.web.sentences import failure
from preceptor.surfaces.web.views.measures import MEASURED, verdict
from preceptor.surfaces.web.views.steps import COMMANDS
from tests.web.browsing import Site
from tests.web.places import places
from tests.web.remarked import remarked

BLANKS = re.compile(r"%\(\w+\)s")
NOT_OURS = {"pre", "code", "template", "script", "kbd", "textarea"}
VOID = {"area", "br", "col", "hr", "img", "input", "link", "meta", "rect", "circle", "path", "line"}
REMARKS = (
    "is deprecated. It still speaks",
    "is said again by",
    "differs from /guidelines/0 in punctuation only",
    "is both to be done and not to be done",
    "which is kept as it is. Usual words",
    "This looks like a password or key",
    "is switched off by a customization",
    "a constraint was unlocked",
    "major was asked for; by what changed it would be minor",
    "only the wording around it changed: Description",
    "Restored 1.0.0.",
    "maxHistorySize is 4",
    "the name of the agent",
    "that a specialist speaks",
    "turns could be replayed, and at least 9 are asked for",
    "did not come off",
    "put out nothing at",
    "missing: thank you",
    "It took longer than the 1 s it had",
    "where a plan leads",
    "How long that takes is not known",
)
SEEN = ("title", "aria-label", "placeholder", "alt")


class Text(HTMLParser):
    """What a page says, but for code, and for what it says is English."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.inside: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag not in VOID:
            self.inside.append((tag, tag in NOT_OURS or (tag != "html" and given.get("lang") == "en")))
        self.words += [value for name, value in attrs if name in SEEN and value]

    def handle_endtag(self, tag: str) -> None:
        while self.inside and self.inside.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not any(foreign for _, foreign in self.inside):
            self.words.append(data)


def told(html: str) -> str:
    text = Text()
    text.feed(html)
    return " ".join(" ".join(text.words).split())


def english(language: str) -> set[str]:
    """The longest run of words of each text that has another wording: what would be left of it, if it were not said."""
    found: set[str] = set()
    for text, other in catalogue(language).items():
        longest = max(BLANKS.split(text), key=len).strip(" .:,;()·")
        if len(longest.split()) > 2 and longest not in (other if isinstance(other, str) else " ".join(other)):
            found.add(longest)
    return found


@pytest.fixture(scope="module")
def paths(site: Site) -> dict[str, str]:
    return places(site) | {f"remarked-{name}": path for name, path in remarked(site).items()}


@pytest.mark.parametrize("language", ["ru", "vi"])
def test_no_page_says_in_english_what_there_are_words_for(site: Site, paths: dict[str, str], language: str):
    cookies = {site.cookies[0]["name"]: site.cookies[0]["value"], "preceptor_language": language}
    phrases, left = english(language), list[tuple[str, str]]()
    with httpx2.Client(base_url=site.url, cookies=cookies, trust_env=False, timeout=30) as client:
        for name, path in paths.items():
            answer = client.get(path)
            assert answer.status_code == 200, name
            shown = told(answer.text)
            left += [(name, one) for one in phrases if one in shown]
    assert left == []


def test_much_was_remarked_on_these_pages(site: Site, paths: dict[str, str]):
    """Else the test above would prove little."""
    cookies = {site.cookies[0]["name"]: site.cookies[0]["value"]}
    with httpx2.Client(base_url=site.url, cookies=cookies, trust_env=False, timeout=30) as client:
        shown = " ".join(told(client.get(path).text) for name, path in paths.items() if name.startswith("remarked"))
    assert [sentence for sentence in REMARKS if sentence not in shown] == []


def test_every_sentence_of_the_record_is_known_again_with_what_was_filled_in():
    known = catalogue("ru")
    for pattern in json.loads((WORDS / "recorded.json").read_text(encoding="utf-8")):
        names = re.findall(r"%\((\w+)\)s", pattern)
        sentence = pattern % dict.fromkeys(names, "7")
        assert recalled(SPEAKERS["ru"], sentence) == str(known[pattern]) % dict.fromkeys(names, "7"), pattern
        assert recalled(SPEAKERS["en"], sentence) == sentence


@pytest.mark.parametrize(
    ("english", "russian"),
    [
        ("messages 1 to 12000", "сообщения с 1 по 12\u00a0000"),
        ("the tool answers of 3 messages", "ответы инструментов (сообщений: 3)"),
        ("insufficient_history (3 messages, 5 needed)", "сообщений слишком мало (сообщений: 3, нужно 5)"),
        ("content changed: systemPrompt, guidelines", "изменилось содержание: Системный промпт, Указания"),
        ("'A' 1.0.0 is draft and does not speak. Activate it, or pin another version.", "состояние: черновик"),
        ("Step 2 (Look) failed: The execution was over.", "Шаг 2 (Look) — сбой: Выполнение было завершено."),
        ("Step 0 (Look) timeout: It took longer than the 1 s it had.", "Шаг 0 (Look) — время вышло: "),
        ("The execution was over. Ask the provider.", "The execution was over. Ask the provider."),
        ("The turn cost 0.25 and had 0.1.", "0,25"),
        ("20 calls were all it had", "вызовов у него было всего 20"),
        ("Restored 1.0.0-rc.1.", "Восстановлена версия 1.0.0-rc.1."),
        ("Restored the old tone.", "Restored the old tone."),
        (
            "The model m.1 cannot be reached. Check its address, and that it runs.",
            "Модель m.1 недоступна. Проверьте её адрес и что она запущена.",
        ),
        (
            "The model's server answered 503. Try again later.",
            "Сервер модели ответил 503. Попробуйте позже.",
        ),
        ("Too many messages", "Too many messages"),
        ("The model is overloaded.", "The model is overloaded."),
    ],
)
def test_what_the_record_says_is_said_again_and_what_a_provider_says_stays(english: str, russian: str):
    assert russian in recalled(SPEAKERS["ru"], english)


def test_a_sentence_that_was_noted_without_its_full_stop_is_said_without_it():
    for sentence in ("The turn took longer than the 3 s it had.", "The execution was over. The execution was over."):
        russian = recalled(SPEAKERS["ru"], sentence)
        assert russian != sentence
        assert recalled(SPEAKERS["ru"], sentence[:-1]) == russian[:-1]


def test_every_measure_of_an_experiment_is_told_in_words():
    assert set(MEASURED) == {*TOLD, *COMPUTED}


@pytest.mark.parametrize("language", SPEAKERS)
def test_a_verdict_calls_a_measure_by_its_words(language: str):
    speaker = SPEAKERS[language]
    for code in ("collecting", "undecided", "variant_better", "control_better", "guardrail_broken"):
        for name in ("clarifyRate", "csat"):
            reached = Verdict(code=code, sentence=f"Something about {name}.", metric=name)
            told = verdict(speaker, reached)
            assert speaker.say(MEASURED.get(name, name)) in told
            assert "clarifyRate" not in told
    assert verdict(speaker, Verdict(code="not_started", sentence="Noch nicht.")) == "Noch nicht."


def test_every_command_of_a_step_is_told_in_words():
    assert set(COMMANDS) == {kind.model_fields["type"].annotation.__args__[0] for kind in get_args(AnyCommand)}


def test_a_fraction_is_written_as_the_language_of_the_page_writes_it(site: Site):
    for language, told in (("en", "0.7"), ("ru", "0,7"), ("vi", "0,7")):
        with site.served.client() as client:
            page = client.get("/decision-tables", headers={"cookie": f"{LANGUAGE}={language}"})
        cells = re.findall(r"<td>(.*?)</td>", page.text)
        assert any(told in cell for cell in cells)
        assert not [cell for cell in cells if re.search(r"\d[.]\d" if language != "en" else r"\d,\d", cell)]


def test_nobody_is_shown_a_code_in_the_place_of_a_reason():
    told = recalled(SPEAKERS["en"], "insufficient_history (3 messages, 5 needed)")
    assert told == "there are too few messages (3 messages, 5 needed)"


def test_what_the_record_says_is_said_in_english_with_the_numbers_and_names_of_the_pages():
    for noted, told in {
        "The turn used 12345 tokens and had 12000.": "The turn used 12,345 tokens and had 12,000.",
        "content changed: systemPrompt, guidelines": "content changed: System prompt, Guidelines",
        "A provider counted 12345.": "A provider counted 12345.",
    }.items():
        assert recalled(SPEAKERS["en"], noted) == told


def test_a_sentence_that_never_ends_is_read_in_one_pass():
    long = "tone is 'a' by " * 20_000
    assert recalled(SPEAKERS["ru"], long) == long


def test_what_someone_wrote_is_never_taken_for_a_sentence_of_ours():
    assert said(SPEAKERS["ru"], "all there") == "all there"
    assert said(SPEAKERS["ru"], phrased("the name of the agent")) == "имя агента"


@pytest.mark.parametrize("status", [*ExperimentStatus, *InstructionStatus, StepStatus.FAILED, StepStatus.TIMEOUT])
def test_a_status_in_a_sentence_is_said_in_the_language_of_the_page(status: str):
    sentence = phrased("This experiment is %(status)s, so there is nothing to promote.", status=status)
    assert not re.search("[a-z]", said(SPEAKERS["ru"], sentence))


def test_why_a_gate_is_closed_is_said_in_the_language_of_the_page():
    why = "2 of 5 turns break a rule; 0% may. 5 turns could be replayed, and at least 9 are asked for."
    told = failure(SPEAKERS["vi"], GateClosed(label="production", version="v", why=why))
    assert "2 trên 5 lượt vi phạm quy tắc; cho phép 0%. Chạy lại được 5 lượt, mà cần ít nhất 9." in told
    assert "chưa có lần chạy lại nào" in failure(SPEAKERS["vi"], GateClosed(label="production", version="v"))


def test_fractions_are_written_as_the_language_writes_them():
    assert [SPEAKERS[one].fixed(1234.5) for one in ("en", "ru", "vi")] == ["1234.5", "1234,5", "1234,5"]
