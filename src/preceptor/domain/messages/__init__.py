"""Messages and what they tell the engine: the words everything else is made of."""
