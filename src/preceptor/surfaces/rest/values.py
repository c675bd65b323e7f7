"""Values as answers: turned into bytes once, by their own serialiser."""

from fastapi import Response

from preceptor.domain.value import Value

JSON = "application/json"
ACCEPTED = 202
GOES_ON = {"execution_id": "/api/executions", "replay_id": "/api/replays"}
"""What is answered before it has ended, by its id, and where it can be read."""
_CONTENT_TYPE = (b"content-type", JSON.encode())


class JsonAnswer(Response):
    """JSON that is bytes already. Its headers are written as they are sent."""

    def __init__(self, body: bytes, status: int, etag: str = "", location: str = "") -> None:
        self.body, self.status_code, self.background = body, status, None
        self.raw_headers = [(b"content-length", b"%d" % len(body)), _CONTENT_TYPE]
        if etag:
            self.raw_headers.append((b"etag", etag.encode()))
        if location and status == ACCEPTED:
            self.raw_headers.append((b"location", location.encode()))


def answer_with(result: object, status: int) -> Response:
    """What an endpoint returned, as it is sent."""
    if isinstance(result, Value):
        body = result.to_json()
        return JsonAnswer(body, status, getattr(result, "etag", ""), _place(result) if status == ACCEPTED else "")
    if isinstance(result, Response):
        return result
    assert result is None, "an endpoint answers with a value, a response or nothing"
    return Response(status_code=status)


def encode(result: Value) -> bytes:
    """An answer as it is kept, to be given again: its ETag, a space, its Location, a line break, its JSON."""
    return f"{getattr(result, 'etag', '')} {_place(result)}\n{result.model_dump_json()}".encode()


def again(encoded: bytes, status: int) -> Response:
    head, _, body = encoded.partition(b"\n")
    etag, _, location = head.decode().partition(" ")
    response = JsonAnswer(body, status, etag, location)
    response.headers["idempotent-replayed"] = "true"
    return response


def _place(result: Value) -> str:
    """Where to read how far something is that goes on by itself."""
    return next((f"{path}/{getattr(result, name)}" for name, path in GOES_ON.items() if hasattr(result, name)), "")
