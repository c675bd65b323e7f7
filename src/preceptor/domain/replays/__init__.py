"""Replays: past turns, put together again with something changed, and compared with what was."""
