"""LangGraph: a graph of messages with its SQLite checkpointer; tools by its ToolNode, delegation by `Command`."""

from typing import Any

import aiosqlite
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command

from benchmarks.peers.loop import InLoop
from benchmarks.said import FOUND, REPLY, TOOL_CALLS, USER, said


class Scripted(BaseChatModel):
    calls: int = 0
    """How many tools it calls before it answers."""
    tool: str = "lookup"

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        step = 0
        for message in reversed(messages):
            if message.type == "human":
                break
            step += message.type == "tool"
        call = {"id": f"c{step}", "name": self.tool, "args": {"number": step}}
        answer = AIMessage("", tool_calls=[call]) if step < self.calls else AIMessage(REPLY)
        return ChatResult(generations=[ChatGeneration(message=answer)])

    async def _agenerate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return self._generate(messages)

    def bind_tools(self, *_: Any, **__: Any) -> Any:
        return self


@tool
async def lookup(number: int) -> str:  # noqa: ARG001
    """Look something up."""
    return FOUND


class Peer(InLoop):
    async def open(self) -> None:
        self.connection = await aiosqlite.connect(self.folder / "langgraph.db")
        graph = {"turn": _talking, "tools": _working, "delegation": _delegating}[self.kind]()
        self.graph = graph.compile(checkpointer=AsyncSqliteSaver(self.connection))

    async def seed(self, conversation: str) -> None:
        history: list[BaseMessage] = []
        for place in range(1, self.history + 1):
            role, content = said(place)
            kind = HumanMessage if role == "user" else AIMessage
            history.append(kind(content, id=f"m{place}"))
        await self.graph.aupdate_state(_at(conversation), {"messages": history}, as_node="model")

    async def turn(self, conversation: str) -> None:
        asked = {"messages": [{"role": "user", "content": USER}]}
        found = await self.graph.ainvoke(asked, {**_at(conversation), "recursion_limit": 100})
        new = {"turn": 2, "tools": 2 + 2 * TOOL_CALLS, "delegation": 5}[self.kind]
        assert found["messages"][-1].content == REPLY
        assert len(found["messages"]) >= self.history + new

    async def leave(self) -> None:
        await self.connection.close()


def _at(conversation: str) -> Any:
    return {"configurable": {"thread_id": conversation}}


def _talking() -> Any:
    model = Scripted()

    async def speak(state: MessagesState) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    return StateGraph(MessagesState).add_node("model", speak).add_edge(START, "model").add_edge("model", END)


def _working() -> Any:
    model = Scripted(calls=TOOL_CALLS).bind_tools([lookup])

    async def speak(state: MessagesState) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    def after(state: MessagesState) -> str:
        return "tools" if state["messages"][-1].tool_calls else END

    graph = StateGraph(MessagesState).add_node("model", speak).add_node("tools", ToolNode([lookup]))
    graph.add_edge(START, "model").add_edge("tools", "model")
    return graph.add_conditional_edges("model", after, ["tools", END])


def _delegating() -> Any:
    main, specialist = Scripted(calls=1, tool="delegate"), Scripted()

    async def speak(state: MessagesState) -> Any:
        message = await main.ainvoke(state["messages"])
        if not message.tool_calls:
            return Command(goto=END, update={"messages": [message]})
        told = ToolMessage("delegated", tool_call_id=message.tool_calls[0]["id"])
        return Command(goto="specialist", update={"messages": [message, told]})

    async def check(state: MessagesState) -> Any:
        return Command(goto="model", update={"messages": [await specialist.ainvoke(state["messages"])]})

    graph = StateGraph(MessagesState).add_node("model", speak, destinations=("specialist", END))
    return graph.add_node("specialist", check, destinations=("model",)).add_edge(START, "model")
