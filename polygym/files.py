"""Files that are whole or absent, however the process ends; temporary folders; locks."""

import errno
import fcntl
import glob
import os
import re
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

_OFF = "off"
_temporary: dict[str, int] = {}
"""Temporary folders of this process, and its number: copies of it do not remove them."""


def path_from_here(path: Path) -> Path:
    """Return a path relative to the current folder, if it is below that."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


@contextmanager
def atomic_file(path: Path, *, allow_replace: bool = True) -> Iterator[Path]:
    """Yield the path of a file to be written, which has the name ``path`` when the block ends.

    Until then it stands beside it, under a name of this thread's own, so no process sees half a
    file. It is on the disk before it has its name. A failure inside (a full disk) leaves what was
    there before, and nothing else. The remains of processes that were killed inside go with the
    next file of the same name.

    Raises:
        FileExistsError: there is one by now, and it ``allow_replace`` none.
        OSError: what is written inside cannot be written; it says so of ``path``.
    """
    _remove_stale_files(path)
    beside = path.with_name(f".{path.name}.{threading.get_native_id()}.new")
    try:
        beside.unlink(missing_ok=True)  # of another thread that had this number
        yield beside
        _sync_path(beside, os.O_RDONLY)
        if allow_replace:
            os.replace(beside, path)
        else:
            os.link(beside, path)
    except OSError as error:
        if error.errno is not None and error.filename in (None, beside, str(beside)):
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
    sync_folder(path.parent)


def _remove_stale_files(path: Path) -> None:
    """Remove what processes that were killed while they wrote such a file have left.

    Their number is free, or another process has it by now, and then it is for another time. SQLite
    may have left a journal beside its file.
    """
    name = re.compile(rf"\.{re.escape(path.name)}\.(\d+)\.new(-journal)?")
    for beside in path.parent.glob(f".{glob.escape(path.name)}.*.new*"):
        match = name.fullmatch(beside.name)
        if match is not None and not Path("/proc", match[1]).exists():
            with suppress(OSError):
                beside.unlink()


@contextmanager
def temporary_folder(parent: Path | None = None, prefix: str | None = None) -> Iterator[Path]:
    """Yield a new folder that is removed at the end, even where a signal is the end.

    SIGTERM removes it if nothing else handles that signal. What ends the process without an
    exception calls :func:`remove_temporary_folders` before.
    """
    with tempfile.TemporaryDirectory(prefix=prefix, dir=parent) as name:
        _temporary[name] = os.getpid()
        is_main = threading.current_thread() is threading.main_thread()
        handles = is_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        if handles:
            signal.signal(signal.SIGTERM, _remove_and_end)
        try:
            yield Path(name)
        finally:
            if handles:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
            del _temporary[name]


def remove_temporary_folders() -> None:
    """Remove the temporary folders of this process, which is about to end."""
    for name, process in tuple(_temporary.items()):
        if process == os.getpid():
            shutil.rmtree(name, ignore_errors=True)


def _remove_and_end(number: int, _: FrameType | None) -> None:
    remove_temporary_folders()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def create_folder(path: Path, option: str = "--out") -> None:
    """Make a folder that results are written to, and those above it.

    Raises:
        OSError: that is not possible; the message names the folder that exists, the system's
            reason, and the ``option`` of the command line.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        exists = next(above for above in (path, *path.absolute().parents) if os.path.exists(above))
        if exists == path:
            reason = "expected a folder, found a file"
            raise OSError(error.errno, f"{reason}; choose another {option}", str(path)) from None
        reason = f"cannot create a folder in {exists} ({error.strerror})"
        raise OSError(error.errno, f"{reason}; choose another {option}") from None


def create_parent_folder(path: Path) -> None:
    """Make the folder of a file that is to be written after long work, and try to write there.

    Raises:
        OSError: nothing can be written there, or the path is a folder.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    create_folder(path.parent, "file")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def write_atomically(path: Path, contents: bytes) -> None:
    """Replace a file's contents in one step, on the disk before this returns.

    What fails (a full disk) leaves the old contents as they are.
    """
    with atomic_file(path) as beside:
        beside.write_bytes(contents)


def cache_folder() -> Path | None:
    """Return where polygym keeps what it can make again; None where that is switched off.

    That is ``$POLYGYM_CACHE``, or ``polygym`` in the user's cache folder; ``POLYGYM_CACHE=off``
    keeps nothing.
    """
    given = os.environ.get("POLYGYM_CACHE", "")
    if given.lower() == _OFF:
        return None
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "polygym"


def try_lock(descriptor: int) -> bool:
    """Lock a file as long as it is open, unless somebody else has; return whether it is ours."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def sync_folder(path: Path) -> None:
    """Put the names in a folder on the disk, where the file system can do that."""
    with suppress(OSError):
        _sync_path(path, os.O_RDONLY | os.O_DIRECTORY)


def _sync_path(path: Path, flags: int) -> None:
    """Return when what a path names is on the disk."""
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def create_numbered_folder(parent: Path, name: str) -> Path:
    """Make and return the first of ``name``, ``name-2``, ``name-3`` … that does not exist."""
    number = 1
    while True:
        path = parent / (name if number == 1 else f"{name}-{number}")
        try:
            path.mkdir()
        except FileExistsError:
            number += 1
        else:
            return path
