import json
from pathlib import Path

import pytest

from preceptor import Settings
from preceptor.adapters.models.registry import ModelRegistry
from preceptor.domain.errors import CannotStart
from preceptor.domain.prompts.prompt import Force

TOML = """
["openai-compatible:my-model"]
context_window = 1000
tools = false
forced = ["json_schema"]

[local]
plans = true
"""


def registry(file: Path) -> ModelRegistry:
    settings = Settings.load(model_capabilities=file, model_url="http://127.0.0.1:1/v1")
    return ModelRegistry(settings, {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"})


def test_what_the_operator_knows_better_counts_and_the_rest_stays(tmp_path: Path):
    file = tmp_path / "models.toml"
    file.write_text(TOML)
    models = registry(file)
    known = models.find("openai-compatible:my-model").capabilities
    assert (known.context_window, known.tools, known.forced) == (1000, False, (Force.JSON_SCHEMA,))
    assert known.estimated
    assert models.find("local").capabilities.plans
    assert not models.find("local").capabilities.tools
    assert models.find("openai-compatible:other").capabilities.context_window == 32_768


def test_json_is_read_too_in_the_spelling_of_the_api(tmp_path: Path):
    file = tmp_path / "models.json"
    file.write_text(json.dumps({"openai:gpt-5-mini": {"inputPrice": 9}, "anthropic:claude-x": {"contextWindow": 5}}))
    models = registry(file)
    assert models.find("openai:gpt-5-mini").capabilities.input_price == 9
    assert models.find("openai:gpt-5-mini").capabilities.output_price == 2
    assert models.find("anthropic:claude-x").capabilities.context_window == 5


@pytest.mark.parametrize(
    "wrong",
    ["[local]\nplanz = true", "[local]\ncontext_window = 0", "local = 1", "[local", "[local]\ninput_price = 'free'"],
)
def test_a_slip_of_the_pen_is_told_at_start(tmp_path: Path, wrong: str):
    file = tmp_path / "models.toml"
    file.write_text(wrong)
    with pytest.raises(CannotStart, match=r"models\.toml"):
        registry(file)


def test_a_name_that_no_agent_can_use_is_told_at_start(tmp_path: Path):
    file = tmp_path / "models.json"
    file.write_text(json.dumps({"my-model": {"images": True}}))
    with pytest.raises(CannotStart, match=r"PRECEPTOR_MODEL_CAPABILITIES is not usable: .*'my-model'"):
        registry(file)


def test_a_file_that_is_not_there_is_told_at_start(tmp_path: Path):
    with pytest.raises(CannotStart, match="PRECEPTOR_MODEL_CAPABILITIES"):
        registry(tmp_path / "none.toml")
