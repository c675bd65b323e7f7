"""Conversations: each is a stream of the log, and its state is a fold over that stream."""
