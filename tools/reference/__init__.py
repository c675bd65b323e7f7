"""The pages of the reference, each written from the code that it describes."""
