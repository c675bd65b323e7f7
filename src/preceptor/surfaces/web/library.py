"""The pages of the library: instructions, templates, agents and what they are told, decision tables."""

from preceptor.surfaces.web.routes import (
    agents,
    comparing,
    decision_tables,
    editing,
    effective,
    instructions,
    templates,
    trials,
)

LIBRARY_PAGES = (editing, comparing, trials, instructions, templates, effective, agents, decision_tables)
"""What is spelled out (`/instructions/new`) comes before what has an id there."""
