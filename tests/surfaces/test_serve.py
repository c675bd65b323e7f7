import asyncio
import json
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from preceptor import Settings, open_preceptor
from preceptor.testing import SteadyWorld
from tests import warm
from tests.postgres import Cluster
from tests.requirements import covers
from tests.serving import COMMAND, PATIENCE, Served, clean, end, serving, serving_installed

KEY_SHOWN = re.compile(r"Admin key +(\S{40,})  \(shown here once, kept in (\S+)\)")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server on SQLite that the tests of this file share when they leave it running."""
    with serving(tmp_path_factory.mktemp("data")) as running:
        yield running


def ask(data_dir: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run another command on the same data, in a process of its own."""
    return warm.run([*arguments], data_dir, clean(data_dir, **environment))


def in_one_line(outcome: subprocess.CompletedProcess[str]) -> str:
    """What a refused command said: nothing but one sentence on standard error."""
    assert outcome.returncode == 1
    assert outcome.stdout == ""
    [line] = outcome.stderr.splitlines()
    assert line.startswith("error: ")
    return line


def test_the_first_start_shows_the_admin_key_and_a_later_one_only_says_where_it_is(tmp_path: Path):
    with serving_installed(tmp_path) as first:
        shown = KEY_SHOWN.search(first.printed)
        assert shown
        assert shown[1] == (tmp_path / "admin.key").read_text() == first.admin_key
        assert shown[2] == str(tmp_path / "admin.key")
        assert str(tmp_path / "preceptor.db") in first.printed
        assert "Model       local  (small and English only" in first.printed
    with serving_installed(tmp_path) as second:
        assert second.admin_key not in second.printed
        assert f"kept in {tmp_path / 'admin.key'}" in second.printed
        assert second.link != first.link


def test_a_key_that_was_given_is_not_shown(tmp_path: Path):
    with serving(tmp_path, PRECEPTOR_ADMIN_KEY="a-key-the-operator-chose") as served:
        assert "a-key-the-operator-chose" not in served.printed
        assert "the one in PRECEPTOR_ADMIN_KEY" in served.printed
        assert not (tmp_path / "admin.key").exists()
        with served.client() as client:
            assert client.get("/api/agents").status_code == 200


def test_options_win_over_settings(tmp_path: Path):
    chosen = tmp_path / "chosen"
    process = subprocess.Popen(
        [COMMAND, "serve", "--port", "0", "--data-dir", str(chosen), "--host", "localhost"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=tmp_path,
        env=clean(tmp_path / "ignored", PRECEPTOR_PORT="1"),
    )
    try:
        assert process.stdout
        printed = "".join(process.stdout.readline().decode() for _ in range(6))
        assert "is running on http://localhost:" in printed
        assert f"PRECEPTOR_DATA_DIR={chosen} preceptor link" in printed
        assert (chosen / "preceptor.db").exists()
        assert not (tmp_path / "ignored").exists()
    finally:
        end(process)
        process.stdout.close() if process.stdout else None


def test_the_sign_in_link_works_once_and_leaves_a_cookie_that_scripts_cannot_read(tmp_path: Path):
    with serving(tmp_path) as served, httpx2.Client(trust_env=False) as browser:
        answer = browser.get(served.link)
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        home = browser.get(served.url + "/", follow_redirects=True)
        assert (home.status_code, "Sign out" in home.text) == (200, True)
        assert httpx2.get(served.link, trust_env=False).status_code == 401
        assert httpx2.get(served.url + "/", trust_env=False).status_code == 401


@covers("S27")
def test_it_listens_on_loopback_and_takes_no_cookie_for_a_key(served: Served):
    assert urlsplit(served.url).hostname == "127.0.0.1"
    link = json.loads(ask(served.data_dir, "link", "--json").stdout)["url"]
    with httpx2.Client(trust_env=False) as browser:
        assert browser.get(link).status_code == 303
        assert browser.get(f"{served.url}/api/agents").status_code == 401


def test_a_command_that_finds_a_server_running_loads_no_database_and_no_web_framework(served: Served):
    script = (
        "import sys; from preceptor.surfaces.cli.main import app; app(['agents', 'list'], standalone_mode=False); "
        "print({'sqlalchemy', 'alembic', 'fastapi'} & set(sys.modules))"
    )
    environment = clean(served.data_dir)
    shown = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert "assistant" in shown.stdout
    assert shown.stdout.endswith("set()\n")


def test_a_command_makes_a_key_while_the_server_runs_and_the_key_is_good_at_once(served: Served):
    made = json.loads(ask(served.data_dir, "keys", "create", "Ann", "--role", "viewer", "--json").stdout)
    with served.client(made["key"]) as client:
        assert client.get("/api/agents").status_code == 200
        assert client.get("/api/keys").status_code == 403
        assert ask(served.data_dir, "keys", "revoke", made["keyId"]).returncode == 0
        assert client.get("/api/agents").status_code == 401
    listed = json.loads(ask(served.data_dir, "keys", "list", "--json").stdout)
    assert {key["keyId"]: bool(key["revokedAt"]) for key in listed} == {made["keyId"]: True, "bootstrap": False}


def test_a_link_made_while_the_server_runs_leads_to_that_server(served: Served):
    answer = ask(served.data_dir, "link")
    link = answer.stdout.splitlines()[0]
    assert link.startswith(f"{served.url}/login?token=")
    assert "No server is running" not in answer.stdout
    assert httpx2.get(link, trust_env=False).status_code == 303


def test_the_doctor_finds_the_running_server(served: Served):
    checks = json.loads(ask(served.data_dir, "doctor", "--json").stdout)["checks"]
    [server] = [check for check in checks if check["name"] == "server"]
    assert server["status"] == "ok"
    assert served.url in server["detail"]


def test_a_backup_taken_while_the_server_runs_verifies_once_restored(served: Served, tmp_path: Path):
    copy = tmp_path / "copy.backup"
    assert ask(served.data_dir, "db", "backup", str(copy)).returncode == 0
    assert ask(tmp_path, "db", "restore", str(copy)).returncode == 0
    assert ask(tmp_path, "db", "verify").returncode == 0


def test_a_second_server_on_the_same_file_is_told_who_has_it(served: Served):
    said = in_one_line(ask(served.data_dir, "serve"))
    assert f"process {served.process.pid}" in said
    assert served.url in said
    assert "PRECEPTOR_DATA_DIR" in said


def test_a_restore_under_a_running_server_is_refused(served: Served, tmp_path: Path):
    copy = tmp_path / "copy.backup"
    assert ask(served.data_dir, "db", "backup", str(copy)).returncode == 0
    assert str(served.process.pid) in in_one_line(ask(served.data_dir, "db", "restore", str(copy), "--replace"))


def test_a_command_with_another_key_than_the_servers_says_what_to_set(served: Served):
    said = in_one_line(ask(served.data_dir, "keys", "list", PRECEPTOR_ADMIN_KEY="not-the-one-it-knows"))
    assert "PRECEPTOR_ADMIN_KEY" in said


def test_a_command_without_the_servers_key_says_what_to_set_and_makes_none(tmp_path: Path):
    with serving(tmp_path, PRECEPTOR_ADMIN_KEY="a-key-the-operator-chose"):
        assert "PRECEPTOR_ADMIN_KEY" in in_one_line(ask(tmp_path, "keys", "list"))
    assert not (tmp_path / "admin.key").exists()


def test_commands_reach_a_server_that_answers_to_other_names_only(tmp_path: Path):
    names = {"PRECEPTOR_ALLOWED_HOSTS": "preceptor.example,127.0.0.1"}
    with serving(tmp_path, **names):
        answer = ask(tmp_path, "orgs", "list", "--json", PRECEPTOR_ALLOWED_HOSTS="preceptor.example")
        assert [org["orgId"] for org in json.loads(answer.stdout)] == ["default"]


def test_a_port_in_use_is_named_with_the_way_out(served: Served, tmp_path: Path):
    port = urlsplit(served.url).port
    said = in_one_line(ask(tmp_path, "serve", PRECEPTOR_PORT=str(port)))
    assert str(port) in said
    assert "PRECEPTOR_PORT" in said


def test_a_host_of_another_machine_is_named_with_the_way_out(tmp_path: Path):
    assert "PRECEPTOR_HOST" in in_one_line(ask(tmp_path, "serve", PRECEPTOR_HOST="192.0.2.1"))


@covers("S27")
def test_without_authentication_a_page_that_this_machine_serves_on_another_port_gets_nothing_done(tmp_path: Path):
    names = "127.0.0.1,localhost,ai.example"
    with serving(tmp_path, PRECEPTOR_AUTH="off", PRECEPTOR_ALLOWED_HOSTS=names) as open_to_all:
        port = urlsplit(open_to_all.url).port
        refused = (
            {"Origin": "http://127.0.0.1:1"},
            {"Origin": "http://127.0.0.1"},
            {"Origin": f"http://localhost:{port}"},
            {"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": "same-site"},
            {"Origin": "http://ai.example.evil.example"},
        )
        taken: tuple[dict[str, str], ...] = (
            {},
            {"Origin": open_to_all.url},
            {"Origin": f"http://localhost:{port}", "Host": f"localhost:{port}"},
            {"Origin": "https://ai.example"},
            {"Origin": "http://localhost:5173", "Sec-Fetch-Site": "same-origin"},
        )
        with httpx2.Client(base_url=open_to_all.url, trust_env=False) as browser:
            for path in ("/api/sign-in-links", "/start/demo"):
                for headers in refused:
                    assert browser.post(path, headers=headers).status_code == 403, (path, headers)
            for headers in taken:
                assert browser.post("/api/sign-in-links", headers=headers).status_code == 201, headers


def test_answers_do_not_name_the_server_software(served: Served):
    assert "server" not in httpx2.get(f"{served.url}/healthz", trust_env=False).headers


def test_commits_are_counted(served: Served):
    ask(served.data_dir, "link")
    metrics = httpx2.get(f"{served.url}/metrics", trust_env=False).text
    counted = re.search(r"^preceptor_commit_seconds_count (\S+)", metrics, re.MULTILINE)
    assert counted
    assert float(counted[1]) > 0


def test_the_log_of_a_server_shows_neither_its_key_nor_its_links(served: Served):
    httpx2.get(served.link, trust_env=False)
    with served.client() as client:
        client.get("/api/agents")
    log = served.log.read_text()
    assert "/api/agents" in log
    assert served.admin_key not in log
    assert served.link.rpartition("=")[2] not in log


def test_a_request_whose_head_never_ends_is_given_up(served: Served):
    address = urlsplit(served.url)
    with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Endless: ")
        received = b""
        with pytest.raises(OSError, match=r"reset|Broken pipe|ended"):
            while True:
                connection.sendall(b"a" * 65_536)
                connection.settimeout(0.2)
                try:
                    chunk = connection.recv(65_536)
                except TimeoutError:
                    continue
                received += chunk
                if not chunk:
                    raise OSError("ended")
    assert b"400" in received.partition(b"\r\n")[0] or received == b""


class Reader(threading.Thread):
    """Follows a conversation until its stream ends, as a browser would."""

    def __init__(self, served: Served, conversation: str) -> None:
        super().__init__(daemon=True)
        self.opened = threading.Event()
        self.ended_well = False
        self._served = served
        self._path = f"/api/conversations/{conversation}/events"
        self.start()

    def run(self) -> None:
        with self._served.client() as client, client.stream("GET", self._path, timeout=30) as response:
            for line in response.iter_lines():
                if line.startswith("event:"):
                    self.opened.set()
        self.ended_well = True


@contextmanager
def two_readers(served: Served) -> Generator[list[Reader]]:
    with served.client() as client:
        started = client.post("/api/conversations", json={"agentId": "assistant"})
        assert started.status_code == 201, started.text
        readers = [Reader(served, started.json()["conversationId"]) for _ in range(2)]
        assert all(reader.opened.wait(10) for reader in readers)
        yield readers


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_told_to_stop_it_ends_its_streams_and_is_gone_within_five_seconds(
    number: signal.Signals, database_url: str, tmp_path: Path
):
    with serving(tmp_path / "data", PRECEPTOR_DATABASE_URL=database_url) as served, two_readers(served) as readers:
        began = time.monotonic()
        served.process.send_signal(number)
        assert served.process.wait(timeout=10) == 0
        assert time.monotonic() - began <= 5
        for reader in readers:
            reader.join(5)
        assert [reader.ended_well for reader in readers] == [True, True]


def test_while_it_stops_new_requests_are_told_so_and_none_fails_in_another_way(tmp_path: Path):
    with serving(tmp_path) as served, two_readers(served), served.client() as client:
        seen = {client.get("/api/agents").status_code}
        served.process.terminate()
        try:
            while True:
                answer = client.get("/api/agents")
                seen.add(answer.status_code)
                assert answer.status_code == 200 or answer.json()["code"] == "shutting_down"
        except httpx2.TransportError:
            pass
        assert served.process.wait(timeout=10) == 0
        assert seen <= {200, 503}


def test_a_request_that_never_sends_its_body_does_not_hold_up_the_end(tmp_path: Path):
    with serving(tmp_path) as served:
        address = urlsplit(served.url)
        with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
            head = f"POST /api/agents HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {served.admin_key}\r\n"
            connection.sendall(f"{head}Content-Length: 10\r\n\r\n".encode())
            time_of_signal = time.monotonic()
            served.process.terminate()
            assert served.process.wait(timeout=10) == 0
            assert time.monotonic() - time_of_signal <= 5


def test_a_client_that_listens_only_when_it_has_said_all_hears_that_it_was_too_much(served: Served):
    address = urlsplit(served.url)
    head = f"POST /api/agents HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {served.admin_key}\r\n"
    head += "Content-Type: application/json\r\nContent-Length: 9000000\r\nConnection: close\r\n\r\n"
    with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
        connection.sendall(head.encode())
        for _ in range(900):
            connection.sendall(b" " * 10_000)
        with connection.makefile("rb") as heard:
            assert heard.readline().startswith(b"HTTP/1.1 413 ")


def test_the_last_act_is_a_checkpoint_with_an_anchor_outside_the_database(tmp_path: Path):
    with serving(tmp_path) as served:
        with served.client() as client:
            client.post("/api/conversations", json={"agentId": "assistant"})
        served.process.terminate()
        served.process.wait(timeout=10)
    anchors = (tmp_path / "anchors.jsonl").read_text().splitlines()
    assert len(anchors) == 1
    found = json.loads(ask(tmp_path, "db", "verify", "--json").stdout)
    assert (found["ok"], found["anchors"], found["checkpoints"]) == (True, 1, 1)


def test_anchors_are_kept_in_a_data_folder_that_nothing_else_has_made(tmp_path: Path, postgres: Cluster):
    elsewhere = {
        "PRECEPTOR_DATABASE_URL": postgres.new_database(),
        "PRECEPTOR_DATA_DIR": str(tmp_path / "not" / "there"),
        "PRECEPTOR_SECRET_KEY": "kept by the operator",
        "PRECEPTOR_ADMIN_KEY": "an-admin-key-of-the-operator",
    }
    with serving(tmp_path, **elsewhere) as served:
        with served.client() as client:
            client.post("/api/conversations", json={"agentId": "assistant"})
        served.process.terminate()
        assert served.process.wait(timeout=10) == 0
        assert "a chore failed" not in served.log.read_text(encoding="utf-8")
    found = json.loads(ask(tmp_path, "db", "verify", "--json", **elsewhere).stdout)
    assert (found["ok"], found["anchors"], found["checkpoints"]) == (True, 1, 1)


def test_verify_shows_where_the_log_was_changed_and_fails(tmp_path: Path):
    with serving(tmp_path):
        pass
    with closing(sqlite3.connect(tmp_path / "preceptor.db")) as connection:
        for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f'DROP TRIGGER "{trigger}"')
        connection.execute("UPDATE events SET payload = '{}' WHERE org = 'default' AND seq = 1")
        connection.commit()
    shown = ask(tmp_path, "db", "verify")
    assert shown.returncode == 1
    assert "edited" in shown.stdout
    found = json.loads(ask(tmp_path, "db", "verify", "--json").stdout)
    assert found["ok"] is False
    assert [(one["org"], one["seq"]) for one in found["broken"]] == [("default", 1)]


def test_of_many_that_begin_at_once_one_makes_the_secrets_and_all_have_them(tmp_path: Path):
    together = threading.Barrier(8)

    def begin(folder: Path) -> tuple[str, str]:
        settings = Settings.load(data_dir=folder)
        together.wait()
        made = settings.secrets()
        return made.admin_key, made.secret_key

    with ThreadPoolExecutor(8) as pool:
        for number in range(20):
            folder = tmp_path / str(number)
            found = set(pool.map(begin, [folder] * 8))
            kept = tuple((folder / name).read_text(encoding="utf-8") for name in ("admin.key", "secret.key"))
            assert found == {kept}
            assert {one.name for one in folder.iterdir()} == {"admin.key", "secret.key"}


def test_the_data_folder_and_the_secrets_in_it_are_for_their_owner_alone(tmp_path: Path):
    folder = tmp_path / "fresh"
    assert ask(tmp_path, "keys", "list", PRECEPTOR_DATA_DIR=str(folder)).returncode == 0
    names = (".", "admin.key", "secret.key", "preceptor.db")
    modes = {name: oct((folder / name).stat().st_mode & 0o777) for name in names}
    assert modes == {".": "0o700", "admin.key": "0o600", "secret.key": "0o600", "preceptor.db": "0o600"}


def test_a_command_makes_neither_keys_nor_a_data_folder_of_its_own_and_the_first_server_shows_its_key(
    tmp_path: Path, postgres: Cluster
):
    url = postgres.new_database()
    nowhere = {"PRECEPTOR_DATABASE_URL": url, "PRECEPTOR_DATA_DIR": str(tmp_path / "none")}
    for command in (["db", "upgrade"], ["keys", "list"], ["agents", "list"], ["link"], ["doctor"]):
        assert ask(tmp_path, *command, **nowhere).returncode == 0, command
        assert list(tmp_path.iterdir()) == [], command
    with serving(tmp_path / "server", PRECEPTOR_DATABASE_URL=url) as served, served.client() as client:
        assert f"shown here once, kept in {tmp_path / 'server' / 'admin.key'}" in served.printed
        assert client.get("/api/agents").status_code == 200


def test_what_is_older_than_it_may_be_is_erased_soon_after_the_start(tmp_path: Path):
    async def begin() -> str:
        async with open_preceptor(Settings.load(data_dir=tmp_path), world=SteadyWorld()) as preceptor:
            return (await preceptor.conversations.start(agent_id="assistant")).conversation_id

    path = f"/api/conversations/{asyncio.run(begin())}?archived=true"
    with serving(tmp_path, PRECEPTOR_RETENTION_DAYS="2") as served, served.client() as client:
        deadline = time.monotonic() + PATIENCE
        while (found := client.get(path).json()["status"]) != "erased":
            assert time.monotonic() < deadline, found
            time.sleep(0.05)


def test_of_several_hosts_of_a_postgres_one_that_answers_is_enough(tmp_path: Path, postgres: Cluster):
    url = postgres.new_database()
    at, several = f"127.0.0.1:{postgres.port}", f"127.0.0.1:1,127.0.0.1:{postgres.port}"
    shared = {"PRECEPTOR_DATABASE_URL": url.replace(at, several), "PRECEPTOR_RUNNER": "dbos"}
    with serving(tmp_path, **shared) as served, served.client() as client:
        assert f"PostgreSQL {several}{urlsplit(url).path}\n" in served.printed
        assert client.get("/api/agents").status_code == 200
        assert ask(tmp_path, "db", "backup", "copy", **shared).returncode == 0


def test_two_servers_share_a_postgres_and_the_second_leaves_the_admin_key_alone(
    tmp_path: Path, postgres: Cluster, postgres_template: str
):
    url = postgres.new_database(template=postgres_template)
    shared = {"PRECEPTOR_DATABASE_URL": url, "PRECEPTOR_SECRET_KEY": "shared by both"}
    with serving(tmp_path / "one", **shared) as first, serving(tmp_path / "two", **shared) as second:
        assert "Admin key   the one the installation has  (made elsewhere)" in second.printed
        with first.client() as one, second.client(first.admin_key) as two:
            made = one.post("/api/conversations", json={"agentId": "assistant"}).json()
            assert two.get(f"/api/conversations/{made['conversationId']}").json() == made
