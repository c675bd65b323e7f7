"""What methods take by name, as editors and type checkers read it. `tools/fields.py` writes it."""
