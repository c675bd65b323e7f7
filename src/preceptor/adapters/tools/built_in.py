"""The tools that every installation has."""

import ast
import math
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from preceptor.adapters.tools.function import Tool, ToolError, tool

LONGEST_EXPRESSION = 300
MOST_BITS = 4_000

Number = int | float

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
    ast.Div: lambda left, right: left / right,
    ast.FloorDiv: lambda left, right: left // right,
    ast.Mod: lambda left, right: left % right,
    ast.Pow: lambda left, right: left**right,
}


def _rounded(number: Number, digits: Number = 0) -> Number:
    if not isinstance(digits, int) or abs(digits) > 100:
        raise OverflowError  # rounding a whole number to -n digits works out 10 ** n
    return round(number, digits) if digits else round(number)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "ceil": math.ceil,
    "floor": math.floor,
    "log": math.log,
    "max": max,
    "min": min,
    "round": _rounded,
    "sqrt": math.sqrt,
}
_CONSTANTS = {"pi": math.pi, "e": math.e}


def built_in(now: Callable[[], datetime]) -> tuple[Tool, ...]:
    @tool(effect="read")
    async def current_time(
        time_zone: Annotated[str, Field(description="An IANA time zone such as Europe/Berlin.", max_length=64)] = "UTC",
    ) -> str:
        """Tell the current date, time and weekday."""
        from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

        try:
            zone = ZoneInfo(time_zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ToolError(f"There is no time zone {time_zone!r}. Use an IANA name such as Europe/Berlin.") from None
        here = now().astimezone(zone)
        return f"{here.isoformat(timespec='seconds')} ({here:%A})"

    return current_time, calculator


@tool(effect="read")
async def calculator(
    expression: Annotated[
        str,
        Field(
            description="Such as (2 + 3) * 4 ** 2. Knows + - * / // % **, abs, ceil, floor, log, max, min, round, "
            "sqrt, pi and e.",
            max_length=LONGEST_EXPRESSION,
        ),
    ],
) -> str:
    """Work out an arithmetic expression exactly as it is written."""
    try:
        number = _value(ast.parse(expression.strip(), mode="eval").body)
    except ZeroDivisionError:
        raise ToolError("That divides by zero.") from None
    except (SyntaxError, ValueError, TypeError, OverflowError, MemoryError, RecursionError):
        raise ToolError(f"{expression!r} cannot be worked out. Use numbers, brackets and + - * / // % **.") from None
    if isinstance(number, float):
        if not math.isfinite(number):
            raise ToolError("The result is too large for a number.")
        return f"{number:.15g}"
    return str(number)


def _value(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=value) if type(value) in {int, float}:
            return _bounded(value)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _combined(op, _value(left), _value(right))
        case ast.Call(func=ast.Name(id=name), args=given, keywords=[]) if name in _FUNCTIONS:
            return _bounded(_FUNCTIONS[name](*map(_value, given)))
        case ast.Name(id=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case _:
            raise ValueError(ast.dump(node)[:80])


def _combined(op: ast.operator, left: Number, right: Number) -> Number:
    if isinstance(op, ast.Pow) and isinstance(left, int) and abs(right) * max(left.bit_length(), 1) > MOST_BITS:
        raise OverflowError  # before it is worked out: 9 ** 9 ** 9 would take all the memory there is
    return _bounded(_OPERATORS[type(op)](left, right))


def _bounded(number: Any) -> Number:
    if isinstance(number, int) and number.bit_length() <= MOST_BITS:
        return number
    if isinstance(number, float):
        return number
    raise OverflowError
