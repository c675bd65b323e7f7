"""Tools: Python functions that a model may call."""
