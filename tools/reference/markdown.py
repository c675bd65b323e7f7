"""What every page of the reference is made of."""

from collections.abc import Iterable, Sequence


def cell(text: object) -> str:
    """Text that stays within its cell and shows the signs it has."""
    return str(text).replace("|", "\\|").replace("\n", " ").replace("<", "&lt;").strip()


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *([cell(one) for one in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def page(*parts: str) -> str:
    return "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"
