"""Every kind of failure: its code, its status, what it says and what to do."""

import importlib
import pkgutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import preceptor
from preceptor.domain.errors import Invalid, PreceptorError
from preceptor.surfaces.problems import face_of
from tools.reference.markdown import page, table

INTRODUCTION = """# Errors

Every failure has one HTTP status and one stable `code`, and says a plain sentence and what to do about it. Over HTTP
it is a problem document (RFC 9457), under `/v1` in OpenAI's shape as well:

```json
{
  "type": "about:blank", "title": "Not found", "status": 404, "code": "not_found",
  "detail": "There is no agent 'x' here. Check the id, or list what there is.", "requestId": "…"
}
```

Rely on `code`; `detail` is for people and may be worded better tomorrow. Words in angle brackets stand for what was
found. A command prints the sentence to standard error and ends with the exit code below. A blocked turn and one that
asks back are outcomes, not errors: they answer 200."""
REMEDIES = {
    "cannot_start": "Correct the setting that the sentence names.",
    "compression_failed": "Try again, send no strategy, or set `onFailure` to `trim`.",
    "conflict": "Read the object again and do as the sentence says.",
    "insufficient_history": "Wait for more turns, or send no strategy.",
    "internal": "Look for the `requestId` in the server's log, and report it.",
    "invalid": "Correct what the sentence names; `errors[]` points to it.",
    "invalid_token_limit": "Raise `maxTokens`, or shorten the instructions.",
    "malformed_json": "Send one well-formed JSON value.",
    "mcp_not_installed": "Install the extra and start the server again.",
    "oidc_misconfigured": "Correct PRECEPTOR_OIDC_ISSUER and PRECEPTOR_OIDC_AUDIENCE.",
    "unsupported_media_type": "Set the header as it says, and send the body again.",
    "upstream_failed": "Try again later; `preceptor models test` says whether the model answers.",
    "upstream_timeout": "Try again, or give the turn more time (PRECEPTOR_TURN_BUDGET_SECONDS).",
}

OURS = {"AwaitedOutside", "CompressionError", "Declined", "Upstream", "WithoutPermission"}
"""Kinds that are never met: they hold others together, or tell whoever changes the code that it is wrong."""
SENTENCES = {
    "PreceptorError": "Something failed that nobody foresaw.",
    "ModelFailure": "A model call ended without a whole answer: the model or its provider failed.",
    "ModelTimeout": "The model gave no whole answer in time.",
    "OidcMisconfigured": "The issuer of tokens cannot be used as it is set up; the sentence says why.",
    "ShuttingDown": "The server is stopping. Nothing was lost; try again in <retry after> s.",
    "Torn": "The database went away while a turn was running. Nothing was lost; try again in <retry after> s.",
    "SummaryFailed": "The model could not <strategy> the messages: <cause>. "
    "Nothing was changed; try again, or send the `text` yourself.",
}
"""Where every case is worded where it is raised: what the cases have in common."""


@dataclass(frozen=True, slots=True)
class Failure:
    code: str
    status: int
    exit_code: int
    name: str
    sentence: str
    remedy: str


def failures_page() -> str:
    by_status: dict[int, list[Failure]] = {}
    for one in failures():
        by_status.setdefault(one.status, []).append(one)
    parts = [f"## {status}\n\n{_table(told)}" for status, told in sorted(by_status.items())]
    return page(INTRODUCTION, *parts)


def failures() -> list[Failure]:
    """All of them, once each, by status and code."""
    found = {(one.code, one.sentence): one for one in map(_failure, _kinds())}
    return sorted(found.values(), key=lambda one: (one.status, one.code, one.sentence))


def _table(told: list[Failure]) -> str:
    rows = [(f"`{one.code}`", one.sentence, one.remedy, one.exit_code) for one in told]
    return table(("code", "says", "what to do", "exit"), rows)


def _kinds() -> Iterator[type[PreceptorError]]:
    for module in pkgutil.walk_packages(preceptor.__path__, "preceptor."):
        if ".migrations" not in module.name:
            importlib.import_module(module.name)
    waiting: list[type[PreceptorError]] = [PreceptorError]
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if kind.__module__.startswith("preceptor.") and kind.__name__ not in OURS:
            yield kind


def _failure(kind: type[PreceptorError]) -> Failure:
    error = _example(kind)
    sentence, _, remedy = _said(kind, error).partition(". ")
    face = face_of(error)
    remedy = remedy or REMEDIES.get(kind.code, "")
    return Failure(kind.code, face.http, face.exit_code, kind.__name__, sentence.rstrip(".") + ".", remedy)


def _said(kind: type[PreceptorError], error: PreceptorError) -> str:
    """What it says; where each case has a sentence of its own, what the cases have in common."""
    said = SENTENCES.get(kind.__name__) or str(error)
    if said in {kind.code, "<sentence>", "<detail>", Invalid().sentence} and kind is not Invalid:
        told = (kind.__doc__ or "").partition("\n")[0]
        return told if told and "(" not in told else f"{face_of(error).title}; the sentence says what and why"
    return said


def _example(kind: type[PreceptorError]) -> PreceptorError:
    """One whose facts are shown by their names. Facts that must be numbers stay numbers; of several, one is named."""
    plain: dict[str, Any] = {name: 1 for name in kind.facts if not hasattr(kind, name)}
    for name in kind.facts:
        shown: Any = f"<{name.replace('_', ' ')}>"
        usual = getattr(kind, name, "")
        if usual not in ("", 0, ()) or name == "fault":
            continue
        told = plain | {name: (shown, "…") if usual == () else shown}
        with suppress(Exception):
            str(kind(**told))
            plain = told
    return kind(**plain)
