"""Tools of other people's MCP servers."""
