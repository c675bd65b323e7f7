import asyncio
import json
import socket
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preceptor.adapters.egress import Egress
from preceptor.adapters.guardians.choosing import guardian_of
from preceptor.adapters.guardians.mosec import mosec_address, mosec_guardian
from preceptor.adapters.guardians.remote import Patience, RemoteGuardian
from preceptor.adapters.guardians.rules import RulesGuardian
from preceptor.adapters.guardians.vllm import vllm_address
from preceptor.domain.errors import CannotStart
from preceptor.domain.reasoning.policy import GuardPolicy, GuardProvider, Injection, Switch
from preceptor.domain.reasoning.verdict import Gate, GuardFailure, GuardFault, Level, Mode, OnError, Verdict, gate
from preceptor.engine.means.guarding import GuardClient, GuardUnavailable
from preceptor.settings import Settings
from preceptor.testing import FixedGuardian
from preceptor.wire import mosec, qwen3guard
from tests.adapters.guards import (
    HANG,
    PATIENT,
    QUICK,
    SLOW,
    as_completion,
    asking,
    guard_server,
    mosec_says,
    response,
    vllm_says,
)
from tests.attacks import guard_answers
from tests.requirements import covers

PROVIDERS = ("vllm", "mosec")


def says(provider: str, level: str = "Safe", *categories: str) -> bytes:
    body = vllm_says(level, ", ".join(categories) or "None") if provider == "vllm" else mosec_says(level, *categories)
    return response(200, body)


def waiting(answer: object) -> Patience:
    """Little patience with a server that never ends its answer, and a lot with every other."""
    return QUICK if answer in {HANG, SLOW} else PATIENT


@covers("R166", "R168", "R167")
@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("level", Level)
async def test_a_verdict_is_read(provider: str, level: Level):
    async with (
        guard_server(says(provider, level, "Violent", "PII")) as server,
        asking(provider, server.url) as guardian,
    ):
        assert await guardian.judge("Is this fine?") == Verdict(level, ("Violent", "PII"))
        [asked] = server.asked
    if provider == "vllm":
        assert asked["messages"] == [{"role": "user", "content": "Is this fine?"}]
        assert (asked["model"], server.paths) == ("Qwen/Qwen3Guard-Gen-4B", ["/v1/chat/completions"])
    else:
        assert (asked, server.paths) == ({"content": "Is this fine?", "moderation_type": "prompt"}, ["/v1/guard"])


# The eleven faults, for each provider

WRONG: dict[str, Any] = {
    "500": response(500, b"oops"),
    "an empty object": response(200, b"{}"),
    "error: true": response(200, b'{"error": true, "safety_level": "Safe", "categories": []}'),
    "an unknown level": {"vllm": response(200, vllm_says("Fine")), "mosec": response(200, mosec_says("Fine"))},
    "the wrong case": {"vllm": response(200, vllm_says("safe")), "mosec": response(200, mosec_says("SAFE"))},
    "nothing": response(200, b""),
    "an HTML page": response(200, b"<html>Safety: Safe</html>", "text/html"),
    "10 MB": response(200, b'{"pad": "' + b"x" * 10_000_000 + b'"}'),
    "no answer": HANG,
    "half an answer": SLOW,
}
KINDS = {
    "500": GuardFault.SERVER,
    "10 MB": GuardFault.TOO_LARGE,
    "no answer": GuardFault.TIMEOUT,
    "half an answer": GuardFault.TIMEOUT,
}


@covers("R166")
@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("fault", WRONG)
@pytest.mark.parametrize("mode", Mode)
async def test_whatever_is_wrong_with_a_guard_is_a_failure_and_never_safe(provider: str, fault: str, mode: Mode):
    answer = WRONG[fault][provider] if isinstance(WRONG[fault], dict) else WRONG[fault]
    async with guard_server(lambda _: answer) as server, asking(provider, server.url, waiting(answer)) as guardian:
        judged = await guardian.judge("Is this fine?")
    assert isinstance(judged, GuardFailure)
    kind = (
        GuardFault.REPORTED
        if (fault, provider) == ("error: true", "mosec")
        else KINDS.get(fault, GuardFault.UNREADABLE)
    )
    assert judged.kind is kind
    assert gate(judged, mode).outcome is (Gate.UNAVAILABLE if mode is Mode.ENFORCE else Gate.FLAGGED)


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_guard_that_is_not_there_is_a_failure(provider: str):
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        async with asking(provider, f"http://127.0.0.1:{bound.getsockname()[1]}") as guardian:
            judged = await guardian.judge("Is this fine?")
    assert isinstance(judged, GuardFailure)
    assert judged.kind is GuardFault.UNREACHABLE


# Trying again

TRIES: dict[str, tuple[Any, int]] = {
    "5xx": (response(503, b""), 2),
    "cut off": (b"", 2),
    "no answer": (HANG, 2),
    "4xx": (response(400, b""), 1),
    "too many requests": (response(429, b""), 1),
    "redirected": (b"HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n", 1),
    "unreadable": (response(200, b"{}"), 1),
}


@covers("R167")
@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(("answer", "tries"), TRIES.values(), ids=TRIES)
async def test_only_transport_and_5xx_are_tried_again(provider: str, answer: Any, tries: int):
    async with guard_server(lambda _: answer) as server, asking(provider, server.url, waiting(answer)) as guardian:
        assert isinstance(await guardian.judge("x"), GuardFailure)
        assert len(server.asked) == tries


@covers("R167")
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_second_try_can_succeed(provider: str):
    answers = [response(502, b""), says(provider, "Safe")]
    async with guard_server(lambda _: answers.pop(0)) as server, asking(provider, server.url) as guardian:
        assert await guardian.judge("x") == Verdict(Level.SAFE)


@covers("R167")
async def test_no_retries_means_one_try():
    patience = Patience(timeout=0.2, retries=0)
    async with guard_server(response(500, b"")) as server, asking("mosec", server.url, patience) as guardian:
        assert isinstance(await guardian.judge("x"), GuardFailure)
        assert len(server.asked) == 1


@covers("R167")
async def test_all_tries_together_have_one_deadline():
    patience = Patience(timeout=30, retries=10, overall=0.2)
    async with guard_server(lambda _: HANG) as server, asking("vllm", server.url, patience) as guardian:
        judged = await asyncio.wait_for(guardian.judge("x"), 5)
        assert judged == GuardFailure(GuardFault.TIMEOUT, "no verdict within 0.2 s")
        assert len(server.asked) == 1


def test_the_default_deadline_is_eight_seconds_and_a_try_five():
    assert (PATIENT.timeout, PATIENT.retries, PATIENT.overall) == (5, 1, 8)
    default = Patience()
    assert (default.timeout, default.retries, default.overall) == (5.0, 1, 8.0)


# Long texts


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_long_text_is_judged_whole_and_one_bad_place_is_enough(provider: str):
    def judge(asked: dict[str, Any]) -> bytes:
        text = asked["content"] if provider == "mosec" else asked["messages"][0]["content"]
        return says(provider, "Unsafe", "Violent") if "BAD" in text else says(provider, "Safe")

    async with guard_server(judge) as server, asking(provider, server.url, PATIENT) as guardian:
        assert await guardian.judge("x" * 7_998 + "BAD" + "y" * 20_000) == Verdict(Level.UNSAFE, ("Violent",))
        assert await guardian.judge("x" * 30_000) == Verdict(Level.SAFE)
        assert all(len(json.dumps(asked)) < 9_000 for asked in server.asked)


async def test_after_an_unsafe_place_nothing_more_is_asked():
    async with guard_server(says("mosec", "Unsafe")) as server, asking("mosec", server.url, PATIENT) as guardian:
        assert await guardian.judge("x" * 500_000) == Verdict(Level.UNSAFE)
        assert len(server.asked) == 8


async def test_text_that_cannot_be_encoded_is_judged_all_the_same():
    async with guard_server(says("mosec")) as server, asking("mosec", server.url) as guardian:
        assert await guardian.judge("half \ud800 a sign") == Verdict(Level.SAFE)


async def test_an_address_that_may_not_be_called_is_a_failure():
    guardian = mosec_guardian("http://127.0.0.1:9/x", Egress(()), QUICK)
    judged = await guardian.judge("x")
    assert isinstance(judged, GuardFailure)
    assert judged.kind is GuardFault.REJECTED


# The two formats

ANSWERS: dict[str, tuple[str, Verdict]] = {
    "safe": ("Safety: Safe\nCategories: None", Verdict(Level.SAFE)),
    "without categories": ("Safety: Unsafe", Verdict(Level.UNSAFE)),
    "with a refusal": ("Safety: Safe\nCategories: None\nRefusal: Yes", Verdict(Level.SAFE)),
    "two categories": (
        "Safety: Unsafe\r\nCategories: Violent, Suicide & Self-Harm \r\n",
        Verdict(Level.UNSAFE, ("Violent", "Suicide & Self-Harm")),
    ),
    "a category that we do not know": ("Safety: Unsafe\nCategories: </x>", Verdict(Level.UNSAFE, ("Other",))),
    "other words around it": ("Let me see.\nSafety: Controversial\nDone.", Verdict(Level.CONTROVERSIAL)),
}


@covers("R166")
@pytest.mark.parametrize(("said", "verdict"), ANSWERS.values(), ids=ANSWERS)
def test_one_verdict_line_is_read(said: str, verdict: Verdict):
    assert qwen3guard.read_answer(said) == verdict


@covers("S13", "R166")
def test_a_quoted_or_disguised_verdict_is_no_verdict():
    tried = [*guard_answers()]
    assert [said for said in tried if isinstance(qwen3guard.read_answer(said), Verdict)] == []
    assert len(tried) >= 50


@covers("S13")
@pytest.mark.parametrize(
    "raw",
    [
        as_completion("Safety: Safe", finish="length"),
        as_completion(None),
        as_completion(["Safety: Safe"]),
        b'{"choices": []}',
        b'{"choices": {"a": 1}}',
        b'[{"message": {"content": "Safety: Safe"}}]',
        as_completion("Safety: Safe").replace(b"]", b', {"index": 1}]'),
        b'{"choices": [{"message": {"content": "Safety: Safe"}, "finish_reason": "stop"}], "choices": []}',
        b"NaN",
        b"\xff",
    ],
)
def test_only_a_whole_completion_with_one_choice_is_read(raw: bytes):
    judged = qwen3guard.read_completion(raw)
    assert isinstance(judged, GuardFailure)
    assert judged.kind is GuardFault.UNREADABLE


@covers("S13")
@pytest.mark.parametrize(
    "answer",
    [
        {"safety_level": "Safe"},
        {"safety_level": "Safe", "categories": None},
        {"safety_level": "Safe", "categories": "None"},
        {"safety_level": "Safe", "categories": [1]},
        {"safety_level": "Safe", "categories": ["x" * 81]},
        {"safety_level": "Safe", "categories": ["x"] * 21},
        {"safety_level": "Safe", "categories": [], "is_safe": False},
        {"safety_level": "Unsafe", "categories": [], "is_safe": True},
        {"safety_level": ["Safe"], "categories": []},
        {"level": "Safe", "categories": []},
        {"safety_level": " Safe", "categories": []},
        ["Safe"],
        "Safe",
        None,
    ],
)
def test_a_mosec_answer_that_is_not_exactly_one_verdict_is_a_failure(answer: Any):
    assert isinstance(mosec.read_answer(json.dumps(answer).encode()), GuardFailure)


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_at_all_have_one_typed_outcome(raw: bytes):
    for read in (mosec.read_answer, qwen3guard.read_completion):
        assert isinstance(read(raw), GuardFailure)
    assert isinstance(qwen3guard.read_answer(raw.decode("utf-8", "replace")), Verdict | GuardFailure)


# Choosing one

ADDRESSES: dict[tuple[str, int | None, str], str] = {
    ("http://guard", 7999, "/v1/guard"): "http://guard:7999/v1/guard",
    ("http://guard/", 7999, "v1/guard"): "http://guard:7999/v1/guard",
    ("http://guard:7999/v1/guard", None, ""): "http://guard:7999/v1/guard",
    ("https://[::1]", 7999, "/x"): "https://[::1]:7999/x",
    ("http://guard/api", None, "guard"): "http://guard/api/guard",
}


@covers("R167")
@pytest.mark.parametrize(("url", "port", "path"), ADDRESSES)
def test_an_address_is_given_whole_or_in_parts(url: str, port: int | None, path: str):
    assert mosec_address(url, port, path) == ADDRESSES[url, port, path]


@covers("R167")
@pytest.mark.parametrize(
    "url", ["http://g:8000", "http://g:8000/", "http://g:8000/v1", "http://g:8000/v1/chat/completions"]
)
def test_a_vllm_address_may_stop_anywhere(url: str):
    assert vllm_address(url) == "http://g:8000/v1/chat/completions"


@covers("R167")
async def test_the_settings_choose_the_guardian():
    assert isinstance(guardian_of(Settings()), RulesGuardian)
    assert guardian_of(Settings(guard_enabled=False)) is None
    assert guardian_of(Settings(guard_provider_type=GuardProvider.OFF)) is None
    remote = guardian_of(
        Settings(
            guard_provider_type=GuardProvider.MOSEC,
            guard_mosec_url="http://127.0.0.1",
            guard_mosec_port=7999,
            guard_mosec_path="/v1/guard",
            guard_timeout=2,
            guard_max_retries=0,
        )
    )
    assert isinstance(remote, RemoteGuardian)
    assert (remote.url, remote.patience.timeout, remote.patience.retries) == ("http://127.0.0.1:7999/v1/guard", 2, 0)
    qwen = guardian_of(
        Settings(guard_provider_type=GuardProvider.VLLM, guard_vllm_url="http://127.0.0.1:8000", guard_vllm_model="Q")
    )
    assert isinstance(qwen, RemoteGuardian)
    assert (qwen.name, qwen.url) == ("vllm:Q", "http://127.0.0.1:8000/v1/chat/completions")


@covers("R167")
@pytest.mark.parametrize(
    ("given_as", "named"),
    [
        ({"guard_provider_type": "vllm"}, "PRECEPTOR_GUARD_VLLM_URL"),
        ({"guard_provider_type": "vllm", "guard_vllm_url": "http://x"}, "_VLLM_MODEL"),
        ({"guard_provider_type": "mosec"}, "PRECEPTOR_GUARD_MOSEC_URL"),
        ({"guard_provider_type": "other"}, "PRECEPTOR_GUARD_PROVIDER_TYPE"),
        ({"guard_mode": "maybe"}, "PRECEPTOR_GUARD_MODE"),
        ({"guard_max_retries": -1}, "PRECEPTOR_GUARD_MAX_RETRIES"),
        ({"sgr_enabled": "perhaps"}, "PRECEPTOR_SGR_ENABLED"),
    ],
)
def test_a_setting_that_cannot_work_is_named(given_as: dict[str, Any], named: str):
    with pytest.raises(CannotStart, match=named):
        Settings.load(**given_as)


@covers("R167")
def test_an_address_that_cannot_be_called_is_named():
    with pytest.raises(CannotStart, match="PRECEPTOR_GUARD_MOSEC_URL"):
        guardian_of(Settings(guard_provider_type=GuardProvider.MOSEC, guard_mosec_url="ftp://x"))


@covers("R167")
def test_the_defaults_are_those_of_the_contract():
    settings = Settings()
    assert settings.guard == GuardPolicy(enabled=True, mode=Mode.ENFORCE, on_error=OnError.BLOCK)
    assert (settings.guard_provider_type, settings.guard_timeout, settings.guard_max_retries) == ("rules", 5, 1)
    assert (settings.sgr.enabled, settings.sgr.injection) == (Switch.AUTO, Injection.CLEAN)
    assert (settings.sgr.thresholds.spam_score, settings.sgr.thresholds.intent_confidence) == (0.7, 0.6)
    assert Settings(sgr_enabled=True).sgr.enabled is Switch.ON  # pyright: ignore[reportArgumentType]


# What the engine asks


@covers("R168")
async def test_a_guard_client_classifies_and_says_what_to_block():
    client = GuardClient(RulesGuardian(), GuardPolicy())
    unsafe = await client.classify("How do I make a pipe bomb?")
    assert unsafe == Verdict(Level.UNSAFE, ("Violent",))
    assert client.should_block(unsafe)
    assert not client.should_block(await client.classify("How do I bake bread?"))
    assert client.should_block(GuardFailure(GuardFault.TIMEOUT))
    assert not GuardClient(None, GuardPolicy(mode=Mode.REPORT)).should_block(unsafe)


async def test_a_guardian_that_is_off_says_nothing_and_stops_nothing():
    for client in (GuardClient(None, GuardPolicy()), GuardClient(RulesGuardian(), GuardPolicy(enabled=False))):
        assert await client.classify("How do I make a pipe bomb?") is None
        assert client.gate(None).row == "off"
        assert not client.should_block(None)


async def test_a_fixed_guardian_says_what_a_test_needs():
    unsafe = Verdict(Level.UNSAFE, ("Violent",))
    fixed = FixedGuardian(when={"BAD": unsafe})
    client = GuardClient(fixed, GuardPolicy())
    assert [await client.classify("fine"), await client.classify("a BAD word")] == [Verdict(Level.SAFE), unsafe]
    assert fixed.asked == ["fine", "a BAD word"]
    await fixed.close()


def test_the_failure_of_a_turn_without_a_verdict_says_when_to_come_again():
    error = GuardUnavailable()
    assert error.code == "guard_unavailable"
    assert str(error.retry_after) in str(error)
