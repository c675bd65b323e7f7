import json
import logging
import logging.config
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import StringIO
from time import perf_counter
from typing import Any, Literal

import pytest
import structlog
from hypothesis import assume, given
from hypothesis import strategies as st
from uvicorn.config import LOGGING_CONFIG

from preceptor.adapters.observability.logs import REDACTOR, Redactor, configure_logs, logger
from preceptor.domain.errors import Invalid
from preceptor.domain.value import Value
from tests.requirements import covers

Format = Literal["console", "json"]
Start = Callable[..., StringIO]
Capture = pytest.CaptureFixture[str]

OUR_KEY = "pcp_A1b2C3d4E5f6_" + "Zx-9_" * 8 + "abc"
JWT = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJjYW5hcnkifQ.c2lnbmF0dXJlLWNhbmFyeQ"
ADMIN_KEY = "correct horse battery staple"
SECRET_KEY = 'odd\\"shape\n of-a-кey'

CANARIES: dict[str, tuple[str, object]] = {
    "one of our keys": (OUR_KEY, f"called with {OUR_KEY}, and again"),
    "a provider's key": ("sk-proj-canary0123456789", "sk-proj-canary0123456789 was refused"),
    "a bearer token": ("canary-bearer", "sent bearer canary-bearer upstream"),
    "a token and its scheme": ("canary-scheme", "token: Bearer canary-scheme"),
    "an authorization header": ("Y2FuYXJ5OmNhbmFyeQ", {"Authorization": "Basic Y2FuYXJ5OmNhbmFyeQ"}),
    "a digest": ("canary-digest", 'Authorization: Digest username="a", response="canary-digest"'),
    "a cookie": ("canary-cookie", {"cookie": "theme=dark; session=canary-cookie"}),
    "a cookie being set": ("canary-set-cookie", "Set-Cookie: theme=dark; session=canary-set-cookie; Path=/"),
    "raw headers": ("canary-raw", [(b"host", b"localhost"), (b"x-api-key", b"canary-raw")]),
    "a JSON web token": (JWT, f"session_{JWT} expired"),
    "a database password": ("can@ry/pass", "postgresql+psycopg://preceptor:can@ry/pass@db:5432/preceptor"),
    "a password": ("canary-password", {"user": "bob", "password": 'canary-password "quoted"'}),
    "a name in camelCase": ("canary-camel", {"clientSecret": "canary-camel"}),
    "a name in capitals": ("canary-capitals", {"PRECEPTOR_ADMIN_KEY": "canary-capitals"}),
    "a private key": ("canary-private", "private_key = canary-private"),
    "credentials": ("canary-credentials", {"credentials": "canary-credentials"}),
    "JSON inside JSON": ("canary-json", json.dumps(json.dumps({"refresh_token": "canary-json"}))),
    "a query string": ("canary-query", '"GET /callback?token=canary-query&state=1 HTTP/1.1" 200'),
    "the admin key": (ADMIN_KEY, f"password={ADMIN_KEY}!"),
    "the secret key": (SECRET_KEY, {"note": f"made with {SECRET_KEY}"}),
}


@dataclass
class Connection:
    detail: object
    password: str = "canary-password"


class Agent(Value):
    name: str
    prompt: str


def fail(carrier: object) -> None:
    error = RuntimeError(f"wrapped {carrier}")
    error.add_note(f"noted {carrier}")
    raise error from ValueError(carrier)


def broken_by(carrier: object, log: Callable[[str], None]) -> None:
    try:
        fail(carrier)
    except RuntimeError:
        log("it broke")


def bound_to_the_context(carrier: object) -> None:
    with structlog.contextvars.bound_contextvars(around=carrier):
        THEIRS.warning("a foreign line")


OURS, THEIRS = logger("preceptor.turns"), logging.getLogger("uvicorn.error")
WAYS: dict[str, Callable[[Any], object]] = {
    "message": lambda carrier: OURS.info(f"saw {carrier}"),
    "argument": lambda carrier: OURS.info("saw %s", carrier),
    "field": lambda carrier: OURS.info("saw", carrier=carrier),
    "nested field": lambda carrier: OURS.info("saw", deep={"list": [1, ({"x": carrier},)]}),
    "bound field": lambda carrier: OURS.bind(carrier=carrier).info("saw"),
    "key of a dict": lambda carrier: OURS.info("saw", deep={str(carrier): 1}),
    "error as a field": lambda carrier: OURS.info("saw", error=ValueError(carrier)),
    "field of an object": lambda carrier: OURS.info("saw", thing=Connection(carrier)),
    "prompt at debug": lambda carrier: OURS.debug("saw", prompt=carrier),
    "exception": lambda carrier: broken_by(carrier, OURS.exception),
    "wrong arguments": lambda carrier: OURS.info("saw %d", str(carrier)),
    "context": bound_to_the_context,
    "structlog's own logger": lambda carrier: structlog.get_logger("other").warning("saw", carrier=carrier),
    "stdlib message": lambda carrier: THEIRS.info("saw " + str(carrier)),
    "stdlib argument": lambda carrier: THEIRS.info("saw %s and %r", carrier, carrier),
    "stdlib extra": lambda carrier: THEIRS.info("saw", extra={"carrier": carrier}),
    "stdlib nested extra": lambda carrier: THEIRS.info("saw", extra={"deep": [{"x": carrier}]}),
    "stdlib exception": lambda carrier: broken_by(carrier, THEIRS.exception),
    "stdlib wrong arguments": lambda carrier: THEIRS.info("saw %d", str(carrier)),
}


@pytest.fixture
def start() -> Iterator[Start]:
    handlers, level = logging.root.handlers[:], logging.root.level

    def configure(level: str = "info", form: Format = "json") -> StringIO:
        stream = StringIO()
        configure_logs(level, form, stream)
        return stream

    yield configure
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)
    structlog.reset_defaults()


def lines(stream: StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


@covers("S22")
@pytest.mark.parametrize("form", ["console", "json"])
@pytest.mark.parametrize("way", WAYS)
def test_no_planted_secret_comes_out_whichever_way_it_was_logged(start: Start, capsys: Capture, way: str, form: Format):
    REDACTOR.hide(ADMIN_KEY)
    REDACTOR.hide(SECRET_KEY)
    for kind, (secret, carrier) in CANARIES.items():
        stream = start("debug", form)
        WAYS[way](carrier)
        out, (printed, complained) = stream.getvalue(), capsys.readouterr()
        assert out, f"{kind}: nothing was logged"
        for spelling in (secret, repr(secret)[1:-1], json.dumps(secret)[1:-1]):
            assert spelling not in out + printed + complained, f"{kind} came out: {out}"


WORDS = ["turn", "=", "12:30", "'tea',", '"x":', "\\", "\n\t", "ü", "茶", "{}", "50%", "@", "p:", "s-", "ey.J"]
TRIGGERS = ["pcp_", "sk-", "eyj", "bearer", "authorization", "cookie", "pass", "secret", "token", "credential", "key"]


@given(st.text() | st.lists(st.sampled_from(WORDS)).map(" ".join))
def test_text_without_secrets_passes_byte_for_byte(text: str):
    assume(not any(trigger in text.lower() for trigger in (*TRIGGERS, "://", "[parameters")))
    redactor = Redactor()
    redactor.hide("never-in-the-text-above")
    assert redactor.text(text) == text
    assert redactor.fields({"note": text, "deep": [{"x": text}]}) == {"note": text, "deep": [{"x": text}]}


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://user:***@host/db",
        "max_tokens=512, prompt_tokens: 40, token_count=3",
        "https://example.org:8080/a?mail=b@c.org",
        "risk-management after disk-full-errors",
        "passwordless, secretly, 12 cookies",
        "eyJust a word. And. Another.",
        "pcp_ and sk- alone",
    ],
)
def test_text_that_only_resembles_a_secret_is_left_alone(start: Start, text: str):
    stream = start()
    logging.getLogger("app").info(text)
    assert lines(stream)[0]["event"] == text


def test_only_the_secret_is_taken_out_and_one_under_six_characters_is_too_short_to_hide():
    redactor = Redactor()
    redactor.hide("short")
    redactor.hide("longer")
    assert redactor.text("short and longer at postgresql://user:PASS@host/db") == (
        "short and *** at postgresql://user:***@host/db"
    )


def test_numbers_that_only_count_tokens_and_flags_about_passwords_are_shown(start: Start):
    stream = start()
    OURS.info("done", max_tokens=512, tokenCount=3, has_password=True, cookie=None)
    shown = lines(stream)[0]
    assert (shown["max_tokens"], shown["tokenCount"], shown["has_password"], shown["cookie"]) == (512, 3, True, None)


def test_what_people_wrote_is_measured_above_debug_and_shown_at_debug(start: Start):
    stream = start("debug")
    for log in (OURS.info, OURS.debug):
        log(
            "said",
            prompt="x" * 123,
            deep={"messages": [1, 2], "content": None, "text": b"x"},
            agent=Agent(name="a", prompt="be kind"),
        )
    above, at_debug = lines(stream)
    assert above["prompt"] == "[withheld: 123 characters]"
    assert above["deep"] == {"messages": "[withheld: 2 items]", "content": None, "text": "[withheld]"}
    assert above["agent"] == {"name": "a", "prompt": "[withheld: 7 characters]"}
    assert at_debug["prompt"] == "x" * 123
    assert at_debug["agent"] == {"name": "a", "prompt": "be kind"}


def test_the_parameters_of_a_statement_are_never_logged_not_even_at_debug(start: Start):
    stream = start("debug")
    logging.getLogger("sqlalchemy.engine.Engine").info("INSERT %r", ("what a user wrote",))
    THEIRS.error("(NotNull) failed\n[SQL: INSERT]\n[parameters: ('what a user wrote',)]\n(More)")
    assert [line["event"] for line in lines(stream)] == ["(NotNull) failed\n[SQL: INSERT]\n[parameters: ***\n(More)"]


def test_a_json_line_says_when_how_grave_what_and_where(start: Start):
    stream = start()
    with structlog.contextvars.bound_contextvars(request_id="r1"):
        OURS.warning("turn finished", seconds=0.5)
        logging.getLogger("alembic").info("migrated")
    ours, theirs = lines(stream)
    assert datetime.now(UTC) - datetime.strptime(ours["timestamp"], "%Y-%m-%dT%H:%M:%S.%f%z") < timedelta(minutes=1)
    named = {"level": "warning", "event": "turn finished", "logger": "preceptor.turns", "request_id": "r1"}
    assert ours == named | {"seconds": 0.5, "timestamp": ours["timestamp"]}
    named = {"level": "info", "event": "migrated", "logger": "alembic", "request_id": "r1"}
    assert theirs == named | {"timestamp": theirs["timestamp"]}


def test_what_json_cannot_hold_is_still_one_object_per_line(start: Start):
    stream = start()
    OURS.info("odd \ud800", big=2**80, nan=float("nan"), when=timedelta(1), raw=b"\xff", set={1})
    shown = lines(stream)[0]
    assert (shown["event"], shown["big"], shown["nan"]) == ("odd \ud800", 2**80, "nan")
    assert (shown["when"], shown["raw"], shown["set"]) == ("1 day, 0:00:00", "\\xff", [1])


def test_the_console_is_coloured_only_on_a_terminal(start: Start, monkeypatch: pytest.MonkeyPatch):
    start("info", "console")
    file, terminal = StringIO(), StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    for stream in (file, terminal):
        configure_logs("info", "console", stream)
        OURS.info("turn finished", seconds=0.5)
    assert ("\x1b[" in file.getvalue(), "\x1b[" in terminal.getvalue()) == (False, True)


def test_records_of_a_logger_with_handlers_of_its_own_pass_the_one_handler_once(start: Start, capsys: Capture):
    logging.config.dictConfig(LOGGING_CONFIG)
    stream = start()
    logging.getLogger("uvicorn.error").info("started [%d]", 7, extra={"color_message": "started [\x1b[36m%d\x1b[0m]"})
    logging.getLogger("uvicorn.access").info('%s - "%s %s"', "127.0.0.1", "GET", "/")
    assert [(line["event"], len(line)) for line in lines(stream)] == [("started [7]", 4), ('127.0.0.1 - "GET /"', 4)]
    assert capsys.readouterr() == ("", "")


def test_a_logger_that_was_quietened_before_speaks_at_the_level_asked_for(start: Start):
    THEIRS.setLevel(logging.CRITICAL)
    stream = start()
    THEIRS.info("started")
    assert [line["event"] for line in lines(stream)] == ["started"]


def test_without_a_stream_lines_go_to_the_standard_error_of_the_moment(start: Start, capsys: Capture):
    start()
    configure_logs(format="json")
    OURS.debug("not at this level")
    OURS.info("turn finished")
    assert json.loads(capsys.readouterr().err)["event"] == "turn finished"


def test_an_unknown_level_is_refused_with_the_levels_there_are():
    with pytest.raises(Invalid, match=r"'loud' is not a log level. Choose one of debug, info"):
        configure_logs("loud")


class Broken:
    def __str__(self) -> str:
        raise RuntimeError("password=canary")


class Shrinking(dict[str, object]):
    def items(self):
        raise RuntimeError("dictionary changed size during iteration")


def test_a_value_that_breaks_when_looked_at_does_not_stop_the_line(start: Start):
    stream = start()
    endless: list[object] = []
    endless.append(endless)
    OURS.info("saw", broken=Broken(), shrinking=Shrinking(), endless=endless, keys={Broken(): 1})
    shown = lines(stream)[0]
    assert (shown["broken"], shown["shrinking"]) == ("[unprintable Broken]", "[unprintable Shrinking]")
    assert shown["keys"] == {"[unprintable Broken]": 1}
    assert "[nested too deep]" in str(shown["endless"])


def test_a_stream_that_is_closed_stops_nobody(start: Start, capsys: Capture):
    start().close()
    OURS.info("password=canary")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("piece", ["eyJ", "_eyJ.", "://a:", "://a:@/", 'token="', "password\\", "bearer ", "a:", "/a"])
def test_hostile_text_is_redacted_in_time_that_grows_with_its_length(piece: str):
    text = "://a:" + piece * (200_000 // len(piece))
    began = perf_counter()
    Redactor().text(text)
    assert perf_counter() - began < 2
