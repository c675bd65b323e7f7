"""Showing less of a conversation, or another branch of it. No message is changed."""
