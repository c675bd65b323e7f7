"""Executions: steps that depend on each other, carried out once each, to an end."""
