import asyncio
import json
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import jwt
import pytest
from anyio.lowlevel import checkpoint
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st
from jwt.algorithms import Algorithm, ECAlgorithm, HMACAlgorithm, OKPAlgorithm, RSAAlgorithm
from jwt.utils import base64url_encode

from preceptor.adapters.oidc import ClaimNames, Claims, IssuerUnavailable, OidcMisconfigured, OidcVerifier
from preceptor.domain.errors import Unauthenticated

DISCOVERY = "/.well-known/openid-configuration"
KINDS: dict[str, tuple[Callable[[], Any], type[Algorithm]]] = {
    "rsa": (lambda: rsa.generate_private_key(65537, 2048), RSAAlgorithm),
    "weak": (lambda: rsa.generate_private_key(65537, 1024), RSAAlgorithm),
    "p256": (lambda: ec.generate_private_key(ec.SECP256R1()), ECAlgorithm),
    "p384": (lambda: ec.generate_private_key(ec.SECP384R1()), ECAlgorithm),
    "ed": (ed25519.Ed25519PrivateKey.generate, OKPAlgorithm),
}


@cache
def private_key(name: str) -> Any:
    return KINDS[name.removesuffix("2")][0]()


def jwk(name: str, **more: object) -> dict[str, object]:
    public = KINDS[name.removesuffix("2")][1].to_jwk(private_key(name).public_key(), as_dict=True)
    return {**public, "kid": name, **more}


@dataclass
class Issuer:
    url: str
    answers: dict[str, tuple[int, bytes]] = field(default_factory=dict[str, tuple[int, bytes]])
    asked: list[str] = field(default_factory=list[str])

    def publish(self, *keys: Mapping[str, object], **changed: str) -> None:
        about = {"issuer": self.url, "jwks_uri": f"{self.url}/keys", **changed}
        documents: dict[str, object] = {DISCOVERY: about, "/keys": {"keys": keys}}
        self.answers = {path: (200, json.dumps(document).encode()) for path, document in documents.items()}

    async def answer(self, url: str) -> bytes:
        return self.answers[url.removeprefix(self.url)][1]

    def claims(self, **changed: object) -> dict[str, Any]:
        now = int(time.time())
        usual = {"iss": self.url, "aud": "preceptor", "sub": "ann", "exp": now + 60, "iat": now, "org": "acme"}
        return {name: value for name, value in (usual | changed).items() if value is not None}

    def token(self, name: str = "rsa", algorithm: str = "RS256", kid: str | None = None, **changed: object) -> str:
        return jwt.encode(self.claims(**changed), private_key(name), algorithm, {"kid": kid or name})


@pytest.fixture
def issuer() -> Generator[Issuer]:
    """A real HTTP server on loopback. What it answers can be changed while it runs."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            issuer.asked.append(self.path)
            status, body = issuer.answers.get(self.path, (404, b""))
            self.send_response(status)
            self.send_header("Location", "/keys")
            self.end_headers()
            self.wfile.write(body)

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        issuer = Issuer(f"http://127.0.0.1:{server.server_port}")
        issuer.publish(jwk("rsa"), jwk("p256", use="sig"), jwk("p384", alg="ES384"), jwk("ed"), jwk("weak"))
        Thread(target=server.serve_forever, args=(0.01,)).start()
        yield issuer
        server.shutdown()


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def verifier(issuer: Issuer, clock: Clock | None = None, **more: Any) -> OidcVerifier:
    return OidcVerifier(issuer.url, "preceptor", clock=clock or Clock(), **more)


def forged(header: object, claims: object, signature: bytes = b"") -> str:
    parts = json.dumps(header).encode(), json.dumps(claims).encode(), signature
    return b".".join(base64url_encode(part) for part in parts).decode()


async def refusal(verifier: OidcVerifier, token: str) -> str:
    with pytest.raises(Unauthenticated) as refused:
        await verifier.verify(token)
    assert len(token) < 20 or token not in str(refused.value)
    return refused.value.reason


@pytest.mark.parametrize("seconds", [60, -15])
async def test_a_token_tells_who_is_calling_until_half_a_minute_after_it_expires(seconds: int, issuer: Issuer):
    expires = int(time.time()) + seconds
    token = issuer.token(exp=expires, role="editor", group="support", nbf=expires - 90)
    claims = Claims("ann", "acme", "editor", "support", datetime.fromtimestamp(expires, UTC))
    assert await verifier(issuer).verify(token) == claims


async def test_claims_can_have_other_names_and_those_absent_are_none(issuer: Issuer):
    named = verifier(issuer, names=ClaimNames(org="tenant", role="https://acme.example/role"))
    claims = await named.verify(issuer.token(aud=["other", "preceptor"], tenant="north"))
    assert (claims.org, claims.role, claims.group) == ("north", None, None)


@pytest.mark.parametrize("signed", ["rsa RS256", "rsa RS512", "rsa PS256", "p256 ES256", "p384 ES384", "ed EdDSA"])
async def test_every_kind_of_asymmetric_algorithm_is_accepted(signed: str, issuer: Issuer):
    assert (await verifier(issuer).verify(issuer.token(*signed.split()))).subject == "ann"


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "expired beyond the leeway": ({"exp": int(time.time()) - 31}, "This token has expired."),
    "without expiry": ({"exp": None}, "lacks one of the claims"),
    "expiring after the end of time": ({"exp": 10**18}, "`exp` is not a time"),
    "from tomorrow": ({"nbf": int(time.time()) + 86400}, "not valid yet"),
    "issued tomorrow": ({"iat": int(time.time()) + 86400}, "not valid yet"),
    "for another audience": ({"aud": "billing"}, "another audience"),
    "for no audience": ({"aud": None}, "lacks one of the claims"),
    "by another issuer": ({"iss": "https://evil.example"}, "another issuer"),
    "by no issuer": ({"iss": None}, "lacks one of the claims"),
    "about nobody": ({"sub": None}, "lacks one of the claims"),
    "about an empty name": ({"sub": ""}, "`sub` is not a short text"),
    "with an org that is a list": ({"org": ["acme"]}, "`org` is not a short text"),
    "with an org that cannot be stored": ({"org": "a\0\ud800"}, "`org` is not a short text"),
    "with a weak key": ({"name": "weak"}, "This token is not valid."),
    "with a key on another curve": ({"name": "p384", "kid": "p256", "algorithm": "ES384"}, "does not publish"),
    "with a key of another kind": ({"name": "p256", "kid": "rsa", "algorithm": "ES256"}, "does not publish"),
    "with somebody else's key": ({"name": "rsa2", "kid": "rsa"}, "signature is wrong"),
}


@pytest.mark.filterwarnings("ignore::jwt.warnings.InsecureKeyLengthWarning")
@pytest.mark.parametrize("case", REFUSED)
async def test_a_token_is_refused_in_a_sentence_that_does_not_repeat_it(case: str, issuer: Issuer):
    changed, sentence = REFUSED[case]
    assert sentence in await refusal(verifier(issuer), issuer.token(**changed))


@pytest.mark.parametrize("algorithm", ["none", "None", "HS256", "HS512", "ES512", "ES256K", "", None, 7, ["RS256"]])
async def test_other_algorithms_are_refused_before_the_issuer_is_asked(algorithm: object, issuer: Issuer):
    assert "accepted algorithm" in await refusal(verifier(issuer), forged({"alg": algorithm}, issuer.claims(), b"x"))
    assert issuer.asked == []


@pytest.mark.parametrize("algorithm", ["HS256", "RS256"])
async def test_the_public_key_is_no_shared_secret(algorithm: str, issuer: Issuer):
    public = private_key("rsa").public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    unsigned = forged({"alg": algorithm, "kid": "rsa"}, issuer.claims()).rstrip(".")
    signature = HMACAlgorithm(HMACAlgorithm.SHA256).sign(unsigned.encode(), public)
    await refusal(verifier(issuer), f"{unsigned}.{base64url_encode(signature).decode()}")


async def test_a_rotated_key_is_picked_up_once_the_pause_is_over(issuer: Issuer):
    checking = verifier(issuer, clock := Clock())
    await checking.verify(issuer.token())
    issuer.publish(jwk("rsa2"))
    clock.now = 29.9
    assert "does not publish" in await refusal(checking, issuer.token("rsa2"))
    clock.now = 30
    assert (await checking.verify(issuer.token("rsa2"))).subject == "ann"
    assert "does not publish" in await refusal(checking, issuer.token())
    assert issuer.asked == [DISCOVERY, "/keys"] * 2


async def test_a_flood_of_unknown_keys_asks_the_issuer_once(issuer: Issuer):
    checking = verifier(issuer)
    await asyncio.gather(*(refusal(checking, issuer.token(kid=f"invented-{n}")) for n in range(50)))
    assert issuer.asked == [DISCOVERY, "/keys"]


async def test_keys_are_kept_for_ten_minutes(issuer: Issuer):
    checking = verifier(issuer, clock := Clock())
    for clock.now in (0, 599.9, 600):
        await checking.verify(issuer.token())
    assert issuer.asked == [DISCOVERY, "/keys"] * 2


async def test_a_caller_who_leaves_does_not_end_the_fetch_for_the_others(issuer: Issuer):
    checking = verifier(issuer)
    leaving = asyncio.create_task(checking.verify(issuer.token()))
    staying = asyncio.create_task(checking.verify(issuer.token()))
    await checkpoint()
    leaving.cancel()
    assert (await staying).subject == "ann"
    assert issuer.asked == [DISCOVERY, "/keys"]


async def test_a_token_without_a_key_id_is_accepted_when_only_one_key_fits(issuer: Issuer):
    token = jwt.encode(issuer.claims(), private_key("p256"), "ES256")
    assert (await verifier(issuer).verify(token)).subject == "ann"
    issuer.publish(jwk("p256"), jwk("p2562"))
    assert "does not publish" in await refusal(verifier(issuer), token)


async def test_keys_that_cannot_verify_are_passed_over(issuer: Issuer):
    shared = {"kty": "oct", "k": "c2VjcmV0", "kid": "rsa"}
    broken = {"kty": "RSA", "n": "!", "e": 7, "kid": "rsa"}
    issuer.publish(shared, broken, jwk("rsa2", kid="rsa", use="enc"), jwk("rsa", d="AQAB"))
    assert (await verifier(issuer).verify(issuer.token())).subject == "ann"


async def test_a_silent_issuer_is_named_by_its_setting_and_asked_again_after_a_pause(issuer: Issuer):
    checking = verifier(issuer, clock := Clock())
    issuer.answers = {}
    for _ in range(3):
        with pytest.raises(IssuerUnavailable, match="PRECEPTOR_OIDC_ISSUER does not answer"):
            await checking.verify(issuer.token())
    assert issuer.asked == [DISCOVERY]
    issuer.publish(jwk("rsa"))
    clock.now = 5
    assert (await checking.verify(issuer.token())).subject == "ann"
    issuer.answers = {}
    clock.now = 604
    assert (await checking.verify(issuer.token())).subject == "ann"


async def test_an_issuer_that_is_not_there_is_unavailable():
    gone = Issuer("http://127.0.0.1:1")
    with pytest.raises(IssuerUnavailable, match="PRECEPTOR_OIDC_ISSUER"):
        await verifier(gone).verify(gone.token())


UNUSABLE: dict[str, tuple[int, bytes]] = {
    "redirects": (302, b""),
    "an error": (500, b"{}"),
    "a page": (200, b"<html>"),
    "another document": (200, b"{}"),
    "too much": (200, b" " * 256 * 1024 + b"{}"),
}


@pytest.mark.parametrize("path", [DISCOVERY, "/keys"])
@pytest.mark.parametrize("case", UNUSABLE)
async def test_an_unusable_answer_makes_the_issuer_unavailable(case: str, path: str, issuer: Issuer):
    issuer.answers[path] = UNUSABLE[case]
    with pytest.raises(IssuerUnavailable, match="PRECEPTOR_OIDC_ISSUER"):
        await verifier(issuer).verify(issuer.token())


async def test_an_issuer_must_call_itself_what_we_call_it(issuer: Issuer):
    issuer.publish(jwk("rsa"), issuer=f"{issuer.url}/")
    with pytest.raises(IssuerUnavailable, match="what PRECEPTOR_OIDC_ISSUER calls it"):
        await verifier(issuer).verify(issuer.token())


ELSEWHERE = ["https://evil.com", "http://10.0.0.1", "http://127.0.0.1:99999", "http://u@127.0.0.1", "file:///x", "//["]


@pytest.mark.parametrize("address", ELSEWHERE)
async def test_an_issuer_cannot_send_us_elsewhere(address: str, issuer: Issuer):
    issuer.publish(jwk("rsa"), jwks_uri=address)
    with pytest.raises(IssuerUnavailable, match="PRECEPTOR_OIDC_ISSUER keeps its keys on a host not allowed"):
        await verifier(issuer).verify(issuer.token())
    assert issuer.asked == [DISCOVERY]


async def test_keys_on_another_host_are_fetched_when_that_host_is_listed(issuer: Issuer):
    issuer.publish(jwk("rsa"), jwks_uri=f"{issuer.url.replace('127.0.0.1', 'localhost')}/keys")
    assert (await verifier(issuer, key_hosts={"localhost"}).verify(issuer.token())).subject == "ann"


@pytest.mark.parametrize("settings", [("x.io", "a"), ("http://x.io", "a"), ("http://[z]", "a"), ("https://x.io", "")])
def test_settings_that_cannot_be_safe_are_refused_at_the_start(settings: tuple[str, str]):
    with pytest.raises(OidcMisconfigured, match="PRECEPTOR_OIDC_"):
        OidcVerifier(*settings)


values = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text(), max_size=2)
headers = st.fixed_dictionaries(
    {"alg": st.sampled_from(["RS256", "ES256", "EdDSA", "none", "HS256"]) | values},
    optional={"kid": st.sampled_from(["rsa", "p256", "ed"]) | values, "crit": values, "b64": values},
)


@given(st.text(st.characters()) | st.builds(forged, headers | values, values, st.binary(max_size=80)))
def test_any_other_text_is_refused_as_a_token(token: str):
    issuer = Issuer("https://issuer.example")
    issuer.publish(jwk("rsa"), jwk("p256"), jwk("ed"))
    asyncio.run(refusal(verifier(issuer, fetch=issuer.answer), token))
