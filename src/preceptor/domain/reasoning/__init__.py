"""Judging and planning a turn: the verdict, the plan, the tables that decide, and what each reader is shown."""
