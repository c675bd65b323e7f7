"""Experiments at work: designing them, finding the arms of a turn, holding agents at one."""
