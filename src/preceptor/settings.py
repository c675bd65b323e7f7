"""Settings: read once from the environment (`PRECEPTOR_…`), `.env` and `preceptor.toml`, then passed down, frozen."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, SecretStr, model_validator
from pydantic_settings import NoDecode

from preceptor.domain.delegation import Limits
from preceptor.domain.messages.directive import LARGEST_PROMPT, LONGEST_PROMPT
from preceptor.domain.reasoning.policy import GuardPolicy, GuardProvider, Injection, SgrPolicy, Switch
from preceptor.domain.reasoning.verdict import Mode, OnError
from preceptor.domain.reasoning.wording import OURS, PlanTexts
from preceptor.kept_secrets import Kept, Secrets, sendable
from preceptor.readable import HostNames, Listed, Readable, WholePath, parsed, switched

LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")


class Auth(StrEnum):
    KEYS = "keys"
    OIDC = "oidc"
    OFF = "off"


def _usual_place() -> Path:
    from platformdirs import user_data_path

    return user_data_path("preceptor", appauthor=False)


class Settings(Readable):
    """Each field is the environment variable `PRECEPTOR_` + its name in capitals."""

    host: str = Field(
        default="127.0.0.1",
        description="Address to listen on. Anything but loopback is refused while authentication is off.",
    )
    port: int = Field(default=3003, ge=0, le=65535, description="Port to listen on; 0 picks a free one.")
    data_dir: WholePath = Field(
        default_factory=_usual_place,
        description="Folder of the SQLite file, local models and first-run secrets.",
    )
    database_url: SecretStr | None = Field(
        default=None,
        description="sqlite:///path or postgresql://user:password@host/database. Default: SQLite in the data folder.",
    )
    admin_key: SecretStr | None = Field(
        default=None, description="Admin API key of the organisation `default`. Default: generated, printed once."
    )
    secret_key: SecretStr | None = Field(
        default=None,
        description="Encrypts secrets and signs sessions; replicas must share it. Default: made in the data folder.",
    )
    auth: Auth = Field(
        default=Auth.KEYS,
        description="keys, oidc, or off (loopback only: every request is the admin of `default`).",
    )
    oidc_issuer: str | None = Field(default=None, description="Issuer of bearer tokens, with auth=oidc.")
    oidc_audience: str | None = Field(default=None, description="Audience that tokens must name, with auth=oidc.")
    oidc_client_id: str | None = Field(
        default=None, description="How the issuer knows us when people sign in. Default: PRECEPTOR_OIDC_AUDIENCE."
    )
    oidc_client_secret: SecretStr | None = Field(
        default=None, description="Our secret at the issuer, if it gave us one; without it PKCE alone proves us."
    )
    oidc_scope: str = Field(default="openid", description="What people are asked to let us know when they sign in.")
    model: str | None = Field(
        default=None,
        description="local, openai:NAME, anthropic:NAME, openai-compatible:NAME or scripted:FILE; agents may name "
        "their own. Default: the first model of PRECEPTOR_MODEL_URL, else one of OpenAI or of Anthropic if their key "
        "is set, else local.",
    )
    model_url: str | None = Field(
        default=None,
        description="Where an OpenAI-compatible server's API begins, such as http://127.0.0.1:8080/v1.",
    )
    model_api_key: SecretStr | None = Field(default=None, description="Key for the server of PRECEPTOR_MODEL_URL.")
    model_capabilities: WholePath | None = Field(
        default=None,
        description="TOML or JSON file that corrects what is known of models, by their names: context_window, tools, "
        "plans, input_price and so on.",
    )
    summary_model: str | None = Field(default=None, description="Model for summaries. Default: the agent's.")
    plan_model: str | None = Field(default=None, description="Model for plans. Default: the agent's.")
    egress_allow: Listed = Field(
        default=(),
        description="Hosts that outgoing calls may reach besides the configured ones, separated by commas: host, "
        "host:port or https://host.",
    )
    tools: Listed = Field(default=(), description="Python tools to register, as module:attribute, separated by commas.")
    mcp_servers: WholePath | None = Field(
        default=None, description="TOML or JSON file of MCP servers whose tools agents may use once approved."
    )
    guard_enabled: bool = Field(default=True, description="Let a guardian judge what users write.")
    guard_mode: Mode = Field(default=Mode.ENFORCE, description="enforce (block what is Unsafe) or report.")
    guard_provider_type: GuardProvider = Field(
        default=GuardProvider.RULES,
        description="rules (ours: keyword rules, not a model), vllm (Qwen3Guard behind an OpenAI-compatible server), "
        "mosec, or off.",
    )
    guard_mosec_url: str | None = Field(
        default=None, description="Address of a MOSEC guard, whole or without port and path."
    )
    guard_mosec_port: int | None = Field(default=None, ge=1, le=65535, description="Its port, if the address has none.")
    guard_mosec_path: str = Field(default="", description="Its path, if the address has none.")
    guard_vllm_url: str | None = Field(default=None, description="Address of a vLLM server, such as http://guard:8000.")
    guard_vllm_model: str | None = Field(default=None, description="Its model, such as Qwen/Qwen3Guard-Gen-4B.")
    guard_timeout: float = Field(default=5, gt=0, le=60, description="Seconds for one try; all tries have 8 together.")
    guard_max_retries: int = Field(default=1, ge=0, le=10, description="Further tries after a transport error or 5xx.")
    guard_on_error: OnError = Field(
        default=OnError.BLOCK, description="In enforce, without a verdict: block (the turn fails, 503) or continue."
    )
    guard_answers: bool = Field(default=False, description="Judge answers too, before anyone sees them.")
    guard_tool_results: bool = Field(default=False, description="Judge what tools return.")
    guard_delegation_prompts: bool = Field(default=False, description="Judge the prompts of specialists.")
    guard_images: bool = Field(default=False, description="In enforce, let pictures through, marked as unchecked.")
    guard_history_turns: int = Field(default=0, ge=0, le=20, description="Earlier turns judged with a message.")
    sgr_enabled: Annotated[Switch, BeforeValidator(switched)] = Field(
        default=Switch.AUTO, description="Plan before answering: auto (models that can), true or false."
    )
    sgr_injection: Injection = Field(
        default=Injection.CLEAN,
        description="How a model is shown its plan: clean, formatted_tool_result or raw_tool_result.",
    )
    sgr_templates: Annotated[PlanTexts, NoDecode, BeforeValidator(parsed)] = Field(
        default=OURS, description="What is said of plans in your own words, per action."
    )
    runner: Literal["inline", "dbos"] = Field(
        default="inline",
        description="What carries out background turns, executions and replays: inline (the process that accepts "
        "them) or dbos (queues; on PostgreSQL any `preceptor worker`, on SQLite the server itself).",
    )
    worker_concurrency: int = Field(
        default=16, ge=1, le=10_000, description="With dbos: most turns, executions and replays, each, in one worker."
    )
    worker_port: int | None = Field(
        default=None,
        ge=0,
        le=65535,
        description="Port on which a worker says how it is: /healthz, /readyz and /metrics; 0 picks a free one. "
        "Default: none.",
    )
    org_concurrency: int = Field(
        default=64, ge=1, le=100_000, description="With dbos: the same for one organisation, in all workers together."
    )
    org_starts_per_minute: int | None = Field(
        default=None,
        ge=1,
        description="With dbos: most of each that one organisation begins in a minute. Default: any.",
    )
    max_turns_at_once: int = Field(
        default=256,
        ge=1,
        le=100_000,
        description="Most turns that one process takes at once; more are refused (429). No organisation may have more "
        "than four times what is free, so that others find room.",
    )
    max_iterations: int = Field(default=50, ge=1, le=1000, description="Most model calls in one turn.")
    max_delegation_depth: int = Field(default=3, ge=0, le=5, description="How deep specialists may delegate.")
    max_specialist_prompt: int = Field(
        default=LONGEST_PROMPT, ge=1, le=LARGEST_PROMPT, description="Most characters of a specialist's prompt."
    )
    turn_budget_tokens: int | None = Field(default=None, ge=1, description="Most tokens that one turn may use.")
    turn_budget_seconds: float = Field(default=600, gt=0, description="Longest that one turn may take, in seconds.")
    turn_budget_cost: float | None = Field(
        default=None, gt=0, description="Most that one turn may cost, in the currency of the models' prices."
    )
    allowed_hosts: HostNames = Field(
        default=LOOPBACK, description="Host headers we answer to, separated by commas; * for any."
    )
    require_if_match: bool = Field(default=False, description="Refuse changes that come without If-Match (428).")
    max_body_bytes: int = Field(default=1_000_000, ge=1024, description="Largest request body we read.")
    max_attachment_bytes: int = Field(default=10_000_000, ge=1024, description="Largest file we take.")
    retention_days: int | None = Field(
        default=None,
        ge=1,
        le=36_500,
        description="Erase what was said in conversations in which nothing happened for so many days. Default: never.",
    )
    rate_limit_per_key: float = Field(
        default=50, gt=0, description="Requests a second per key; bursts of four times that."
    )
    rate_limit_per_org: float = Field(
        default=200, gt=0, description="Requests a second per organisation; bursts of four times that."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least severe log line shown."
    )
    log_format: Literal["console", "json"] = Field(default="console", description="How log lines look.")
    access_log: bool = Field(default=True, description="Log a line for each request.")
    otel_endpoint: str | None = Field(
        default=None,
        description="OTLP/HTTP address for traces, such as http://127.0.0.1:4318/v1/traces. Off when unset.",
    )
    webhook_attempts: int = Field(
        default=9,
        ge=1,
        le=20,
        description="How often a message to a webhook is tried before the webhook is switched off.",
    )
    webhook_retry_seconds: float = Field(
        default=5,
        gt=0,
        le=3600,
        description="Pause before the second attempt; each later one is four times longer, and six hours at most.",
    )
    otel_headers: SecretStr | None = Field(
        default=None,
        description="Headers for that address as name=value, separated by commas, such as a key of the collector.",
    )
    otel_service_name: str = Field(default="preceptor", min_length=1, description="Name of this service in traces.")
    otel_content: bool = Field(
        default=False, description="Put what people and models said into traces. Off: spans carry numbers and names."
    )
    language: Literal["en", "ru", "vi"] = Field(default="en", description="Language of texts for users: en, ru or vi.")
    product_name: str = Field(default="Preceptor", min_length=1, max_length=80, description="Name shown to users.")

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.auth is Auth.OFF and self.host not in LOOPBACK:
            raise ValueError(
                "PRECEPTOR_AUTH=off is for loopback only: set PRECEPTOR_HOST=127.0.0.1, or PRECEPTOR_AUTH=keys"
            )
        if self.auth is Auth.OIDC and not (self.oidc_issuer and self.oidc_audience):
            raise ValueError("PRECEPTOR_AUTH=oidc needs PRECEPTOR_OIDC_ISSUER and PRECEPTOR_OIDC_AUDIENCE")
        if self.guard_provider_type is GuardProvider.VLLM and not (self.guard_vllm_url and self.guard_vllm_model):
            raise ValueError("PRECEPTOR_GUARD_PROVIDER_TYPE=vllm needs PRECEPTOR_GUARD_VLLM_URL and _VLLM_MODEL")
        if self.guard_provider_type is GuardProvider.MOSEC and not self.guard_mosec_url:
            raise ValueError("PRECEPTOR_GUARD_PROVIDER_TYPE=mosec needs PRECEPTOR_GUARD_MOSEC_URL")
        return self

    @property
    def database(self) -> str:
        """The database's URL."""
        if self.database_url is not None:
            return self.database_url.get_secret_value()
        return f"sqlite:///{self.data_dir / 'preceptor.db'}"

    @property
    def limits(self) -> Limits:
        """What one turn may take."""
        return Limits(
            iterations=self.max_iterations,
            depth=self.max_delegation_depth,
            prompt=self.max_specialist_prompt,
            seconds=self.turn_budget_seconds,
            tokens=self.turn_budget_tokens,
            cost=self.turn_budget_cost,
        )

    @property
    def guard(self) -> GuardPolicy:
        """How turns are guarded, unless an agent has its own way."""
        return GuardPolicy(
            enabled=self.guard_enabled and self.guard_provider_type is not GuardProvider.OFF,
            mode=self.guard_mode,
            on_error=self.guard_on_error,
            answers=self.guard_answers,
            tool_results=self.guard_tool_results,
            delegation_prompts=self.guard_delegation_prompts,
            images=self.guard_images,
            history_turns=self.guard_history_turns,
        )

    @property
    def sgr(self) -> SgrPolicy:
        """How turns are planned, unless an agent has its own way."""
        return SgrPolicy(enabled=self.sgr_enabled, injection=self.sgr_injection, templates=self.sgr_templates)

    def secrets(self) -> Secrets:
        """The installation's secrets, as a server has them: what is not there yet is made now, in the data folder."""
        return Secrets(
            admin_key=sendable(self.kept_admin_key.found_or_made()),
            secret_key=self.kept_secret_key.found_or_made(),
        )

    @property
    def kept_admin_key(self) -> Kept:
        return Kept(self.admin_key, self.data_dir / "admin.key")

    @property
    def kept_secret_key(self) -> Kept:
        return Kept(self.secret_key, self.data_dir / "secret.key")
