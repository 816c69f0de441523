"""A parent for the tests to kill: opens a problem, says which processes exist, and starts a run.

Run as ``python -m tests.runtime.worker.parent_script MODE``; MODE says what the run is: ``busy``
computes for ever, ``asleep`` sleeps, ``idle`` measures nothing and waits, ``leaves`` ends without
closing.
"""

import sys
import threading
import time

from polygym.runtime.worker.timing import MeasureOptions, TimeLimit
from polygym.runtime.worker.worker import Worker
from tests.runtime.worker import objects
from tests.runtime.worker.processes import children_of


def main(mode: str) -> None:
    session = Worker().open(objects.problem())
    if mode == "leaves":
        report()
        return
    threading.Timer(0.3, report).start()
    if mode == "idle":
        time.sleep(60)
    code = objects.loops_forever() if mode == "busy" else objects.sleeps(60_000_000)
    limit = TimeLimit(floor=60.0)
    session.measure(objects.program(code), MeasureOptions(time_limit=limit))


def report() -> None:
    """Print the ids of the supervisor and of its runner."""
    import os

    supervisors = children_of(os.getpid())
    runners = [child for supervisor in supervisors for child in children_of(supervisor)]
    print(*supervisors, *runners, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
