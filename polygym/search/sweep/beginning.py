"""A sweep that begins, or goes on, in a folder: claimed, opened, this run noted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from polygym.episodes.kernels import digest_of
from polygym.measure.evaluation.foreign import version
from polygym.measure.worker.timing import this_machine
from polygym.programs import is_path
from polygym.search.sweep import reading
from polygym.search.sweep.claims import claimed
from polygym.search.sweep.opening import create_or_open
from polygym.search.sweep.orders import Orders
from polygym.search.sweep.rows import LIMIT, Run
from polygym.search.sweep.setting import SweepSetting
from polygym.search.sweep.store import Store, now
from polygym.version import __version__


@dataclass(frozen=True, slots=True)
class Begun:
    """A sweep's store in a folder that is its own: ``lock`` is the descriptor that holds it.

    ``before`` is the version of polygym that began the sweep, "" if that is this one.
    """

    store: Store
    lock: int
    before: str


@contextmanager
def begun(
    folder: Path, setting: SweepSetting, orders: Orders, run: Run | None = None
) -> Iterator[Begun]:
    """Give the store of a sweep in a folder, which is its own until the block is left.

    ``run`` says where it is measured, None that it is here.

    Raises:
        InputError: another sweep is at work there, or the one there has another setting, was begun
            on another machine, or with another text of one of the programs.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with claimed(folder) as lock, create_or_open(folder, setting) as store:
        store.add_kernels(orders.kernels)
        for name in filter(is_path, orders.kernels):
            _check_text(store, name)
        before = store.begin_run(run or _this_run(orders))
        yield Begun(store, lock, before)


def _check_text(store: Store, name: str) -> None:
    """Refuse a file whose text is another one than that whose schedules were measured."""
    try:
        digest = digest_of(Path(name))
    except OSError:
        return  # its own process says so
    known = {one.name: one.digest for one in reading.kernels(store.connection)}
    if known.get(name):
        store.keep_digest(name, digest)


def _this_run(orders: Orders) -> Run:
    """Return where this process is at work."""
    machine = this_machine()
    compilers = tuple((name, version(name)) for name in orders.against if name != LIMIT)
    return Run(now(), __version__, machine.processor, machine.cores, machine.system, compilers)
