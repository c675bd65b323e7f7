"""Carrying out an execution, step by step."""
