"""What to remark on when an instruction is saved: unusual words, and what looks like a secret."""

import re
from collections.abc import Iterator
from typing import Any, cast

from preceptor.domain.errors import recorded
from preceptor.domain.instructions.instruction import Authored, InstructionType, Remark, authored, unusual_words
from preceptor.domain.instructions.template import require_declared

_SECRET = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----"
    r"|\bsk-[A-Za-z0-9_-]{20}"
    r"|\b(?:gh[pousr]_[A-Za-z0-9]{30}|github_pat_[A-Za-z0-9_]{30}|glpat-[A-Za-z0-9_-]{20})"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\bxox[abeprs]-[A-Za-z0-9-]{10}"
    r"|\bAIza[0-9A-Za-z_-]{35}"
    r"|\bpcp_[a-z0-9]{12}_[A-Za-z0-9_-]{43}"
    r"|\beyJ[A-Za-z0-9_-]{8,2000}\.eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8}"
    r"|://[^\s/:@]{1,100}:[^\s/@{]{1,200}@"
)
_SAID = re.compile(
    r"\b(?:password|passwd|passphrase|secret|api[ _-]?key|access[ _-]?token|mật khẩu|пароль)"
    r"\s{0,3}(?:[:=]|\bis\b|là)\s{0,3}[:=]?\s{0,3}[\"'`]?(?=[^\s\"'`{]{0,40}[0-9])[^\s\"'`{]{8}",
    re.IGNORECASE,
)


def remarks_on(instruction: Authored) -> tuple[Remark, ...]:
    words = (
        Remark(code="unusual_word", sentence=str(unusual), path="/" + unusual.field.replace(".", "/"))
        for unusual in unusual_words(instruction)
    )
    return (*words, *_secrets(instruction))


def require_sound(instruction: Authored) -> None:
    """Refuse a template whose placeholders are not declared. Rules are kept as they are written, so they have none."""
    if instruction.type is not InstructionType.TEMPLATE:
        return
    require_declared(instruction.content, instruction.variables)
    if instruction.validation_rules is not None:
        require_declared(instruction.validation_rules, ())


def looks_like_a_secret(text: str) -> bool:
    return _SECRET.search(text) is not None or _SAID.search(text) is not None


def _secrets(instruction: Authored) -> Iterator[Remark]:
    """Say where, never what."""
    for path, text in _texts(authored(instruction).model_dump(mode="json"), ""):
        if looks_like_a_secret(text):
            sentence = recorded(
                "This looks like a password or key. Prompts are shown to models and people: take it out."
            )
            yield Remark(code="secret", sentence=sentence, path=path)


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    match value:
        case str():
            yield path, value
        case list():
            for place, item in enumerate(cast("list[Any]", value)):
                yield from _texts(item, f"{path}/{place}")
        case dict():
            for name, item in cast("dict[str, Any]", value).items():
                yield from _texts(item, f"{path}/{name}")
        case _:
            return
