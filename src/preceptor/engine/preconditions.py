"""`If-Match`: no change overwrites another unseen."""

from preceptor.domain.errors import PreconditionFailed

IfMatch = str | None
"""The header as it came: ETags separated by commas, or `*`; None when there was none."""


def check(if_match: IfMatch, current: str) -> None:
    if if_match is None:
        return
    wanted = {tag.strip() for tag in if_match.split(",")}
    if "*" not in wanted and current not in wanted:
        raise PreconditionFailed(current)
