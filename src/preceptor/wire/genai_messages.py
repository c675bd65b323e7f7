"""What was said, in the shape that OpenTelemetry's conventions for generative AI give to messages."""

from collections.abc import Iterator
from typing import Any

import orjson

from preceptor.domain.messages.message import Message, Text, Thinking, ToolCall, ToolResult
from preceptor.domain.prompts.prompt import Prompt

Attributes = dict[str, Any]


def shown(prompt: Prompt) -> Attributes:
    """What a model was shown, in the shape that the conventions give to messages."""
    messages = [said(each.message) for each in prompt.shown]
    if prompt.tail_text:
        messages.append({"role": "user", "parts": [{"type": "text", "content": prompt.tail_text}]})
    system = [{"type": "text", "content": prompt.system_text}]
    tools = [{"type": "function", "name": tool.name, "description": tool.description} for tool in prompt.tools]
    return {
        "gen_ai.system_instructions": orjson.dumps(system).decode(),
        "gen_ai.input.messages": orjson.dumps(messages).decode(),
        **({"gen_ai.tool.definitions": orjson.dumps(tools).decode()} if tools else {}),
    }


def said(message: Message) -> Attributes:
    return {"role": message.role.value, "parts": list(_parts(message))}


def _parts(message: Message) -> Iterator[Attributes]:
    for part in message.parts:
        match part:
            case Text(text=text):
                yield {"type": "text", "content": text}
            case Thinking(text=text):
                yield {"type": "reasoning", "content": text}
            case ToolCall(id=id_, name=name, arguments=arguments):
                yield {"type": "tool_call", "id": id_, "name": name, "arguments": arguments}
            case ToolResult(tool_call_id=id_, content=content):
                yield {"type": "tool_call_response", "id": id_, "response": content}
            case _:
                yield {"type": "file", "mime_type": part.media_type, "file_id": part.attachment_id}
