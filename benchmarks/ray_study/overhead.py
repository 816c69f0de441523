"""Overhead of a cluster of one machine: the same sweep with and without Ray, in pairs.

The cluster is begun before, and stays. In each pair the two follow one another, first the one, then
in the next pair the other, so that what else the machine does hits both. Each is a process of its
own that says how long three things took ::

    start   the command's own beginning: the store, and with a cluster connecting to Ray, its actor
            starting, importing, and calibrating the clock
    work    from there to the end of the sweep, which is what is compared
    cpu     seconds of a processor that the driver used meanwhile, without what it started
    all     the same of the driver, the actor, and all that either has started

The overhead is the median over the pairs of work on the cluster over work without, less one. On a
machine on which others are at work only the seconds of processors say something.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from polybench import Dataset
from polygym.cli.execution.sweep_session import open_sweep
from polygym.runtime.evaluation import EvaluationOptions
from polygym.search.runner.ray.fleet.transport import parse_address
from polygym.search.sweep.settings import SweepSetting
from polygym.search.sweep.workload import SweepWorkload
from ray_study.ray_nodes import local_cluster, measuring_processes, node_actors

KERNELS = ("mvt", "gemm", "atax")


def run_sweep(
    folder: Path, kernels: tuple[str, ...], budget: int, cluster: str
) -> dict[str, float]:
    """Sweep into a folder, on a cluster if one is named; return what took how long."""
    setting = SweepSetting(
        search_dataset=Dataset.SMALL,
        dataset=Dataset.SMALL,
        seed=1,
        evaluation=EvaluationOptions(compile_seconds=60.0),
    )
    orders = SweepWorkload(kernels, ("uniform",), budget, 3)
    began = time.monotonic()
    with open_sweep(folder, setting, orders, 1, parse_address(cluster) if cluster else None) as (
        campaign,
        _,
    ):
        begins, cpu, whole = time.monotonic(), time.process_time(), _cpu_seconds()
        campaign.run(lambda: False, lambda _: None)
        work, used = time.monotonic() - begins, time.process_time() - cpu
        return {"start": begins - began, "work": work, "cpu": used, "all": _cpu_seconds() - whole}


def _cpu_seconds() -> float:
    """Return the seconds of processors that this process, actors and their like have used.

    What a process has started counts when it has ended, or is still there.
    """
    ticks = 0
    roots = (os.getpid(), *node_actors())
    for process in {*roots, *(process for root in roots for process in measuring_processes(root))}:
        try:
            text = Path(f"/proc/{process}/stat").read_text()
        except OSError:
            continue
        ticks += sum(map(int, text.rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def measure_overhead(root: Path, kernels: tuple[str, ...], budget: int, pairs: int) -> None:
    """Print each pair and what they come to, as lines of JSON."""
    kernels = kernels or KERNELS
    os.environ["POLYGYM_CLUSTER_DRIFT"] = "1000"
    root.mkdir(parents=True, exist_ok=True)
    ratios: list[float] = []
    shares: list[float] = []
    starts: list[float] = []
    began = time.monotonic()
    with local_cluster(1) as cluster:
        ray_seconds = time.monotonic() - began
        ways = {"local": "", "ray": f"ray://{cluster.address}"}
        for number in range(pairs):
            by_way = {}
            for way in sorted(ways, reverse=bool(number % 2)):
                folder = root / f"{way}-{number}"
                shutil.rmtree(folder, ignore_errors=True)
                by_way[way] = _run_in_process(folder, kernels, budget, ways[way])
            shares.append(by_way["ray"]["all"] / by_way["local"]["all"])
            ratios.append(by_way["ray"]["work"] / by_way["local"]["work"])
            starts.append(by_way["ray"]["start"] - by_way["local"]["start"])
            print(json.dumps({"pair": number, **by_way, "ratio": round(ratios[-1], 3)}), flush=True)
    print(
        json.dumps(
            {
                "overhead": round(median(ratios) - 1, 3),
                "pairs": [round(ratio - 1, 3) for ratio in ratios],
                "overhead in seconds of processors": round(median(shares) - 1, 3),
                "begin a cluster, once": round(ray_seconds, 1),
                "start of a sweep there, beyond one here": round(median(starts), 1),
            }
        )
    )


def _run_in_process(
    folder: Path, kernels: tuple[str, ...], budget: int, cluster: str
) -> dict[str, Any]:
    words = (
        sys.executable,
        "-m",
        "ray_study.overhead",
        str(folder),
        ",".join(kernels),
        str(budget),
    )
    path = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, sys.path)])
    done = subprocess.run(
        (*words, cluster), stdout=subprocess.PIPE, text=True, check=True, env={**os.environ,
        "PYTHONPATH": path},
    )  # fmt: skip
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


if __name__ == "__main__":
    target, names, episodes, address = sys.argv[1:]
    print(json.dumps(run_sweep(Path(target), tuple(names.split(",")), int(episodes), address)))
