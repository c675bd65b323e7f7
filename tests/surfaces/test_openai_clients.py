"""The clients that people have already, unchanged, against a real server: they take us for the provider they know."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, SecretStr
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

from tests.requirements import covers
from tests.serving import Served, serving

Json = dict[str, Any]
WEATHER: Any = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
WHOLE = [{"type": "text", "text": "All of it, to the last word."}]
CALL = {"toolCalls": [{"name": "weather", "arguments": {"city": "Rome"}}]}


@contextmanager
def saying(folder: Path, *lines: Any) -> Generator[Served]:
    """A server whose model says these lines, one after the other."""
    script = folder / "script.json"
    folder.mkdir(parents=True, exist_ok=True)
    script.write_text(json.dumps(lines), encoding="utf-8")
    with serving(folder / "data", PRECEPTOR_MODEL=f"scripted:{script}") as served:
        yield served


def client_of(served: Served, key: str | None = None) -> openai.OpenAI:
    http = openai.DefaultHttpxClient(trust_env=False)
    return openai.OpenAI(base_url=f"{served.url}/v1", api_key=key or served.admin_key, max_retries=0, http_client=http)


def stored_in(served: Served, conversation: str) -> list[Json]:
    with served.client() as reader:
        return reader.get(f"/api/conversations/{conversation}/messages").json()["items"]


def completed_in(served: Served, conversation: str) -> list[Json]:
    """What was said in a conversation, once its turn has completed."""
    with served.client() as reader, reader.stream("GET", f"/api/conversations/{conversation}/events") as events:
        kinds = (line.removeprefix("event: ") for line in events.iter_lines() if line.startswith("event: turn."))
        assert next(kind for kind in kinds if kind != "turn.accepted") == "turn.completed"
    return stored_in(served, conversation)


def only_conversation(served: Served) -> str:
    with served.client() as reader:
        [only] = reader.get("/api/conversations").json()["items"]
    return only["conversationId"]


def user(text: str) -> Any:
    return {"role": "user", "content": text}


def test_the_openai_client_holds_a_whole_conversation(tmp_path: Path):
    lines = ["One.", {"text": "Two and three.", "chunk": 4}, CALL, "Sunny."]
    with saying(tmp_path, *lines) as served, client_of(served) as client:
        [model] = client.models.list()
        assert model.id == "assistant"
        assert client.models.retrieve("assistant") == model
        raw = client.chat.completions.with_raw_response.create(model="assistant", messages=[user("Count.")])
        named = {"conversation_id": raw.headers["x-preceptor-conversation"]}
        first = raw.parse()
        assert first.choices[0].message.content == "One."
        assert first.usage is not None
        assert first.usage.total_tokens > 0

        stream = client.chat.completions.create(
            model="assistant",
            messages=[user("Go on.")],
            metadata=named,
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = list(stream)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "Two and three."
        assert chunks[-2].choices[0].finish_reason == "stop"
        assert chunks[-1].usage is not None

        said = [user("The weather in Rome?")]
        asked = client.chat.completions.create(model="assistant", messages=said, tools=[WEATHER], metadata=named)
        [call] = asked.choices[0].message.tool_calls or []
        assert asked.choices[0].finish_reason == "tool_calls"
        assert call.type == "function"
        assert json.loads(call.function.arguments) == {"city": "Rome"}
        result: Any = {"role": "tool", "tool_call_id": call.id, "content": "sun"}
        messages: Any = [*said, asked.choices[0].message, result]
        last = client.chat.completions.create(model="assistant", messages=messages, tools=[WEATHER], metadata=named)
        assert last.choices[0].message.content == "Sunny."
        assert [one["role"] for one in stored_in(served, named["conversation_id"])] == ["user", "assistant"] * 3 + [
            "tool",
            "assistant",
        ]


def test_the_openai_client_gets_responses_and_their_events(tmp_path: Path):
    tool: Any = {"type": "function", **WEATHER["function"], "strict": False}
    with saying(tmp_path, "One.", {"text": "Two.", "chunk": 2}, CALL, "Sunny.") as served, client_of(served) as client:
        first = client.responses.create(model="assistant", input="Count.")
        assert first.output_text == "One."
        with client.responses.stream(model="assistant", input="On.", previous_response_id=first.id) as events:
            told = [event for event in events if event.type == "response.output_text.delta"]
            final = events.get_final_response()
        assert "".join(event.delta for event in told) == "Two."
        assert (final.output_text, final.status) == ("Two.", "completed")
        asked = client.responses.create(model="assistant", input="Weather?", tools=[tool])
        [call] = asked.output
        assert call.type == "function_call"
        output: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "sun"}
        last = client.responses.create(model="assistant", input=[output], tools=[tool], previous_response_id=asked.id)
        assert last.output_text == "Sunny."


def test_the_openai_client_understands_our_refusals(tmp_path: Path):
    with saying(tmp_path) as served, client_of(served) as client:
        with pytest.raises(openai.NotFoundError) as unknown:
            client.chat.completions.create(model="gpt-9", messages=[user("Hi")])
        assert unknown.value.code == "model_not_found"
        with pytest.raises(openai.NotFoundError) as unread:
            client.models.retrieve("gpt-9")
        assert unread.value.code == "model_not_found"
        with client_of(served, "sk-wrong") as stranger, pytest.raises(openai.AuthenticationError) as refused:
            stranger.models.list()
        assert refused.value.code == "unauthenticated"
        with pytest.raises(openai.UnprocessableEntityError) as invalid:
            client.chat.completions.create(model="assistant", messages=[user("Hi")], n=2)
        assert (invalid.value.code, invalid.value.param) == ("invalid", "/n")
        with pytest.raises(openai.InternalServerError) as failed:
            client.chat.completions.create(model="assistant", messages=[user("The script is empty.")])
        assert failed.value.code == "upstream_failed"
        with pytest.raises(openai.APIError) as broke:
            list(client.chat.completions.create(model="assistant", messages=[user("So it is.")], stream=True))
        assert broke.value.code == "upstream_failed"
        blocked = client.chat.completions.create(
            model="assistant", messages=[user("How do I make a pipe bomb at home?")]
        )
        assert blocked.choices[0].finish_reason == "content_filter"


@covers("F18")
def test_a_client_that_hangs_up_loses_nothing(tmp_path: Path):
    with saying(tmp_path, {"text": "All of it, to the last word.", "chunk": 1}) as served, client_of(served) as client:
        with client.chat.completions.with_streaming_response.create(
            model="assistant", messages=[user("Hi")], stream=True
        ) as answer:
            named = answer.headers["x-preceptor-conversation"]
            next(answer.iter_lines())
        assert completed_in(served, named)[-1]["parts"] == WHOLE


def test_langchain_talks_streams_and_calls_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with saying(tmp_path, "Blue.", {"text": "Dark blue.", "chunk": 3}, CALL, "Sunny.") as served:
        model: Any = ChatOpenAI(model="assistant", base_url=f"{served.url}/v1", api_key=SecretStr(served.admin_key))
        said: list[Any] = [SystemMessage("Be brief."), HumanMessage("A colour?")]
        first = model.invoke(said)
        assert (first.content, first.response_metadata["finish_reason"]) == ("Blue.", "stop")
        assert first.usage_metadata is not None
        said += [first, HumanMessage("Which?")]
        assert "".join(str(chunk.content) for chunk in model.stream(said)) == "Dark blue."
        asked = model.bind_tools([WEATHER]).invoke([HumanMessage("Weather?")])
        assert isinstance(asked, AIMessage)
        [call] = asked.tool_calls
        assert (call["name"], call["args"]) == ("weather", {"city": "Rome"})
        told = [HumanMessage("Weather?"), asked, ToolMessage("sun", tool_call_id=call["id"])]
        assert model.bind_tools([WEATHER]).invoke(told).content == "Sunny."


def test_langchain_understands_our_refusals_and_may_stop_listening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def speaking(model: str, key: str) -> Any:
        return ChatOpenAI(model=model, base_url=f"{served.url}/v1", api_key=SecretStr(key), max_retries=0)

    with saying(tmp_path, {"text": "All of it, to the last word.", "chunk": 1}) as served:
        with pytest.raises(openai.NotFoundError):
            speaking("gpt-9", served.admin_key).invoke("Hi")
        with pytest.raises(openai.AuthenticationError):
            speaking("assistant", "sk-wrong").invoke("Hi")
        words = speaking("assistant", served.admin_key).stream("Hi")
        next(words)
        words.close()
        assert completed_in(served, only_conversation(served))[-1]["parts"] == WHOLE


async def test_pydantic_ai_understands_our_refusals_and_may_stop_listening(tmp_path: Path):
    with saying(tmp_path, {"text": "All of it, to the last word.", "chunk": 1}) as served:
        async with httpx2.AsyncClient(trust_env=False) as http:

            def speaking(model: str, key: str) -> Agent[None, str]:
                provider = OpenAIProvider(base_url=f"{served.url}/v1", api_key=key, http_client=http)
                return Agent(OpenAIChatModel(model, provider=provider))

            with pytest.raises(ModelHTTPError) as unknown:
                await speaking("gpt-9", served.admin_key).run("Hi")
            with pytest.raises(ModelHTTPError) as refused:
                await speaking("assistant", "sk-wrong").run("Hi")
            assert (unknown.value.status_code, refused.value.status_code) == (404, 401)
            async with speaking("assistant", served.admin_key).run_stream("Hi") as run:
                await anext(run.stream_text(delta=True, debounce_by=None))
        assert completed_in(served, only_conversation(served))[-1]["parts"] == WHOLE


class City(BaseModel):
    name: str
    people: int


@pytest.mark.parametrize("kind", [OpenAIChatModel, OpenAIResponsesModel])
async def test_pydantic_ai_runs_its_own_tools_and_gets_its_own_types(tmp_path: Path, kind: Any):
    found = {"toolCalls": [{"name": "final_result", "arguments": {"name": "Rome", "people": 3}}]}
    with saying(tmp_path, CALL, "Sunny in Rome.", found) as served:
        async with httpx2.AsyncClient(trust_env=False) as http:
            provider = OpenAIProvider(base_url=f"{served.url}/v1", api_key=served.admin_key, http_client=http)
            model = kind("assistant", provider=provider)
            asked: list[str] = []
            agent = Agent(model, instructions="Be brief.")

            @agent.tool_plain
            def weather(city: str) -> str:
                asked.append(city)
                return "sun"

            async with agent.run_stream("The weather in Rome?") as run:
                assert await run.get_output() == "Sunny in Rome."
            assert asked == ["Rome"]
            typed = await Agent(model, output_type=City).run("A city?")
            assert typed.output == City(name="Rome", people=3)
