"""A person at a terminal: a command with a screen of its own, and fingers."""

import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.serving import COMMAND, clean, end

PATIENCE = 60.0


@dataclass
class Terminal:
    process: subprocess.Popen[bytes]
    screen: int
    seen: str = ""
    _bytes: bytes = b""

    def type(self, line: str) -> None:
        os.write(self.screen, f"{line}\n".encode())

    def interrupt(self) -> None:
        """Ctrl-C."""
        self.process.send_signal(signal.SIGINT)

    def until(self, text: str, since: int = 0) -> int:
        """Wait until the screen has shown `text` after the first `since` characters; returns where it ends."""
        deadline = time.monotonic() + PATIENCE
        while (found := self.seen.find(text, since)) < 0:
            left = deadline - time.monotonic()
            assert left > 0, f"{text!r} never came:\n{self.seen}"
            if select.select([self.screen], [], [], left)[0] and not self._read():
                raise AssertionError(f"It ended without {text!r}:\n{self.seen}")
        return found + len(text)

    def leave(self) -> int:
        """Ctrl-C at the prompt, and again: Python does not see one that comes just before it waits for a key."""
        self.interrupt()
        while not select.select([self.screen], [], [], 1.0)[0]:
            self.interrupt()
        return self.ended()

    def ended(self) -> int:
        """The exit code, once it has left."""
        deadline = time.monotonic() + PATIENCE
        while (left := deadline - time.monotonic()) > 0:
            if select.select([self.screen], [], [], left)[0] and not self._read():
                return self.process.wait(PATIENCE)
        raise AssertionError(f"It did not leave:\n{self.seen}")

    def _read(self) -> bool:
        try:
            piece = os.read(self.screen, 65_536)
        except OSError:
            return False  # on Linux: whoever had the other end is gone
        self._bytes += piece
        self.seen = self._bytes.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(piece)


@contextmanager
def at_terminal(data_dir: Path, *arguments: str, **environment: str) -> Generator[Terminal]:
    """`preceptor` with these arguments, on a screen."""
    data_dir.mkdir(parents=True, exist_ok=True)
    screen, other = pty.openpty()
    env = clean(data_dir, **{"TERM": "dumb", "COLUMNS": "200", "LINES": "50", "NO_COLOR": "1"} | environment)
    process = subprocess.Popen(
        [COMMAND, *arguments], stdin=other, stdout=other, stderr=other, cwd=data_dir, env=env, start_new_session=True
    )
    os.close(other)
    try:
        yield Terminal(process, screen)
    finally:
        end(process)
        os.close(screen)
