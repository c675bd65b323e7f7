"""Written by `make statements` from `sql/` and `migrations/`: what runs without SQLAlchemy. A test holds it to them."""
