"""Guardians: who judges whether a text is safe."""
