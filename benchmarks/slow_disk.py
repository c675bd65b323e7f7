"""A slower disk than the one at hand: group commit earns its keep where a flush takes milliseconds."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

FLUSH = 2000


@contextmanager
def slower_disk(microseconds: int = FLUSH) -> Generator[bool]:
    """Make every flush of the processes started meanwhile take longer; False where that cannot be done."""
    compiler = shutil.which("cc")
    if compiler is None:
        yield False
        return
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "slow_disk.so"
        source = Path(__file__).with_name("slow_disk.c")
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
        os.environ |= {"LD_PRELOAD": str(library), "FLUSH_MICROSECONDS": str(microseconds)}
        try:
            yield True
        finally:
            del os.environ["LD_PRELOAD"], os.environ["FLUSH_MICROSECONDS"]
