"""Executions and replays as tasks that go on by themselves, and the watch over them."""
