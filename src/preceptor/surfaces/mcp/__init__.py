"""Preceptor for clients of the Model Context Protocol, over HTTP and over standard input and output."""
