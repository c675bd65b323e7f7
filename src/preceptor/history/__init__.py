"""History on its own, without a store or a server: fit a list of messages into limits, summarise what is old, convert.

Messages are OpenAI's dictionaries or our own `Message`; what is kept is handed back as it was given.

    shorter = fit(messages, RequestParameters(max_tokens=8000), count).messages

When something cannot be done, it says so: `InvalidTokenLimit` (raise `max_tokens`, or shorten the system prompt),
`TokenBudgetExceeded` (raise `max_tokens`, or shorten the message), `InsufficientHistory` (wait for more turns, or ask
for no compression), `InvalidHistorySize` (at least 1), `CompressionFailed` (try again, or `on_failure="trim"`). Nothing
is lost by any of them: the messages you gave are never changed.
"""

from preceptor.domain.history.entry import Entry
from preceptor.domain.history.errors import (
    CompressionError,
    CompressionFailed,
    InsufficientHistory,
    InvalidHistorySize,
    InvalidTokenLimit,
    TokenBudgetExceeded,
)
from preceptor.domain.history.limits import (
    CompressWhen,
    Limits,
    OnFailure,
    OnInsufficient,
    validate_history_size,
    validate_token_limit,
)
from preceptor.domain.history.outline import Outline, Span, outline
from preceptor.domain.history.strategy import (
    Choice,
    Chunked,
    Concept,
    FactsTLDR,
    FromLastNMessages,
    FromTimestamp,
    Strategy,
    WholeHistory,
    WholeHistoryMultipleSystemMessages,
    WindowTLDR,
)
from preceptor.domain.history.summary import SummaryRequest
from preceptor.domain.history.view import LeftOut
from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.history.fitting import Fitted, compress, fit, fit_async, validate_compression
from preceptor.history.processor import history_processor
from preceptor.wire.anthropic_messages import AnthropicChat, from_anthropic, to_anthropic
from preceptor.wire.carried import Origin
from preceptor.wire.openai_messages import from_openai, to_openai

__all__ = [
    "AnthropicChat",
    "Choice",
    "Chunked",
    "CompressWhen",
    "CompressionError",
    "CompressionFailed",
    "Concept",
    "Entry",
    "FactsTLDR",
    "Fitted",
    "FromLastNMessages",
    "FromTimestamp",
    "InsufficientHistory",
    "InvalidHistorySize",
    "InvalidTokenLimit",
    "LeftOut",
    "Limits",
    "OnFailure",
    "OnInsufficient",
    "Origin",
    "Outline",
    "RequestParameters",
    "Span",
    "Strategy",
    "SummaryRequest",
    "TokenBudgetExceeded",
    "WholeHistory",
    "WholeHistoryMultipleSystemMessages",
    "WindowTLDR",
    "compress",
    "fit",
    "fit_async",
    "from_anthropic",
    "from_openai",
    "history_processor",
    "outline",
    "to_anthropic",
    "to_openai",
    "validate_compression",
    "validate_history_size",
    "validate_token_limit",
]
