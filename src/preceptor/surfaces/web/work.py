"""The pages of what is tried and carried out: experiments, executions, replays."""

from preceptor.surfaces.web.routes import designing, executions, experiments, replays

WORK_PAGES = (designing, experiments, executions, replays)
"""What is spelled out (`/experiments/new`) comes before what has an id there."""
