"""Turns: at any moment at most one measurement on a core, whichever process asks for it.

Programs that run beside one another slow each other down: a schedule that is 0.61 times as fast as
the original order was 0.74 and 0.50 times when two environments measured at once. So a process that
is about to measure takes a turn, which means a lock on every core that its programs may use;
compiling needs none. Processes wait in the order in which they came, and the end of a process,
however it comes, ends its turn.

The locks are locks on bytes of one file, for all users of the machine (``POLYGYM_TURNS`` names
another file; ``off`` measures without turns). The kernel takes them back when a process ends, and
they do not pass to a child. A core's locks are a queue::

    ticket = counter + 1, under a lock of its own      lock byte ticket: "I wait or measure"
    wait for byte ticket - 1                            the one right before has finished
    wait for the core's own byte                        and so have those before, should one die

With ``POLYGYM_TURN_CORES=2`` the cores are divided into sets of two, and a turn takes the first set
that is free, to which its programs are bound: measurements on disjoint cores run side by side. They
still share caches and memory, which a user may accept where programs use one thread.

Example: of processes A, B and C that come in this order, A measures, B waits for A's ticket and C
for B's. If B is killed, C waits for the core's own byte, which A has.
"""

import fcntl
import os
import struct
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field

from polygym.errors import InputError

FILE_VARIABLE = "POLYGYM_TURNS"
"""The environment variable that names the file of the locks, or is ``off``."""
CORES_VARIABLE = "POLYGYM_TURN_CORES"
"""The environment variable that says how many cores a turn takes."""

# One name for all users of the machine.
_FILE = "/tmp/polygym-turns"
_COUNTER_BYTES = 8
# The bytes of a core: one for the counter, one for the process that measures, one for each ticket.
_CORE_SPAN = 1 << 32
_COUNTER, _MEASURES, _TICKETS = 0, 1, 2

_NOTICE_SECONDS = 15.0
_FLOCK = "hhqqi4x"  # struct flock: type, whence, start, length, process


@dataclass(slots=True)
class _ProcessState:
    """What the threads of one process share: they take turns among themselves."""

    process_id: int = field(default_factory=os.getpid)
    lock: threading.RLock = field(default_factory=threading.RLock)
    depth: int = 0
    cores: tuple[int, ...] = ()
    descriptor: int = -1
    path: str = ""


_state = _ProcessState()


@contextmanager
def measurement_turn() -> Iterator[tuple[int, ...]]:
    """Wait for a turn and keep it; the value is the cores on which programs may run meanwhile.

    A turn inside a turn of the same thread is the same turn.

    Raises:
        InputError: one of the environment variables is not understood.
    """
    state = _current_state()
    with state.lock:
        if state.depth:
            state.depth += 1
            try:
                yield state.cores
            finally:
                state.depth -= 1
            return
        with ExitStack() as held:
            state.cores = _take(state, held)
            state.depth = 1
            try:
                yield state.cores
            finally:
                state.depth = 0


def core_sets(cores: Sequence[int], size: int | None) -> list[tuple[int, ...]]:
    """Return the sets of cores of which a turn takes one; None: all of them.

    >>> core_sets(range(5), 2), core_sets(range(2), None), core_sets(range(2), 3)
    ([(0, 1), (2, 3)], [(0, 1)], [(0, 1)])
    """
    if size is None or size >= len(cores):
        return [tuple(cores)]
    return [tuple(cores[at : at + size]) for at in range(0, len(cores) - size + 1, size)]


def _current_state() -> _ProcessState:
    """Return the state of this process; a copy of another process begins anew."""
    global _state
    if _state.process_id != os.getpid():
        _state = _ProcessState()
    return _state


def _take(state: _ProcessState, held: ExitStack) -> tuple[int, ...]:
    """Lock a set of cores until ``held`` is closed, and return it."""
    sets = core_sets(sorted(os.sched_getaffinity(0)), _cores_of_a_turn())
    descriptor = _open_file(state)
    if descriptor is None:
        return sets[0]
    for cores in sets:
        with ExitStack() as attempt:
            if all(_try_core(descriptor, core, attempt) for core in cores):
                held.push(attempt.pop_all())
                return cores
    chosen = sets[os.getpid() % len(sets)]
    notice = threading.Timer(_NOTICE_SECONDS, _say_who_measures, (descriptor, chosen))
    notice.daemon = True
    notice.start()
    try:
        # Everybody takes the lowest core first, so that nobody waits in a circle.
        for core in chosen:
            _wait_for_core(descriptor, core, held)
    finally:
        notice.cancel()
    return chosen


def _say_who_measures(descriptor: int, cores: tuple[int, ...]) -> None:
    """Tell somebody who has waited long which process is measuring."""
    holders = {_holder(descriptor, core * _CORE_SPAN + _MEASURES) for core in cores} - {0}
    processes = ", ".join(map(str, sorted(holders))) or "unknown"
    print(
        f"waiting for a measurement of another process ({processes}) to end; "
        f"{FILE_VARIABLE}=off measures beside it",
        file=sys.stderr,
    )


def _holder(descriptor: int, place: int) -> int:
    """Return the process that has the lock on a byte; 0 where it is not known."""
    asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, place, 1, 0)
    kind, _, _, _, process_id = struct.unpack(_FLOCK, fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))
    return 0 if kind == fcntl.F_UNLCK else int(process_id)


def _try_core(descriptor: int, core: int, held: ExitStack) -> bool:
    """Lock a core for which nobody waits; return whether it is ours."""
    at = core * _CORE_SPAN
    with _byte(descriptor, at + _COUNTER):
        ticket = _ticket(descriptor, core)
        for byte in (at + _MEASURES, at + _TICKETS + ticket):
            try:
                fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
            except OSError:
                return False
            held.callback(_unlock, descriptor, byte)
    return True


def _wait_for_core(descriptor: int, core: int, held: ExitStack) -> None:
    """Wait in a core's queue, and lock it."""
    at = core * _CORE_SPAN
    with _byte(descriptor, at + _COUNTER):
        before = _ticket(descriptor, core)
        ticket = (before + 1) % (_CORE_SPAN - _TICKETS)
        os.pwrite(descriptor, ticket.to_bytes(_COUNTER_BYTES, "little"), core * _COUNTER_BYTES)
        held.enter_context(_byte(descriptor, at + _TICKETS + ticket))
    with _byte(descriptor, at + _TICKETS + before):
        pass
    held.enter_context(_byte(descriptor, at + _MEASURES))


def _ticket(descriptor: int, core: int) -> int:
    """Return the last ticket of a core, under the lock of its counter."""
    text = os.pread(descriptor, _COUNTER_BYTES, core * _COUNTER_BYTES)
    return int.from_bytes(text, "little") % (_CORE_SPAN - _TICKETS)


@contextmanager
def _byte(descriptor: int, place: int) -> Iterator[None]:
    """Wait for the lock on a byte of the file, and keep it."""
    fcntl.lockf(descriptor, fcntl.LOCK_EX, 1, place)
    try:
        yield
    finally:
        _unlock(descriptor, place)


def _unlock(descriptor: int, place: int) -> None:
    """Give a lock back."""
    fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, place)


def _open_file(state: _ProcessState) -> int | None:
    """Return the file's descriptor, always the same one: closing any ends all locks on the file.

    None where turns are off, or no such file can be made (a system without a /tmp that can be
    written): then nothing is waited for.
    """
    path = turns_path()
    if path is None:
        return None
    if state.path != path:
        if state.descriptor >= 0:
            os.close(state.descriptor)
        state.path, state.descriptor = path, -1
        with suppress(OSError):
            state.descriptor = open_shared_file(path)
    return None if state.descriptor < 0 else state.descriptor


def turns_path() -> str | None:
    """Return the path of the file with the locks; None where turns are off."""
    path = os.environ.get(FILE_VARIABLE, "").strip() or _FILE
    return None if path == "off" else path


def open_shared_file(path: str) -> int:
    """Open a file that all users may write, and make it where there is none."""
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(path, flags)  # another user's: some systems refuse it with O_CREAT
    except FileNotFoundError:
        descriptor = os.open(path, flags | os.O_CREAT, 0o666)
        with suppress(OSError):
            os.fchmod(descriptor, 0o666)  # whatever the mask of new files
        return descriptor


def _cores_of_a_turn() -> int | None:
    """Return how many cores a turn takes; None: all that this process may use."""
    text = os.environ.get(CORES_VARIABLE, "").strip() or "all"
    if text == "all":
        return None
    if not text.isdecimal() or len(text) > 6 or int(text) == 0:
        raise InputError(f"{CORES_VARIABLE}: expected all, or a number from 1 on, found {text!r}")
    return int(text)
