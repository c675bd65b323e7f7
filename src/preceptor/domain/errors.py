"""The kinds of failure. A concrete error lives in the file that raises it, or here when several do.

    PreceptorError
    ├── Malformed             the request cannot be read                            400
    ├── Unauthenticated       we do not know who is calling                         401
    ├── Refused               we know, and policy says no                           403
    ├── NotFound              the named thing does not exist, or is not theirs      404
    ├── Conflict              it exists, but its state forbids this                 409
    ├── PreconditionFailed    it has changed since the caller looked                412
    ├── TooLarge              more than we accept                                   413
    ├── Invalid               readable, but it cannot be                            422
    ├── PreconditionRequired  the caller must say which version it looked at        428
    ├── Busy                  too much for now, later is fine                       429
    ├── Upstream              a model or a guardian let us down                     502
    ├── Unavailable           our own storage or process is not there right now     503
    ├── DiskFull              there is no room to write                             507
    └── CannotStart           set up in a way that cannot work: names the setting   (commands only)

Every one says a plain sentence and what to do. An expected outcome (blocked by the guardian, needs clarification) is a
value, never an error.
"""

from dataclasses import Field, field
from functools import partial
from typing import Any, ClassVar, dataclass_transform


def _is_of_the_class(annotation: Any) -> bool:
    return str(annotation).removeprefix("typing.").startswith("ClassVar")


@dataclass_transform(eq_default=False, field_specifiers=(field,))
class PreceptorError(Exception):
    """Base of every failure raised on purpose: a stable `code`, typed facts, one plain sentence.

    Facts are declared and given as in a dataclass. It is none, because there are a hundred kinds and hardly any is
    raised: their methods would be written whenever a program starts.
    """

    code: ClassVar[str] = "internal"
    facts: ClassVar[tuple[str, ...]] = ()
    """Their names, in the order in which they are given."""

    def __init_subclass__(cls) -> None:
        own = [name for name, kind in vars(cls).get("__annotations__", {}).items() if not _is_of_the_class(kind)]
        inherited = [name for base in reversed(cls.__bases__) for name in getattr(base, "facts", ())]
        named = dict.fromkeys((*inherited, *own))
        for name in own:
            given: Any = vars(cls).get(name)
            if isinstance(given, Field):
                setattr(cls, name, given.default)  # pyright: ignore[reportUnknownMemberType] - a fact has any type
                if not given.init:
                    del named[name]
        cls.facts = tuple(named)

    def __init__(self, *given: Any, **named: Any) -> None:
        told = dict(zip(self.facts, given, strict=False)) | named
        missing = [name for name in self.facts if name not in told and not hasattr(type(self), name)]
        if missing or len(told) < len(given) + len(named) or not told.keys() <= set(self.facts):
            raise TypeError(f"{type(self).__name__} takes {self.facts}, not {given} and {named}")
        for name in self.facts:
            setattr(self, name, told[name] if name in told else getattr(type(self), name))

    def __repr__(self) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.facts)})"

    def __str__(self) -> str:
        return self.code

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors are stored by durable steps, so they must survive pickling with their facts."""
        return partial(type(self), **vars(self)), ()


class Phrased(str):
    """A sentence that knows its pattern and its facts, so that pages can say the same in another language."""

    __slots__ = ("facts", "pattern")
    pattern: str
    facts: dict[str, Any]


def phrased(pattern: str, **facts: Any) -> Phrased:
    """An English sentence with its blanks, `%(name)s`, filled in."""
    said = Phrased(pattern % facts)
    said.pattern, said.facts = pattern, facts
    return said


def recorded(pattern: str, **facts: Any) -> str:
    """An English sentence that is kept as it is. Pages know it again by its pattern, and say it in other languages."""
    return pattern % facts


class Malformed(PreceptorError):
    code = "malformed_json"


class Unauthenticated(PreceptorError):
    code: ClassVar[str] = "unauthenticated"
    reason: str = "This request carries no key."

    def __str__(self) -> str:
        return f"{self.reason} Send `Authorization: Bearer KEY` with a valid key."


class Refused(PreceptorError):
    code: ClassVar[str] = "forbidden"
    needs: str

    def __str__(self) -> str:
        return f"This key may not do that: it needs the permission {self.needs}. Ask an admin for a key that has it."


class NotFound(PreceptorError):
    code: ClassVar[str] = "not_found"
    what: str
    id: str

    def __str__(self) -> str:
        return f"There is no {self.what} {self.id!r} here. Check the id, or list what there is."


class Conflict(PreceptorError):
    code: ClassVar[str] = "conflict"
    sentence: str = phrased(
        "Something with the same name exists already. Choose another, or change the one that is there."
    )

    def __str__(self) -> str:
        return str(self.sentence)  # a plain text, whatever kind of text it was made from


class PreconditionFailed(PreceptorError):
    code: ClassVar[str] = "precondition_failed"
    current: str

    def __str__(self) -> str:
        return (
            f"It has changed since you read it: its ETag is now {self.current}. Read it again, then repeat the change."
        )


class PreconditionRequired(PreceptorError):
    code = "precondition_required"

    def __str__(self) -> str:
        return "This server wants `If-Match` on every change. Read the object and send its ETag back."


class TooLarge(PreceptorError):
    code: ClassVar[str] = "payload_too_large"
    limit: int

    def __str__(self) -> str:
        return f"The request body is larger than {self.limit} bytes. Send less, or raise PRECEPTOR_MAX_BODY_BYTES."


class Invalid(PreceptorError):
    code: ClassVar[str] = "invalid"
    sentence: str = phrased("The request cannot be carried out as it is.")

    def __str__(self) -> str:
        return str(self.sentence)  # a plain text, whatever kind of text it was made from


class Busy(PreceptorError):
    code: ClassVar[str] = "rate_limited"
    retry_after: int

    def __str__(self) -> str:
        return f"Too many requests. Try again in {self.retry_after} s."


class Upstream(PreceptorError):
    code = "upstream_failed"


class Unavailable(PreceptorError):
    code: ClassVar[str] = "storage_unavailable"
    sentence: str = "The database does not answer right now."
    retry_after: int = 1

    def __str__(self) -> str:
        return f"{self.sentence} Nothing was lost; try again in {self.retry_after} s."


class ShuttingDown(Unavailable):
    code = "shutting_down"


class DiskFull(PreceptorError):
    code = "disk_full"

    def __str__(self) -> str:
        return "There is no room left on the disk, so nothing was written. Free some space, or move PRECEPTOR_DATA_DIR."


class CannotStart(PreceptorError):
    """Preceptor cannot run as it is set up: which setting, why, and what to do."""

    code: ClassVar[str] = "cannot_start"
    sentence: str

    def __str__(self) -> str:
        return str(self.sentence)  # a plain text, whatever kind of text it was made from
