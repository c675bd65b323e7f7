import asyncio
from functools import partial

import aiohttp
import pytest

from preceptor.adapters.egress import Door, Egress, NotAllowedOut, door_to, doors_of, is_public
from preceptor.domain.errors import CannotStart
from tests.adapters.model_server import http, serving
from tests.requirements import covers

own = partial(Door, private=True)
PUBLIC = "https://api.example.com/v1"
OWN = "http://127.0.0.1:8080/v1"

REFUSED = [
    "http://localhost:8080/",
    "http://localhost.:8080/",
    "http://LOCALHOST:8080/",
    "http://127.0.0.1/",
    "http://127.0.0.1:22/",
    "http://127.0.0.1.:8080/",
    "https://127.0.0.1:8080/",
    "http://127.1:8080/",
    "http://127.0.1:8080/",
    "http://127.0.0.2:8080/",
    "http://2130706433:8080/",
    "http://0x7f000001:8080/",
    "http://0x7f.0.0.1:8080/",
    "http://0177.0.0.1:8080/",
    "http://017700000001:8080/",
    "http://127.0.0.01:8080/",
    "http://0:8080/",
    "http://0.0.0.0:8080/",
    "http://[::1]:8080/",
    "http://[::]:8080/",
    "http://[::ffff:127.0.0.1]:8080/",
    "http://[::ffff:7f00:1]:8080/",
    "http://[::127.0.0.1]:8080/",
    "http://[64:ff9b::7f00:1]:8080/",
    "http://[64:ff9b::127.0.0.1]:8080/",
    "http://[2002:7f00:1::]:8080/",
    "http://[fe80::1%25eth0]:8080/",
    "http://[fd00::1]:8080/",
    "http://169.254.169.254/latest/meta-data",
    "http://metadata.google.internal/",
    "http://100.64.0.1/",
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://192.168.1.1/",
    "http://user@127.0.0.1:8080/",
    "http://user:password@127.0.0.1:8080/",
    "https://api.example.com@127.0.0.1/",
    "https://api.example.com:443@127.0.0.1:8080/",
    "http://127.0.0.1:8080@api.example.com/",
    "https://api.example.com\\@127.0.0.1/",
    "https://127.0.0.1\\.api.example.com/",
    "https://api.example.com:22/",
    "http://api.example.com/",
    "https://api.example.com./",
    "https://api.example.com.evil.test/",
    "https://evil.test/?https://api.example.com/",
    "https://evil.test#@api.example.com/",
    "https://xapi.example.com/",
    "https://api..example.com/",
    "https://api.example.com%00.evil.test/",
    "http://127。0。0。1:8080/",
    "http://①②⑦.⓪.⓪.①:8080/",
    "http://127.0.0.1:8080 /",
    "http://127.0.0.1\t:8080/",
    "http://127.0.0.1:8080/\r\nHost: evil",
    "http://127.0.0.1:99999/",
    "http://127.0.0.1:8080:80/",
    "http://127.0.0.1:/",
    "http://127.0.0.1:0/",
    "http://[127.0.0.1]:8080/",
    "http://[::1/",
    "//127.0.0.1:8080/",
    "127.0.0.1:8080",
    "file:///etc/passwd",
    "ftp://127.0.0.1:8080/",
    "gopher://127.0.0.1:8080/",
    "unix:///var/run/docker.sock",
    "data:text/plain,x",
    "javascript:alert(1)",
    "http://",
    "http:///v1",
    "",
]

NOT_PUBLIC = [
    *("127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.1.2.3", "172.31.0.1", "192.168.0.1", "169.254.169.254"),
    *("100.64.0.1", "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1"),
    *("255.255.255.255", "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1"),
    *(
        "64:ff9b:1::1",
        "2002:7f00:1::",
        "2001::1",
        "fe80::1",
        "fe80::1%eth0",
        "fc00::1",
        "fd12::1",
        "ff02::1",
        "2001:db8::1",
    ),
]


def egress(**places: list[str]) -> Egress:
    async def look_up(host: str, port: int) -> list[str]:
        return places[host.partition(".")[0]]

    return Egress([door_to(PUBLIC), door_to(OWN, private=True)], look_up)


@covers("S19")
@pytest.mark.parametrize("url", REFUSED)
def test_an_address_that_the_operator_did_not_name_is_refused(url: str):
    with pytest.raises(NotAllowedOut):
        egress().check(url)


def test_forty_forms_are_tried():
    assert len(set(REFUSED)) >= 40


@pytest.mark.parametrize("url", [PUBLIC, OWN, "https://api.example.com:443/x?y#z", "HTTPS://API.Example.com/"])
def test_an_address_that_the_operator_named_is_allowed(url: str):
    assert egress().check(url).host in {"api.example.com", "127.0.0.1"}


@covers("S19")
@pytest.mark.parametrize("address", NOT_PUBLIC)
async def test_a_public_name_that_means_a_private_address_is_refused(address: str):
    assert not is_public(address)
    for found in ([address], ["93.184.216.34", address], [address, "93.184.216.34"]):
        with pytest.raises(NotAllowedOut, match="private"):
            await egress(api=found).addresses("api.example.com", 443)


@pytest.mark.parametrize("address", ["93.184.216.34", "8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8"])
async def test_a_public_name_that_means_a_public_address_is_allowed(address: str):
    assert await egress(api=[address]).addresses("api.example.com", 443) == [address]


async def test_a_name_that_was_not_named_is_not_even_looked_up():
    with pytest.raises(NotAllowedOut):
        await egress(evil=["8.8.8.8"]).addresses("evil.test", 443)
    with pytest.raises(NotAllowedOut):
        await egress(api=["8.8.8.8"]).addresses("api.example.com", 22)


@covers("S19")
async def test_a_name_that_changes_its_mind_is_judged_by_the_address_that_is_used():
    answers = [["8.8.8.8"], ["127.0.0.1"]]

    async def look_up(host: str, port: int) -> list[str]:
        return answers.pop(0)

    changing = Egress([door_to(PUBLIC)], look_up)
    assert await changing.addresses("api.example.com", 443) == ["8.8.8.8"]
    with pytest.raises(NotAllowedOut):
        await changing.addresses("api.example.com", 443)


async def fetched(client: Egress, url: str) -> tuple[int, bytes]:
    patience = aiohttp.ClientTimeout(total=5)
    async with client.request("GET", url, headers={}, body=None, timeout=patience) as response:
        return response.status, await response.read()


@covers("S19")
async def test_a_connection_goes_to_the_address_that_was_looked_at_and_the_name_stays_the_name():
    asked: list[str] = []

    async def look_up(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    async with serving(http(200, b"hello")) as server:
        url = f"http://model.internal:{server.port}/v1"
        client = Egress([door_to(url, private=True)], look_up)
        assert await fetched(client, url) == (200, b"hello")
        await client.close()
    assert asked == ["model.internal"]
    assert f"\r\nHost: model.internal:{server.port}\r\n" in server.heads[0]


@covers("S19")
async def test_a_public_name_that_means_this_machine_is_not_connected_to():
    async def look_up(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    async with serving(http(200, b"hello")) as server:
        url = f"http://model.example.com:{server.port}/v1"
        client = Egress([door_to(url)], look_up)
        with pytest.raises(NotAllowedOut):
            await fetched(client, url)
        await client.close()
    assert server.connections == 0


async def test_no_redirect_is_followed_and_no_cookie_is_kept():
    async with serving(http(302, b"", "Location: /elsewhere", "Set-Cookie: a=b"), http(200, b"")) as server:
        client = Egress([door_to(server.url, private=True)])
        assert (await fetched(client, server.url))[0] == 302
        assert (await fetched(client, server.url))[0] == 200
        await client.close()
    assert len(server.heads) == 2
    assert "cookie" not in server.heads[1].lower()


async def test_even_an_operators_name_does_not_mean_everyone_or_no_one():
    for address in ("224.0.0.1", "0.0.0.0", "::"):
        with pytest.raises(NotAllowedOut):
            await Egress([door_to("http://own.internal/", private=True)], _always(address)).addresses(
                "own.internal", 80
            )


def _always(address: str):
    async def look_up(host: str, port: int) -> list[str]:
        return [address]

    return look_up


def test_an_address_of_ones_own_needs_to_be_named_as_such():
    with pytest.raises(NotAllowedOut):
        Egress([Door("http", "10.0.0.1", 80)]).check("http://10.0.0.1/")
    assert Egress([Door("http", "10.0.0.1", 80, private=True)]).check("http://10.0.0.1/").private


@pytest.mark.parametrize(
    ("entry", "opened"),
    [
        ("api.example.com", [Door("https", "api.example.com", 443)]),
        ("api.example.com:8443", [Door("https", "api.example.com", 8443), Door("http", "api.example.com", 8443)]),
        ("http://api.example.com", [Door("http", "api.example.com", 80)]),
        ("https://api.example.com/v1", [Door("https", "api.example.com", 443)]),
        ("10.0.0.5:8080", [own("https", "10.0.0.5", 8080), own("http", "10.0.0.5", 8080)]),
        ("http://localhost:11434", [own("http", "localhost", 11434)]),
        ("http://[::1]:8080", [own("http", "::1", 8080)]),
        ("[::1]:8080", [own("https", "::1", 8080), own("http", "::1", 8080)]),
    ],
)
def test_what_an_entry_of_the_setting_opens(entry: str, opened: list[Door]):
    assert list(doors_of(entry)) == opened


@pytest.mark.parametrize("entry", ["*", "a b", "user@host", "ftp://host", "http://", "http://[::1", "[::1"])
def test_an_entry_that_names_no_host_is_told_at_start(entry: str):
    with pytest.raises(CannotStart, match="PRECEPTOR_EGRESS_ALLOW"):
        doors_of(entry)


def test_a_client_can_be_used_in_one_loop_after_another():
    async def once(client: Egress) -> int:
        async with serving(http(200, b"")) as server:
            client.doors = [door_to(server.url, private=True)]
            client.__post_init__()
            status, _ = await fetched(client, server.url)
            await client.close()
            return status

    client = Egress([])
    assert [asyncio.run(once(client)) for _ in range(2)] == [200, 200]
