"""A sweep that begins, or goes on, in a folder: claimed, opened, this run noted."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from polygym.mdp.problems.loading import source_digest
from polygym.programs import is_path
from polygym.runtime.evaluation.c_compilers import compiler_version
from polygym.runtime.worker.timing import describe_host
from polygym.search.sweep import reader
from polygym.search.sweep.folder_lock import lock_folder
from polygym.search.sweep.rows import LIMIT, SweepRun
from polygym.search.sweep.settings import SweepSetting
from polygym.search.sweep.store import SweepStore, now
from polygym.search.sweep.store_file import create_or_open
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
    folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(folder) as lock, create_or_open(folder, setting) as store:
        store.add_kernels(workload.programs)
        for name in filter(is_path, workload.programs):
            _check_text(store, name)
        before = store.begin_run(run or _local_run(workload))
        yield SweepSession(store, lock, before)


def _check_text(store: SweepStore, name: str) -> None:
    """Refuse a file whose text is another one than that whose schedules were measured."""
    try:
        digest = source_digest(Path(name))
    except OSError:
        return  # its own process says so
    known = {
        program_row.name: program_row.digest for program_row in reader.kernels(store.connection)
    }
    if known.get(name):
        store.set_digest(name, digest)


def _local_run(orders: SweepWorkload) -> SweepRun:
    """Return where this process is at work."""
    machine = describe_host()
    compilers = tuple((name, compiler_version(name)) for name in orders.against if name != LIMIT)
    return SweepRun(now(), __version__, machine.processor, machine.cores, machine.system, compilers)
