"""Many files at a time: each in a process of its own, within limits of time and memory.

A file that takes too long, needs too much memory, or makes the process crash is refused with that
as the reason, and the scan goes on. When it is stopped, what has been found is kept.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial

from polygym.errors import PolygymError
from polygym.runtime.evaluation.forked_timeout import StoppedError, run_forked
from polygym.scan.file_scan import ScanOptions, scan_file
from polygym.scan.results import FileScan, FileStatus
from polygym.scan.sources import ScanSource

MEMORY = 2**31
_AT_ONCE = 4  # files that wait, for each process


def scan_files(
    sources: Sequence[ScanSource],
    options: ScanOptions,
    seconds: float,
    jobs: int,
    is_stopped: Callable[[], bool],
) -> Iterator[FileScan]:
    """Yield the files as they are done; none begins after ``is_stopped`` says so."""
    with ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="scan") as threads:
        waiting: set[Future[FileScan | None]] = set()
        left = iter(sources)
        while True:
            while len(waiting) < jobs * _AT_ONCE and not is_stopped():
                source = next(left, None)
                if source is None:
                    break
                waiting.add(threads.submit(_scan_apart, source, options, seconds, is_stopped))
            if not waiting:
                return
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            yield from (scan for future in done if (scan := future.result()) is not None)


def usual_jobs() -> int:
    """Return how many processes the machine has cores for."""
    return len(os.sched_getaffinity(0))


def _scan_apart(
    source: ScanSource, options: ScanOptions, seconds: float, is_stopped: Callable[[], bool]
) -> FileScan | None:
    """Scan a file in a process of its own; None if the scan was stopped meanwhile."""
    if is_stopped():
        return None
    try:
        return run_forked(
            "the scan of the file",
            partial(scan_file, source, options),
            seconds,
            "see --file-time-limit",
            is_stopped,
            MEMORY,
        )
    except StoppedError:
        return None
    except PolygymError as error:
        reason = str(error)
    except Exception as error:  # a defect in one file must not end the scan of the others
        reason = f"internal error: {type(error).__name__}: {error}"
    return FileScan(source.path, FileStatus.REFUSED, reason=reason, seconds=seconds)
