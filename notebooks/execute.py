"""Executes the notebooks again and stores them with their outputs.

    python notebooks/execute.py                     # all notebooks, in place
    python notebooks/execute.py 3_your_own_loop     # one of them
    python notebooks/execute.py --out build         # into another folder; nothing here changes

Each notebook runs in a new kernel, with this Python, the packages of this repository and an empty
temporary folder. If a cell fails, the stored notebook stays as it is. Times and the version of
Python are not stored, and the user's cache of tuned code is off.

The first picture of the first notebook is also stored as ``docs/images/first-steps.png``.
"""

from __future__ import annotations

import argparse
import base64
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from polygym.files import write_atomically

HERE = Path(__file__).parent
ROOT = HERE.parent
FIRST = "1_first_steps"
PICTURES = ROOT / "docs" / "images"
PICTURE = "first-steps.png"
CELL_SECONDS = 240


def execute_notebook(path: Path) -> Any:
    """Return a notebook after the execution of all cells, in order.

    Raises:
        CellExecutionError: a cell failed.
    """
    notebook = nbformat.read(path, as_version=4)
    with TemporaryDirectory(prefix="notebook-") as folder, _kernel_environment(Path(folder)):
        NotebookClient(
            notebook,
            km=_kernel(Path(folder)),
            timeout=CELL_SECONDS,
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": _fresh_copy(Path(folder) / "work")}},
        ).execute(cleanup_kc=True)  # otherwise the kernel would keep running
    return _without_volatile_output(notebook)


def first_picture(notebook: Any) -> bytes:
    """Return the first PNG among the outputs of a notebook.

    Raises:
        LookupError: there is none.
    """
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if "image/png" in output.get("data", {}):
                return base64.b64decode(output.data["image/png"])
    raise LookupError("expected a picture among the outputs, found none")


def _kernel(folder: Path) -> AsyncKernelManager:
    """Return a kernel of this Python; kernels that the user has installed are ignored.

    Sockets are files of the folder, so simultaneous executions do not compete for ports.
    """
    return AsyncKernelManager(
        kernel_name="python3",
        kernel_spec_manager=KernelSpecManager(kernel_dirs=[]),
        transport="ipc",
        connection_file=str(folder / "kernel.json"),
    )


@contextmanager
def _kernel_environment(folder: Path) -> Iterator[None]:
    """Let kernels import this repository, and keep them from the user's files and caches."""
    before = dict(os.environ)
    others = [entry for entry in before.get("PYTHONPATH", "").split(os.pathsep) if entry]
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *others])
    os.environ["POLYGYM_CACHE"] = "off"
    os.environ["IPYTHONDIR"] = str(folder / "ipython")  # startup files and history
    os.environ.pop("MPLBACKEND", None)  # the kernel sets its own
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _fresh_copy(folder: Path) -> str:
    folder.mkdir()
    return str(folder)


def _without_volatile_output(notebook: Any) -> Any:
    """Remove metadata that differ between machines."""
    notebook.metadata.pop("language_info", None)
    for cell in notebook.cells:
        cell.metadata.clear()
    return notebook


def main(arguments: Sequence[str] | None = None) -> int:
    """Execute and store; return 0, or 1 if a cell failed."""
    names = sorted(path.stem for path in HERE.glob("*.ipynb"))
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"{', '.join(names)}; default: all"
    )
    parser.add_argument("--out", type=Path, default=HERE, help="folder of the results")
    given = parser.parse_args(arguments)
    chosen = [Path(given_name).stem for given_name in given.names] or names
    if unknown := sorted(set(chosen) - set(names)):
        parser.error(f"expected some of {', '.join(names)}, found {', '.join(unknown)}")
    given.out.mkdir(parents=True, exist_ok=True)
    for name in chosen:
        try:
            notebook = execute_notebook(HERE / f"{name}.ipynb")
        except CellExecutionError as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 1
        target = given.out / f"{name}.ipynb"
        write_atomically(target, nbformat.writes(notebook).encode() + b"\n")
        if name == FIRST:
            in_place = given.out.resolve() == HERE.resolve()
            pictures = PICTURES if in_place else given.out
            write_atomically(pictures / PICTURE, first_picture(notebook))
        print(f"{name}: {target.stat().st_size // 1000} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
