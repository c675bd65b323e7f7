"""What kind of answer is wanted most, by the `Accept` header of a request."""

from starlette.requests import Request


def wants(request: Request, kind: str) -> bool:
    """Whether a kind of answer is asked for by its name, and is at least as welcome as JSON."""
    weights = _weights(",".join(request.headers.getlist("accept")))
    return kind in weights and 0 < weights[kind] >= _weight(weights, "application/json")


def _weights(accept: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for one in accept.split(","):
        kind, *parameters = (part.strip().lower() for part in one.split(";"))
        found[kind] = next((_number(each[2:]) for each in parameters if each.startswith("q=")), 1.0)
    return found


def _weight(weights: dict[str, float], kind: str) -> float:
    """Of a kind that may only be meant: the closest name counts."""
    names = (kind, f"{kind.partition('/')[0]}/*", "*/*")
    return next((weights[name] for name in names if name in weights), 0.0)


def _number(written: str) -> float:
    """A weight that nobody can read weighs nothing less than the rest."""
    try:
        return min(max(float(written), 0.0), 1.0)
    except ValueError:
        return 1.0
