"""Values as answers: turned into bytes once, by their own serialiser."""

from fastapi import Response

from preceptor.domain.value import Value

JSON = "application/json"
_CONTENT_TYPE = (b"content-type", JSON.encode())


class JsonAnswer(Response):
    """JSON that is bytes already. Its headers are written as they are sent."""

    def __init__(self, body: bytes, status: int, etag: str = "") -> None:
        self.body, self.status_code, self.background = body, status, None
        self.raw_headers = [(b"content-length", b"%d" % len(body)), _CONTENT_TYPE]
        if etag:
            self.raw_headers.append((b"etag", etag.encode()))


def answer_with(result: object, status: int) -> Response:
    """What an endpoint returned, as it is sent."""
    if isinstance(result, Value):
        return JsonAnswer(result.__pydantic_serializer__.to_json(result), status, getattr(result, "etag", ""))
    if isinstance(result, Response):
        return result
    assert result is None, "an endpoint answers with a value, a response or nothing"
    return Response(status_code=status)


def encode(result: Value) -> bytes:
    """An answer as it is kept, to be given again: its ETag, a line break, its JSON."""
    return f"{getattr(result, 'etag', '')}\n{result.model_dump_json()}".encode()


def again(encoded: bytes, status: int) -> Response:
    etag, _, body = encoded.partition(b"\n")
    response = JsonAnswer(body, status, etag.decode())
    response.headers["idempotent-replayed"] = "true"
    return response
