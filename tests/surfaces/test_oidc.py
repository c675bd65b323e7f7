from collections.abc import AsyncGenerator

import httpx2
import pytest

from preceptor import Settings, open_preceptor
from tests.adapters.test_oidc import Issuer, issuer
from tests.conftest import ADMIN, client_of
from tests.surfaces.helpers import bearer, problem

__all__ = ["issuer"]


@pytest.fixture
async def oidc(settings: Settings, issuer: Issuer) -> AsyncGenerator[httpx2.AsyncClient]:
    """The application with tokens of a real issuer, and with an organisation `acme`."""
    told = {"auth": "oidc", "oidc_issuer": issuer.url, "oidc_audience": "preceptor"}
    changed = Settings.load(**settings.model_dump(exclude=set(told)) | told)
    async with open_preceptor(changed) as preceptor, client_of(preceptor, {}) as client:
        await client.post("/api/orgs", json={"orgId": "acme", "name": "Acme"}, headers=ADMIN)
        yield client


async def test_a_token_acts_for_its_subject_in_its_organisation(oidc: httpx2.AsyncClient, issuer: Issuer):
    token = bearer(issuer.token(role="editor"))
    made = await oidc.post("/api/agents", json={"name": "Ours"}, headers=token)
    assert made.json()["owner"] == {"orgId": "acme", "userId": "ann", "groupId": None}
    problem(await oidc.get("/api/keys", headers=token), 403, "forbidden")


async def test_without_a_role_the_user_table_decides_and_strangers_are_viewers(
    oidc: httpx2.AsyncClient, issuer: Issuer
):
    admin = bearer(issuer.token(role="admin", sub="boss"))
    problem(await oidc.post("/api/agents", json={"name": "Ours"}, headers=bearer(issuer.token())), 403, "forbidden")
    known = {"userId": "editor-ann", "name": "Ann", "role": "editor", "groupId": "desk"}
    assert (await oidc.post("/api/users", json=known, headers=admin)).status_code == 201
    made = await oidc.post("/api/agents", json={"name": "Ours"}, headers=bearer(issuer.token(sub="editor-ann")))
    assert made.json()["owner"] == {"orgId": "acme", "userId": "editor-ann", "groupId": "desk"}


async def test_a_token_for_nowhere_or_with_an_unknown_role_is_refused(oidc: httpx2.AsyncClient, issuer: Issuer):
    for token in (
        issuer.token(org="nowhere"),
        issuer.token(role="king"),
        issuer.token(exp=1),
        issuer.token(aud="else"),
    ):
        problem(await oidc.get("/api/agents", headers=bearer(token)), 401, "unauthenticated")


async def test_keys_go_on_working_beside_tokens(oidc: httpx2.AsyncClient):
    assert (await oidc.get("/api/agents", headers=ADMIN)).status_code == 200
