"""A sweep on this machine, and the same on a cluster to which everything happens: the same rows?

The cluster is three nodes of Ray on this machine, and a fourth that pretends to be of another kind.
In the middle of the sweep an actor is killed, a raylet, the driver; a node is cut off until it is
taken for lost, and comes back with what it has; the cable of another is pulled, where this machine
lets us have cables (:mod:`ray_study.network`); another stands still for a while; and the driver
gets a Ctrl-C (:mod:`ray_study.faults`). Then it goes on to its end. What has to hold:

* both have the same episodes, with the same schedules, statuses and reasons: all but times;
* no schedule of a program has two rows, and what has been confirmed are as many programs;
* all rows are of one kind of machine, and the other node was refused;
* when all is over no process is left; all carry a mark in their environment.
"""

import json
import os
import time
import uuid
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from soak import marked_processes

from ray_study.faults import FAULTS, FaultySweep
from ray_study.network import can_create_namespaces, network_node
from ray_study.ray_nodes import (
    add_node,
    local_cluster,
    query_rows,
    start_sweep,
    sweep_episodes,
    wait_for_end,
)

KERNELS = (
    "mvt", "atax", "bicg", "gesummv", "trisolv", "gemver", "trmm", "syrk", "jacobi-1d", "durbin"
)  # fmt: skip
_PROCESS_MARK = "POLYGYM_COMPARED"
_SECONDS_TO_END = 60.0


def compare_sweeps(folder: Path, kernels: tuple[str, ...], budget: int) -> dict[str, Any]:
    """Sweep twice below a folder; return what was found, ``faults`` among it."""
    mark = f"{_PROCESS_MARK}={uuid.uuid4().hex}"
    os.environ.update([mark.split("=")])
    os.environ["POLYGYM_CLUSTER_DRIFT"] = "1000"  # that is another question
    words = (*kernels, "--budget", str(budget), "--confirm", "2")
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    local = start_sweep(folder / "local", "", *words)
    said = wait_for_end(local, 3600.0)
    seconds = [time.monotonic() - began]
    faults = [] if local.returncode == 0 else [f"the undisturbed one: {said[-500:]}"]
    wanted = sweep_episodes(folder / "local")
    with (
        open(folder / "driver.log", "w+") as log,
        local_cluster(3) as cluster,
        network_node(cluster) if can_create_namespaces() else nullcontext() as cable,
    ):
        add_node(cluster, POLYGYM_PRETEND_MACHINE="other")
        began = time.monotonic()
        sweep = FaultySweep(cluster, folder / "there", words, log, cable)
        with sweep:
            faults += _inject_faults(sweep, len(wanted))
        seconds.append(time.monotonic() - began)
    faults += _differences(wanted, folder / "there")
    if "is refused: expected nodes of one kind" not in (folder / "driver.log").read_text():
        faults.append("the node of another kind was not refused")
    if left := _remaining_processes(mark):
        faults.append(f"processes that are left: {left}")
    return {
        "kernels": len(kernels),
        "rows": len(wanted),
        "statuses": dict(Counter(row[4] or "no schedule" for row in wanted)),
        "seconds": {"local": round(seconds[0], 1), "there": round(seconds[1], 1)},
        "harms": sweep.events,
        "faults": faults,
    }


def _inject_faults(sweep: FaultySweep, rows: int) -> list[str]:
    """Do all harms to a sweep that will have so many rows; say what failed up to its end."""
    faults = []
    for place, harm in enumerate(FAULTS, start=1):
        if sweep.wait_for_rows(place * rows // (len(FAULTS) + 2)):
            harm(sweep)
        else:
            faults.append(f"{harm.__name__}: the sweep had ended before")
    assert sweep.driver is not None
    if code := sweep.driver.wait(3600.0):
        faults.append(f"the driver's exit code: expected 0, found {code}")
    return faults


def _differences(wanted: set[tuple[Any, ...]], folder: Path) -> list[str]:
    """Return what is wrong with the sweep of a folder."""
    there, faults = sweep_episodes(folder), []
    if there != wanted:
        faults.append(
            f"rows: {len(wanted - there)} are missing, {len(there - wanted)} are others; such as "
            f"{next(iter(wanted ^ there))}"
        )
    doubled = "SELECT kernel FROM outcomes GROUP BY kernel, schedule HAVING count(*) > 1"
    if twice := query_rows(folder, doubled):
        faults.append(f"schedules with two rows, of {twice}")
    kinds = query_rows(folder, "SELECT document FROM kinds")
    if len(kinds) != 1 or "pretending" in kinds[0][0]:
        faults.append(f"kinds of machines: expected one, this one, found {kinds}")
    (confirmed,) = query_rows(folder, "SELECT count(DISTINCT kernel) FROM confirmations")
    if confirmed[0] != len({row[0] for row in wanted}):
        faults.append(f"confirmed programs: expected all, found {confirmed[0]}")
    return faults


def _remaining_processes(mark: str) -> list[int]:
    """Return the processes with a mark that do not end soon, this one aside."""
    deadline = time.monotonic() + _SECONDS_TO_END
    while left := [
        process for process in marked_processes(mark.encode()) if process != os.getpid()
    ]:
        if time.monotonic() > deadline:
            return left
        time.sleep(0.5)
    return []


def print_comparison(folder: Path, kernels: tuple[str, ...], budget: int) -> int:
    """Print what was found as a line of JSON; return the exit code."""
    answer = compare_sweeps(folder, kernels or KERNELS, budget)
    print(json.dumps(answer), flush=True)
    return int(bool(answer["faults"]))
