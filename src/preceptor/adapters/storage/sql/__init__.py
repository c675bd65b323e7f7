"""Statements as they are written, in SQLAlchemy. `make statements` puts their text into `ready/`, and that is run."""
