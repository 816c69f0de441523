"""Does training survive? Random agents in worker processes for minutes, memory watched.

Every process explores all kernels with measured rewards. Some schedules take too long to generate
or to run; once a minute a random process below this one (a measuring worker, a compiler) is killed.
What must hold: every output is right, nothing ends, memory stays where it was after the start.

    python benchmarks/soak.py --minutes 10 --processes 4
"""

import argparse
import collections
import os
import random
import signal
import time
from pathlib import Path

import numpy as np
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import SubprocVecEnv


def below(process: int) -> dict[int, tuple[int, int]]:
    """Return the processes below one: their parent and resident bytes."""
    found = {}
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
                pages = int((path / "statm").read_text().split()[1])
            except OSError:
                continue
            found[int(path.name)] = (parent, pages * os.sysconf("SC_PAGE_SIZE"))
    chosen, wave = {}, {process}
    while wave:
        wave = {pid for pid, (parent, _) in found.items() if parent in wave}
        chosen.update({pid: found[pid] for pid in wave})
    return chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--start", default="forkserver", choices=("fork", "forkserver", "spawn"))
    options = parser.parse_args()
    envs = make_vec_env(
        "polygym:polygym/Schedule-v0",
        n_envs=options.processes,
        env_kwargs={"kernel": "all", "dataset": "mini", "timeout_factor": 2.0},
        vec_env_cls=SubprocVecEnv,
        vec_env_kwargs={"start_method": options.start},
        seed=0,
    )
    workers = {process.pid for process in envs.processes}
    generator = np.random.default_rng(0)
    counts: collections.Counter[str] = collections.Counter()
    observation = envs.reset()
    start = report = time.monotonic()
    while time.monotonic() - start < 60 * options.minutes:
        actions = [
            generator.choice(np.flatnonzero(observation["action_mask"][index]))
            for index in range(options.processes)
        ]
        observation, _, over, infos = envs.step(np.array(actions))
        counts.update(info["status"] for info, is_over in zip(infos, over, strict=True) if is_over)
        if time.monotonic() - report > 60:
            report = time.monotonic()
            known = below(os.getpid())
            total = sum(size for _, size in known.values()) / 2**20
            victims = [pid for pid, (parent, _) in known.items() if parent in workers]
            print(f"{(report - start) / 60:5.1f} min  {total:7.0f} MiB  {dict(counts)}", flush=True)
            if victims:
                os.kill(random.choice(victims), signal.SIGKILL)
    envs.close()
    print(dict(counts))
    assert not counts["wrong output"], "a schedule computed something else"


if __name__ == "__main__":
    main()
