"""An OpenID Connect issuer on a real socket at which people sign in: whoever comes is let in at once."""

import json
import secrets
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt

from tests.adapters.test_oidc import jwk, private_key

CLIENT = "preceptor"


@dataclass
class SignInIssuer:
    url: str
    claims: dict[str, Any] = field(default_factory=dict[str, Any])
    """Said besides the usual ones, or instead of them."""
    codes: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    redeemed: list[dict[str, str]] = field(default_factory=list[dict[str, str]])

    def authorize(self, asked: dict[str, str]) -> str:
        """Where a browser is sent back to."""
        code = secrets.token_urlsafe(8)
        self.codes[code] = asked
        told = {"code": code, "state": asked["state"], "iss": self.url}
        return f"{asked['redirect_uri']}?{urlencode(told)}"

    def token(self, form: dict[str, str]) -> dict[str, str] | None:
        self.redeemed.append(form)
        asked = self.codes.pop(form.get("code", ""), None)
        if asked is None or form["redirect_uri"] != asked["redirect_uri"] or form["client_id"] != CLIENT:
            return None
        proof = urlsafe_b64encode(sha256(form["code_verifier"].encode()).digest()).rstrip(b"=").decode()
        if asked["code_challenge_method"] != "S256" or proof != asked["code_challenge"]:
            return None
        now = int(time.time())
        usual = {"iss": self.url, "aud": CLIENT, "sub": "ann", "exp": now + 60, "iat": now, "nonce": asked["nonce"]}
        said = {name: value for name, value in (usual | self.claims).items() if value is not None}
        return {"id_token": jwt.encode(said, private_key("rsa"), "RS256", {"kid": "rsa"}), "token_type": "Bearer"}

    def document(self, path: str) -> dict[str, Any] | None:
        return {
            "/.well-known/openid-configuration": {
                "issuer": self.url,
                "jwks_uri": f"{self.url}/keys",
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
            },
            "/keys": {"keys": [jwk("rsa")]},
        }.get(path)


def _handler(issuer: SignInIssuer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path == "/authorize":
                asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
                self.send_response(302)
                self.send_header("Location", issuer.authorize(asked))
                self.end_headers()
                return
            self._answer(issuer.document(parts.path))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            self._answer(issuer.token({name: values[0] for name, values in parse_qs(body).items()}))

        def _answer(self, document: dict[str, Any] | None) -> None:
            self.send_response(400 if document is None else 200)
            self.end_headers()
            self.wfile.write(json.dumps(document or {"error": "invalid_grant"}).encode())

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is theirs
            """Quietly."""

    return Handler


@contextmanager
def issuing() -> Generator[SignInIssuer]:
    made = SignInIssuer("")
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(made)) as server:
        made.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield made
        server.shutdown()
