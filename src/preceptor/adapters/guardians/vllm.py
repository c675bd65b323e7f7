"""Qwen3Guard, or a model that answers like it, behind an OpenAI-compatible server such as vLLM."""

from functools import partial
from urllib.parse import urlsplit

from preceptor.adapters.egress import Egress
from preceptor.adapters.guardians.remote import Patience, RemoteGuardian
from preceptor.wire import qwen3guard


def vllm_guardian(url: str, model: str, egress: Egress, patience: Patience) -> RemoteGuardian:
    return RemoteGuardian(
        f"vllm:{model}",
        vllm_address(url),
        egress,
        partial(qwen3guard.request, model),
        qwen3guard.read_completion,
        patience,
    )


def vllm_address(url: str) -> str:
    """Where the chat completions are, given a server, its `/v1`, or the whole address."""
    path = urlsplit(url).path.rstrip("/")
    whole = url.rstrip("/")
    if path.endswith("/chat/completions"):
        return whole
    return f"{whole}/chat/completions" if path else f"{whole}/v1/chat/completions"
