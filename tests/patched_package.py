"""A copy of the package with some lines more, for tests that show what an extension touches."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]


def run_patched(folder: Path, changes: Mapping[str, tuple[str, str]], code: str) -> None:
    """Run code with a package in which texts of some files are others; each stands there once."""
    package = folder / "polygym"
    shutil.copytree(
        ROOT / "polygym",
        package,
        copy_function=os.symlink,
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    for name, (text, new) in changes.items():
        path = package / name
        source = path.read_text()
        assert source.count(text) == 1
        path.unlink()
        path.write_text(source.replace(text, new))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(folder), str(ROOT)))}
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
