"""Small exports of other systems, in the shapes in which they write them."""

from typing import Any

Json = dict[str, Any]
CALL: Json = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"what": "door"}'}}
OPENAI: list[Json] = [
    {
        "messages": [
            {"role": "system", "content": "You obey."},
            {"role": "user", "content": "Is it open?"},
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": "open"},
            {"role": "assistant", "content": "It is."},
            {"role": "user", "content": [{"type": "text", "text": "Thanks"}]},
            {"role": "assistant", "content": "Bye."},
        ]
    },
    {
        "request": {"model": "gpt", "messages": [{"role": "user", "content": "Hi"}]},
        "response": {"choices": [{"message": {"role": "assistant", "content": "Hello."}}]},
    },
]
LANGFUSE: list[Json] = [
    {
        "id": "t2",
        "sessionId": "s",
        "timestamp": "2026-01-01T10:01:00Z",
        "input": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Hello."},
            {"role": "user", "content": "And?"},
        ],
        "output": {"role": "assistant", "content": "Nothing."},
    },
    {"id": "t1", "sessionId": "s", "timestamp": "2026-01-01T10:00:00Z", "input": "Hi", "output": "Hello."},
    {
        "id": "t3",
        "observations": [
            {"type": "SPAN", "input": "x", "output": "y"},
            {
                "type": "GENERATION",
                "startTime": "2026-01-01T10:00:00Z",
                "input": {"messages": [{"role": "user", "content": "Deep?"}]},
                "output": {"content": "Deep."},
            },
        ],
    },
]
LANGSMITH: list[Json] = [
    {
        "id": "r1",
        "run_type": "chain",
        "inputs": {"messages": [[{"id": ["langchain", "HumanMessage"], "kwargs": {"content": "Hi"}}]]},
        "outputs": {"generations": [[{"message": {"id": ["x", "AIMessage"], "kwargs": {"content": "Hello."}}}]]},
    },
    {"id": "r2", "run_type": "llm", "parent_run_id": "r1", "inputs": {}, "outputs": {}},
    {
        "id": "r3",
        "run_type": "llm",
        "inputs": {"messages": [{"type": "human", "content": "Look"}]},
        "outputs": {
            "messages": [
                {"type": "human", "content": "Look"},
                {"type": "ai", "content": "", "tool_calls": [{"name": "look", "args": {"what": "door"}, "id": "c"}]},
            ]
        },
    },
    {"id": "r4", "run_type": "chain", "inputs": {"question": "Why?"}, "outputs": {"output": "Because."}},
]
