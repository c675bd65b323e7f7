"""What a model is shown, where every part of it came from, and what it answered."""
