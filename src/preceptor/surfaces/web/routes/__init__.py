"""One file per group of pages: thin, and through the same features as the API."""
