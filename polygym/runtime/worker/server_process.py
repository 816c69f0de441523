"""The start of every server process: signals, limits, and an eye on its parent.

:mod:`polygym.runtime.worker.connection` starts servers; the supervisor is one, the compile server
another. Each ends as soon as the process that started it has ended, in whatever way.

Memory of this process: mapped and resident bytes, and bounds on them.
"""

import os
import resource
import signal
import sys
from pathlib import Path


class ParentGoneError(Exception):
    """The parent ended or spoke out of turn; no caller is left."""


class ParentWatch:
    """Knows whether the parent process is alive; ``descriptors`` become readable when it ends."""

    def __init__(self, parent: int) -> None:
        """Begin to watch.

        Raises:
            ParentGoneError: it is gone already.
        """
        self._parent = parent
        try:
            self.descriptors: tuple[int, ...] = (os.pidfd_open(parent),)
        except OSError:  # a kernel or a sandbox without process descriptors: ask from time to time
            self.descriptors = ()
        self.check()

    def check(self) -> None:
        """Raise ParentGoneError if the parent has ended."""
        if os.getppid() != self._parent:
            raise ParentGoneError


def begin_server(parent: int) -> ParentWatch:
    """Make this process a server of ``parent``; where that is gone already, end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignoring it is inherited and loses exit codes
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.chdir("/")
    try:
        return ParentWatch(parent)
    except ParentGoneError:
        sys.exit(0)


_MAPPED, _RESIDENT = 0, 1  # columns of /proc/self/statm, in pages


def mapped_bytes() -> int:
    """Return the bytes of address space that this process has mapped."""
    return _bytes(_MAPPED)


def resident_bytes() -> int:
    """Return how much memory this process holds."""
    return _bytes(_RESIDENT)


def set_soft_limit(kind: int, wanted: int) -> None:
    """Set the soft limit of a resource, such as RLIMIT_AS, no higher than the hard one allows."""
    _, most = resource.getrlimit(kind)
    soft = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    resource.setrlimit(kind, (soft, most))


def _bytes(column: int) -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[column])
    return pages * os.sysconf("SC_PAGE_SIZE")
