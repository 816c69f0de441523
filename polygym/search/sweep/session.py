"""A sweep that begins, or goes on, in a folder: claimed, opened, this run noted.

The folder belongs to one sweep at a time.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from polygym.errors import InputError
from polygym.files import create_folder, try_lock
from polygym.mdp.problems.loading import source_digest
from polygym.programs import is_path
from polygym.runtime.evaluation.c_compilers import compiler_version
from polygym.runtime.worker.timing import describe_host
from polygym.search.sweep import reader
from polygym.search.sweep.rows import LIMIT, SweepRun
from polygym.search.sweep.settings import SweepSetting
from polygym.search.sweep.store import SweepStore, create_or_open, now
from polygym.search.sweep.workload import SweepWorkload
from polygym.version import __version__


@dataclass(frozen=True, slots=True)
class SweepSession:
    """A sweep's store in a folder that is its own: ``lock`` is the descriptor that holds it.

    ``started_by_version`` is the version of polygym that began the sweep, "" if that is this one.
    """

    store: SweepStore
    lock: int
    started_by_version: str


@contextmanager
def open_session(
    folder: Path, setting: SweepSetting, workload: SweepWorkload, run: SweepRun | None = None
) -> Iterator[SweepSession]:
    """Give the store of a sweep in a folder, which is its own until the block is left.

    ``run`` says where it is measured, None that it is here.

    Raises:
        InputError: another sweep is at work there, or the one there has another setting, was begun
            on another machine, or with another text of one of the programs.
    """
    create_folder(folder)
    with lock_folder(folder) as lock, create_or_open(folder, setting) as store:
        store.add_kernels(workload.programs)
        for name in filter(is_path, workload.programs):
            _check_text(store, name, setting.function)
        before = store.begin_run(run or _local_run(workload))
        yield SweepSession(store, lock, before)


def _check_text(store: SweepStore, name: str, function: str | None) -> None:
    """Refuse a file whose text is another one than that whose schedules were measured."""
    try:
        digest = source_digest(Path(name), function)
    except OSError:
        return  # its own process says so
    if any(row.name == name and row.digest for row in reader.kernels(store.connection)):
        store.set_digest(name, digest)


def _local_run(orders: SweepWorkload) -> SweepRun:
    """Return where this process is at work."""
    machine = describe_host()
    compilers = tuple((name, compiler_version(name)) for name in orders.against if name != LIMIT)
    return SweepRun(now(), __version__, machine.processor, machine.cores, machine.system, compilers)


LOCK_FILE = "sweep.lock"

# How long the processes of a sweep that was killed may take to end.
_RETRY_SECONDS = 3.0


@contextmanager
def lock_folder(folder: Path) -> Iterator[int]:
    """Hold a sweep's folder: inside, no other sweep works there.

    The lock is on a file, whose descriptor is given: processes that inherit it hold the lock as
    long as they live. Those of a sweep that was killed end by themselves, which may take a moment.

    Raises:
        InputError: another sweep is at work there.
    """
    descriptor = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        deadline = time.monotonic() + _RETRY_SECONDS
        while not try_lock(descriptor):
            if time.monotonic() > deadline:
                raise InputError(
                    f"{folder}: expected nobody else to write it, found another sweep at work"
                )
            time.sleep(0.05)
        yield descriptor
    finally:
        os.close(descriptor)
