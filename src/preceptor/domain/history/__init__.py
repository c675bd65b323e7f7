"""What of a conversation a model is shown: strategies, limits, and the proof that the result is in order."""
