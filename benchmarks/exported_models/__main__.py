"""Eighteen public models as PyTorch exports them, and sixty modules written for this.

    pip install torch==2.13.0 torchvision==0.28.0 transformers==4.57.6 onnxscript onnxruntime
    python -m benchmarks.exported_models export --out models
    python -m benchmarks.exported_models check --out models
    python -m benchmarks.exported_models optimize --out models --costs static
    python -m benchmarks.exported_models time --out models --threads 2
    python -m benchmarks.exported_models modules --out models
    python -m benchmarks.exported_models table --out models

``export`` writes ONNX files of both exporters, with random weights. ``check`` reads each, and
compares polygym's results with PyTorch's; so does ``optimize`` after ``polygym graph optimize``.
``time`` runs PyTorch, torch.compile, onnxruntime, and polygym before and after that in turn.
``modules`` exports and compares the modules of ``block_modules``. Names of models choose some.

Every model has a process of its own and a row of a CSV file in the folder; the same command leaves
out what is there. Nothing else should run while times are taken. The exit code is 1 if a result is
wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.exported_models.block_modules import MODULE_NAMES
from benchmarks.exported_models.exporting import EXPORTERS
from benchmarks.exported_models.public_models import NAMES
from benchmarks.exported_models.rows import Journal
from benchmarks.exported_models.tables import (
    acceptance_table,
    module_table,
    optimization_table,
    time_table,
)

_COMMANDS = ("export", "check", "optimize", "time", "modules", "table")


def _run_task(out: Path, task: Mapping[str, Any], limit: float) -> dict[str, Any]:
    """Return what a task gives in a process of its own; a crash is a row too."""
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": str(task["threads"]),
        "TORCHINDUCTOR_CACHE_DIR": str((out / "inductor").resolve()),
    }
    command = [sys.executable, "-m", "benchmarks.exported_models.tasks"]
    command.append(json.dumps({**task, "out": str(out)}))
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        return {"status": "failed", "message": f"took more than {limit:g} s"}
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return {"status": "failed", "message": f"exit code {done.returncode}: {last}"[:400]}
    result: dict[str, Any] = json.loads(lines[-1])
    return result


def _tasks(chosen: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the tasks of a command: what to do, and the keys of its row."""
    known = MODULE_NAMES if chosen.command == "modules" else NAMES
    for name in chosen.names:
        if name not in known:
            sys.exit(f"expected some of {', '.join(known)}, found {name}")
    names = chosen.names or known
    common = {"task": chosen.command, "threads": chosen.threads}
    if chosen.command in ("time", "optimize"):
        options = {"costs": chosen.costs, "seconds": chosen.seconds}
        return [{**common, "model": name, **options} for name in names]
    return [
        {**common, "model": name, "exporter": exporter}
        for name in names
        for exporter in chosen.exporter or EXPORTERS
    ]


def main() -> int:
    """Do what is not done yet, and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=_COMMANDS)
    parser.add_argument("names", nargs="*", metavar="MODEL")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--threads", type=int, default=2, metavar="N")
    parser.add_argument("--exporter", choices=EXPORTERS, action="append")
    parser.add_argument("--costs", choices=("static", "measured"), default="static")
    parser.add_argument("--seconds", type=float, default=15.0, help="Duration of a model's rounds.")
    parser.add_argument("--again", action="store_true", help="Do what is done already, too.")
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    if chosen.command == "table":
        for table in (acceptance_table, optimization_table, time_table, module_table):
            print(table(chosen.out), end="\n\n")
        return 0
    journal = Journal(chosen.out / f"{chosen.command}.csv")
    is_wrong = False
    for task in _tasks(chosen):
        keys = {key: value for key, value in task.items() if key not in ("task", "seconds")}
        row = None if chosen.again else journal.find(keys)
        if row is None:
            row = _run_task(chosen.out, task, limit=1800.0)
            journal.append({**keys, **row})
            said = ", ".join(str(value) for value in keys.values())
            print(f"{said}: {row.get('status', '')} {row.get('message', '')}", flush=True)
        is_wrong |= row.get("status") in ("wrong", "failed")
    return int(is_wrong)


if __name__ == "__main__":
    sys.exit(main())
