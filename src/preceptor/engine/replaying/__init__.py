"""Going through past turns again with something changed."""
