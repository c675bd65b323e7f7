"""A turn: one user message and all that follows until it settles, folded from its events."""
