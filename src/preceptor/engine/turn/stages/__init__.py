"""The stages of a turn: each takes a run where it stands, does one thing, and notes down what came of it."""
