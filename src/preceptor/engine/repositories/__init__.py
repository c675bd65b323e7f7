"""Where everything is kept: one module per noun, as protocols that the storage satisfies by shape."""
