"""From a template and what it shows to an answer. The one place that knows Jinja2."""

import shlex
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from preceptor import __version__
from preceptor.domain.ownership import Caller, Permission
from preceptor.domain.paging import Page
from preceptor.domain.phrases import LANGUAGES
from preceptor.surfaces.web import assets
from preceptor.surfaces.web.languages import NAMES, SPEAKERS, Speaker
from preceptor.surfaces.web.markdown import markdown, plain
from preceptor.surfaces.web.navigation import entries_for
from preceptor.surfaces.web.remembering import fact, recalled, said
from preceptor.surfaces.web.sentences import advised, coded, failure
from preceptor.surfaces.web.views.measures import measure, quoted, verdict
from preceptor.surfaces.web.views.wording import MODES, RULES

TEMPLATES = Path(__file__).parent / "templates"
LANGUAGE, THEME = "preceptor_language", "preceptor_theme"
THEMES = ("system", "light", "dark")
TINY = 1e-7
PART = "x-part"
PARTS = {
    "agent.html": "effect",
    "agent_effective.html": "told",
    "context.html": "context",
    "experiment.html": "results",
    "experiment_new.html": "needed",
    "instruction_edit.html": "told",
    "instruction_test.html": "trial",
    "template_use.html": "told",
}
"""The part of each page that a script may ask for alone."""
"""The header by which a script asks for one part of a page."""


class Look(msgspec.Struct, frozen=True):
    """Who looks at a page, and how they like it."""

    caller: Caller | None
    language: str
    theme: str
    product: str

    @property
    def speaker(self) -> Speaker:
        return SPEAKERS[self.language]

    def may(self, permission: str) -> bool:
        return self.caller is not None and self.caller.may(Permission(permission))


class Call(msgspec.Struct, frozen=True):
    """The one API call that has the data of a page."""

    path: str
    method: str = "GET"
    body: Any = None

    def as_curl(self, base: str) -> str:
        words = ["curl", "-H", '"Authorization: Bearer $PRECEPTOR_KEY"']
        if self.method != "GET":
            words += ["-X", self.method]
        if self.body is not None:
            words += [
                "-H",
                '"Content-Type: application/json"',
                "-d",
                shlex.quote(msgspec.json.encode(self.body).decode()),
            ]
        return " ".join([*words, shlex.quote(base + self.path)])


def with_query(path: str, query: Mapping[str, str]) -> str:
    """An address, with what is asked of it."""
    return f"{path}?{urlencode(query)}" if query else path


def further(found: Page[Any], chosen: Mapping[str, str]) -> str | None:
    """What is asked of a list for the page after this one; None where this is the last."""
    return urlencode({**chosen, "cursor": found.next_cursor}) if found.next_cursor else None


def look_of(request: Request, caller: Caller | None) -> Look:
    settings = request.app.state.gate.preceptor.settings
    language, theme = request.cookies.get(LANGUAGE), request.cookies.get(THEME)
    return Look(
        caller,
        language if language in LANGUAGES else settings.language,
        theme if theme in THEMES else "system",
        settings.product_name,
    )


def look(request: Request) -> Look:
    """The look of this request; without one, of someone we do not know."""
    found: Look | None = getattr(request.state, "look", None)
    return found or look_of(request, None)


def page(
    request: Request, template: str, *, status: int = 200, here: str = "", call: Call | None = None, **shown: Any
) -> HTMLResponse:
    """A whole page; `here` names its entry in the navigation. Or the part of it that a script asked for."""
    part = request.headers.get(PART)
    name = f"parts/{part}.html" if part is not None and part == PARTS.get(template) else template
    looking = look(request)
    curl = call.as_curl(str(request.base_url).rstrip("/")) if call else None
    text = render(looking, name, request=request, here=here, curl=curl, call=call, **shown)
    return HTMLResponse(text, status)


def render(looking: Look, name: str, **shown: Any) -> str:
    """A template as text, for whoever looks."""
    entries = entries_for(looking.caller) if looking.caller else ()
    return environment(looking.language).get_template(name).render(look=looking, entries=entries, **shown)


@cache
def environment(language: str) -> Environment:
    made: Any = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n", "jinja2.ext.do"],
    )
    speaker = SPEAKERS[language]
    made.install_gettext_callables(speaker.say, speaker.form_of, newstyle=True)
    made.globals |= {"asset": assets.address, "version": __version__, "language_names": NAMES, "speaker": speaker}
    made.globals |= {"rule_modes": MODES, "rule_names": RULES}
    made.filters |= {
        "markdown": _markdown,
        "plain": plain,
        "number": speaker.number,
        "fixed": speaker.fixed,
        "fractions": speaker.fractions,
        "moment": _moment,
        "json": _json,
        "brief": _briefly(speaker),
        "words": speaker.say,
        "failure": partial(failure, speaker),
        "coded": partial(coded, speaker),
        "advised": partial(advised, speaker),
        "said": partial(said, speaker),
        "recalled": partial(recalled, speaker),
        "measure": partial(measure, speaker),
        "measure_quoted": partial(quoted, speaker),
        "verdict": partial(verdict, speaker),
        "fact": partial(fact, speaker),
    }
    return made


def _markdown(text: str) -> Markup:
    return Markup(markdown(text))  # noqa: S704 - our renderer lets no markup of the text through


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def _briefly(speaker: Speaker) -> Callable[..., str]:
    def brief(value: float, signed: bool = False) -> str:
        """With three digits that mean something, and a real minus."""
        told = f"{value:.3g}"
        told = format(Decimal(told), "f") if TINY <= abs(value) < 1000 else told
        told = speaker.fraction(told) if abs(value) < 1000 else speaker.number(round(value))
        return ("+" if signed and value > 0 else "") + told.replace("-", "\u2212")

    return brief


def _json(value: Any) -> str:
    """Indented, for people; still escaped by the template."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
