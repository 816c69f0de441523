"""The replay buffer of DQN in a file: the steps that are in it, and not the room for more.

stable-baselines3 would write the whole of it, the empty part too: its usual million of steps is 46
GB of zeros here, after every interval. Most of an observation is 0 as well, so the file is packed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

_STEP_ARRAYS = ("actions", "rewards", "dones", "timeouts")
_STATE_ARRAYS = ("observations", "next_observations")


def save_replay(buffer: Any, file: Path) -> None:
    """Write what is in a buffer."""
    used = buffer.size()
    held = {name: array[:used] for name, array in _arrays(buffer).items()}
    np.savez_compressed(file, place=buffer.pos, is_full=buffer.full, **held)


def load_replay(buffer: Any, file: Path) -> None:
    """Put what :func:`save_replay` wrote into a new buffer of the same size."""
    with np.load(file, allow_pickle=False) as archive:
        buffer.pos, buffer.full = int(archive["place"]), bool(archive["is_full"])
        used = buffer.size()
        for name, array in _arrays(buffer).items():
            array[:used] = archive[name]


def _arrays(buffer: Any) -> dict[str, Any]:
    """Return the arrays of a buffer, which have a row for every step, by their names."""
    result = {name: getattr(buffer, name) for name in _STEP_ARRAYS}
    for name in _STATE_ARRAYS:
        for key, array in getattr(buffer, name).items():
            result[f"{name}/{key}"] = array
    return result
