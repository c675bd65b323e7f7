"""What can be wrong with what was asked of history, and how to recover.

CompressionError
├── InvalidTokenLimit       the system prompt alone is larger: raise maxTokens, or shorten the instructions
├── TokenBudgetExceeded     what must be shown is larger: raise maxTokens, or shorten the message
├── InsufficientHistory     too little to summarise: wait for more turns, or send no strategy
│   └── InvalidHistorySize  maxHistorySize below 1: send 1 or more, or leave it out
└── CompressionFailed       the summariser failed: try again, or set onFailure to trim; nothing was lost
"""

from dataclasses import field
from typing import Any, ClassVar

from preceptor.domain.errors import Invalid, PreceptorError, Upstream


class CompressionError(PreceptorError):
    """Base of the five. There are no others."""


class InvalidTokenLimit(CompressionError, Invalid):
    code: ClassVar[str] = "invalid_token_limit"
    sentence: str = field(init=False, default="", repr=False)
    system_prompt_tokens: int
    max_tokens: int

    def __str__(self) -> str:
        return f"maxTokens ({self.max_tokens}) must be >= system prompt tokens ({self.system_prompt_tokens})"


class TokenBudgetExceeded(CompressionError, Invalid):
    code: ClassVar[str] = "token_budget_exceeded"
    sentence: str = field(init=False, default="", repr=False)
    required: int
    max_tokens: int

    def __str__(self) -> str:
        return (
            f"What must be shown needs {self.required} tokens, more than maxTokens ({self.max_tokens}). "
            "Raise maxTokens, or send a shorter message."
        )


class InsufficientHistory(CompressionError, Invalid):
    code: ClassVar[str] = "insufficient_history"
    sentence: str = field(init=False, default="", repr=False)
    message_count: int
    minimum: int

    def __str__(self) -> str:
        return f"Insufficient history: {self.message_count} messages (minimum {self.minimum} required)"


class InvalidHistorySize(InsufficientHistory):
    code: ClassVar[str] = "invalid_history_size"
    message_count: int = 0
    minimum: int = 1
    max_history_size: int = 0

    def __str__(self) -> str:
        return f"maxHistorySize ({self.max_history_size}) must be at least {self.minimum}. Leave it out for no limit."


class CompressionFailed(CompressionError, Upstream):
    code: ClassVar[str] = "compression_failed"
    strategy: str
    cause: Any
    """Whatever the summariser raised."""

    def __str__(self) -> str:
        return f"Compression failed with strategy {self.strategy}: {str(self.cause) or type(self.cause).__name__}"
