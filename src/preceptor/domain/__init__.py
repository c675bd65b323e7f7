"""What is true: pure values and pure functions. No I/O, no clock, no randomness, no `async` of its own."""
