"""What a request shows of the past: reading only what matters, fitting it, summarising the rest."""
