"""The schedule space of a kernel, dimension by dimension, and a picture of a schedule from it.

python examples/draw_space.py gemm gemm.png
"""

import sys
from pathlib import Path

import numpy as np

from polygym.mdp.episode import Task
from polygym.mdp.policies.registry import play_episode, policy_named
from polygym.pictures.scenes.canvas import Scene, save
from polygym.programs import load_program


def main(name: str = "gemm", picture: str = "space.png") -> None:
    scop = load_program(name).scop
    episode = play_episode(Task(scop).start(), policy_named("earliest"), np.random.default_rng(0))
    for number, dimension in enumerate(episode.dimensions, 1):
        known = dimension.generators
        print(
            f"dimension {number} carries {len(dimension.carried)} dependences: "
            f"{len(known.vertices)} vertices, {len(known.rays)} rays"
        )
    known = episode.dimensions[0].generators
    schedule = episode.schedule()
    save(
        Scene(scop, name, vertices=known.vertices, rays=known.rays, schedule=schedule),
        Path(picture),
    )
    print(f"{schedule}\ndrawn in {picture}")


if __name__ == "__main__":
    main(*sys.argv[1:])
