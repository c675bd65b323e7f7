"""What goes wrong with a database, in words a person can act on."""

import errno
import sqlite3

from preceptor.domain.errors import Conflict, DiskFull, Unavailable

_FULL = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR_WRITE,
    sqlite3.SQLITE_IOERR_FSYNC,
    sqlite3.SQLITE_IOERR_TRUNCATE,
    sqlite3.SQLITE_IOERR_SHMSIZE,
}


def of_sqlite(error: sqlite3.Error | OSError) -> Exception:
    """The typed failure for an error of SQLite while serving. A mistake in our own SQL stays what it is."""
    if isinstance(error, OSError):
        return DiskFull() if error.errno in {errno.ENOSPC, errno.EFBIG, errno.EDQUOT} else Unavailable(str(error))
    if isinstance(error, sqlite3.ProgrammingError | sqlite3.InterfaceError):
        return error
    if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_ERROR:
        return error
    if getattr(error, "sqlite_errorcode", 0) in _FULL:
        return DiskFull()
    if isinstance(error, sqlite3.IntegrityError):
        return Conflict()
    return Unavailable(f"The database file cannot be used right now ({error}).")
