"""Other people's formats, in both directions, as pure functions."""
