"""Does training survive? Random agents in worker processes for minutes, memory watched.

Every process explores all kernels with measured rewards. Some schedules take too long to generate
or to run; once a minute a random process below an environment (a measuring worker, a compiler) is
killed. What must hold, or the exit status is 1:

* no output is wrong, and no program crashes but those that are killed here;
* all processes together never hold more than ``--memory`` GiB. A page that several share is counted
  once, in equal parts (Linux's PSS); the sum of resident sizes, which counts it once for each, is
  shown beside it;
* when it is over no process is left, no matter who its parent is now: all carry a mark in their
  environment.

    python benchmarks/soak.py --time-limit 10m --processes 8 --memory 6
"""

import argparse
import collections
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import numpy as np

from polygym.durations import parse_duration

PROCESS_MARK = "POLYGYM_SOAK"
SECONDS_TO_END = 60.0


def marked_processes(process_mark: bytes) -> list[int]:
    """Return the processes that carry a mark, zombies left out."""
    result = []
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                if process_mark in (path / "environ").read_bytes():
                    result.append(int(path.name))
            except OSError:
                continue
    return result


def memory(process: int) -> tuple[int, int]:
    """Return the bytes of a process: its share of what it holds, and all that it holds."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0, 0
    sizes = {line.split(":")[0]: line.split()[1] for line in lines if line.endswith("kB")}
    return 1024 * int(sizes.get("Pss", 0)), 1024 * int(sizes.get("Rss", 0))


def children(process: int) -> list[int]:
    """Return the processes that a process has started."""
    try:
        tasks = [path.read_text() for path in Path(f"/proc/{process}/task").glob("*/children")]
    except OSError:
        return []
    return [int(child) for text in tasks for child in text.split()]


def explore(options: argparse.Namespace) -> None:
    """Play random episodes until the time is over; raise where an output is wrong."""
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import SubprocVecEnv

    envs = make_vec_env(
        "polygym:polygym/Schedule-v0",
        n_envs=options.processes,
        env_kwargs={"kernel": "all", "dataset": options.dataset, "timeout_factor": 2.0},
        vec_env_cls=SubprocVecEnv,
        vec_env_kwargs={"start_method": options.start},
        seed=options.seed,
    )
    workers = [process.pid for process in envs.processes]
    generator = np.random.default_rng(options.seed)
    counts: collections.Counter[str] = collections.Counter()
    bad: list[str] = []
    steps = 0
    observation = envs.reset()
    start = report = time.monotonic()
    while time.monotonic() - start < options.time_limit:
        actions = [
            generator.choice(np.flatnonzero(observation["action_mask"][index]))
            for index in range(options.processes)
        ]
        observation, _, over, infos = envs.step(np.array(actions))
        steps += options.processes
        for info in (info for info, is_over in zip(infos, over, strict=True) if is_over):
            counts[info["status"]] += 1
            is_killed = options.kill and "SIGKILL" in info["error_details"]
            if info["status"] in ("wrong output", "crash") and not is_killed:
                bad.append(f"{info['kernel']}: {info['error_details']}: {info['schedule']}")
        if time.monotonic() - report > 60:
            report = time.monotonic()
            print(f"{(report - start) / 60:5.1f} min  {steps} steps  {dict(counts)}", flush=True)
            victims = [child for worker in workers for child in children(worker)]
            if victims and options.kill:
                os.kill(random.choice(victims), signal.SIGKILL)
    envs.close()
    print(f"{steps} steps  {dict(counts)}", *bad, sep="\n", flush=True)
    assert not bad, "a schedule computed something else, or crashed"


def watch(options: argparse.Namespace) -> int:
    """Run the exploration in a process of its own, and watch all that it starts."""
    name = f"{PROCESS_MARK}={uuid.uuid4().hex}"
    environment = {**os.environ, **dict([name.split("=")])}
    command = [sys.executable, __file__, "--inside", *sys.argv[1:]]
    peak = (0, 0, 0)
    failures = []
    with subprocess.Popen(command, env=environment) as inside:
        while inside.poll() is None:
            processes = marked_processes(name.encode())
            sizes = [memory(process) for process in processes]
            shares, wholes = (sum(column) for column in zip((0, 0), *sizes, strict=True))
            peak = max(peak, (shares, wholes, len(processes)))
            time.sleep(options.every)
    if inside.returncode:
        failures.append(f"the exploration ended with status {inside.returncode}")
    deadline = time.monotonic() + SECONDS_TO_END
    while (left := marked_processes(name.encode())) and time.monotonic() < deadline:
        time.sleep(0.5)
    if left:
        failures.append(f"{len(left)} processes are left: {left}")
    shares, wholes, count = peak[0] / 2**30, peak[1] / 2**30, peak[2]
    print(f"peak {shares:.2f} GiB in {count} processes (resident sizes added up: {wholes:.2f})")
    if options.memory and shares > options.memory:
        failures.append(f"more than {options.memory} GiB")
    print("\n".join(failures) or "good")
    return 1 if failures else 0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--time-limit", type=parse_duration, default="10m", metavar="DURATION")
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--memory", type=float, help="GiB that all may hold together")
    parser.add_argument("--dataset", default="mini")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=parse_duration, default="1s", help="time between checks")
    parser.add_argument("--start", default="forkserver", choices=("fork", "forkserver", "spawn"))
    parser.add_argument("--no-kill", dest="kill", action="store_false", help="kill no process")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        explore(options)
    else:
        sys.exit(watch(options))


if __name__ == "__main__":
    main()
