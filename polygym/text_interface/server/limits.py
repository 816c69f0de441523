"""Limits of a server: files, sizes, memory, time.

Every limit has a default; a client can ask for less, never for more.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """The limits of a server.

    ``root`` is the folder below which clients may name files, None for no files. ``evaluations``,
    ``seconds`` and ``lines`` bound each session; ``measure_seconds`` bounds one measurement, and
    ``work_seconds`` the loading of a program or the decision about one line. ``memory`` bounds the
    bytes of a program's arrays, and those of the new arrays of a storage plan; ``file_bytes`` those
    of a program's file; ``request_bytes`` those of a request.
    """

    root: Path | None = None
    sessions: int = 8
    threads: int = 1
    evaluations: int = 100
    seconds: float = 600.0
    lines: int = 2000
    measure_seconds: float = 60.0
    work_seconds: float = 30.0
    memory: int = 1 << 30
    work_memory: int = 2 << 30
    file_bytes: int = 1 << 20
    request_bytes: int = 1 << 18
    waiting: int = 64
