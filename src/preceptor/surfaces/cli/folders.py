"""A folder of Markdown files: reading it, and bringing the library into it without losing what people wrote."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from preceptor.domain.errors import PreceptorError
from preceptor.domain.instructions.bundle import LARGEST, Bundle, BundledInstruction
from preceptor.domain.instructions.instruction import authored
from preceptor.surfaces.cli.library import Unreadable, Unwritable, read_bytes
from preceptor.wire import library_files


def read_folder(folder: Path) -> dict[str, bytes]:
    """The instructions below a folder. Hidden folders and links are not followed."""
    files: dict[str, bytes] = {}
    size = 0
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in inside.parts)
        if hidden or path.suffix not in {".md", ".yaml"} or path.is_symlink() or not path.is_file():
            continue
        size += path.stat().st_size
        if size > LARGEST:
            raise library_files.BundleTooLarge(LARGEST)
        raw = read_bytes(path)
        if inside.as_posix() == library_files.ASSIGNMENTS or _is_instruction(inside.as_posix(), raw):
            files[inside.as_posix()] = raw
    return files


def read_existing(folder: Path) -> dict[str, bytes]:
    """The same of a folder that has to be there."""
    if not folder.is_dir():
        raise Unreadable(file=str(folder), why="there is no such folder")
    return read_folder(folder)


def _is_instruction(path: str, raw: bytes) -> bool:
    return library_files.is_instruction(path, raw.decode(errors="replace"))


class Changes(msgspec.Struct, frozen=True):
    """What a pull does to each file: new, updated, same, or kept because it has edits of its own."""

    folder: Path
    texts: Mapping[str, str]
    verdicts: list[tuple[str, str]] = []

    @property
    def kept(self) -> bool:
        return any(verdict == "kept" for _, verdict in self.verdicts)

    def write(self) -> None:
        for path, verdict in self.verdicts:
            if verdict in {"new", "updated"}:
                _write(self.folder / path, self.texts[path])


class Arriving(msgspec.Struct, frozen=True):
    """The library, all versions of it, on its way into a folder."""

    folder: Path
    before: Mapping[str, bytes]
    library: Bundle

    @property
    def files(self) -> dict[str, str]:
        """What the files would be: the newest version of each instruction, at the path that it has or gets."""
        newest = [one.model_copy(update={"versions": one.versions[-1:]}) for one in self.library.instructions]
        return library_files.to_files(Bundle(instructions=tuple(newest)), self._names(), self._others())

    def plan(self, *, force: bool = False, only_known: bool = False) -> Changes:
        """`only_known` leaves out what the folder does not have yet."""
        texts = self.files
        changes = Changes(self.folder, texts)
        edited = set[str]() if force else self._edited()
        for path, text in sorted(texts.items()):
            if path not in self.before:
                if not only_known:
                    changes.verdicts.append((path, "new"))
            elif self.before[path] == text.encode():
                changes.verdicts.append((path, "same"))
            else:
                changes.verdicts.append((path, "kept" if path in edited else "updated"))
        return changes

    def _names(self) -> dict[str, str]:
        """Where each instruction has its file, by familyId."""
        by_id = {one.family_id: one for one in self.library.instructions}
        by_key: dict[object, list[BundledInstruction]] = {}
        for one in self.library.instructions:
            by_key.setdefault(one.key, []).append(one)
        names: dict[str, str] = {}
        for path, local in self._local():
            alike = by_key.get(local.key, [])
            home = by_id.get(local.family_id) or (alike[0] if len(alike) == 1 else None)
            if home is not None and home.family_id is not None:
                names.setdefault(home.family_id, path)
        return names

    def _others(self) -> set[str]:
        """What else lies in the folder, such as notes and links: no instruction is written there."""
        return {path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*")} - self.before.keys()

    def _edited(self) -> set[str]:
        """Files that say something else than the version they name, or nothing that can be read."""
        return self.before.keys() - {path for path, local in self._local() if self._is_known(local)}

    def _is_known(self, local: BundledInstruction) -> bool:
        homes = [one for one in self.library.instructions if one.family_id == local.family_id]
        known = [one for home in homes for one in home.versions if one.version == local.newest.version]
        return any(authored(one) == authored(local.newest) for one in known)

    def _local(self) -> Iterator[tuple[str, BundledInstruction]]:
        """A file that cannot be read belongs to no instruction."""
        for path, raw in self.before.items():
            try:
                found = library_files.from_files({path: raw}).instructions
            except PreceptorError:
                continue
            for one in found:
                yield path, one


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise Unwritable(file=str(path), why=error.strerror or type(error).__name__) from None
