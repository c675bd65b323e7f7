import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from preceptor import ToolError, ToolRun, tool
from preceptor.adapters.tools.built_in import built_in, calculator
from preceptor.adapters.tools.function import Tool, UnusableTool
from preceptor.adapters.tools.toolbox import LARGEST_RESULT, ToolBox, open_toolbox
from preceptor.domain.errors import CannotStart
from preceptor.domain.messages.message import Outcome, ToolCall, ToolResult
from preceptor.domain.prompts.prompt import Effect

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


class Size(StrEnum):
    SMALL = "small"
    LARGE = "large"


class Place(BaseModel):
    city: str
    country: str = "VN"


@tool(effect="read")
async def weather(
    city: Annotated[str, Field(description="Which city.", max_length=40)], days: int = 1, unit: Literal["C", "F"] = "C"
) -> str:
    """Tell the weather."""
    return f"{city}, {days} days, {unit}"


@tool(effect="idempotent", timeout=5, name="order-pizza")
def order(size: Size, on: date, to: Place, extras: list[str] | None = None, *, hot: bool = True) -> dict[str, Any]:
    """Order a pizza."""
    return {"size": size, "on": on, "to": to, "extras": extras, "hot": hot}


async def ran(given: Tool, deadline: float = 5, **arguments: Any) -> ToolResult:
    return await ToolBox([given]).run(ToolCall("call_1", given.name, arguments), "turn:call_1", deadline)


async def complaint(given: Tool, **arguments: Any) -> str:
    result = await ran(given, **arguments)
    assert (result.is_error, result.outcome) == (True, Outcome.ERROR)
    return result.content


def test_a_models_view_of_a_tool_comes_from_the_functions_signature():
    (spec,) = ToolBox([weather]).specs(["weather"])
    assert (spec.name, spec.description, spec.effect) == ("weather", "Tell the weather.", Effect.READ)
    assert spec.parameters == {
        "type": "object",
        "properties": {
            "city": {"description": "Which city.", "maxLength": 40, "type": "string"},
            "days": {"type": "integer", "default": 1},
            "unit": {"enum": ["C", "F"], "type": "string", "default": "C"},
        },
        "required": ["city"],
        "additionalProperties": False,
    }


def test_a_tool_without_parameters_has_an_empty_schema():
    @tool(effect="read")
    def ping() -> str:
        """Say pong."""
        return "pong"

    assert ping.parameters == {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


def test_specs_come_in_the_order_asked_for_and_unknown_names_are_left_out():
    box = ToolBox([weather, order])
    assert [spec.name for spec in box.specs(["order-pizza", "nothing", "weather", "weather"])] == [
        "order-pizza",
        "weather",
    ]
    assert box.names == ("weather", "order-pizza")


def test_a_tool_acts_once_unless_it_says_otherwise():
    @tool
    def pay() -> None:
        """Pay."""

    assert pay.effect is Effect.ONCE


def test_a_tool_is_still_the_function_it_was():
    assert order(Size.SMALL, date(2026, 1, 1), Place(city="Hue"))["hot"] is True


async def test_a_call_runs_with_arguments_of_the_right_types():
    result = await ran(weather, city="Hà Nội", days=3)
    assert result == ToolResult("call_1", "weather", "Hà Nội, 3 days, C")


async def test_what_a_function_returns_becomes_json():
    result = await ran(order, size="small", on="2026-11-16", to={"city": "Huế"}, extras=["olives"])
    assert result.content == (
        '{"size":"small","on":"2026-11-16","to":{"city":"Huế","country":"VN"},"extras":["olives"],"hot":true}'
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "city: Field required"),
        ({"city": 5}, "city: Input should be a valid string"),
        ({"city": "x" * 41}, "city: String should have at most 40"),
        ({"city": "Hue", "days": "3"}, "days: Input should be a valid integer"),
        ({"city": "Hue", "days": True}, "days: Input should be a valid integer"),
        ({"city": "Hue", "days": 1.5}, "days: Input should be a valid integer"),
        ({"city": "Hue", "unit": "K"}, "unit: Input should be 'C' or 'F'"),
        ({"city": "Hue", "planet": "Mars"}, "planet: Extra inputs are not permitted"),
        ({"city": None}, "city: Input should be a valid string"),
    ],
)
async def test_arguments_that_do_not_fit_are_told_to_the_model_and_the_function_is_not_run(
    arguments: dict[str, Any], said: str
):
    told = await complaint(weather, **arguments)
    assert told.startswith("The arguments of weather do not fit: ")
    assert said in told


async def test_a_secret_in_wrong_arguments_is_not_repeated():
    assert "hunter2" not in await complaint(weather, city=["hunter2"], hunter="hunter2")


async def test_a_malformed_call_and_a_tool_that_does_not_exist_are_told_to_the_model():
    box = ToolBox([weather])
    malformed = await box.run(ToolCall("a", "weather", {}, malformed="{oops"), "k", 5)
    unknown = await box.run(ToolCall("b", "whether", {}), "k", 5)
    assert (malformed.is_error, malformed.tool_call_id, "not a JSON object" in malformed.content) == (True, "a", True)
    assert (unknown.is_error, unknown.content) == (True, "There is no tool 'whether'. There are: weather.")


async def test_a_tool_that_asks_is_told_which_call_it_serves():
    seen: list[ToolRun] = []

    @tool(effect="idempotent")
    def pay(amount: int, call: ToolRun) -> str:
        """Pay."""
        seen.append(call)
        return str(amount)

    assert "call" not in pay.parameters["properties"]
    assert (await ran(pay, amount=3)).content == "3"
    assert seen == [ToolRun("turn:call_1", "call_1", "pay")]
    assert "Extra inputs" in await complaint(pay, amount=3, call={"key": "forged"})


async def test_a_plain_function_runs_beside_the_loop_and_an_async_one_in_it():
    threads: list[int] = []

    @tool(effect="read")
    def plain() -> None:
        """Look."""
        threads.append(threading.get_ident())

    @tool(effect="read")
    async def prompt() -> None:
        """Look."""
        threads.append(threading.get_ident())

    await ran(plain)
    await ran(prompt)
    assert threads[0] != threading.get_ident() == threads[1]


async def test_calls_one_after_the_other_share_a_thread_and_one_that_hangs_holds_up_no_other():
    hanging, seen = threading.Event(), list[int]()

    @tool(effect="read")
    def where() -> str:
        """Say where it runs."""
        seen.append(threading.get_ident())
        return "here"

    @tool(effect="read", timeout=0.05)
    def hang() -> str:
        """Never end."""
        hanging.wait()
        return "at last"

    for _ in range(20):
        await ran(where)
    assert len(set(seen)) == 1
    await ran(hang)
    found = await ran(where)
    hanging.set()
    assert found.content == "here"
    assert len(set(seen)) == 2


@pytest.mark.parametrize(("effect", "outcome"), [("read", Outcome.ERROR), ("once", Outcome.UNKNOWN)])
async def test_a_tool_that_takes_too_long_is_not_waited_for(effect: Any, outcome: Outcome):
    release = threading.Event()

    @tool(effect=effect, timeout=0.05)
    def hang() -> None:
        """Hang."""
        release.wait(10)

    @tool(effect=effect, timeout=0.05)
    async def hang_too() -> None:
        """Hang."""
        await asyncio.Event().wait()

    for one in (hang, hang_too):
        result = await ran(one)
        assert (result.is_error, result.outcome) == (True, outcome)
        assert "did not finish within 0.05 s" in result.content
    release.set()


async def test_the_turns_deadline_counts_if_it_is_nearer():
    @tool(effect="read", timeout=600)
    async def hang() -> None:
        """Hang."""
        await asyncio.Event().wait()

    assert "within 0.05 s" in (await ran(hang, deadline=0.05)).content


async def test_a_timeout_of_the_tools_own_is_its_own_failure():
    @tool(effect="once")
    def dial() -> None:
        """Dial."""
        raise TimeoutError

    assert await complaint(dial) == "dial failed with TimeoutError."


async def test_a_tool_says_what_went_wrong_in_its_own_words_or_in_none():
    @tool(effect="read")
    def polite() -> None:
        """Fail."""
        raise ToolError("There is no such order.")

    @tool(effect="read")
    async def rude() -> None:
        """Fail."""
        raise ValueError("postgres://admin:hunter2@db")

    assert await complaint(polite) == "There is no such order."
    assert await complaint(rude) == "rude failed with ValueError."


async def test_a_tool_cannot_end_the_process():
    @tool(effect="read")
    def leave() -> None:
        """Leave."""
        sys.exit(3)

    @tool(effect="read")
    async def leave_too() -> None:
        """Leave."""
        sys.exit(3)

    assert await complaint(leave) == "It asked to end the process."
    assert await complaint(leave_too) == "leave_too failed with SystemExit."


async def test_a_turn_that_is_cancelled_cancels_its_tool():
    started = asyncio.Event()

    @tool(effect="read")
    async def hang() -> None:
        """Hang."""
        started.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(ran(hang))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


class Odd:
    def __str__(self) -> str:
        return "odd"


@dataclass
class Point:
    x: float


@pytest.mark.parametrize(
    ("answer", "content"),
    [
        ("text", "text"),
        ("", ""),
        (None, "null"),
        (Point(1.5), '{"x":1.5}'),
        ([float("nan")], '["NaN"]'),
        (b"\xff", '"_w=="'),
        (Odd(), '"odd"'),
        ("a\x00b\ud800", "a\ufffdb?"),
    ],
)
async def test_any_answer_becomes_text_that_can_be_kept(answer: Any, content: str):
    @tool(effect="read")
    async def give() -> Any:
        """Give."""
        return answer

    assert (await ran(give)).content == content


async def test_an_answer_without_measure_is_cut_and_says_so():
    @tool(effect="read")
    async def give() -> str:
        """Give."""
        return "x" * (LARGEST_RESULT + 5)

    content = (await ran(give)).content
    assert content.endswith("… [cut: 1,000,005 characters in all]")
    assert len(content) < LARGEST_RESULT + 100


def without_types(city) -> None:  # pyright: ignore[reportMissingParameterType, reportUnknownParameterType]
    """Bad."""


def with_any_number(*cities: str) -> None:
    """Bad."""


def with_places_only(city: str, /) -> None:
    """Bad."""


def with_a_lock(lock: threading.Lock) -> None:
    """Bad."""


def without_words(city: str) -> None: ...


UNUSABLE: list[Callable[..., Any]] = [without_types, with_any_number, with_places_only, with_a_lock, without_words]


@pytest.mark.parametrize("function", UNUSABLE)
def test_a_function_that_cannot_be_a_tool_is_refused_in_one_sentence(function: Callable[..., Any]):
    with pytest.raises(UnusableTool) as caught:
        tool(function)
    assert function.__name__ in str(caught.value)


@pytest.mark.parametrize(
    "name",
    ["delegate_internal_reasoning", "return_control", "analyse_user_request", "preceptor.x", "a b", "ü", "x" * 65, "-"],
)
def test_some_names_are_not_to_be_had(name: str):
    def looks() -> None:
        """Look."""

    with pytest.raises(UnusableTool, match=r"name|Choose"):
        tool(name=name)(looks)


def test_two_tools_cannot_share_a_name():
    with pytest.raises(UnusableTool, match="Two tools"):
        ToolBox([weather, weather])


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), 1e9])
def test_a_timeout_is_a_time(timeout: float):
    def looks() -> None:
        """Look."""

    with pytest.raises(UnusableTool, match="timeout"):
        tool(timeout=timeout)(looks)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of tools that someone has installed."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    (tmp_path / "shop_tools.py").write_text(
        "from preceptor import tool\n"
        "@tool(effect='read')\n"
        "def stock(item: str) -> str:\n"
        "    '''How many are left.'''\n"
        "    return f'{len(item)} left'\n"
        "def price(item: str) -> int:\n"
        "    '''What it costs.'''\n"
        "    return 5\n"
        "ALL = [stock, price]\n"
        "NOTHING = 3\n"
        "def untyped(item): '''What it is.'''\n"
    )
    (tmp_path / "broken_tools.py").write_text("raise RuntimeError('no')\n")
    yield tmp_path
    for name in ("shop_tools", "broken_tools"):
        sys.modules.pop(name, None)


async def test_tools_are_found_by_the_setting(package: Path):
    box = open_toolbox(["shop_tools:ALL"], lambda: NOON)
    assert box.names == ("current_time", "calculator", "stock", "price")
    assert (await box.run(ToolCall("a", "stock", {"item": "tea"}), "k", 5)).content == "3 left"
    assert open_toolbox(["shop_tools:stock"], lambda: NOON).names[-1] == "stock"


async def test_tools_are_found_among_installed_packages(package: Path):
    info = package / "shop-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shop\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[preceptor.tools]\nshop = shop_tools:stock\n")
    assert "stock" in open_toolbox([], lambda: NOON).names
    for broken in (
        "no_such_module:x",
        "shop_tools:missing",
        "broken_tools:x",
        "shop_tools:NOTHING",
        "shop_tools:untyped",
    ):
        (info / "entry_points.txt").write_text(f"[preceptor.tools]\nshop = {broken}\n")
        with pytest.raises(CannotStart, match="The entry point 'shop' of "):
            open_toolbox([], lambda: NOON)


@pytest.mark.parametrize(
    "named",
    [
        "shop_tools",
        "shop_tools:missing",
        "no_such_module:x",
        "broken_tools:x",
        "shop_tools:NOTHING",
        "shop_tools:untyped",
        ":x",
    ],
)
def test_a_tool_that_cannot_be_loaded_is_told_at_start(package: Path, named: str):
    with pytest.raises(CannotStart, match="PRECEPTOR_TOOLS"):
        open_toolbox([named], lambda: NOON)


async def test_the_clock_tells_the_time_anywhere():
    clock = built_in(lambda: NOON)[0]
    assert (await ran(clock)).content == "2026-11-16T12:00:00+00:00 (Monday)"
    assert (await ran(clock, time_zone="Asia/Ho_Chi_Minh")).content == "2026-11-16T19:00:00+07:00 (Monday)"
    for nowhere in ("Mars/Olympus", "../../etc/passwd", ""):
        assert "There is no time zone" in await complaint(clock, time_zone=nowhere)


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("2 + 3 * 4", "14"),
        ("(2 + 3) * 4 ** 2", "80"),
        ("0.1 + 0.2", "0.3"),
        ("7 // 2 + 7 % 2", "4"),
        ("-2 ** 2", "-4"),
        ("10 / 4", "2.5"),
        ("2 ** 100", "1267650600228229401496703205376"),
        ("sqrt(16) + abs(-3) + round(2.58, 1) + max(1, 2) + floor(pi)", "14.6"),
        ("1e3", "1000"),
        (" +5 ", "5"),
    ],
)
async def test_the_calculator_works_out_arithmetic(expression: str, result: str):
    assert (await ran(calculator, expression=expression)).content == result


@pytest.mark.parametrize(
    "expression",
    [
        "9**9**9",
        "9**9**9**9",
        "2**4001",
        "(2**4000)*(2**4000)",
        "10.0**400",
        "1/0",
        "1%0",
        "0**-1",
        "(-8)**0.5",
        "sqrt(-1)",
        "1e999",
        "round(1e308*10)",
        "True + 1",
        "'a' * 9",
        "[1]*9",
        "x",
        "__import__('os')",
        "().__class__",
        "(lambda: 1)()",
        "abs(x=1)",
        "max()",
        "round(5, -10**10)",
        "round(5, 1.5)",
        "1 if 1 else 2",
        "1 < 2",
        "~1",
        "1 << 9999",
        "a := 1",
        "",
        "1 +",
        "(" * 150 + "1" + ")" * 149,
        "(" * 140 + "1" + ")" * 140 + "(",
        "1\x00",
        "1j",
    ],
)
async def test_the_calculator_refuses_what_is_not_plain_arithmetic_of_bearable_size(expression: str):
    assert await complaint(calculator, expression=expression)


async def test_the_calculator_reads_no_endless_expression():
    assert "at most 300" in await complaint(calculator, expression="1+" * 200 + "1")
