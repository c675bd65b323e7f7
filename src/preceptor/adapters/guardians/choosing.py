"""Which guardian an installation has. Only that one is loaded."""

from typing import TYPE_CHECKING

from preceptor.domain.errors import CannotStart
from preceptor.domain.reasoning.policy import GuardProvider
from preceptor.engine.ports import Guardian
from preceptor.settings import Settings

if TYPE_CHECKING:
    from preceptor.adapters.egress import Egress


def guardian_of(settings: Settings) -> Guardian | None:
    """The guardian of the settings, if there is to be one."""
    match settings.guard_provider_type:
        case _ if not settings.guard_enabled:
            return None
        case GuardProvider.OFF:
            return None
        case GuardProvider.RULES:
            from preceptor.adapters.guardians.rules import RulesGuardian

            return RulesGuardian()
        case GuardProvider.VLLM | GuardProvider.MOSEC:
            return _remote(settings)


def _remote(settings: Settings) -> Guardian:
    from preceptor.adapters.guardians.mosec import mosec_address, mosec_guardian
    from preceptor.adapters.guardians.remote import Patience
    from preceptor.adapters.guardians.vllm import vllm_guardian

    patience = Patience(settings.guard_timeout, settings.guard_max_retries)
    if settings.guard_provider_type is GuardProvider.VLLM:
        url, model = settings.guard_vllm_url or "", settings.guard_vllm_model or ""
        return vllm_guardian(url, model, _way_to(url, "VLLM"), patience)
    given = settings.guard_mosec_url or ""
    _way_to(given, "MOSEC")  # what cannot be read cannot be taken apart
    url = mosec_address(given, settings.guard_mosec_port, settings.guard_mosec_path)
    return mosec_guardian(url, _way_to(url, "MOSEC"), patience)


def _way_to(url: str, provider: str) -> "Egress":
    """A client for the operator's own address, and for no other."""
    from preceptor.adapters.egress import Egress, NotAllowedOut, door_to

    try:
        return Egress((door_to(url, private=True),))
    except NotAllowedOut as error:
        raise CannotStart(f"PRECEPTOR_GUARD_{provider}_URL is not usable: {error}") from None
