"""Signing in with an issuer, in a real browser: there and back."""

import pytest
from playwright.sync_api import Browser, expect

from tests.oidc_provider import issuing
from tests.serving import serving
from tests.web.browsing import Site, findings
from tests.web.conftest import QUIET
from tests.web.provider import Provider


def test_whoever_the_issuer_lets_in_comes_back_to_where_they_wanted_to_go(
    browser: Browser, provider: Provider, tmp_path_factory: pytest.TempPathFactory
):
    with issuing() as issuer:
        issuer.claims = {"role": "operator", "sub": "ann@example.org"}
        oidc = {
            "PRECEPTOR_AUTH": "oidc",
            "PRECEPTOR_OIDC_ISSUER": issuer.url,
            "PRECEPTOR_OIDC_AUDIENCE": "preceptor",
            "PRECEPTOR_OIDC_CLIENT_SECRET": "between us",
        }
        settings = QUIET | oidc | {"PRECEPTOR_MODEL_URL": provider.url}
        with serving(tmp_path_factory.mktemp("oidc"), **settings) as served:
            site = Site(served, provider, browser)
            with site.context() as context:
                page = context.new_page()
                page.goto(f"{site.url}/experiments")
                assert findings(page) == []
                page.get_by_role("link", name="Sign in with 127.0.0.1").click()
                expect(page).to_have_url(f"{site.url}/experiments")
                expect(page.get_by_text("ann@example.org")).to_be_visible()
                assert issuer.redeemed[0]["client_secret"] == "between us"
                page.get_by_role("button", name="Sign out").click()
                expect(page.get_by_text("You are signed out.")).to_be_visible()
                page.goto(f"{site.url}/experiments")
                expect(page.get_by_role("link", name="Sign in with 127.0.0.1")).to_be_visible()
