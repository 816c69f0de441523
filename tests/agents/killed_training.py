"""A training in a process of its own that is killed as soon as it has a checkpoint."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path


def killed(file: Path, folder: Path, seed: int) -> None:
    """Train what a file says, and kill that when a seed has its first checkpoint."""
    command = [sys.executable, "-m", "polygym", "train", str(file), "--out", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    checkpoint = folder / f"seed-{seed}" / "checkpoint.zip"
    until = time.monotonic() + 120
    while not checkpoint.exists() and time.monotonic() < until:
        time.sleep(0.01)
    assert checkpoint.exists()
    process.send_signal(signal.SIGKILL)
    process.wait()
