"""The stand-in for NVIDIA's driver, compiled once, and what was asked of it."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from polygym.foreign import cuda_driver

SOURCE = Path(__file__).with_name("fake_cuda.c")


@cache
def fake_library(folder: Path) -> Path:
    """Return the compiled library, named as the driver's."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here")
    target = folder / "libcuda.so.1"
    command = [compiler, "-shared", "-fPIC", "-O1", "-w", str(SOURCE), "-o", str(target)]
    subprocess.run(command, check=True)
    return target


@dataclass(frozen=True)
class FakeDriver:
    """The driver of a test: its library, the file with the calls, and what is to fail."""

    library: Path
    log: Path
    patch: pytest.MonkeyPatch

    def calls(self, name: str = "") -> list[str]:
        """Return the calls so far that begin with a name, without it."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line.removeprefix(name).strip() for line in lines if line.startswith(name)]

    def fail(self, function: str, number: int, skip: int = 0) -> None:
        """Have a function of the driver fail, after so many calls that do not."""
        _set_environment(self.patch, "FAKE_CUDA_FAIL", f"{function}:{number}:{skip}")

    def hang(self, function: str) -> None:
        """Have a function of the driver never return."""
        _set_environment(self.patch, "FAKE_CUDA_HANG", function)


def _set_environment(patch: pytest.MonkeyPatch, name: str, value: str) -> None:
    patch.setenv(name, value)


def new_driver(patch: pytest.MonkeyPatch, folder: Path, log: Path) -> FakeDriver:
    """Return a driver with which this process, and the workers that it starts, will work.

    Each has a file of its own: a library that is loaded twice would remember what it did.
    """
    own = log.parent / "libcuda.so.1"
    shutil.copy(fake_library(folder), own)
    patch.setattr(cuda_driver, "LIBRARY", str(own))
    paths = [str(own.parent), os.environ.get("LD_LIBRARY_PATH", "")]
    patch.setenv("LD_LIBRARY_PATH", ":".join(filter(None, paths)))
    patch.setenv("FAKE_CUDA_LOG", str(log))
    return FakeDriver(own, log, patch)
