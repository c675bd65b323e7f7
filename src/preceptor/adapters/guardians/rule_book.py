"""What a rule of the embedded guardian is: what is asked for, and about what, in one sentence.

They catch plain requests for serious harm, and let talk about it pass: news, help, prevention, figures of speech.
The categories are those that guard models use.
"""

import re
from dataclasses import dataclass, field
from enum import StrEnum

from preceptor.domain.reasoning.verdict import Level

VIOLENT, ILLEGAL, SEXUAL = "Violent", "Non-violent Illegal Acts", "Sexual Content or Sexual Acts"
SELF_HARM, UNETHICAL, JAILBREAK, PII = "Suicide & Self-Harm", "Unethical Acts", "Jailbreak", "PII"


class Script(StrEnum):
    """Which reading of a text a rule is tried on."""

    LATIN = "latin"
    CYRILLIC = "cyrillic"
    ACCENTED = "plain"


@dataclass(frozen=True)
class Rule:
    """`thing` within a sentence after `act`. Without an act the thing alone is enough; an excuse near it saves."""

    name: str
    stems: str
    """Words or parts of words: without one of them no `thing` can be there, which is quick to see."""
    category: str
    level: Level
    script: Script
    thing: str
    act: str = ""
    excuse: str = ""
    needed: tuple[str, ...] = field(init=False, compare=False, repr=False)
    things: re.Pattern[str] = field(init=False, compare=False, repr=False)
    acts: re.Pattern[str] | None = field(init=False, compare=False, repr=False)
    excuses: re.Pattern[str] | None = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        article = "[ai]?" if self.script is Script.LATIN else ""
        object.__setattr__(self, "needed", tuple(self.stems.split()))
        object.__setattr__(self, "things", re.compile(rf"(?<!\w){article}(?:{self.thing})(?!\w)"))
        object.__setattr__(self, "acts", re.compile(rf"(?<!\w)(?:{self.act})(?!\w)") if self.act else None)
        object.__setattr__(self, "excuses", re.compile(rf"(?<!\w)(?:{self.excuse})") if self.excuse else None)


PRETEXT = re.compile(
    r"(?<!\w)(?:novel|movie|film|game|story|fiction|roleplay|history|legal|law|роман\w*|фильм\w*|игр[аеуы]\w*|"
    r"рассказ\w*|истори\w+|"
    r"закон\w*|phim|truyện|trò chơi|tiểu thuyết|lịch sử|pháp luật)(?!\w)"
)
"""What may be a harmless reason, and is a common excuse: it makes a case doubtful, not safe."""
