"""Files are whole or not there: what fails or is killed leaves what was there before."""

import errno
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from polygym import sqlite_files
from polygym.errors import InputError
from polygym.files import atomic_file, create_numbered_folder, try_lock, write_atomically

KILLED = """
import os, signal, sys
from pathlib import Path
from polygym.files import atomic_file
with atomic_file(Path(sys.argv[1])) as beside:
    beside.write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@contextmanager
def full_disk(free: int) -> Iterator[None]:
    """Let files have so many bytes, then fail as a full disk does, in the middle of a write."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (free, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a file that has something."""
    path = tmp_path / "best.json"
    write_atomically(path, b"first")
    return path


def test_a_full_disk_leaves_what_was_there(path: Path) -> None:
    with full_disk(15), pytest.raises(OSError, match=r"best\.json'") as raised:
        write_atomically(path, b"second" * 1000)
    assert raised.value.errno == errno.EFBIG
    assert raised.value.filename == str(path)
    assert path.read_bytes() == b"first"
    assert names(path.parent) == ["best.json"]
    write_atomically(path, b"third")
    assert path.read_bytes() == b"third"


@pytest.mark.parametrize("error", [InputError("no good"), KeyboardInterrupt()])
def test_what_fails_inside_leaves_nothing_else(path: Path, error: BaseException) -> None:
    def fail() -> None:
        with atomic_file(path) as beside:
            beside.write_bytes(b"half")
            raise error

    with pytest.raises(type(error)):
        fail()
    assert (path.read_bytes(), names(path.parent)) == (b"first", ["best.json"])


def test_a_block_that_writes_nothing_is_an_error(path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"best\.json'"), atomic_file(path):
        pass
    assert path.read_bytes() == b"first"


def test_nobody_sees_half_a_file(path: Path) -> None:
    with atomic_file(path) as beside:
        beside.write_bytes(b"ha")
        assert path.read_bytes() == b"first"
        with open(beside, "ab") as file:
            file.write(b"lf")
    assert path.read_bytes() == b"half"


def test_contents_and_names_are_on_the_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = []

    def fsync(descriptor: int) -> None:
        synced.append((Path(os.readlink(f"/proc/self/fd/{descriptor}")), path.read_bytes()))

    monkeypatch.setattr(os, "fsync", fsync)
    with atomic_file(path) as beside:
        beside.write_bytes(b"second")
    assert synced == [(beside, b"first"), (path.parent, b"second")]


def test_what_is_there_by_now_stays_where_nothing_is_to_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / "corpus.sqlite"

    def overtaken() -> None:
        with atomic_file(path, allow_replace=False) as beside:
            beside.write_bytes(b"mine")
            path.write_bytes(b"another's")

    with pytest.raises(FileExistsError):
        overtaken()
    assert (path.read_bytes(), names(tmp_path)) == (b"another's", ["corpus.sqlite"])
    with atomic_file(tmp_path / "new", allow_replace=False) as beside:
        beside.write_bytes(b"mine")
    assert names(tmp_path) == ["corpus.sqlite", "new"]


def test_what_a_killed_process_has_left_goes_with_the_next(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    (left,) = set(names(path.parent)) - {"best.json"}
    (path.parent / f"{left}-journal").write_bytes(b"what SQLite writes beside it")
    write_atomically(path.parent / "other.json", b"")
    assert left in names(path.parent), "it is none of this name"
    write_atomically(path, b"second")
    assert names(path.parent) == ["best.json", "other.json"]


def test_what_is_at_work_and_what_only_looks_like_it_stay(path: Path) -> None:
    others = {
        f".best.json.{os.getppid()}.new",
        ".best.json.999999999.new.json",
        ".best.json.999999999",
        ".best.json.old.new",
    }
    for name in others:
        (path.parent / name).touch()
    write_atomically(path, b"second")
    assert set(names(path.parent)) == {"best.json", *others}


def test_threads_do_not_meet(path: Path) -> None:
    gate = threading.Barrier(4)

    def write(text: bytes) -> None:
        with atomic_file(path) as beside:
            gate.wait(30)
            beside.write_bytes(text)
            gate.wait(30)

    texts = [bytes([65 + number]) * 10000 for number in range(4)]
    threads = [threading.Thread(target=write, args=[text]) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert path.read_bytes() in texts
    assert names(path.parent) == ["best.json"]


def test_databases_are_whole_too(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with pytest.raises(InputError, match=r"store\.sqlite: expected a store"):
        sqlite_files.create_database(path, "a store", lambda file: file.execute("no SQL") and None)
    assert names(tmp_path) == []
    sqlite_files.create_database(
        path, "a store", lambda file: file.execute("CREATE TABLE a (b)") and None
    )
    assert names(tmp_path) == ["store.sqlite"]
    with sqlite3.connect(path) as file:
        assert file.execute("SELECT count(*) FROM a").fetchone() == (0,)
    file.close()


def test_new_folders_are_new(tmp_path: Path) -> None:
    folders = [create_numbered_folder(tmp_path, "polygym-lu").name for _ in range(3)]
    assert folders == ["polygym-lu", "polygym-lu-2", "polygym-lu-3"]


def test_a_file_is_locked_once(path: Path) -> None:
    with open(path) as iowrapper, open(path) as two:
        assert try_lock(iowrapper.fileno())
        assert not try_lock(two.fileno())
    with open(path) as three:
        assert try_lock(three.fileno())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_no_temporary_folder(tmp_path: Path, number: signal.Signals) -> None:
    text = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from polygym.cli.interrupts import exit_on_interrupt\n"
        "from polygym.files import temporary_folder\n"
        "exit_on_interrupt(False)\n"
        "with temporary_folder(Path(sys.argv[1])) as folder:\n"
        "    (folder / 'file').write_text('text')\n"
        "    if not os.fork():\n"
        "        os.kill(os.getpid(), int(sys.argv[2]))\n"
        "    os.wait()\n"
        "    assert (folder / 'file').exists()\n"
        "    os.kill(os.getpid(), int(sys.argv[2]))\n"
    )
    done = subprocess.run([sys.executable, "-c", text, tmp_path, str(int(number))], check=False)
    assert done.returncode == (130 if number is signal.SIGINT else -number)
    assert not list(tmp_path.iterdir())
