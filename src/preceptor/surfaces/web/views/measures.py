"""Measures of an experiment in words: for those who do not know them by the names that the API has for them."""

from preceptor.domain.experiments.phrases import PHRASES
from preceptor.domain.experiments.results import Verdict
from preceptor.surfaces.web.languages import Speaker, msg

MEASURED = {
    "rating": msg("rating by people, 1 to 5"),
    "resolution": msg("share of conversations that people call solved"),
    "success": msg("share of turns with an answer"),
    "rulePasses": msg("share of checked answers that keep the rules"),
    "planConsistency": msg("how far answers keep to their plans, 0 to 1"),
    "clarifyRate": msg("share of turns that ask back"),
    "blockRate": msg("share of turns that are declined"),
    "failureRate": msg("share of turns that fail"),
    "tokens": msg("tokens of a turn"),
    "cost": msg("cost of a turn"),
    "latency": msg("milliseconds of a turn"),
}
QUOTED = msg("“%(words)s”")


def measure(speaker: Speaker, name: str) -> str:
    """What people of an organisation named themselves is called by that name."""
    return speaker.say(MEASURED[name]) if name in MEASURED else name


def quoted(speaker: Speaker, name: str) -> str:
    """A measure within a sentence."""
    return speaker.say(QUOTED, words=measure(speaker, name))


def verdict(speaker: Speaker, reached: Verdict) -> str:
    """What an experiment came to. Its sentence, which is in the language of the page, has names of the API in it."""
    if reached.metric is None:
        return reached.sentence
    return PHRASES.say(speaker.language, reached.code, metric=quoted(speaker, reached.metric))
