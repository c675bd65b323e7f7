"""Experiments: two arms, who is in which, what came of it, and how far that can be believed."""
