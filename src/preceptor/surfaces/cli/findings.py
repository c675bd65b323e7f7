"""What a check of `preceptor doctor` found."""

from enum import StrEnum

import msgspec


class Status(StrEnum):
    OK = "ok"
    INFO = "info"
    WARN = "warn"
    FAIL = "fail"


STYLES = {Status.OK: "green", Status.INFO: "cyan", Status.WARN: "bold yellow", Status.FAIL: "bold red"}


class Finding(msgspec.Struct, frozen=True):
    name: str
    status: Status
    detail: str
    remedy: str = ""
