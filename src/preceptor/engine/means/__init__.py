"""What turns are taken with, shared by all who use the same store."""
