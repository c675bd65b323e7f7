"""The instruction library: versioned guidance, how it is assigned, merged, rendered, filled in and checked."""
