"""What a check of `preceptor doctor` found."""

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    OK = "ok"
    INFO = "info"
    WARN = "warn"
    FAIL = "fail"


STYLES = {Status.OK: "green", Status.INFO: "cyan", Status.WARN: "bold yellow", Status.FAIL: "bold red"}


@dataclass(frozen=True, slots=True)
class Finding:
    name: str
    status: Status
    detail: str
    remedy: str = ""
