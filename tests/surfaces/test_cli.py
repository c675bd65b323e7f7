import json
import logging
import os
import re
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
import structlog
from typer.main import get_command

from preceptor import Settings, open_preceptor
from preceptor.adapters.storage import schema
from preceptor.adapters.storage.lockfile import Lock
from preceptor.domain.errors import Unauthenticated
from preceptor.surfaces.cli import connection, main
from tests import warm
from tests.postgres import Cluster
from tests.requirements import covers
from tests.serving import COMMAND, clean

HEAVY = {"alembic", "fastapi", "httpx2", "psycopg", "pydantic", "sqlalchemy", "structlog", "uvicorn"}


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)

    @property
    def refusal(self) -> str:
        """What a command said that was refused: one sentence on standard error, and nothing else anywhere."""
        assert self.code == 1, self.out + self.err
        assert self.out == ""
        [line] = self.err.splitlines()
        assert line.startswith("error: ")
        return line


Cli = Callable[..., Outcome]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Cli]:
    """`preceptor` with these arguments, through its own entry point, on an empty data folder."""
    handlers, level = logging.root.handlers[:], logging.root.level
    for name in [name for name in os.environ if name.startswith("PRECEPTOR_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PRECEPTOR_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, **environment: str) -> Outcome:
        with monkeypatch.context() as given:
            for name, value in environment.items():
                given.setenv(name, value)
            given.setattr(sys, "argv", ["preceptor", *arguments])
            capsys.readouterr()
            code = 0
            try:
                main.run()
            except SystemExit as left:
                code = left.code if isinstance(left.code, int) else 0
            said = capsys.readouterr()
            return Outcome(code, said.out, said.err)

    yield run
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)
    structlog.reset_defaults()


def commands() -> Iterator[tuple[str, ...]]:
    """Every command there is, by the words that call it."""

    def walk(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        yield words
        for name, inner in getattr(command, "commands", {}).items():
            yield from walk(inner, (*words, name))

    return walk(get_command(main.app), ())


# Parts that are not installed


@pytest.mark.parametrize(
    ("missing", "extra", "command", "database"),
    [
        ("psycopg", "postgres", ["db", "check"], "postgresql://h/db"),
        ("fastapi", "server", ["serve"], None),
        ("uvloop", "server", ["serve"], None),
    ],
)
def test_a_part_that_is_not_installed_is_named_with_what_brings_it(
    tmp_path: Path, missing: str, extra: str, command: list[str], database: str | None
):
    """In a process of its own: here the parts are loaded already."""
    without = [missing, "fastapi"] if extra == "server" else [missing]
    hidden = f"import sys; sys.modules.update(dict.fromkeys({without}))"
    named = {"PRECEPTOR_DATABASE_URL": database} if database else {}
    done = subprocess.run(
        [sys.executable, "-c", f"{hidden}; from preceptor.surfaces.cli import main; main.run()", *command],
        env=clean(tmp_path / "data", **named),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    said = Outcome(done.returncode, done.stdout, done.stderr).refusal
    assert said.endswith(f", which is not installed. Run `pip install 'preceptor[{extra}]'`.")


# Help, version, wrong usage


@pytest.mark.parametrize("words", [*commands()], ids=" ".join)
def test_every_command_explains_itself(cli: Cli, words: tuple[str, ...]):
    shown = cli(*words, "--help")
    assert shown.code == 0
    assert " ".join(("Usage: preceptor", *words)) in shown.out
    assert len(shown.out.split()) > 15
    usage = re.search(r"\[OPTIONS\](.*?)\n\s*\n", shown.out, re.DOTALL)
    assert usage is not None
    taken = usage[1].replace("[ARGS]...", "")
    assert re.fullmatch(r"(\s|COMMAND|[\[{][A-Z…]+[\]}](\.\.\.)?)*", taken), taken


def test_without_a_command_it_shows_what_there_is(cli: Cli):
    shown = cli()
    assert shown.code == 0
    assert [word for word in ("serve", "link", "keys", "users", "orgs", "db", "doctor") if word not in shown.out] == []
    assert "Examples" in shown.out


def test_help_loads_nothing_heavy():
    code = "import sys; from preceptor.surfaces.cli.main import app; app(['--help'], standalone_mode=False); "
    code += "print(*sys.modules, file=sys.stderr)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr.split()
    assert HEAVY & set(loaded) == set()


def test_a_terminal_that_lacks_letters_is_shown_the_rest(tmp_path: Path):
    def said(*arguments: str) -> str:
        environment = clean(tmp_path, PYTHONIOENCODING="ascii")
        done = subprocess.run([COMMAND, *arguments], env=environment, cwd=tmp_path, capture_output=True, check=True)
        return done.stdout.decode("ascii")

    assert "Exit codes" in said("--help")
    said("keys", "create", "Ánh's laptop")
    assert r"\xc1nh's laptop" in said("keys", "list")


def test_the_version_is_told_to_people_and_to_scripts(cli: Cli):
    from preceptor import __version__

    assert cli("version").out == f"Preceptor {__version__}\n"
    assert cli("version", "--json").json["version"] == __version__


WRONG_USAGE = {
    "a command that does not exist": ["frobnicate"],
    "an option that does not exist": ["keys", "list", "--frobnicate"],
    "a missing argument": ["keys", "create"],
    "a number that is none": ["serve", "--port", "abc"],
    "a role that does not exist": ["keys", "create", "x", "--role", "king"],
    "a permission that does not exist": ["keys", "create", "x", "--permission", "fly"],
    "a role and a permission": ["keys", "create", "x", "--role", "viewer", "--permission", "agent:read"],
    "an id that cannot be": ["orgs", "create", "Not An Id", "Name"],
    "a key that has expired before it is made": ["keys", "create", "x", "--expires-in", "0"],
}


@pytest.mark.parametrize("arguments", WRONG_USAGE.values(), ids=WRONG_USAGE)
def test_wrong_usage_exits_with_2_and_says_what_is_wrong(cli: Cli, arguments: list[str]):
    outcome = cli(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err
    assert "Traceback" not in outcome.err


def test_what_does_not_exist_exits_with_1(cli: Cli):
    assert "no key 'nonesuch'" in cli("keys", "revoke", "nonesuch").refusal


def test_the_key_that_lives_in_the_settings_cannot_be_revoked_here(cli: Cli):
    assert "PRECEPTOR_ADMIN_KEY" in cli("keys", "revoke", "bootstrap").refusal


def test_what_exists_already_exits_with_1(cli: Cli):
    assert "'default' already" in cli("orgs", "create", "default", "Again").refusal


def test_a_traceback_is_shown_when_it_was_asked_for_and_only_then(cli: Cli):
    assert "Traceback" not in cli("db", "verify").err
    shown = cli("--debug", "db", "verify")
    assert shown.code == 1
    assert "Traceback" in shown.err
    assert shown.err.splitlines()[-1].startswith("error: ")


def test_a_failure_no_one_foresaw_is_one_line_too_and_gives_no_secret_away(cli: Cli, monkeypatch: pytest.MonkeyPatch):
    def fail(**_: object) -> Settings:
        raise RuntimeError("while calling postgresql://me:hunter2hunter2@db/x\nsecond line")

    monkeypatch.setattr(Settings, "load", fail)
    said = cli("keys", "list").refusal
    assert "--debug" in said
    assert "hunter2" not in said


# Set up in a way that cannot work: one sentence, the setting, the remedy

BAD_SETTINGS: dict[str, tuple[dict[str, str], str]] = {
    "a database of a kind we do not know": ({"PRECEPTOR_DATABASE_URL": "foo://x"}, "PRECEPTOR_DATABASE_URL"),
    "a SQLite address without slashes": ({"PRECEPTOR_DATABASE_URL": "sqlite:relative"}, "PRECEPTOR_DATABASE_URL"),
    "a port that is no number in an address": (
        {"PRECEPTOR_DATABASE_URL": "postgresql://h:notaport/db"},
        "PRECEPTOR_DATABASE_URL",
    ),
    "a port of another host that is no number": (
        {"PRECEPTOR_DATABASE_URL": "postgresql://one:5432,two:notaport/db"},
        "PRECEPTOR_DATABASE_URL names a port that is not a number.",
    ),
    "an address that is no address": ({"PRECEPTOR_DATABASE_URL": "postgresql://[::1"}, "PRECEPTOR_DATABASE_URL"),
    "a PostgreSQL option that does not exist": (
        {"PRECEPTOR_DATABASE_URL": "postgresql://h/db?frobnicate=1"},
        "PRECEPTOR_DATABASE_URL",
    ),
    "a port that is no number": ({"PRECEPTOR_PORT": "abc"}, "PRECEPTOR_PORT"),
    "a port that is too large": ({"PRECEPTOR_PORT": "70000"}, "PRECEPTOR_PORT"),
    "a number without an end": ({"PRECEPTOR_TURN_BUDGET_SECONDS": "inf"}, "PRECEPTOR_TURN_BUDGET_SECONDS"),
    "hosts that are written as JSON": ({"PRECEPTOR_ALLOWED_HOSTS": '["a.example"]'}, "PRECEPTOR_ALLOWED_HOSTS"),
    "a host with a port": ({"PRECEPTOR_ALLOWED_HOSTS": "127.0.0.1:443"}, "PRECEPTOR_ALLOWED_HOSTS"),
    "hosts with nothing but a space between them": ({"PRECEPTOR_ALLOWED_HOSTS": "a b"}, "PRECEPTOR_ALLOWED_HOSTS"),
    "no host at all": ({"PRECEPTOR_ALLOWED_HOSTS": ","}, "PRECEPTOR_ALLOWED_HOSTS"),
    "an unknown way to authenticate": ({"PRECEPTOR_AUTH": "magic"}, "PRECEPTOR_AUTH"),
    "OIDC without an issuer": ({"PRECEPTOR_AUTH": "oidc"}, "PRECEPTOR_OIDC_ISSUER"),
    "texts that are no JSON": ({"PRECEPTOR_SGR_TEMPLATES": "{"}, "PRECEPTOR_SGR_TEMPLATES is not usable: it must"),
    "texts with a name that nobody declared": (
        {"PRECEPTOR_SGR_TEMPLATES": '{"block": {"analysis": "{{nobody}}", "response": "No."}}'},
        "PRECEPTOR_SGR_TEMPLATES is not usable: block.analysis: A placeholder is {{name}}",
    ),
    "a language that we do not speak": ({"PRECEPTOR_LANGUAGE": "de"}, "Input should be 'en', 'ru' or 'vi'"),
    "a blank admin key": ({"PRECEPTOR_ADMIN_KEY": "  "}, "PRECEPTOR_ADMIN_KEY"),
    "an admin key of letters that no header takes": ({"PRECEPTOR_ADMIN_KEY": "ключ-от-дома"}, "PRECEPTOR_ADMIN_KEY"),
    "an admin key with a space": ({"PRECEPTOR_ADMIN_KEY": "open sesame"}, "PRECEPTOR_ADMIN_KEY"),
    "a data folder that cannot be looked at": ({"PRECEPTOR_DATA_DIR": "/tmp/" + "x" * 300}, "PRECEPTOR_DATA_DIR"),
    "a data folder in a home that does not exist": ({"PRECEPTOR_DATA_DIR": "~no-such-user/x"}, "PRECEPTOR_DATA_DIR"),
    "a database in a home that does not exist": (
        {"PRECEPTOR_DATABASE_URL": "sqlite:///~no-such-user/x"},
        "PRECEPTOR_DATABASE_URL",
    ),
    "a data folder below a file": ({"PRECEPTOR_DATA_DIR": "/dev/null/data"}, "PRECEPTOR_DATA_DIR"),
    "a data folder where nothing can be written": ({"PRECEPTOR_DATA_DIR": "/proc/preceptor"}, "PRECEPTOR_DATA_DIR"),
    "a database file where nothing can be written": (
        {"PRECEPTOR_DATABASE_URL": "sqlite:////proc/preceptor.db"},
        "PRECEPTOR_DATABASE_URL",
    ),
    "a database file that is a folder": ({"PRECEPTOR_DATABASE_URL": "sqlite:////tmp"}, "PRECEPTOR_DATABASE_URL"),
}


ADDRESSES = {
    "PRECEPTOR_MODEL_URL": {},
    "PRECEPTOR_EGRESS_ALLOW": {},
    "PRECEPTOR_OTEL_ENDPOINT": {},
    "PRECEPTOR_OIDC_ISSUER": {"PRECEPTOR_AUTH": "oidc", "PRECEPTOR_OIDC_AUDIENCE": "a"},
    "PRECEPTOR_GUARD_MOSEC_URL": {"PRECEPTOR_GUARD_PROVIDER_TYPE": "mosec"},
    "PRECEPTOR_GUARD_VLLM_URL": {"PRECEPTOR_GUARD_PROVIDER_TYPE": "vllm", "PRECEPTOR_GUARD_VLLM_MODEL": "m"},
}
"""The settings that are addresses, each with what makes them count."""


@pytest.mark.parametrize("address", ["ftp://host", "http://[::1", "http://host:port", "http://"])
@pytest.mark.parametrize("setting", ADDRESSES)
def test_an_address_that_cannot_be_called_is_told_at_start(cli: Cli, setting: str, address: str):
    assert setting in cli("serve", **ADDRESSES[setting], **{setting: address}).refusal


@pytest.mark.parametrize("command", [["serve"], ["keys", "list"]], ids=" ".join)
@pytest.mark.parametrize(("environment", "named"), BAD_SETTINGS.values(), ids=BAD_SETTINGS)
def test_a_bad_setting_is_named_in_one_sentence(cli: Cli, command: list[str], environment: dict[str, str], named: str):
    assert named in cli(*command, **environment).refusal


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("serve --port 99999", "--port is not usable: Input should be less than or equal to 65535."),
        ("serve --port -1", "--port is not usable"),
        ("serve --data-dir ~no-such-user/x", "--data-dir is not usable"),
        ("serve --database-url nonsense", "--database-url is not a database address we know."),
        ("serve --database-url postgresql://h:x/db", "--database-url names a port that is not a number."),
        ("serve --host 0.0.0.0", "PRECEPTOR_AUTH=off is for loopback only: set --host=127.0.0.1"),
        ("worker --port 99999", "--port is not usable"),
        ("worker --concurrency 0", "--concurrency is not usable"),
    ],
)
def test_an_option_that_cannot_be_is_wrong_usage_and_named_in_one_sentence(cli: Cli, command: str, named: str):
    outcome = cli(*command.split(), PRECEPTOR_AUTH="off")
    assert (outcome.code, outcome.out) == (2, "")
    [line] = outcome.err.splitlines()
    assert line.startswith(f"error: {named}")


@pytest.mark.parametrize("command", ["check", "upgrade", "verify", "backup x"])
def test_a_database_that_cannot_be_looked_at_is_named(cli: Cli, command: str):
    assert "PRECEPTOR_DATA_DIR" in cli("db", *command.split(), PRECEPTOR_DATA_DIR="/tmp/" + "x" * 300).refusal


@covers("S27")
def test_the_world_is_not_served_while_authentication_is_off(cli: Cli):
    said = cli("serve", PRECEPTOR_AUTH="off", PRECEPTOR_HOST="0.0.0.0").refusal
    assert "PRECEPTOR_AUTH" in said
    assert "PRECEPTOR_HOST=127.0.0.1" in said


@pytest.mark.parametrize(("written", "meant"), [("1", "true"), ("True", "true"), ("off", "false"), ("auto", "auto")])
def test_planning_is_switched_with_the_words_of_every_other_switch(
    monkeypatch: pytest.MonkeyPatch, written: str, meant: str
):
    monkeypatch.setenv("PRECEPTOR_SGR_ENABLED", written)
    assert Settings.load().sgr_enabled == meant


def test_a_settings_file_that_cannot_be_read_is_named(cli: Cli, tmp_path: Path):
    (tmp_path / "preceptor.toml").write_text("port = = 1")
    assert "preceptor.toml" in cli("serve").refusal


@pytest.mark.parametrize(
    "line", ["PRECEPTOR_GUARD_MODE report", "PRECEPTOR_GUARD_MODE", "PRECEPTOR_PRODUCT_NAME='open"]
)
def test_a_line_of_a_settings_file_that_would_be_passed_over_is_named(cli: Cli, tmp_path: Path, line: str):
    (tmp_path / ".env").write_text(f"# ours\nANOTHER_PROGRAMS\nexport PRECEPTOR_PORT=4000\n{line}\n")
    assert "Line 4 of .env is not NAME=value." in cli("keys", "list").refusal


def test_a_variable_that_is_no_setting_is_warned_of_once(cli: Cli):
    outcome = cli("serve", PRECEPTOR_PROT="1", PRECEPTOR_DATABASE_URL="foo://x")
    warning, error = outcome.err.splitlines()
    assert warning.startswith("warning: PRECEPTOR_PROT ")
    assert error.startswith("error: ")


def test_a_line_of_a_file_that_is_no_setting_is_warned_of_with_the_file(cli: Cli, tmp_path: Path):
    (tmp_path / ".env").write_text("PRECEPTOR_PROT=1\nPRECEPTOR_PORT=4000\nANOTHER_PROGRAMS=1\n")
    (tmp_path / "preceptor.toml").write_text('prot = 1\nlanguage = "en"\n[guard]\nmode = "report"\n')
    *warnings, _ = cli("serve", PRECEPTOR_DATABASE_URL="foo://x").err.splitlines()
    names = ["PRECEPTOR_PROT in .env", "prot in preceptor.toml", "guard in preceptor.toml"]
    assert [warning.split(" is not ")[0] for warning in warnings] == [f"warning: {name}" for name in names]
    assert "prot in preceptor.toml" in found_by(cli("doctor", "--json"))["settings"]["detail"]


@pytest.mark.parametrize("name", [".env", "preceptor.toml"])
def test_a_folder_in_the_place_of_a_settings_file_is_warned_of(cli: Cli, tmp_path: Path, name: str):
    (tmp_path / name).mkdir()
    warning, _ = cli("serve", PRECEPTOR_DATABASE_URL="foo://x").err.splitlines()
    assert warning.startswith(f"warning: {name} is a folder, so no settings are read from it.")
    found = found_by(cli("doctor", "--json"))["settings"]
    assert (found["status"], found["detail"]) == ("warn", f"No settings are read from the folder {name}.")


def test_a_settings_file_that_was_named_and_is_not_there_is_missed(cli: Cli):
    assert "PRECEPTOR_CONFIG names elsewhere.toml" in cli("keys", "list", PRECEPTOR_CONFIG="elsewhere.toml").refusal


@pytest.mark.parametrize("file", ["admin.key", "secret.key"])
def test_a_secret_that_is_empty_or_no_text_is_never_used(cli: Cli, tmp_path: Path, file: str):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / file).touch()
    assert f"PRECEPTOR_{file[:-4].upper()}_KEY" in cli("serve").refusal
    (tmp_path / "data" / file).write_bytes(b"\xff")
    assert f"PRECEPTOR_{file[:-4].upper()}_KEY" in cli("keys", "list").refusal


def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(cli: Cli, tmp_path: Path):
    file = tmp_path / "data" / "preceptor.db"
    file.parent.mkdir()
    file.write_bytes(b"Dear diary, " * 1000)
    for command in (["serve"], ["keys", "list"], ["db", "check"], ["db", "upgrade"], ["db", "verify"]):
        assert "PRECEPTOR_DATABASE_URL" in cli(*command).refusal
    assert file.read_bytes() == b"Dear diary, " * 1000


def at_schema(cli: Cli, database: Path, revision: str) -> None:
    cli("db", "upgrade")
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = ?", (revision,))
        connection.commit()


def test_a_schema_newer_than_the_code_is_not_touched(cli: Cli, tmp_path: Path):
    at_schema(cli, tmp_path / "data" / "preceptor.db", "9999")
    for command in (["serve"], ["keys", "list"], ["db", "upgrade"], ["db", "verify"], ["db", "backup", "x"]):
        said = cli(*command).refusal
        assert "9999" in said
        assert "PRECEPTOR_DATABASE_URL" in said


@pytest.mark.parametrize("revision", ["ae1027a6acf1", "0003f2b61a77"])
def test_a_database_of_another_program_is_not_touched(cli: Cli, tmp_path: Path, revision: str):
    at_schema(cli, tmp_path / "data" / "preceptor.db", revision)
    for command in (["serve"], ["keys", "list"], ["db", "upgrade"], ["db", "verify"]):
        said = cli(*command).refusal
        assert "another program" in said
        assert "PRECEPTOR_DATABASE_URL" in said


def test_postgres_that_does_not_answer_is_named_without_its_password(cli: Cli):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        url = f"postgresql://me:s3cr3t-canary@127.0.0.1:{port}/db"
        for command in (["serve"], ["keys", "list"], ["db", "check"], ["db", "upgrade"], ["db", "verify"]):
            said = cli(*command, PRECEPTOR_DATABASE_URL=url).refusal
            assert "PRECEPTOR_DATABASE_URL" in said
            assert f"127.0.0.1:{port}" in said
            assert "refused" in said
            assert "s3cr3t" not in said


@pytest.mark.parametrize("password", ["hid@den", "12/hid@den", "12#hidden"])
def test_a_password_with_signs_of_an_address_in_it_is_told_how_to_be_written_and_not_shown(cli: Cli, password: str):
    refused = cli("db", "check", PRECEPTOR_DATABASE_URL=f"postgresql://me:{password}@127.0.0.1:9/x")
    assert (refused.code, "Write @ as %40" in refused.err, "den" in refused.err) == (1, True, False), refused.err


def test_a_database_that_postgres_does_not_have_is_named(cli: Cli, postgres: Cluster):
    said = cli("serve", PRECEPTOR_DATABASE_URL=postgres.url("nonesuch")).refusal
    assert "nonesuch" in said
    assert "PRECEPTOR_DATABASE_URL" in said


def test_a_wrong_password_is_said_to_be_wrong_and_not_repeated(cli: Cli, postgres: Cluster):
    url = needing_a_password(postgres)
    said = cli("serve", PRECEPTOR_DATABASE_URL=url.replace("right", "wr0ng-canary")).refusal
    assert "password authentication failed" in said
    assert "PRECEPTOR_DATABASE_URL" in said
    assert "wr0ng" not in said


def test_a_user_who_may_not_make_the_schema_of_the_queues_is_told_what_to_grant(cli: Cli, postgres: Cluster):
    url = postgres.new_database()
    with psycopg.connect(url) as owner:
        owner.execute("CREATE ROLE tenant_only LOGIN PASSWORD 'tests'")
        owner.execute("GRANT CREATE, USAGE ON SCHEMA public TO tenant_only")
    plain = url.replace("//preceptor:", "//tenant_only:")
    said = cli("keys", "list", PRECEPTOR_DATABASE_URL=plain, PRECEPTOR_RUNNER="dbos").refusal
    assert "(permission denied for database" in said
    assert "GRANT CREATE ON DATABASE" in said
    assert "sqlalche" not in said


def needing_a_password(postgres: Cluster) -> str:
    """The address of a user who, unlike the others of the test cluster, must know their password."""
    with psycopg.connect(postgres.url("postgres", "postgres"), autocommit=True) as admin:
        admin.execute("DROP ROLE IF EXISTS guarded")
        admin.execute("CREATE ROLE guarded LOGIN PASSWORD 'right'")
        row = admin.execute("SHOW hba_file").fetchone()
        assert row
        file = Path(row[0])
        file.write_text("host all guarded 127.0.0.1/32 scram-sha-256\n" + file.read_text())
        admin.execute("SELECT pg_reload_conf()")
    url = postgres.url("postgres", "guarded").replace("tests@", "right@")
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            psycopg.connect(url.replace("right", "other")).close()
        except psycopg.OperationalError:
            return url
        time.sleep(0.02)
    raise AssertionError("PostgreSQL did not read its new rules")


@pytest.mark.parametrize("room", [0, 100, 4096, 40_000], ids="{} bytes".format)
def test_a_full_disk_is_said_to_be_full(tmp_path: Path, room: int):
    """No file may grow beyond `room`: the operating system then refuses to write, as it does on a full disk."""
    outcome = subprocess.run(
        [COMMAND, "serve"],
        cwd=tmp_path,
        env=clean(tmp_path / "data"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    said = Outcome(outcome.returncode, outcome.stdout, outcome.stderr).refusal
    assert "room" in said
    assert "PRECEPTOR_DATA_DIR" in said


def test_a_start_on_a_full_disk_leaves_nothing_that_spoils_the_next(tmp_path: Path, cli: Cli):
    subprocess.run(
        [COMMAND, "keys", "list"],
        cwd=tmp_path,
        env=clean(tmp_path / "data"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20)),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert cli("keys", "list").code == 0
    assert len((tmp_path / "data" / "admin.key").read_text()) > 40


def test_a_database_in_the_hands_of_another_command_is_waited_for_but_not_for_ever(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(connection, "TURN", 0.1)
    cli("db", "upgrade")
    with Lock(tmp_path / "data" / "preceptor.db"):
        said = cli("keys", "list").refusal
    assert f"process {os.getpid()}" in said


def test_commands_that_begin_at_once_take_turns(tmp_path: Path):
    folder = tmp_path / "data"
    commands = [["keys", "list"], ["agents", "list"], ["db", "upgrade"], ["link"]]

    def said(command: list[str]) -> str:
        return warm.run(command, tmp_path, clean(folder)).stderr

    with ThreadPoolExecutor(len(commands)) as pool:
        for _ in range(8):
            assert [*pool.map(said, commands)] == [""] * len(commands)


def test_a_server_that_holds_the_database_and_does_not_answer_is_named(cli: Cli, tmp_path: Path):
    cli("keys", "list")
    with Lock(tmp_path / "data" / "preceptor.db") as lock:
        lock.announce("http://127.0.0.1:9")
        assert "http://127.0.0.1:9" in cli("keys", "list").refusal


def test_ctrl_c_ends_a_command_quietly_with_130(tmp_path: Path):
    """The server it talks to accepts the connection and says nothing, so the command waits until it is interrupted."""
    with socket.create_server(("127.0.0.1", 0)) as silent, Lock(tmp_path / "preceptor.db") as lock:
        lock.announce(f"http://127.0.0.1:{silent.getsockname()[1]}")
        environment = clean(tmp_path, PRECEPTOR_ADMIN_KEY="whatever-it-may-be")
        process = subprocess.Popen(
            [COMMAND, "keys", "list"], env=environment, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        silent.settimeout(30)
        with silent.accept()[0]:
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, b"", b"")


# Commands at work, without a server


@pytest.fixture
def on(cli: Cli, database_url: str) -> Cli:
    """The same, on a fresh database of every kind, with the key of its admin."""
    shared = {"PRECEPTOR_DATABASE_URL": database_url, "PRECEPTOR_ADMIN_KEY": "a" * 32}
    return lambda *arguments, **environment: cli(*arguments, **shared | environment)


def test_a_key_is_made_shown_once_listed_and_revoked(on: Cli):
    made = on("keys", "create", "Ann's laptop", "--role", "editor", "--expires-in", "30", "--json").json
    assert made["key"].startswith("pcp_")
    assert (made["name"], made["role"]) == ("Ann's laptop", "editor")
    listed = on("keys", "list")
    assert "Ann's laptop" in listed.out
    assert made["key"] not in listed.out
    assert on("keys", "revoke", made["keyId"]).code == 0
    revoked = {key["keyId"]: key["revokedAt"] for key in on("keys", "list", "--json").json}
    assert revoked[made["keyId"]]
    assert revoked["bootstrap"] is None


def test_a_key_can_be_made_of_single_permissions(on: Cli):
    wanted = ["agent:read", "conversation:write"]
    made = on("keys", "create", "importer", "--permission", wanted[0], "--permission", wanted[1], "--json").json
    assert (made["role"], made["permissions"]) == ("service", wanted)


def test_a_person_is_shown_the_key_on_a_line_of_its_own(cli: Cli):
    shown = cli("keys", "create", "x").out.splitlines()
    assert shown[0].startswith("pcp_")
    assert "shown this once" in shown[1]
    assert "viewer" in shown[1]


def test_organisations_and_users_are_made_and_listed(on: Cli):
    assert on("orgs", "create", "acme", "Acme [Ltd]", "--json").json["name"] == "Acme [Ltd]"
    assert "Acme [Ltd]" in on("orgs", "list").out
    assert [org["orgId"] for org in on("orgs", "list", "--json").json] == ["acme", "default"]
    assert on("users", "create", "ann", "Ann Lee", "--role", "editor", "--group", "sales").code == 0
    users = {user["userId"]: (user["role"], user["groupId"]) for user in on("users", "list", "--json").json}
    assert users == {"admin": ("admin", None), "ann": ("editor", "sales")}
    assert "Ann Lee" in on("users", "list").out


def test_a_list_longer_than_a_page_is_shown_whole(cli: Cli, monkeypatch: pytest.MonkeyPatch):
    with connection.api() as api:
        for number in range(205):
            api.post("/api/orgs", {"orgId": f"org-{number}", "name": "x"})
    assert len(cli("orgs", "list", "--json").json) == 206


async def redeemed(settings: Settings, token: str) -> bool:
    async with open_preceptor(settings) as preceptor:
        try:
            await preceptor.access.open_session(token)
        except Unauthenticated:
            return False
        return True


def test_a_link_made_without_a_server_names_the_address_and_says_to_start_one(on: Cli):
    shown = on("link", PRECEPTOR_PORT="4711").out
    assert shown.startswith("http://127.0.0.1:4711/login?token=")
    assert "preceptor serve" in shown


def test_that_no_server_runs_is_said_only_where_that_is_known(on: Cli, database_url: str):
    shown = on("link").out
    assert ("No server is running" in shown) is ("postgresql" not in database_url)
    assert ("Put the address of your server" in shown) is ("postgresql" in database_url)


async def test_a_link_made_without_a_server_works_once_when_one_is_started(cli: Cli, tmp_path: Path):
    import anyio.to_thread

    made = (await anyio.to_thread.run_sync(lambda: cli("link", "--json"))).json
    token = made["url"].rpartition("=")[2]
    settings = Settings.load()
    assert [await redeemed(settings, token), await redeemed(settings, token)] == [True, False]


def test_a_command_never_replaces_the_admin_key_of_an_installation(on: Cli):
    """From a shell with other settings it would lock out everyone who uses the key that the server was started with."""
    created = {key["keyId"]: key for key in on("keys", "list", "--json", PRECEPTOR_ADMIN_KEY="the-first-key").json}
    again = {key["keyId"]: key for key in on("keys", "list", "--json", PRECEPTOR_ADMIN_KEY="another-key").json}
    assert created == again


# The database


def test_a_database_is_checked_made_and_checked_again(cli: Cli, tmp_path: Path):
    missing = cli("db", "check", "--json")
    assert missing.code == 1
    assert json.loads(missing.out) == {"schema": None, "newest": schema.HEAD, "current": False}
    assert not (tmp_path / "data").exists()
    assert cli("db", "upgrade", "--json").json == {"from": None, "to": schema.HEAD, "changed": True}
    assert cli("db", "upgrade", "--json").json == {"from": schema.HEAD, "to": schema.HEAD, "changed": False}
    assert cli("db", "check", "--json").json == {"schema": schema.HEAD, "newest": schema.HEAD, "current": True}


def test_an_empty_postgres_is_upgraded(cli: Cli, postgres: Cluster):
    url = postgres.new_database()
    try:
        assert cli("db", "check", PRECEPTOR_DATABASE_URL=url).code == 1
        assert cli("db", "upgrade", PRECEPTOR_DATABASE_URL=url).out == f"The schema is now {schema.HEAD}.\n"
        assert cli("db", "check", PRECEPTOR_DATABASE_URL=url).code == 0
    finally:
        postgres.drop(url)


def test_an_old_schema_is_named_with_the_command_that_mends_it(cli: Cli, tmp_path: Path):
    database = tmp_path / "data" / "preceptor.db"
    database.parent.mkdir()
    schema.upgrade(f"sqlite:///{database}", "0001")
    checked = cli("db", "check")
    assert checked.code == 1
    assert "preceptor db upgrade" in checked.out
    assert "from 0001 to" in cli("db", "upgrade").out
    assert cli("db", "check").code == 0


def test_a_newer_schema_is_told_by_check(cli: Cli, tmp_path: Path):
    at_schema(cli, tmp_path / "data" / "preceptor.db", "9999")
    checked = cli("db", "check")
    assert checked.code == 1
    assert "9999" in checked.out


def test_a_backup_brings_everything_back_and_the_log_verifies(on: Cli, tmp_path: Path):
    on("orgs", "create", "acme", "Acme")
    copy = tmp_path / "copy.backup"
    report = on("db", "backup", str(copy), "--json").json
    assert report["bytes"] == copy.stat().st_size
    elsewhere = {"PRECEPTOR_DATABASE_URL": f"sqlite:///{tmp_path / 'elsewhere.db'}"}
    assert on("db", "restore", str(copy), "--json", **elsewhere).json["rows"] == report["rows"]
    assert [org["orgId"] for org in on("orgs", "list", "--json", **elsewhere).json] == ["acme", "default"]
    assert on("db", "verify", "--json", **elsewhere).json["ok"] is True
    assert "what was written" in on("db", "verify").out


def test_a_full_database_is_replaced_only_when_told_to_and_is_kept(cli: Cli, tmp_path: Path):
    cli("orgs", "list")
    cli("db", "backup", "copy.backup")
    cli("orgs", "create", "acme", "Acme")
    anchors = tmp_path / "data" / "anchors.jsonl"
    anchors.touch()
    assert "not empty" in cli("db", "restore", "copy.backup").refusal
    assert anchors.exists()
    restored = cli("db", "restore", "copy.backup", "--replace")
    assert restored.code == 0
    assert restored.out.count("is kept as") == 2
    assert not anchors.exists()
    assert [org["orgId"] for org in cli("orgs", "list", "--json").json] == ["default"]


@pytest.mark.parametrize("arguments", [["verify"], ["backup", "copy.backup"]], ids=" ".join)
def test_a_database_that_is_not_there_is_not_made_by_looking_for_it(cli: Cli, tmp_path: Path, arguments: list[str]):
    assert "PRECEPTOR_DATA_DIR" in cli("db", *arguments).refusal
    assert not (tmp_path / "data").exists()


# The doctor


def found_by(outcome: Outcome) -> dict[str, dict[str, str]]:
    return {check["name"]: check for check in json.loads(outcome.out)["checks"]}


def test_the_doctor_finds_a_fresh_machine_fit_and_changes_nothing(cli: Cli, tmp_path: Path):
    outcome = cli("doctor", "--json")
    assert outcome.json["ok"] is True
    assert {name: check["status"] for name, check in found_by(outcome).items()} == {
        "settings": "ok",
        "data folder": "ok",
        "database": "info",
        "clock": "ok",
        "runner": "info",
        "disk": "ok",
        "admin key": "info",
        "secret key": "info",
        "server": "info",
        "model": "ok",
        "guard": "ok",
        "traces": "info",
        "extras": "ok",
    }
    assert "smollm2-135m-instruct answers" in found_by(outcome)["model"]["detail"]
    assert not (tmp_path / "data").exists()
    assert "Fit to serve." in cli("doctor").out


def test_the_doctor_asks_the_guard_for_a_verdict(cli: Cli):
    assert found_by(cli("doctor", "--json"))["guard"]["detail"].endswith("What it finds unsafe is stopped.")
    off = cli("doctor", "--json", PRECEPTOR_GUARD_ENABLED="false")
    assert (off.code, found_by(off)["guard"]["status"]) == (0, "warn")
    away = {"PRECEPTOR_GUARD_PROVIDER_TYPE": "mosec", "PRECEPTOR_GUARD_MOSEC_URL": "http://127.0.0.1:9/guard"}
    enforced = cli("doctor", "--json", **away)
    assert (enforced.code, found_by(enforced)["guard"]["status"]) == (1, "fail")
    assert "no message is answered" in found_by(enforced)["guard"]["remedy"]
    reported = cli("doctor", "--json", PRECEPTOR_GUARD_MODE="report", **away)
    assert (reported.code, found_by(reported)["guard"]["status"]) == (0, "warn")


def test_the_doctor_looks_into_a_database_in_use(on: Cli):
    on("keys", "list")
    found = found_by(on("doctor", "--json", PRECEPTOR_SECRET_KEY="s" * 32))
    assert {found[name]["status"] for name in ("database", "clock", "admin key", "secret key", "runner")} == {"ok"}


def test_the_doctor_warns_of_what_may_be_a_slip_and_of_a_key_that_can_be_guessed(cli: Cli):
    outcome = cli("doctor", "--json", PRECEPTOR_PROT="1", PRECEPTOR_ADMIN_KEY="letmein")
    found = found_by(outcome)
    assert outcome.code == 0
    assert found["settings"]["status"] == found["admin key"]["status"] == "warn"
    assert "PRECEPTOR_PROT" in found["settings"]["detail"]
    assert "letmein" not in outcome.out


def test_the_doctor_warns_of_a_model_that_does_not_answer(cli: Cli):
    found = found_by(cli("doctor", "--json", PRECEPTOR_MODEL="openai:gpt-5-mini", OPENAI_API_KEY=""))
    assert (found["model"]["status"], "OPENAI_API_KEY" in found["model"]["detail"]) == ("warn", True)


def test_the_doctor_finds_what_nobody_carries_on_with(on: Cli, database_url: str):
    on("keys", "list")
    left = "INSERT INTO turns VALUES ('default', 't', 'c', 'a', 'u', 'running', 'gone', 1, 0, NULL, 1, 0, NULL)"
    if database_url.startswith("sqlite"):
        with closing(sqlite3.connect(database_url.removeprefix("sqlite:///"))) as connection, connection:
            connection.execute(left)
    else:
        with psycopg.connect(database_url, options="-c preceptor.org=*") as connection:
            connection.execute(left)
    found = found_by(on("doctor", "--json"))["runner"]
    assert (found["status"], found["detail"]) == ("warn", "Nobody carries on with 1 turns.")


def test_the_doctor_looks_at_who_can_read_the_secret_key_and_who_takes_traces(cli: Cli, tmp_path: Path):
    cli("keys", "list")
    (tmp_path / "data" / "secret.key").chmod(0o644)
    with socket.create_server(("127.0.0.1", 0)) as collector:
        there = f"http://127.0.0.1:{collector.getsockname()[1]}/v1/traces"
        found = found_by(cli("doctor", "--json", PRECEPTOR_OTEL_ENDPOINT=there))
    assert (found["secret key"]["status"], "chmod 600" in found["secret key"]["remedy"]) == ("warn", True)
    assert (found["traces"]["status"], "without what was said" in found["traces"]["detail"]) == ("ok", True)
    away = found_by(cli("doctor", "--json", PRECEPTOR_OTEL_ENDPOINT=there))
    assert (away["traces"]["status"], "Nobody listens" in away["traces"]["detail"]) == ("warn", True)


def test_the_doctor_finds_a_secret_key_that_opens_nothing_that_was_stored(on: Cli, tmp_path: Path):
    on("providers", "add", "ours", "openai", "--key-env", "KEY", KEY="sk-not-a-real-one")
    kept = tmp_path / "data" / "secret.key"
    assert found_by(on("doctor", "--json"))["secret key"]["status"] == "ok"
    for changed in ({"PRECEPTOR_SECRET_KEY": "another-one"}, {}):
        kept.unlink(missing_ok=True)
        found = found_by(on("doctor", "--json", **changed))["secret key"]
        assert found["detail"] == "It does not open 1 stored secrets of providers, MCP servers or webhooks."
        assert found["status"] == "fail"


SICK: dict[str, tuple[dict[str, str], str]] = {
    "settings that cannot be read": ({"PRECEPTOR_PORT": "abc"}, "settings"),
    "a folder that cannot be written to": ({"PRECEPTOR_DATA_DIR": "/proc/preceptor"}, "data folder"),
    "a folder that cannot be looked at": ({"PRECEPTOR_DATA_DIR": "/tmp/" + "x" * 300}, "database"),
    "an admin key that cannot be sent": ({"PRECEPTOR_ADMIN_KEY": "open sesame"}, "admin key"),
    "a database of a kind we do not know": ({"PRECEPTOR_DATABASE_URL": "foo://x"}, "database"),
    "a PostgreSQL that does not answer": ({"PRECEPTOR_DATABASE_URL": "postgresql://me@127.0.0.1:9/x"}, "database"),
}


@pytest.mark.parametrize(("environment", "check"), SICK.values(), ids=SICK)
def test_the_doctor_fails_what_cannot_work_and_says_what_to_do(cli: Cli, environment: dict[str, str], check: str):
    outcome = cli("doctor", "--json", **environment)
    assert outcome.code == 1
    assert found_by(outcome)[check]["status"] == "fail"
    assert "PRECEPTOR_" in found_by(outcome)[check]["detail"] + found_by(outcome)[check]["remedy"]
    assert "Traceback" not in cli("doctor", **environment).err


def test_the_doctor_fails_a_schema_it_does_not_know(cli: Cli, tmp_path: Path):
    at_schema(cli, tmp_path / "data" / "preceptor.db", "9999")
    assert found_by(cli("doctor", "--json"))["database"]["status"] == "fail"
    at_schema(cli, tmp_path / "data" / "preceptor.db", "0001")
    assert found_by(cli("doctor", "--json"))["database"]["status"] == "warn"
