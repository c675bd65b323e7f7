"""A tool that looks something up, for an agent of the tests."""

from preceptor import tool


@tool(effect="read")
def search_orders(query: str) -> str:
    """Find orders by words in them."""
    return f"Nothing about {query}."


tools = [search_orders]
