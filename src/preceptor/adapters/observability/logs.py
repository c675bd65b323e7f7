"""Structured logs with one way out, and a redactor that every line passes on it.

`logger(name)` and the standard library's loggers (uvicorn, SQLAlchemy, psycopg, Alembic) end in the same handler. Give
uvicorn `log_config=None`, or it installs handlers of its own.
"""

import json
import logging
import re
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from math import isfinite
from threading import Lock
from typing import Any, Final, Literal, TextIO, cast
from urllib.parse import quote

import orjson
import structlog
from structlog.stdlib import BoundLogger, ProcessorFormatter
from structlog.typing import EventDict, Processor

from preceptor.domain.errors import Invalid

MASK: Final = "***"
WITHHELD: Final = frozenset({"prompt", "content", "text", "messages", "arguments", "payload"})
"""Fields that carry what people and models wrote: shown at `debug`, only measured above it."""

_SHORTEST_SECRET = 6
_DEEPEST = 8
_LEVELS = ("debug", "info", "warning", "error", "critical")

_QUOTED = r"""(?:b(?=["']))?(?:"((?:\\.|[^"\\\n])+)|'((?:\\.|[^'\\\n])+)|\\+["']((?:(?!\\+["'])[^\n])+))"""
_GIVEN = r"""\\*["']?[ \t]{0,3}[:=][ \t]{0,3}"""
_PAIRED = r"""\\*["'],[ ]?"""
_WORD = rf"""(?:{_GIVEN}(?:{_QUOTED}|((?!\\*["'])(?:(?i:bearer|basic)[ ])?[^\s"']+))|{_PAIRED}{_QUOTED})"""
_LINE = rf"""(?:{_GIVEN}(?:{_QUOTED}|((?!\\*["'])[^\r\n]+))|{_PAIRED}{_QUOTED})"""


def _after(word: str, secret: str) -> str:
    """Two branches, each with a plain first letter: the search is 20 times quicker than one that ignores case."""
    rest = f"(?i:{word[1:]}){secret}"
    return f"{word[0]}{rest}|{word[0].upper()}{rest}"


_SHAPES: Final = (
    r"pcp_[A-Za-z0-9]{12}_[\w-]{20,}",
    r"s(?<![A-Za-z0-9]s)k-[\w-]{8,}",
    r"eyJ[\w-]*+\.[\w-]++\.[\w-]*+",
    # Not a token after all: passed over in one go, or a long run would be read again from each `eyJ` inside it.
    r"eyJ(?P<harmless>[\w-]*+)",
    r"""://[^\s/:@"'<>]*+:(?!\d{1,5}[/?#])((?:[^\s/"'<>]|/(?!/))+)(?=@)""",
    # SQLAlchemy ends its errors with what the statement was given, which is what users wrote.
    r"\[parameters: ([^\n]+)",
    _after("bearer", r"""(?:\s|%20)+["']?([^\s"']+)"""),
    _after("authorization", _LINE),
    _after("cookies?", _LINE),
    _after("pass(?:word|wd|phrase)", _WORD),
    _after("secret(?:[_-]?key)?", _WORD),
    _after("token", _WORD),
    _after("credentials?", _WORD),
    _after("api[_-]?key", _WORD),
    _after("admin[_-]?key", _WORD),
    _after("private[_-]?key", _WORD),
)
"""In each, the last group is the secret; where there is no group, all of it is."""
_SECRET: Final = re.compile("|".join(_SHAPES))

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:pass(?:word|wd|phrase)|secret|credential|authorization|cookie|(?:api|admin|private)_?key)"
    r"|(?:^|_)token$"
)
_WORD_BREAK = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|-")


@lru_cache(maxsize=4096)
def _names_secret(key: str) -> bool:
    """`refreshToken` does; `max_tokens` and `token_count` do not."""
    return _SECRET_NAME.search(_WORD_BREAK.sub("_", key).lower()) is not None


def _masked(found: re.Match[str]) -> str:
    if found.lastgroup == "harmless":
        return found[0]
    kept = found.start(found.lastindex) - found.start() if found.lastindex else 0
    return found[0][:kept] + MASK


def _spellings(secret: str) -> set[str]:
    """How a secret looks by itself, inside a `repr`, in JSON and in a URL."""
    return {secret, repr(secret)[1:-1], json.dumps(secret)[1:-1], quote(secret, "", errors="replace")}


class Redactor:
    """Takes secrets out of text and of fields, and withholds what people wrote. Never raises."""

    def __init__(self) -> None:
        self._hidden: set[str] = set()
        self._exact: re.Pattern[str] | None = None
        self._changing = Lock()

    def hide(self, secret: str) -> None:
        """Mask this very string from now on, whatever its shape. One under 6 characters would mask ordinary words."""
        if len(secret) < _SHORTEST_SECRET:
            return
        with self._changing:
            self._hidden |= _spellings(secret)
            self._exact = re.compile("|".join(map(re.escape, sorted(self._hidden, key=len, reverse=True))))

    def text(self, text: str) -> str:
        # Exact secrets first: a shape may end in the middle of one.
        return _SECRET.sub(_masked, self._exact.sub(MASK, text) if self._exact else text)

    def fields(self, fields: Mapping[Any, object], *, withhold: bool = True) -> dict[str, Any]:
        """The same fields, fit to be shown: only strings, numbers, booleans, `None`, lists and dicts of those."""
        return self._fields(fields, 0, withhold=withhold)

    def _fields(self, fields: Mapping[Any, object], depth: int, *, withhold: bool) -> dict[str, Any]:
        return {
            self.text(name): self._field(name, value, depth, withhold=withhold)
            for name, value in ((_said(key), value) for key, value in fields.items())
        }

    def _field(self, name: str, value: object, depth: int, *, withhold: bool) -> object:
        if value is None or isinstance(value, bool):
            return value
        if _names_secret(name):
            return MASK
        if withhold and name in WITHHELD:
            return _length_note(value)
        try:
            return self._value(value, depth + 1, withhold=withhold)
        except Exception:  # noqa: BLE001 - a value that breaks when looked at must not stop the line
            return _unprintable(value)

    def _value(self, value: object, depth: int, *, withhold: bool) -> object:
        if isinstance(value, str):
            return self.text(value)
        if value is None or isinstance(value, int) or (isinstance(value, float) and isfinite(value)):
            return value
        if depth > _DEEPEST:
            return "[nested too deep]"
        if (named := _named_parts(value)) is not None:
            return self._fields(named, depth, withhold=withhold)
        if isinstance(value, list | tuple | set | frozenset):
            return self._parts(list(cast("Iterable[object]", value)), depth, withhold=withhold)
        return self.text(_said(value))

    def _parts(self, parts: list[object], depth: int, *, withhold: bool) -> list[object]:
        match parts:
            case [str() | bytes() as name, value] if _names_secret(_said(name)):
                return [_said(name), self._field(_said(name), value, depth, withhold=withhold)]
            case _:
                return [self._value(part, depth + 1, withhold=withhold) for part in parts]


REDACTOR: Final = Redactor()
"""The one of this process, as logging is: a secret hidden once is hidden in every log line and every span."""


def _named_parts(value: object) -> Mapping[Any, object] | None:
    """What a dict holds, or one of our own values: their fields are judged by name, which a `repr` would hide."""
    if isinstance(value, Mapping):
        return cast("Mapping[Any, object]", value)
    if isinstance(value, BaseException | type):
        return None
    for names_of_fields in ("__struct_fields__", "__dataclass_fields__", "model_fields"):
        if names := getattr(type(value), names_of_fields, None):
            return {name: getattr(value, name, None) for name in names}
    return None


def _said(value: object) -> str:
    try:
        match value:
            case bytes():
                return value.decode(errors="backslashreplace")
            case BaseException():
                return f"{type(value).__name__}: {value}"
            case _:
                return str(value)
    except Exception:  # noqa: BLE001 - as above
        return _unprintable(value)


def _unprintable(value: object) -> str:
    return f"[unprintable {type(value).__name__}]"


def _length_note(value: object) -> str:
    match value:
        case str():
            return f"[withheld: {len(value)} characters]"
        case list() | tuple() | dict():
            return f"[withheld: {len(cast('list[object]', value))} items]"
        case _:
            return "[withheld]"


def _redacted(_logger: object, _method: str, event: EventDict) -> EventDict:
    level = cast("logging.LogRecord", event["_record"]).levelno
    shown = {key: value for key, value in event.items() if key not in {"_record", "_from_structlog", "color_message"}}
    return REDACTOR.fields(shown, withhold=level > logging.DEBUG)


def _json_line(_logger: object, _method: str, event: EventDict) -> str:
    line = {key: event.pop(key, None) for key in ("timestamp", "level", "event", "logger")} | dict(event)
    try:
        return orjson.dumps(line).decode()
    except TypeError:
        # orjson refuses half a surrogate pair and integers over 64 bits.
        return json.dumps(line)


def _formatter(renderer: Processor) -> ProcessorFormatter:
    return ProcessorFormatter(
        foreign_pre_chain=[structlog.contextvars.merge_contextvars, structlog.stdlib.ExtraAdder()],
        processors=[
            structlog.stdlib.PositionalArgumentsFormatter(),
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _redacted,
            renderer,
        ],
    )


class _Outlet(logging.Handler):
    """Without a stream of its own it writes to whatever standard error is at that moment."""

    def __init__(self, stream: TextIO | None) -> None:
        super().__init__()
        self._stream = stream

    def emit(self, record: logging.LogRecord) -> None:
        try:
            stream = self._stream or sys.stderr
            encoding = getattr(stream, "encoding", None) or "utf-8"
            stream.write(self.format(record).encode(encoding, "backslashreplace").decode(encoding) + "\n")
            stream.flush()
        except Exception:  # noqa: BLE001 - there is nowhere left to say so; the usual way prints the raw record
            return

    def format(self, record: logging.LogRecord) -> str:
        try:
            return super().format(record)
        except Exception as error:  # noqa: BLE001 - a line that cannot be made leaves a note, and never itself
            note = f"This log record could not be formatted: {type(error).__name__} ({record.pathname}:{record.lineno})"
            return super().format(
                logging.LogRecord(record.name, record.levelno, record.pathname, record.lineno, note, (), None)
            )


_CHAIN: Final[tuple[Processor, ...]] = (
    structlog.stdlib.filter_by_level,
    structlog.contextvars.merge_contextvars,
    ProcessorFormatter.wrap_for_formatter,
)


def configure_logs(
    level: str = "info",
    format: Literal["console", "json"] = "console",  # noqa: A002 - the word an operator knows
    stream: TextIO | None = None,
) -> None:
    """Give the process one handler, the redactor in it, and one level; what loggers had of their own is taken away."""
    if level.lower() not in _LEVELS:
        raise Invalid(f"{level!r} is not a log level. Choose one of {', '.join(_LEVELS)}.")
    outlet = _Outlet(stream)
    outlet.setFormatter(_formatter(_json_line if format == "json" else _console(stream or sys.stderr)))
    for known in list(logging.root.manager.loggerDict.values()):
        if isinstance(known, logging.Logger):
            known.handlers.clear()
            known.propagate = True
            known.setLevel(logging.NOTSET)
    logging.root.handlers[:] = [outlet]
    logging.root.setLevel(level.upper())
    # Its statements, at `info`, carry what users wrote.
    logging.getLogger("sqlalchemy").setLevel(logging.WARNING)
    structlog.configure(processors=_CHAIN, wrapper_class=BoundLogger, logger_factory=structlog.stdlib.LoggerFactory())


def _console(stream: TextIO) -> Processor:
    return structlog.dev.ConsoleRenderer(
        colors=stream.isatty(), exception_formatter=structlog.dev.plain_traceback, sort_keys=False
    )


def logger(name: str) -> BoundLogger:
    """Until `configure_logs` its records go to the host program's own logging, as a library's should."""
    return BoundLogger(logging.getLogger(name), _CHAIN, {})
