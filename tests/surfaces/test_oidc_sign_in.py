"""Signing in with an issuer: the way there and back, and every way that leads nowhere."""

from collections.abc import AsyncGenerator, Generator
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from preceptor import Settings, open_preceptor
from tests.conftest import client_of
from tests.oidc_provider import SignInIssuer, issuing

COOKIE, ON_THE_WAY = "preceptor_session", "preceptor_sign_in"


@pytest.fixture
def issuer() -> Generator[SignInIssuer]:
    with issuing() as made:
        yield made


@pytest.fixture
async def client(settings: Settings, issuer: SignInIssuer) -> AsyncGenerator[httpx2.AsyncClient]:
    told = {"auth": "oidc", "oidc_issuer": issuer.url, "oidc_audience": "preceptor"}
    changed = Settings.load(**settings.model_dump(exclude=set(told)) | told)
    async with open_preceptor(changed) as preceptor, client_of(preceptor, {}) as made:
        yield made


async def sent_away(client: httpx2.AsyncClient, back: str = "/") -> str:
    """The address of the issuer that a browser is sent to."""
    answer = await client.get("/login/oidc", params={"back": back})
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


async def let_in(address: str) -> str:
    """Where the issuer sends the browser, whom it let in."""
    async with httpx2.AsyncClient(trust_env=False) as browser:
        return (await browser.get(address)).headers["location"]


async def test_whoever_the_issuer_lets_in_is_signed_in_and_led_back(client: httpx2.AsyncClient, issuer: SignInIssuer):
    issuer.claims = {"role": "operator"}
    refused = await client.get("/replays")
    assert "/login/oidc?back=/replays" in refused.text
    address = await sent_away(client, "/replays")
    asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    assert asked["redirect_uri"] == "http://127.0.0.1/login/callback"
    assert {"state", "nonce", "code_challenge"} <= asked.keys()
    back = await client.get(await let_in(address))
    assert (back.status_code, back.headers["location"]) == (303, "/replays")
    assert "httponly" in back.headers["set-cookie"].lower()
    shown = await client.get("/replays")
    assert shown.status_code == 200
    assert "ann" in shown.text
    assert (await client.get("/settings")).status_code == 200
    [form] = issuer.redeemed
    assert form["code_verifier"] not in address
    assert ON_THE_WAY not in client.cookies


async def test_a_role_is_the_issuers_and_without_one_they_are_viewers(client: httpx2.AsyncClient, issuer: SignInIssuer):
    await client.get(await let_in(await sent_away(client)))
    assert (await client.get("/conversations")).status_code == 200
    assert (await client.get("/experiments")).status_code == 403


async def test_a_code_is_good_for_the_browser_that_asked_and_once(client: httpx2.AsyncClient):
    callback = await let_in(await sent_away(client))
    kept = client.cookies[ON_THE_WAY]
    client.cookies.clear()
    assert (await client.get(callback)).status_code == 401
    client.cookies.set(ON_THE_WAY, kept)
    assert (await client.get(callback)).status_code == 303
    client.cookies.clear()
    client.cookies.set(ON_THE_WAY, kept)
    assert (await client.get(callback)).status_code == 401
    assert COOKIE not in client.cookies


@pytest.mark.parametrize("changed", ["state=another", "error=access_denied", "iss=https://evil.example", "code="])
async def test_a_way_back_that_was_tampered_with_leads_nowhere(client: httpx2.AsyncClient, changed: str):
    callback = await let_in(await sent_away(client))
    name, _, value = changed.partition("=")
    answer = await client.get(str(httpx2.URL(callback).copy_set_param(name, value)))
    assert answer.status_code == 401
    assert "Signing in did not work." in answer.text
    assert COOKIE not in client.cookies


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"aud": "another"},
        {"iss": "https://evil.example"},
        {"exp": 1},
        {"org": "nowhere"},
        {"role": "king"},
    ],
)
async def test_a_token_that_is_not_for_this_sign_in_lets_nobody_in(
    client: httpx2.AsyncClient, issuer: SignInIssuer, claims: dict[str, object]
):
    issuer.claims = claims
    answer = await client.get(await let_in(await sent_away(client)))
    assert answer.status_code == 401
    assert COOKIE not in client.cookies


async def test_what_was_kept_in_the_browser_cannot_be_written_by_others(client: httpx2.AsyncClient):
    callback = await let_in(await sent_away(client))
    for forged in ("", "x", "x.y", client.cookies[ON_THE_WAY][:-2] + "xx"):
        client.cookies.clear()
        client.cookies.set(ON_THE_WAY, forged)
        assert (await client.get(callback)).status_code == 401


@pytest.mark.parametrize(
    "back", ["https://evil.example/", "//evil.example", "/\\evil.example", "/\t/evil.example", "evil", ""]
)
async def test_nobody_is_led_to_another_site(client: httpx2.AsyncClient, back: str):
    answer = await client.get(await let_in(await sent_away(client, back)))
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


async def test_an_issuer_that_calls_itself_something_else_is_not_gone_to(
    client: httpx2.AsyncClient, issuer: SignInIssuer
):
    issuer.url = "http://127.0.0.1:1"  # so it says in its own document
    answer = await client.get("/login/oidc")
    assert answer.status_code == 503
    assert "issuer" in answer.text


async def test_without_an_issuer_there_is_no_such_way(settings: Settings):
    async with open_preceptor(settings) as preceptor, client_of(preceptor, {}) as client:
        assert (await client.get("/login/oidc")).status_code == 404
        assert "Sign in with" not in (await client.get("/conversations")).text
