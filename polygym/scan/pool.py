"""Many files at a time, in processes of their own, within limits of time and memory.

A file that takes too long, needs too much memory, or makes the process crash is refused with that
as the reason, and the scan goes on. When it is stopped, what has been found is kept.
"""

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial

from polygym.errors import PolygymError
from polygym.frontend.c.discovery.region_search import find_in_text
from polygym.runtime.evaluation.forked_timeout import StoppedError, run_forked
from polygym.scan.file_scan import ScanOptions, scan_file
from polygym.scan.results import FileScan, FileStatus
from polygym.scan.sources import ScanSource

MEMORY = 2**31
_FILES_OF_A_PROCESS = 8
_AT_ONCE = 4  # batches that wait, for each process
_SAMPLE = "void f(int n, double x[n]) { for (int i = 0; i < n; i++) x[i] = 2 * x[i]; }"


def scan_files(
    sources: Sequence[ScanSource],
    options: ScanOptions,
    seconds: float,
    jobs: int,
    is_stopped: Callable[[], bool],
) -> Iterator[FileScan]:
    """Yield the files as they are done; none begins after ``is_stopped`` says so.

    Some files share a process. Where that does not come to its end in time, each of them gets one
    of its own, and the one to blame is refused.
    """
    find_in_text(_SAMPLE, "<sample>")  # imports what all processes need, once
    size = max(1, min(_FILES_OF_A_PROCESS, len(sources) // (2 * jobs)))
    batches = (sources[place : place + size] for place in range(0, len(sources), size))
    with ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="scan") as threads:
        waiting: set[Future[list[FileScan]]] = set()
        while True:
            while len(waiting) < jobs * _AT_ONCE and not is_stopped():
                batch = next(batches, None)
                if batch is None:
                    break
                waiting.add(threads.submit(_scan_batch, batch, options, seconds, is_stopped))
            if not waiting:
                return
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                yield from future.result()


def usual_jobs() -> int:
    """Return how many processes the machine has cores for."""
    return len(os.sched_getaffinity(0))


def _scan_batch(
    batch: Sequence[ScanSource],
    options: ScanOptions,
    seconds: float,
    is_stopped: Callable[[], bool],
) -> list[FileScan]:
    """Scan some files in one process, or each in its own if that fails."""
    if is_stopped():
        return []
    if len(batch) > 1:
        try:
            return _apart(partial(_scan_all, batch, options), seconds, is_stopped)
        except StoppedError:
            return []
        except Exception:
            pass  # one of them is to blame: see below
    return [scan for s in batch if (scan := _scan_alone(s, options, seconds, is_stopped))]


def _scan_alone(
    source: ScanSource, options: ScanOptions, seconds: float, is_stopped: Callable[[], bool]
) -> FileScan | None:
    """Scan a file in a process of its own; None if the scan was stopped meanwhile."""
    try:
        return _apart(partial(_scan_all, [source], options), seconds, is_stopped)[0]
    except StoppedError:
        return None
    except PolygymError as error:
        reason = str(error)
    except Exception as error:  # a defect in one file must not end the scan of the others
        reason = f"internal error: {type(error).__name__}: {error}"
    return FileScan(source.path, FileStatus.REFUSED, reason=reason, seconds=seconds)


def _apart(
    work: Callable[[], list[FileScan]], seconds: float, is_stopped: Callable[[], bool]
) -> list[FileScan]:
    advice = "see --file-time-limit"
    return run_forked("the scan of the file", work, seconds, advice, is_stopped, MEMORY)


def _scan_all(batch: Sequence[ScanSource], options: ScanOptions) -> list[FileScan]:
    """Scan some files, in a process that ends soon: looking for garbage would take a tenth."""
    gc.disable()
    return [scan_file(source, options) for source in batch]
