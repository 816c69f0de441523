"""Executes the notebooks anew and stores them with what their cells say and draw.

    python notebooks/execute.py                     # all of them, where they are
    python notebooks/execute.py 3_your_own_loop     # one of them
    python notebooks/execute.py --out build         # into another folder; nothing here is changed

Each runs from its first cell to its last in a kernel of its own: this Python, with the packages of
this repository, in an empty folder that is removed afterwards. A cell that fails ends it, and what
was stored stays. What would differ each time without a reason (when cells ran, the version of
Python) is not stored, and the user's cache of tuned code takes no part.

The first picture of the first notebook is the README's too, ``docs/first-steps.png``.
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
PICTURE = "first-steps.png"
CELL_SECONDS = 240


def execute_notebook(path: Path) -> Any:
    """Return a notebook as it is after all of its cells, in order.

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
        ).execute(cleanup_kc=True)  # a kernel that is handed in is not ended otherwise
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
    """Return a kernel of this Python, whatever kernels the user has installed.

    Sockets are files of the folder: no two that run at once can ask for the same port.
    """
    return AsyncKernelManager(
        kernel_name="python3",
        kernel_spec_manager=KernelSpecManager(kernel_dirs=[]),
        transport="ipc",
        connection_file=str(folder / "kernel.json"),
    )


@contextmanager
def _kernel_environment(folder: Path) -> Iterator[None]:
    """Let kernels import what is here, and neither read nor write what is the user's own."""
    before = dict(os.environ)
    others = [entry for entry in before.get("PYTHONPATH", "").split(os.pathsep) if entry]
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *others])
    os.environ["POLYGYM_CACHE"] = "off"
    os.environ["IPYTHONDIR"] = str(folder / "ipython")  # startup files and history
    os.environ.pop("MPLBACKEND", None)  # the kernel has its own
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _fresh_copy(folder: Path) -> str:
    folder.mkdir()
    return str(folder)


def _without_volatile_output(notebook: Any) -> Any:
    """Leave out what differs from one machine to the next and says nothing."""
    notebook.metadata.pop("language_info", None)
    for cell in notebook.cells:
        cell.metadata.clear()
    return notebook


def main(arguments: Sequence[str] | None = None) -> int:
    """Execute and store; return 0, or 1 where a cell failed."""
    names = sorted(path.stem for path in HERE.glob("*.ipynb"))
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}; all")
    parser.add_argument("--out", type=Path, default=HERE, help="where they are stored")
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
            pictures = ROOT / "docs" if given.out.resolve() == HERE.resolve() else given.out
            write_atomically(pictures / PICTURE, first_picture(notebook))
        print(f"{name}: {target.stat().st_size // 1000} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
